//! Libraries whose many small methods tell nothing to those who use them: frameworks, servers, drivers, parsers, logging.
//!
//! A rule that does not say what it is about takes their larger methods only (decision 021). Naming them in a rule is enough
//! to see them whole.

/// Beginnings of internal names, sorted; none begins another.
const LIBRARIES: &[&[u8]] = &[
    b"akka/",
    b"ch/qos/logback/",
    b"com/datastax/",
    b"com/fasterxml/",
    b"com/github/benmanes/caffeine/",
    b"com/google/common/",
    b"com/google/gson/",
    b"com/google/protobuf/",
    b"com/hazelcast/",
    b"com/microsoft/sqlserver/",
    b"com/mongodb/",
    b"com/mysql/",
    b"com/netflix/",
    b"com/rabbitmq/",
    b"com/sun/",
    b"com/zaxxer/hikari/",
    b"freemarker/",
    b"groovy/",
    b"io/grpc/",
    b"io/lettuce/",
    b"io/micrometer/",
    b"io/netty/",
    b"io/opentelemetry/",
    b"io/quarkus/",
    b"io/reactivex/",
    b"io/undertow/",
    b"io/vertx/",
    b"jakarta/",
    b"javassist/",
    b"javax/",
    b"kotlin/",
    b"kotlinx/",
    b"liquibase/",
    b"net/bytebuddy/",
    b"net/sf/cglib/",
    b"ognl/",
    b"okhttp3/",
    b"okio/",
    b"oracle/",
    b"org/antlr/",
    b"org/apache/",
    b"org/aspectj/",
    b"org/attoparser/",
    b"org/bouncycastle/",
    b"org/codehaus/groovy/",
    b"org/eclipse/jetty/",
    b"org/elasticsearch/",
    b"org/flywaydb/",
    b"org/glassfish/",
    b"org/h2/",
    b"org/hibernate/",
    b"org/hsqldb/",
    b"org/jboss/",
    b"org/jooq/",
    b"org/mariadb/",
    b"org/mybatis/",
    b"org/objectweb/asm/",
    b"org/postgresql/",
    b"org/quartz/",
    b"org/slf4j/",
    b"org/springframework/",
    b"org/thymeleaf/",
    b"org/unbescape/",
    b"org/yaml/snakeyaml/",
    b"reactor/",
    b"redis/clients/",
    b"scala/",
];

/// Below a package of the list above, and yet programs.
const PROGRAMS: &[&[u8]] = &[b"org/springframework/samples/"];

/// Whether the class with this internal name belongs to one of them.
pub(super) fn contains(class: &[u8]) -> bool {
    let after = LIBRARIES.partition_point(|library| *library <= class);
    let library = after.checked_sub(1).and_then(|at| LIBRARIES.get(at));
    library.is_some_and(|library| class.starts_with(library))
        && !PROGRAMS.iter().any(|program| class.starts_with(program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_nothing_in_it_begins_something_else() {
        for pair in LIBRARIES.windows(2) {
            assert!(pair[0] < pair[1] && !pair[1].starts_with(pair[0]), "{pair:?}");
        }
    }

    #[test]
    fn classes_below_a_library_are_found_and_no_others() {
        for library in LIBRARIES.iter().filter(|library| **library != b"org/springframework/") {
            assert!(contains(&[library, b"x/Y".as_slice()].concat()) && contains(&[library, b"A".as_slice()].concat()));
        }
        let found = [
            "org/springframework/boot/A",
            "org/springframework/samples/petclinic/A",
            "org/apacheX/A",
            "a/A",
            "zz/A",
            "",
        ];
        assert_eq!(found.map(|name| contains(name.as_bytes())), [true, false, false, false, false, false]);
    }
}
