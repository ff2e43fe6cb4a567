//! Lines on a connection: a request with its id, an answer with the same one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Refusal, Request};

/// Length of the longest request in bytes, with the end of its line.
pub const LONGEST_REQUEST: usize = 1 << 20;
/// Ids are repeated in each line of an answer.
const LONGEST_ID: usize = 128;

/// What a client calls its request. The answer repeats it, and the connection stays open for further requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "an id is a whole number or a string")]
pub enum RequestId {
    /// A number.
    Number(u64),
    /// A text of at most 128 bytes.
    Text(String),
}

/// A line of a client: the id, if it has one that can be read, and what it asks.
#[derive(Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// Its id.
    pub id: Option<RequestId>,
    /// The request, or why the line is none.
    pub request: Result<Request, Refusal>,
}

/// What every request has.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    ask: Option<String>,
}

impl RequestLine {
    /// Reads a line.
    #[must_use]
    pub fn read(line: &[u8]) -> RequestLine {
        let malformed = |reason: &dyn fmt::Display| {
            Refusal::new(ErrorCode::Malformed, format!("not a request: {reason}"))
                .help("`instr schema --protocol` describes requests and answers")
        };
        // serde would read an array as an object without names.
        if !line.trim_ascii_start().starts_with(b"{") {
            let reason = "it is no JSON object, such as {\"ask\":\"status\"}";
            return RequestLine { id: None, request: Err(malformed(&reason)) };
        }
        let Head { id, ask } = match serde_json::from_slice(line) {
            Ok(head) => head,
            Err(error) => return RequestLine { id: None, request: Err(malformed(&error)) },
        };
        if matches!(&id, Some(RequestId::Text(text)) if text.len() > LONGEST_ID) {
            let refusal = Refusal::new(ErrorCode::Malformed, format!("an id has at most {LONGEST_ID} bytes"));
            return RequestLine { id: None, request: Err(refusal) };
        }
        if let Some(ask) = ask.filter(|ask| !Request::VERBS.contains(&ask.as_str())) {
            let ask: String = ask.chars().take(LONGEST_ID).collect();
            let refusal =
                Refusal::new(ErrorCode::UnknownRequest, format!("this agent does not know the request `{ask}`"))
                    .help(format!("it knows {}", Request::VERBS.join(", ")));
            return RequestLine { id, request: Err(refusal) };
        }
        RequestLine { id, request: serde_json::from_slice(line).map_err(|error| malformed(&error)) }
    }
}

/// Returns a line of the answer to the request with this id. Without an id the answer is the message alone.
pub fn answer_line<T: Serialize>(id: Option<&RequestId>, message: &T) -> String {
    #[derive(Serialize)]
    struct Line<'a, T> {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RequestId>,
        #[serde(flatten)]
        message: &'a T,
    }
    let line = serde_json::to_string(&Line { id, message });
    // No message of this crate can fail: all of their keys are strings.
    line.unwrap_or_else(|_| r#"{"error":"the answer cannot be written","code":"refused"}"#.to_owned()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Switched;

    #[test]
    fn a_request_may_have_an_id() {
        let read = |text: &str| RequestLine::read(text.as_bytes());
        let number = RequestId::Number(7);
        assert_eq!(
            read(r#"{"id":7,"ask":"stop"}"#),
            RequestLine { id: Some(number.clone()), request: Ok(Request::Stop) }
        );
        assert_eq!(read(r#"{"ask":"stop"}"#), RequestLine { id: None, request: Ok(Request::Stop) });
        assert_eq!(read(r#"{"ask":"stop","id":"a"}"#).id, Some(RequestId::Text("a".to_owned())));
        assert_eq!(answer_line(Some(&number), &Request::Stop), "{\"id\":7,\"ask\":\"stop\"}\n");
        let switched = Switched { changed: true, paused: Vec::new() };
        assert_eq!(answer_line(Some(&number), &switched), "{\"id\":7,\"changed\":true,\"paused\":[]}\n");
        assert_eq!(answer_line(None, &switched), "{\"changed\":true,\"paused\":[]}\n");
    }

    #[test]
    fn what_is_no_request_is_refused_with_code_and_reason() {
        let long = format!(r#"{{"ask":"stop","id":"{}"}}"#, "x".repeat(LONGEST_ID + 1));
        let cases = [
            ("", ErrorCode::Malformed, "no JSON object"),
            ("[\"stop\"]", ErrorCode::Malformed, "no JSON object"),
            ("{\"ask\":\"stop\"", ErrorCode::Malformed, "line 1 column 13"),
            (r#"{"id":1}"#, ErrorCode::Malformed, "missing field `ask`"),
            (r#"{"ask":"level","id":1,"methods":"a"}"#, ErrorCode::Malformed, "missing field `level`"),
            (r#"{"ask":"level","methods":"a","level":"loud"}"#, ErrorCode::Malformed, "a level is `off`"),
            (r#"{"ask":"stop","id":{}}"#, ErrorCode::Malformed, "an id is a whole number or a string"),
            (long.as_str(), ErrorCode::Malformed, "at most 128 bytes"),
            (r#"{"ask":"dance","id":1}"#, ErrorCode::UnknownRequest, "`dance`"),
        ];
        for (line, code, reason) in cases {
            let refusal = RequestLine::read(line.as_bytes()).request.unwrap_err();
            assert_eq!(refusal.code, code, "{line}");
            assert!(refusal.error.contains(reason), "{line}: {}", refusal.error);
        }
        for line in [r#"{"ask":"dance","id":1}"#, r#"{"id":1}"#] {
            assert_eq!(RequestLine::read(line.as_bytes()).id, Some(RequestId::Number(1)), "{line}");
        }
        assert_eq!(RequestLine::read(b"\xff\xfe").request.unwrap_err().code, ErrorCode::Malformed);
    }
}
