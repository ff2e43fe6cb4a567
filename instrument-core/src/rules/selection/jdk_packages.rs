//! Which class names belong to the JDK itself.
//!
//! A rule that does not name classes is about the application, so it leaves these alone. Several packages under `javax`
//! and `com.sun` are *not* the JDK's (`javax.servlet`, `javax.persistence`, `com.sun.xml.bind`, ...), hence the list.
//!
//! Last checked against: JDK 11, 17, 25 (packages of `lib/modules`).

use crate::rules::patterns::name_glob::NameGlob;

/// Roots that are wholly the JDK's.
const ROOTS: &[&[u8]] = &[b"java/", b"jdk/", b"sun/", b"netscape/javascript/"];

const BELOW_JAVAX: &[&[u8]] = &[
    b"accessibility/",
    b"annotation/processing/",
    b"crypto/",
    b"imageio/",
    b"lang/model/",
    b"management/",
    b"naming/",
    b"net/",
    b"print/",
    b"rmi/",
    b"script/",
    b"security/auth/",
    b"security/cert/",
    b"security/sasl/",
    b"smartcardio/",
    b"sound/",
    b"sql/",
    b"swing/",
    b"tools/",
    b"transaction/xa/",
    b"xml/XMLConstants",
    b"xml/catalog/",
    b"xml/crypto/",
    b"xml/datatype/",
    b"xml/namespace/",
    b"xml/parsers/",
    b"xml/stream/",
    b"xml/transform/",
    b"xml/validation/",
    b"xml/xpath/",
];

/// Below a package of the list above, and yet of Jakarta EE.
const NOT_BELOW_JAVAX: &[&[u8]] = &[b"management/j2ee/", b"security/auth/message/"];

const BELOW_COM_SUN: &[&[u8]] = &[
    b"accessibility/internal/",
    b"beans/",
    b"crypto/provider/",
    b"imageio/",
    b"jarsigner/",
    b"java/accessibility/",
    b"java/swing/",
    b"java_cup/internal/",
    b"jdi/",
    b"jmx/",
    b"jndi/",
    b"management/",
    b"media/sound/",
    b"naming/internal/",
    b"net/httpserver/",
    b"net/ssl/",
    b"nio/",
    b"org/apache/",
    b"org/slf4j/internal/",
    // Dynamic proxies before JDK 16; later ones are in `jdk/proxy1` and the like.
    b"proxy/",
    b"rowset/",
    b"security/",
    b"source/",
    b"swing/internal/",
    b"tools/attach/",
    b"tools/classfile/",
    b"tools/doclint/",
    b"tools/example/",
    b"tools/javac/",
    b"tools/javap/",
    b"tools/jconsole/",
    b"tools/jdeprscan/",
    b"tools/jdeps/",
    b"tools/jdi/",
    b"tools/jnativescan/",
    b"tools/script/",
    b"tools/sjavac/",
    b"xml/internal/",
];

const BELOW_ORG: &[&[u8]] = &[b"ietf/jgss/", b"jcp/xml/dsig/internal/", b"w3c/dom/", b"xml/sax/"];

/// Does a class of this internal name belong to the JDK?
pub fn is_jdk_class(name: &[u8]) -> bool {
    let below = |rest: &[u8], packages: &[&[u8]]| packages.iter().any(|package| rest.starts_with(package));
    if let Some(rest) = name.strip_prefix(b"javax/") {
        return below(rest, BELOW_JAVAX) && !below(rest, NOT_BELOW_JAVAX);
    }
    if let Some(rest) = name.strip_prefix(b"com/sun/") {
        return below(rest, BELOW_COM_SUN);
    }
    if let Some(rest) = name.strip_prefix(b"org/") {
        return below(rest, BELOW_ORG);
    }
    below(name, ROOTS)
}

/// Could this glob match a class of the JDK? Errs towards yes.
pub(super) fn may_match_jdk(glob: &NameGlob) -> bool {
    let prefix = glob.literal_prefix();
    let compatible = |root: &[u8], packages: &[&[u8]]| {
        packages.iter().any(|package| {
            let full = [root, package].concat();
            full.starts_with(prefix) || prefix.starts_with(&full)
        })
    };
    compatible(b"", ROOTS)
        || compatible(b"javax/", BELOW_JAVAX)
        || compatible(b"com/sun/", BELOW_COM_SUN)
        || compatible(b"org/", BELOW_ORG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_the_jdk_from_similar_names() {
        for jdk in [
            "java/lang/String",
            "javax/sql/DataSource",
            "javax/security/auth/Subject",
            "javax/xml/XMLConstants",
            "jdk/internal/misc/Unsafe",
            "sun/nio/ch/NioSocketImpl",
            "com/sun/net/httpserver/HttpServer",
            "com/sun/org/apache/xerces/internal/dom/NodeImpl",
            "com/sun/proxy/$Proxy12",
            "jdk/proxy2/$Proxy12",
            "org/w3c/dom/Node",
            "org/xml/sax/Parser",
        ] {
            assert!(is_jdk_class(jdk.as_bytes()), "{jdk}");
        }
        for other in [
            "javax/servlet/http/HttpServlet",
            "javax/persistence/EntityManager",
            "javax/transaction/Transaction",
            "javax/xml/bind/JAXB",
            "javax/annotation/PostConstruct",
            "javax/security/auth/message/MessageInfo",
            "com/sun/xml/bind/v2/Messages",
            "com/sun/mail/smtp/SMTPTransport",
            "com/sun/tools/xjc/Driver",
            "org/springframework/core/Ordered",
            "javassist/CtClass",
            "sunny/Day",
            "Main",
            "",
        ] {
            assert!(!is_jdk_class(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn globs_that_may_reach_into_the_jdk() {
        for (glob, expected) in [
            ("**", true),
            ("**.HttpServlet", true),
            ("java.util.*", true),
            ("j*", true),
            ("javax.**", true),
            ("com.sun.net.httpserver.HttpServer", true),
            ("com.acme.**", false),
            ("org.springframework.**", false),
            ("javax.servlet.**", false),
            ("Main", false),
        ] {
            assert_eq!(may_match_jdk(&NameGlob::class(glob).unwrap()), expected, "{glob}");
        }
    }
}
