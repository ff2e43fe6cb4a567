//! Kind, name and attributes of spans of requests and statements, by OpenTelemetry's semantic conventions (stable names:
//! <https://opentelemetry.io/docs/specs/semconv/http/http-spans/>, <https://opentelemetry.io/docs/specs/semconv/database/database-spans/>).

use rustc_hash::FxHashSet;
use trace::conventions::{database_of_class, request_name, summary_of_statement};

use super::messages::KeyValue;
use super::resource::{attribute, whole_number};
use crate::metrics::spans::{SpanDetail, SpanNode};
use crate::recorder::{RequestFields, StatementFields};

/// `STATUS_CODE_ERROR`
pub(super) const FAILED: i32 = 2;

const INTERNAL: i32 = 1;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;

/// Different names of requests without a route; what comes later is named by its method alone. Receivers keep an index of names.
const MOST_NAMES: usize = 200;

/// What a span is beside its times and its function.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Semantics {
    /// `SPAN_KIND_...`
    pub(super) kind: i32,
    /// The name, if it is not that of the method.
    pub(super) name: Option<String>,
    /// Attributes.
    pub(super) attributes: Vec<KeyValue>,
    /// Whether what was asked for has failed.
    pub(super) is_error: bool,
}

/// Names that were given to requests without a route.
#[derive(Debug, Default)]
pub(super) struct Names(FxHashSet<String>);

impl Names {
    fn of_request(&mut self, request: &RequestFields<'_>) -> String {
        let RequestFields { http_method, route, path, .. } = *request;
        let name = request_name(http_method, route, path);
        if !route.is_empty() || self.0.contains(&name) {
            return name;
        }
        if self.0.len() >= MOST_NAMES {
            return http_method.to_owned();
        }
        self.0.insert(name.clone());
        name
    }
}

impl Semantics {
    /// What the template has noted of the call. `function_of` returns class and method of a probe.
    pub(super) fn of(node: &SpanNode, function_of: impl Fn(u32) -> Option<String>, names: &mut Names) -> Semantics {
        let Some(SpanDetail { kind, text, number }) = &node.detail else {
            return Semantics { kind: INTERNAL, ..Semantics::default() };
        };
        match kind {
            b'J' => {
                let driver = if *number == 0 { node.probe } else { *number };
                of_statement(StatementFields::of(text), function_of(driver))
            }
            b'H' => of_request(&RequestFields::of(text, *number), names),
            b'S' => {
                let attributes =
                    vec![attribute("network.peer.address", text), whole_number("instr.bytes", i64::from(*number))];
                Semantics { kind: CLIENT, attributes, ..Semantics::default() }
            }
            b'A' => {
                let values = trace::arguments::pairs(text);
                let attributes =
                    values.map(|(name, value)| attribute(&format!("instr.argument.{name}"), &value)).collect();
                Semantics { kind: INTERNAL, attributes, ..Semantics::default() }
            }
            _ => Semantics { kind: INTERNAL, ..Semantics::default() },
        }
    }
}

fn of_request(request: &RequestFields<'_>, names: &mut Names) -> Semantics {
    let RequestFields { http_method, path, route, scheme, error, status, .. } = *request;
    let code = status.to_string();
    let is_error = status >= 500 || !error.is_empty();
    let error_type = if error.is_empty() { code.as_str() } else { error };
    let texts = [
        ("http.request.method", http_method),
        ("url.path", path),
        ("url.scheme", scheme),
        ("http.route", route),
        ("error.type", if is_error { error_type } else { "" }),
    ];
    let mut attributes = stated(&texts);
    if status > 0 {
        attributes.push(whole_number("http.response.status_code", i64::from(status)));
    }
    let name = (!http_method.is_empty()).then(|| names.of_request(request));
    Semantics { kind: SERVER, name, attributes, is_error }
}

