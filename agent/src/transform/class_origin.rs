//! The origin of a class in the running program, for rules that name modules, jars or class loaders. Asked only if a rule does.

use instrument_core::internal_name::package_of;
use instrument_core::selection::{ClassOrigin, OriginAnswer};
use parking_lot::Mutex;
use records::LoaderId;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::jvm::{self, Jni, Jvmti, ObjectRef, UrlParts};

/// A class that the JVM presents or has loaded.
#[derive(Debug)]
pub(crate) struct JvmOrigin<'a> {
    pub(crate) jvmti: Jvmti,
    pub(crate) jni: &'a Jni<'a>,
    /// Internal name, if it has one.
    pub(crate) name: Option<&'a [u8]>,
    /// The defining loader; `None` for the boot loader.
    pub(crate) loader: Option<ObjectRef<'a>>,
    pub(crate) protection_domain: Option<ObjectRef<'a>>,
}

/// What was found about loaders and protection domains, by their identities, beyond the session.
static LOADERS: Mutex<FxHashMap<LoaderId, Vec<String>>> = Mutex::new(FxHashMap::with_hasher(FxBuildHasher));
static JARS: Mutex<FxHashMap<u64, Option<String>>> = Mutex::new(FxHashMap::with_hasher(FxBuildHasher));

impl<'a> JvmOrigin<'a> {
    /// The origin of a class in the class hook.
    pub(crate) fn of(class: &'a jvm::ClassFile<'a>) -> JvmOrigin<'a> {
        let jvm::ClassFile { jvmti, jni, name, loader, protection_domain, .. } = *class;
        JvmOrigin { jvmti, jni, name, loader, protection_domain }
    }

    /// JNI allows few questions while the thread is about to throw.
    fn check(&self) -> OriginAnswer<()> {
        if self.jni.exception_pending() { Err("the JVM cannot be asked while an exception is thrown") } else { Ok(()) }
    }
}

impl ClassOrigin for JvmOrigin<'_> {
    fn module(&self) -> OriginAnswer<String> {
        self.check()?;
        let name = self.name.ok_or("the class has no name yet")?;
        let module = jvm::module_name(self.jvmti, self.jni, self.loader, package_of(name));
        module.ok_or("it is in no named module")
    }

    fn jar(&self) -> OriginAnswer<String> {
        self.check()?;
        let domain = self.protection_domain.ok_or("it has no code source")?;
        let find = || jvm::code_location(self.jni, domain).and_then(|location| jar_name(&location));
        get_or_find(&JARS, self.jvmti.object_id(domain), find).ok_or("its code source is no jar")
    }

    fn loader(&self) -> OriginAnswer<Vec<String>> {
        let Some(loader) = self.loader else { return Ok(vec!["boot".to_owned()]) };
        self.check()?;
        let find = || {
            let (name, class) = jvm::loader_names(self.jvmti, self.jni, loader);
            name.into_iter().chain(class).collect()
        };
        Ok(get_or_find(&LOADERS, self.jvmti.loader_id(Some(loader)), find))
    }
}

fn get_or_find<T: Clone>(known: &Mutex<FxHashMap<u64, T>>, object: u64, find: impl FnOnce() -> T) -> T {
    known.lock().entry(object).or_insert_with(find).clone()
}

/// Forgets the loaders and protection domains that are gone.
pub(crate) fn forget(gone: &FxHashSet<LoaderId>) {
    LOADERS.lock().retain(|loader, _| !gone.contains(loader));
    JARS.lock().retain(|domain, _| !gone.contains(domain));
}

/// Directories within executable jars and web archives that hold classes.
const NESTED_ROOTS: [&str; 2] = ["BOOT-INF/classes", "WEB-INF/classes"];

/// The file name of the innermost jar, or of the directory, at this location; `None` in the image of the JDK.
fn jar_name(location: &UrlParts) -> Option<String> {
    if location.protocol == b"jrt" {
        return None;
    }
    let path = location.file.split(|byte| *byte == b'?').next().unwrap_or_default();
    // Spring Boot writes `outer.jar/!BOOT-INF/lib/inner.jar!/`, all others `outer.jar!/BOOT-INF/lib/inner.jar!/`.
    let path = percent_decoded(path).replace("/!", "!/");
    let parts: Vec<&str> =
        path.split("!/").map(|part| part.trim_matches('/')).filter(|part| !part.is_empty()).collect();
    let innermost = match parts.as_slice() {
        [.., outer, last] if NESTED_ROOTS.contains(last) => outer,
        [.., last] => last,
        [] => return None,
    };
    innermost.rsplit('/').next().map(str::to_owned)
}

fn percent_decoded(text: &[u8]) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let hex = after.split_at_checked(2).filter(|_| *first == b'%');
        let byte = hex.and_then(|(digits, after)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        let (byte, after) = byte.unwrap_or((*first, after));
        decoded.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jar_is_known_by_its_file_name_wherever_it_is() {
        for (url, expected) in [
            ("file:/opt/app/lib/ojdbc11.jar", Some("ojdbc11.jar")),
            ("file:/opt/my%20app/caf%C3%A9.jar", Some("caf\u{e9}.jar")),
            ("file:/opt/app/classes/", Some("classes")),
            ("file:/opt/tomcat/webapps/shop/WEB-INF/classes/", Some("classes")),
            ("jar:file:/opt/app.jar!/BOOT-INF/lib/spring-core-6.2.jar!/", Some("spring-core-6.2.jar")),
            ("jar:file:/opt/app.jar!/BOOT-INF/classes!/", Some("app.jar")),
            ("jar:nested:/opt/app.jar/!BOOT-INF/lib/inner.jar!/", Some("inner.jar")),
            ("jar:nested:/opt/app.jar/!BOOT-INF/classes/!/", Some("app.jar")),
            ("vfs:/content/shop.war/WEB-INF/lib/x.jar/", Some("x.jar")),
            ("http://host/x.jar?version=1", Some("x.jar")),
            ("file:/opt/100%.jar", Some("100%.jar")),
            ("jrt:/java.sql", None),
            ("file:/", None),
        ] {
            let (protocol, file) = url.split_once(':').unwrap();
            let parts = UrlParts { protocol: protocol.into(), host: Vec::new(), file: file.into() };
            assert_eq!(jar_name(&parts).as_deref(), expected, "{url}");
        }
    }
}
