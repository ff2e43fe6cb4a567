//! Spans of requests, statements and transfers by OpenTelemetry's semantic conventions ([`trace::conventions`]), from what templates note.

use records::{RequestFields, SentRequestFields, StatementFields};
use trace::conventions::{
    Attribute, AttributeValue, ExecutedStatement, OTHER_DATABASE, RequestNames, SpanSemantics, argument_attributes,
    database_of_class,
};

use super::messages::KeyValue;
use super::resource::{attribute, whole_number};
use crate::spans::{SpanDetail, SpanNode};

/// Returns what the template has noted of the call. `function_of` returns class and method of a probe.
pub(super) fn semantics(
    node: &SpanNode,
    function_of: impl Fn(u32) -> Option<String>,
    names: &mut RequestNames,
) -> SpanSemantics {
    let Some(SpanDetail { kind, text, number }) = &node.detail else { return SpanSemantics::default() };
    match kind {
        b'J' => {
            let driver = function_of(if *number == 0 { node.probe } else { *number });
            // The convention requires the attribute, with this value where the database is not known.
            let database = driver.as_deref().and_then(database_of_class).unwrap_or(OTHER_DATABASE);
            let StatementFields { error, text } = StatementFields::of(text);
            SpanSemantics::of_statement(&ExecutedStatement { text, database, error })
        }
        b'H' => SpanSemantics::of_request(&RequestFields::of(text, *number).request, names),
        b'C' => SpanSemantics::of_sent_request(&SentRequestFields::of(text, *number).request),
        b'S' => SpanSemantics::of_transfer(text, u64::from(*number)),
        b'A' => SpanSemantics { attributes: argument_attributes(text).collect(), ..SpanSemantics::default() },
        _ => SpanSemantics::default(),
    }
}

/// Returns the attribute as a message.
pub(super) fn message((name, value): Attribute) -> KeyValue {
    match value {
        AttributeValue::Text(text) => attribute(&name, &text),
        AttributeValue::Number(number) => whole_number(&name, number),
    }
}

#[cfg(test)]
mod tests {
    use trace::conventions::SpanKind;

    use super::*;

    fn node(probe: u32, kind: u8, text: &str, number: u32) -> SpanNode {
        let detail = Some(SpanDetail { kind, text: text.to_owned(), number });
        SpanNode { probe, start: 1, end: 2, detail, children: Vec::new(), depth: 1 }
    }

    fn shown(node: &SpanNode, names: &mut RequestNames) -> (SpanKind, Option<String>, String, bool) {
        let functions =
            |probe: u32| Some(["?.?", "com.zaxxer.P.execute", "org.h2.jdbc.S.execute"][probe as usize].to_owned());
        let SpanSemantics { kind, name, attributes, is_error } = semantics(node, functions, names);
        let attributes = attributes.into_iter().map(message);
        let attributes: Vec<String> = attributes.map(|one| format!("{}={}", one.key, text_of(&one))).collect();
        (kind, name, attributes.join(" "), is_error)
    }

    fn text_of(one: &KeyValue) -> String {
        format!("{:?}", one.value).split('"').nth(1).map_or_else(|| format!("{:?}", one.value), str::to_owned)
    }

    #[test]
    fn a_request_is_a_server_span_named_by_method_and_route() {
        let names = &mut RequestNames::default();
        let request = node(1, b'H', "GET\0/members/17\0/members/{id}\0https\0", 200);
        let (kind, name, attributes, is_error) = shown(&request, names);
        assert_eq!((kind, name.as_deref(), is_error), (SpanKind::Server, Some("GET /members/{id}"), false));
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
        let names = &mut RequestNames::default();
        let pooled = node(1, b'J', "\0select * from members where id = 17", 2);
        let expected = "db.system.name=h2database db.query.text=select * from members where id = 17 db.operation.name=SELECT \
                        db.query.summary=SELECT members";
        assert_eq!(
            shown(&pooled, names),
            (SpanKind::Client, Some("SELECT members".to_owned()), expected.to_owned(), false)
        );
        let failed = node(1, b'J', "java.sql.SQLException\0find", 0);
        let expected = "db.system.name=other_sql db.query.text=find error.type=java.sql.SQLException";
        assert_eq!(shown(&failed, names), (SpanKind::Client, None, expected.to_owned(), true));
    }
}
