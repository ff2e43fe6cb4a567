//! The presets that come with the agent, against the methods of the APIs they are for.

use super::{Catalog, Types, decide};
use crate::rules::config::RuleFile;
use crate::rules::selection::RuleSet;
use crate::rules::selection::class_builder::{CALLS, ClassBuilder};

const PRESETS: &[(&str, &str)] = &[
    ("jdbc", include_str!("../../../../../templates/src/main/presets/jdbc.toml")),
    ("postgresql", include_str!("../../../../../templates/src/main/presets/postgresql.toml")),
    ("http-server", include_str!("../../../../../templates/src/main/presets/http-server.toml")),
    ("http-client", include_str!("../../../../../templates/src/main/presets/http-client.toml")),
    ("spring-mvc", include_str!("../../../../../templates/src/main/presets/spring-mvc.toml")),
    ("socket", include_str!("../../../../../templates/src/main/presets/socket.toml")),
    ("servlet", include_str!("../../../../../templates/src/main/presets/servlet.toml")),
    ("jsp", include_str!("../../../../../templates/src/main/presets/jsp.toml")),
    ("logging", include_str!("../../../../../templates/src/main/presets/logging.toml")),
    ("ejb", include_str!("../../../../../templates/src/main/presets/ejb.toml")),
    ("api", include_str!("../../../../../templates/src/main/presets/api.toml")),
    ("async", include_str!("../../../../../templates/src/main/presets/async.toml")),
];

const BUILT_IN: Catalog = Catalog(&[
    "timed",
    "jdbc",
    "jdbc-prepare",
    "jdbc-prepared",
    "http-server-jakarta",
    "http-server-javax",
    "http-server-jersey",
    "http-status-jersey",
    "http-client-net",
    "http-client-url",
    "traceparent-net",
    "traceparent-url",
    "socket",
    "socket-write",
]);

fn preset(name: &str) -> RuleSet {
    let (config, _) = RuleFile::parse(&format!("[[rule]]\npreset = '{name}'"), "test.toml").unwrap();
    RuleSet::compile(config.tables(), &BUILT_IN, PRESETS).unwrap_or_else(|problems| panic!("{}", problems[0]))
}

/// For each method the template or the reason why not.
fn templates(rules: &RuleSet, class: ClassBuilder, types: &Types) -> Vec<String> {
    let decided = decide(rules, &class.build(), types).into_iter().map(|line| {
        let (method, rule) = line.split_once(' ').unwrap();
        let named = rule.parse::<usize>().map(|rule| rules.rules()[rule].template_names().join("+"));
        format!("{method} {}", named.unwrap_or_else(|_| rule.to_owned()))
    });
    decided.collect()
}

#[test]
fn presets_have_no_warnings() {
    for (name, text) in PRESETS {
        let (_, warnings) = RuleFile::parse(text, name).unwrap();
        assert_eq!(warnings, [], "{name}");
    }
}

#[test]
fn statements_requests_and_transfers_count_at_the_outermost_call_unless_the_user_says_otherwise() {
    let counting_once = |rules: RuleSet| -> Vec<String> {
        let counting = rules.rules().iter().filter(|rule| rule.counts_outermost());
        counting.map(|rule| rule.name().to_owned()).collect()
    };
    assert_eq!(counting_once(preset("jdbc")), ["jdbc/prepared-statement", "jdbc/statement", "jdbc/batch"]);
    // The rule for the status of Jersey's answers records no calls.
    assert_eq!(
        counting_once(preset("http-server")),
        ["http-server/jakarta", "http-server/javax", "http-server/jersey"]
    );
    assert_eq!(counting_once(preset("socket")).len(), preset("socket").rules().len());
    let text = "[[rule]]\npreset = 'jdbc'\noutermost = false\n[[rule]]\nclass = 'p.D'\ntemplate = 'jdbc'";
    let (config, _) = RuleFile::parse(text, "test.toml").unwrap();
    assert_eq!(counting_once(RuleSet::compile(config.tables(), &BUILT_IN, PRESETS).unwrap()), [""; 0]);
}