fn of_statement(StatementFields { error, text }: StatementFields<'_>, driver: Option<String>) -> Semantics {
    let database = driver.as_deref().and_then(database_of_class);
    let summary = summary_of_statement(text);
    let name = summary.as_ref().map(|summary| summary.text());
    let texts = [
        // Required by the convention, with this value where it is not known.
        ("db.system.name", database.unwrap_or("other_sql")),
        ("db.query.text", text),
        ("db.operation.name", summary.as_ref().map_or("", |summary| summary.operation)),
        ("db.query.summary", name.as_deref().unwrap_or_default()),
        ("error.type", error),
    ];
    let attributes = stated(&texts);
    let name = name.or_else(|| database.map(str::to_owned));
    Semantics { kind: CLIENT, name, attributes, is_error: !error.is_empty() }
}

/// Attributes that are known.
fn stated(texts: &[(&str, &str)]) -> Vec<KeyValue> {
    texts.iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| attribute(key, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(probe: u32, kind: u8, text: &str, number: u32) -> SpanNode {
        let detail = Some(SpanDetail { kind, text: text.to_owned(), number });
        SpanNode { probe, start: 1, end: 2, detail, children: Vec::new(), depth: 1 }
    }

    fn shown(node: &SpanNode, names: &mut Names) -> (i32, Option<String>, String, bool) {
        let functions =
            |probe: u32| Some(["?.?", "com.zaxxer.P.execute", "org.h2.jdbc.S.execute"][probe as usize].to_owned());
        let Semantics { kind, name, attributes, is_error } = Semantics::of(node, functions, names);
        let attributes: Vec<String> = attributes.iter().map(|one| format!("{}={}", one.key, text_of(one))).collect();
        (kind, name, attributes.join(" "), is_error)
    }

    fn text_of(one: &KeyValue) -> String {
        format!("{:?}", one.value).split('"').nth(1).map_or_else(|| format!("{:?}", one.value), str::to_owned)
    }

    #[test]
    fn a_request_is_a_server_span_named_by_method_and_route() {
        let names = &mut Names::default();
        let request = node(1, b'H', "GET\0/members/17\0/members/{id}\0https\0", 200);
        let (kind, name, attributes, is_error) = shown(&request, names);
        assert_eq!((kind, name.as_deref(), is_error), (SERVER, Some("GET /members/{id}"), false));
        let first = "http.request.method=GET url.path=/members/17 url.scheme=https http.route=/members/{id} http.response.status_code=";
        assert!(attributes.starts_with(first) && !attributes.contains("error.type"), "{attributes}");
        let failed = node(1, b'H', "GET\0/members/17\0\0http\0java.io.IOException", 500);
        let (_, name, attributes, is_error) = shown(&failed, names);
        assert_eq!((name.as_deref(), is_error), (Some("GET /members/{n}"), true));
        assert!(
            attributes.contains("error.type=java.io.IOException") && !attributes.contains("http.route"),
            "{attributes}"
        );
        let (_, _, attributes, is_error) = shown(&node(1, b'H', "GET\0/x\0\0http\0", 503), names);
        assert!(is_error && attributes.contains("error.type=503"), "{attributes}");
        assert!(!shown(&node(1, b'H', "GET\0/x\0\0http\0", 404), names).3, "the caller's error is not the server's");
    }

    #[test]
    fn a_statement_is_a_client_span_of_the_drivers_database() {
        let names = &mut Names::default();
        let pooled = node(1, b'J', "\0select * from members where id = 17", 2);
        let expected = "db.system.name=h2database db.query.text=select * from members where id = 17 db.operation.name=SELECT \
                        db.query.summary=SELECT members";
        assert_eq!(shown(&pooled, names), (CLIENT, Some("SELECT members".to_owned()), expected.to_owned(), false));
        let failed = node(1, b'J', "java.sql.SQLException\0find", 0);
        let expected = "db.system.name=other_sql db.query.text=find error.type=java.sql.SQLException";
        assert_eq!(shown(&failed, names), (CLIENT, None, expected.to_owned(), true));
    }

    #[test]
    fn requests_without_a_route_have_a_bounded_number_of_names() {
        let mut names = Names::default();
        let mut seen = FxHashSet::default();
        for number in 0..1_000 {
            seen.extend(shown(&node(1, b'H', &format!("GET\0/p{number}x\0\0http\0"), 200), &mut names).1);
        }
        assert_eq!(seen.len(), MOST_NAMES + 1);
        assert!(seen.contains("GET"));
    }
}
