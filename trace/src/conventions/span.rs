//! Kind, name, attributes and status of spans of requests, statements and transfers, by OpenTelemetry's semantic conventions (stable names:
//! <https://opentelemetry.io/docs/specs/semconv/http/http-spans/>, <https://opentelemetry.io/docs/specs/semconv/database/database-spans/>).
//! Both the agent's spans and those of an exported recording are described here. What is not known is left out.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::{OTHER_DATABASE, request_name, summary_of_statement};

/// Different names of requests without a route; later ones are named by their HTTP method alone. Receivers keep an index of names.
const MOST_NAMES: usize = 200;

/// `SPAN_KIND_...` of OTLP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpanKind {
    /// A call within the application.
    #[default]
    Internal = 1,
    /// A request that the application answers.
    Server = 2,
    /// A request to another process.
    Client = 3,
}

impl SpanKind {
    /// Returns OTLP's number of the kind.
    #[must_use]
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// `STATUS_CODE_ERROR` of OTLP.
pub const STATUS_ERROR: i32 = 2;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
}

/// The name of an attribute and its value.
pub type Attribute = (Cow<'static, str>, AttributeValue);

/// What a span has beside its times, its method and its thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpanSemantics {
    /// Kind.
    pub kind: SpanKind,
    /// The name, if it is not that of the method.
    pub name: Option<String>,
    /// Attributes.
    pub attributes: Vec<Attribute>,
    /// Whether the request or statement has failed.
    pub is_error: bool,
}

/// An HTTP request that was answered; a text that is not known is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnsweredRequest<'a> {
    /// GET, POST, ...
    pub http_method: &'a str,
    /// Path of the URL.
    pub path: &'a str,
    /// The pattern by which the framework knows the path, `/members/{id}`.
    pub route: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Class of the exception with which the request ended.
    pub error: &'a str,
    /// Status of the answer; 0 if it is not known.
    pub status: u32,
}

/// An HTTP request that was sent; a text that is not known is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentRequest<'a> {
    /// GET, POST, ...
    pub http_method: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The host.
    pub host: &'a str,
    /// Path of the URL.
    pub path: &'a str,
    /// Class of the exception with which the request ended.
    pub error: &'a str,
    /// The port; 0 for that of the scheme.
    pub port: u32,
    /// Status of the answer; 0 if it is not known.
    pub status: u32,
}

/// A statement that was executed; what is not known is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExecutedStatement<'a> {
    /// Its text.
    pub text: &'a str,
    /// OpenTelemetry's name of the database.
    pub database: &'a str,
    /// Class of the exception with which it ended.
    pub error: &'a str,
}

/// Names that were given to requests without a route.
#[derive(Debug, Default)]
pub struct RequestNames(FxHashSet<String>);