#[test]
fn requests_carry_the_trace_only_where_the_user_says_so() {
    let names = |text: &str| -> Result<Vec<String>, String> {
        let (config, _) = RuleFile::parse(text, "test.toml").unwrap();
        let rules =
            RuleSet::compile(config.tables(), &BUILT_IN, PRESETS).map_err(|problems| problems[0].to_string())?;
        Ok(rules.rules().iter().map(|rule| rule.name().replacen("http-client/", "", 1)).collect())
    };
    assert_eq!(names("[[rule]]\npreset = 'http-client'").unwrap(), ["http-client", "url-connection"]);
    let all = ["http-client", "http-client-traceparent", "url-connection", "url-connection-traceparent"];
    assert_eq!(names("[[rule]]\npreset = 'http-client'\npropagate = true").unwrap(), all);
    let jdbc = names("[[rule]]\npreset = 'jdbc'\npropagate = true").unwrap_err();
    assert!(jdbc.contains("test.toml:3:13") && jdbc.contains("the preset `jdbc` sends no requests"), "{jdbc}");
    let plain = names("[[rule]]\nclass = 'a.A'\npropagate = true").unwrap_err();
    assert!(plain.contains("`propagate` can be given beside `preset` only"), "{plain}");
}

#[test]
fn jdbc_takes_drivers_three_levels_below_the_interface() {
    let types = Types::new(&[
        "d/Base: java/lang/Object, java/sql/PreparedStatement",
        "d/Middle: d/Base",
        "d/Plain: java/lang/Object, java/sql/Statement",
        "java/sql/PreparedStatement: java/lang/Object, java/sql/Statement",
        "java/sql/Statement: java/lang/Object, java/lang/AutoCloseable",
        "java/sql/Connection: java/lang/Object",
        "java/lang/AutoCloseable: java/lang/Object",
    ]);
    let statement = |supertype: &str| {
        ClassBuilder::new("d/Driver", supertype)
            .method("execute", "()Z", CALLS)
            .method("executeBatch", "()[I", CALLS)
            .method("execute", "(Ljava/lang/String;)Z", CALLS)
            .method("executeUpdate", "(Ljava/lang/String;[I)I", CALLS)
            .method("setInt", "(II)V", CALLS)
    };
    let rules = preset("jdbc");
    assert_eq!(
        templates(&rules, statement("d/Middle"), &types),
        ["execute jdbc-prepared", "executeBatch jdbc-prepared", "execute jdbc", "executeUpdate jdbc", "setInt no-rule"]
    );
    assert_eq!(
        templates(&rules, statement("d/Plain"), &types),
        ["execute no-rule", "executeBatch jdbc-prepared", "execute jdbc", "executeUpdate jdbc", "setInt no-rule"]
    );
    let connection = ClassBuilder::new("d/Connection", "java/lang/Object")
        .interface("java/sql/Connection")
        .method("prepareStatement", "(Ljava/lang/String;I)Ljava/sql/PreparedStatement;", CALLS)
        .method("close", "()V", CALLS);
    assert_eq!(templates(&rules, connection, &types), ["prepareStatement jdbc-prepare", "close no-rule"]);
}

#[test]
fn postgresql_takes_the_driver_of_postgresql_only() {
    let types = |class: &str| {
        Types::new(&[
            &format!("{class}: java/lang/Object, java/sql/PreparedStatement"),
            "java/sql/PreparedStatement: java/lang/Object, java/sql/Statement",
            "java/sql/Statement: java/lang/Object",
        ])
    };
    let statement = |class: &str| {
        ClassBuilder::new(class, "java/lang/Object")
            .interface("java/sql/PreparedStatement")
            .method("execute", "()Z", CALLS)
            .method("executeWithFlags", "(I)Z", CALLS)
    };
    let rules = preset("postgresql");
    let (driver, pool) = ("org/postgresql/jdbc/PgPreparedStatement", "com/zaxxer/hikari/pool/HikariProxyStatement");
    assert_eq!(
        templates(&rules, statement(driver), &types(driver)),
        ["execute jdbc-prepared", "executeWithFlags no-rule"]
    );
    assert_eq!(templates(&rules, statement(pool), &types(pool)), ["execute no-rule", "executeWithFlags no-rule"]);
    let copies = ClassBuilder::new("org/postgresql/copy/CopyManager", "java/lang/Object")
        .method("copyIn", "(Ljava/lang/String;Ljava/io/Reader;)J", CALLS)
        .method("copyOut", "(Ljava/lang/String;Ljava/io/Writer;)J", CALLS);
    assert_eq!(templates(&rules, copies, &Types::default()), ["copyIn jdbc", "copyOut jdbc"]);
}

#[test]
fn http_server_takes_the_entry_of_both_servlet_apis() {
    for api in ["jakarta", "javax"] {
        let class = ClassBuilder::new(&format!("{api}/servlet/http/HttpServlet"), "java/lang/Object")
            .method("service", &format!("(L{api}/servlet/ServletRequest;L{api}/servlet/ServletResponse;)V"), CALLS)
            .method(
                "service",
                &format!("(L{api}/servlet/http/HttpServletRequest;L{api}/servlet/http/HttpServletResponse;)V"),
                CALLS,
            );
        let expected = [format!("service http-server-{api}"), "service no-rule".to_owned()];
        assert_eq!(templates(&preset("http-server"), class, &Types::default()), expected);
    }
}

#[test]
fn jsp_takes_the_service_method_of_compiled_pages() {
    for api in ["jakarta", "javax"] {
        let types = Types::new(&[
            &format!(
                "org/apache/jasper/runtime/HttpJspBase: {api}/servlet/http/HttpServlet, {api}/servlet/jsp/HttpJspPage"
            ),
            &format!("{api}/servlet/jsp/HttpJspPage: java/lang/Object, {api}/servlet/jsp/JspPage"),
            &format!("{api}/servlet/jsp/JspPage: java/lang/Object"),
            &format!("{api}/servlet/http/HttpServlet: java/lang/Object"),
        ]);
        let request = format!("(L{api}/servlet/http/HttpServletRequest;L{api}/servlet/http/HttpServletResponse;)V");
        let page = |supertype: &str| {
            ClassBuilder::new("org/apache/jsp/index_jsp", supertype)
                .method("_jspService", &request, CALLS)
                .method("_jspInit", "()V", CALLS)
        };
        let taken = templates(&preset("jsp"), page("org/apache/jasper/runtime/HttpJspBase"), &types);
        assert_eq!(taken, ["_jspService timed", "_jspInit no-rule"], "{api}");
        let other = templates(&preset("jsp"), page("java/lang/Object"), &types);
        assert_eq!(other, ["_jspService no-rule", "_jspInit no-rule"], "not a page");
    }
}

#[test]
fn servlet_takes_the_applications_handlers_and_filters() {
    for api in ["jakarta", "javax"] {
        let servlet = format!("{api}/servlet/http/HttpServlet");
        let types = Types::new(&[&format!("{servlet}: java/lang/Object"), "app/Base: java/lang/Object"]);
        let http = format!("(L{api}/servlet/http/HttpServletRequest;L{api}/servlet/http/HttpServletResponse;)V");
        let class = ClassBuilder::new("app/Orders", &servlet)
            .method("doGet", &http, CALLS)
            .method("service", &http, CALLS)
            .method("service", &format!("(L{api}/servlet/ServletRequest;L{api}/servlet/ServletResponse;)V"), CALLS)
            .method("doSomething", "()V", CALLS);
        let expected = ["doGet timed", "service timed", "service no-rule", "doSomething no-rule"];
        assert_eq!(templates(&preset("servlet"), class, &types), expected);
        let types = Types::new(&[&format!("{api}/servlet/Filter: java/lang/Object")]);
        let filter =
            ClassBuilder::new("app/Audit", "java/lang/Object").interface(&format!("{api}/servlet/Filter")).method(
                "doFilter",
                &format!("(L{api}/servlet/ServletRequest;L{api}/servlet/ServletResponse;L{api}/servlet/FilterChain;)V"),
                CALLS,
            );
        assert_eq!(templates(&preset("servlet"), filter, &types), ["doFilter timed"]);
    }
}