impl RequestNames {
    fn of(&mut self, request: &AnsweredRequest<'_>) -> String {
        let AnsweredRequest { http_method, route, path, .. } = *request;
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

impl SpanSemantics {
    /// Returns a `SERVER` span, `GET /members/{id}`.
    pub fn of_request(request: &AnsweredRequest<'_>, names: &mut RequestNames) -> SpanSemantics {
        let AnsweredRequest { http_method, path, route, scheme, error, status } = *request;
        let code = status.to_string();
        let is_error = status >= 500 || !error.is_empty();
        let error_type = if error.is_empty() { code.as_str() } else { error };
        let mut attributes = known(&[
            ("http.request.method", http_method),
            ("url.path", path),
            ("url.scheme", scheme),
            ("http.route", route),
            ("error.type", if is_error { error_type } else { "" }),
        ]);
        if status > 0 {
            attributes.push(("http.response.status_code".into(), AttributeValue::Number(i64::from(status))));
        }
        let name = (!http_method.is_empty()).then(|| names.of(request));
        SpanSemantics { kind: SpanKind::Server, name, attributes, is_error }
    }

    /// Returns a `CLIENT` span, `GET`.
    #[must_use]
    pub fn of_sent_request(request: &SentRequest<'_>) -> SpanSemantics {
        let SentRequest { http_method, scheme, host, path, error, port, status } = *request;
        let code = status.to_string();
        // Other than for a server, what the client did wrong is an error of its request.
        let is_error = status >= 400 || !error.is_empty();
        let error_type = if error.is_empty() { code.as_str() } else { error };
        let stated_port = if port == 0 { String::new() } else { format!(":{port}") };
        let url = if host.is_empty() { String::new() } else { format!("{scheme}://{host}{stated_port}{path}") };
        let mut attributes = known(&[
            ("http.request.method", http_method),
            ("server.address", host),
            ("url.full", &url),
            ("error.type", if is_error { error_type } else { "" }),
        ]);
        let port = match (port, scheme) {
            (0, "http") => 80,
            (0, "https") => 443,
            (port, _) => i64::from(port),
        };
        let numbers = [("server.port", port), ("http.response.status_code", i64::from(status))];
        let numbers = numbers.into_iter().filter(|(_, number)| *number > 0);
        attributes.extend(numbers.map(|(key, number)| (key.into(), AttributeValue::Number(number))));
        let name = (!http_method.is_empty()).then(|| http_method.to_owned());
        SpanSemantics { kind: SpanKind::Client, name, attributes, is_error }
    }

    /// Returns a `CLIENT` span, `SELECT members`.
    #[must_use]
    pub fn of_statement(statement: &ExecutedStatement<'_>) -> SpanSemantics {
        let ExecutedStatement { text, database, error } = *statement;
        let summary = summary_of_statement(text);
        let name = summary.as_ref().map(|summary| summary.text());
        let attributes = known(&[
            ("db.system.name", database),
            ("db.query.text", text),
            ("db.operation.name", summary.as_ref().map_or("", |summary| summary.operation)),
            ("db.query.summary", name.as_deref().unwrap_or_default()),
            ("error.type", error),
        ]);
        let is_named = !database.is_empty() && database != OTHER_DATABASE;
        let name = name.or_else(|| is_named.then(|| database.to_owned()));
        SpanSemantics { kind: SpanKind::Client, name, attributes, is_error: !error.is_empty() }
    }

    /// Returns a `CLIENT` span of bytes that were read from a peer or written to it.
    #[must_use]
    pub fn of_transfer(peer: &str, bytes: u64) -> SpanSemantics {
        let mut attributes = known(&[("network.peer.address", peer)]);
        attributes.push(("instr.bytes".into(), AttributeValue::Number(i64::try_from(bytes).unwrap_or(i64::MAX))));
        SpanSemantics { kind: SpanKind::Client, attributes, ..SpanSemantics::default() }
    }
}

/// Returns an attribute for each value that was recorded with a call, see [`crate::arguments`].
pub fn argument_attributes(arguments: &str) -> impl Iterator<Item = Attribute> {
    let values = crate::arguments::pairs(arguments);
    values.map(|(name, value)| (format!("instr.argument.{name}").into(), AttributeValue::Text(value)))
}

/// Attributes whose values are known.
fn known(texts: &[(&'static str, &str)]) -> Vec<Attribute> {
    let known = texts.iter().filter(|(_, value)| !value.is_empty());
    known.map(|(key, value)| (Cow::Borrowed(*key), AttributeValue::Text((*value).to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(semantics: &SpanSemantics) -> String {
        let attributes = semantics.attributes.iter().map(|(key, value)| match value {
            AttributeValue::Text(text) => format!("{key}={text}"),
            AttributeValue::Number(number) => format!("{key}={number}"),
        });
        attributes.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_server_errors_and_exceptions_fail_a_request() {
        let names = &mut RequestNames::default();
        let asked = AnsweredRequest { http_method: "GET", path: "/members/17", ..AnsweredRequest::default() };
        let mut of = |status, error| SpanSemantics::of_request(&AnsweredRequest { status, error, ..asked }, names);
        let unavailable = of(503, "");
        let expected =
            "http.request.method=GET url.path=/members/17 error.type=503 http.response.status_code=503".to_owned();
        assert_eq!((shown(&unavailable), unavailable.is_error), (expected, true));
        assert_eq!(unavailable.name.as_deref(), Some("GET /members/{n}"));
        let missing = of(404, "");
        assert!(!missing.is_error && !shown(&missing).contains("error.type"), "the caller's error is not the server's");
        assert!(shown(&of(200, "java.io.IOException")).contains("error.type=java.io.IOException"));
    }

    #[test]
    fn the_clients_own_error_fails_a_request_that_it_sends() {
        let sent = SentRequest { http_method: "GET", scheme: "http", host: "db", path: "/x", ..SentRequest::default() };
        let found = SpanSemantics::of_sent_request(&SentRequest { status: 200, port: 8080, ..sent });
        let expected = "http.request.method=GET server.address=db url.full=http://db:8080/x server.port=8080 http.response.status_code=200";
        assert_eq!((shown(&found), found.is_error, found.name.as_deref()), (expected.to_owned(), false, Some("GET")));
        let missing = SpanSemantics::of_sent_request(&SentRequest { status: 404, ..sent });
        let text = shown(&missing);
        assert!(missing.is_error && text.contains("error.type=404") && text.contains("server.port=80 "), "{text}");
        let refused = SpanSemantics::of_sent_request(&SentRequest { error: "java.net.ConnectException", ..sent });
        assert!(refused.is_error && !shown(&refused).contains("status_code"), "{}", shown(&refused));
    }

    #[test]
    fn a_statement_that_begins_with_no_known_word_is_named_by_its_database_if_that_is_known() {
        for (database, name) in [("h2database", Some("h2database")), (OTHER_DATABASE, None), ("", None)] {
            let statement = ExecutedStatement { text: "find", database, error: "" };
            assert_eq!(SpanSemantics::of_statement(&statement).name.as_deref(), name, "{database}");
        }
    }

    #[test]
    fn requests_without_a_route_have_a_bounded_number_of_names() {
        let mut names = RequestNames::default();
        let mut seen = FxHashSet::default();
        for number in 0..1_000 {
            let path = format!("/p{number}x");
            let request = AnsweredRequest { http_method: "GET", path: &path, ..AnsweredRequest::default() };
            seen.extend(SpanSemantics::of_request(&request, &mut names).name);
        }
        assert_eq!(seen.len(), MOST_NAMES + 1);
        assert!(seen.contains("GET"));
    }
}