#[test]
fn ejb_takes_beans_by_annotation_and_by_interface() {
    let rules = preset("ejb");
    for api in ["jakarta", "javax"] {
        for kind in ["Stateless", "Stateful", "Singleton", "MessageDriven"] {
            let bean = ClassBuilder::new("app/Bean", "java/lang/Object").annotated(&format!("{api}/ejb/{kind}"));
            let bean = bean.method("buy", "(I)V", CALLS);
            assert_eq!(templates(&rules, bean, &Types::default()), ["buy timed"], "{api} {kind}");
        }
        let types = Types::new(&[
            &format!("{api}/ejb/SessionBean: java/lang/Object, {api}/ejb/EnterpriseBean"),
            &format!("{api}/ejb/EnterpriseBean: java/lang/Object, java/io/Serializable"),
            "java/io/Serializable: java/lang/Object",
        ]);
        let old = ClassBuilder::new("app/Old", "java/lang/Object").interface(&format!("{api}/ejb/SessionBean"));
        assert_eq!(templates(&rules, old.method("buy", "(I)V", CALLS), &types), ["buy timed"], "{api}");
    }
    let other =
        ClassBuilder::new("app/Other", "java/lang/Object").annotated("app/Stateless").method("buy", "()V", CALLS);
    assert_eq!(templates(&rules, other, &Types::default()), ["buy no-rule"]);
}

#[test]
fn socket_takes_transfers_of_the_jdk() {
    let rules = preset("socket");
    assert!(rules.may_match_jdk());
    let nio = ClassBuilder::new("sun/nio/ch/NioSocketImpl", "java/lang/Object")
        .method("read", "([BII)I", CALLS)
        .method("write", "([BII)V", CALLS)
        .method("implRead", "([BII)I", CALLS);
    assert_eq!(templates(&rules, nio, &Types::default()), ["read socket", "write socket-write", "implRead no-rule"]);
    let channel = ClassBuilder::new("sun/nio/ch/SocketChannelImpl", "java/lang/Object")
        .method("read", "(Ljava/nio/ByteBuffer;)I", CALLS)
        .method("write", "(Ljava/nio/ByteBuffer;)I", CALLS)
        .method("read", "([Ljava/nio/ByteBuffer;II)J", CALLS);
    assert_eq!(templates(&rules, channel, &Types::default()), ["read socket", "write socket", "read no-rule"]);
    let old = ClassBuilder::new("java/net/SocketInputStream", "java/lang/Object").method("read", "([BIII)I", CALLS);
    assert_eq!(templates(&rules, old, &Types::default()), ["read socket"]);
}

#[test]
fn logging_takes_each_record_once() {
    let rules = preset("logging");
    assert!(rules.may_match_jdk());
    let jdk = ClassBuilder::new("java/util/logging/Logger", "java/lang/Object")
        .method("log", "(Ljava/util/logging/LogRecord;)V", CALLS)
        .method("log", "(Ljava/util/logging/Level;Ljava/lang/String;)V", CALLS)
        .method("info", "(Ljava/lang/String;)V", CALLS);
    assert_eq!(templates(&rules, jdk, &Types::default()), ["log timed", "log no-rule", "info no-rule"]);
    let logback = ClassBuilder::new("ch/qos/logback/classic/Logger", "java/lang/Object")
        .method("callAppenders", "(Lch/qos/logback/classic/spi/ILoggingEvent;)V", CALLS)
        .method("info", "(Ljava/lang/String;)V", CALLS);
    assert_eq!(templates(&rules, logback, &Types::default()), ["callAppenders timed", "info no-rule"]);
}
