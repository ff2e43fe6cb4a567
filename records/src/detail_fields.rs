//! The texts of a detail taken apart: what `java.instr.Requests`, `SentRequests` and `Statements` write with NULs between them.

use trace::conventions::{AnsweredRequest, SentRequest};
use trace::recording::HttpRequest;

use crate::trace_context::TraceContext;

/// Added to the status if a getter of the request has thrown.
const INCOMPLETE: u32 = 1 << 16;

/// A request that was answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestFields<'a> {
    /// What is known of it.
    pub request: AnsweredRequest<'a>,
    /// Whether all getters have answered.
    pub is_complete: bool,
    /// The trace to which the request belongs and the span that sent it; `None` if it is within another request, or unknown.
    pub context: Option<TraceContext>,
}

impl<'a> RequestFields<'a> {
    /// Takes text and number of a detail of kind `H` apart.
    pub fn of(text: &'a str, number: u32) -> RequestFields<'a> {
        let mut fields = text.split('\0');
        let mut next = || fields.next().unwrap_or_default();
        let request = AnsweredRequest {
            http_method: next(),
            path: next(),
            route: next(),
            scheme: next(),
            error: next(),
            status: number & 0xffff,
        };
        RequestFields { request, is_complete: number & INCOMPLETE == 0, context: TraceContext::parse(next()) }
    }

    /// What the recording keeps of it.
    pub fn recorded(&self) -> HttpRequest<'a> {
        let AnsweredRequest { http_method, path, route, status, .. } = self.request;
        HttpRequest { http_method, path, route, status }
    }
}

/// A request that was sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentRequestFields<'a> {
    /// What is known of it.
    pub request: SentRequest<'a>,
    /// The trace to which it belongs, and its own span; `None` if the request does not carry them.
    pub context: Option<TraceContext>,
}

impl<'a> SentRequestFields<'a> {
    /// Takes text and number of a detail of kind `C` apart.
    pub fn of(text: &'a str, number: u32) -> SentRequestFields<'a> {
        let mut fields = text.split('\0');
        let mut next = || fields.next().unwrap_or_default();
        let request = SentRequest {
            http_method: next(),
            scheme: next(),
            host: next(),
            path: next(),
            error: next(),
            port: number >> 16,
            status: number & 0xffff,
        };
        SentRequestFields { request, context: TraceContext::parse(next()) }
    }
}

/// A statement that was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatementFields<'a> {
    /// Class of the exception with which it ended; empty if there was none.
    pub error: &'a str,
    /// Its text.
    pub text: &'a str,
}

impl<'a> StatementFields<'a> {
    /// Takes the text of a detail of kind `J` apart.
    pub fn of(text: &'a str) -> StatementFields<'a> {
        // Nobody forbids a NUL in the statement itself.
        let (error, text) = text.split_once('\0').unwrap_or_default();
        StatementFields { error, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_that_java_writes_and_absent_ones_are_empty() {
        let RequestFields { request, is_complete, .. } =
            RequestFields::of("GET\0/members/17\0/members/{id}\0https\0java.io.IOException", 500);
        assert_eq!((request.route, request.scheme, request.error), ("/members/{id}", "https", "java.io.IOException"));
        assert_eq!((request.status, is_complete), (500, true));
        let unread = RequestFields::of("\0\0\0\0", 500 | INCOMPLETE);
        assert_eq!((unread.request.path, unread.request.status, unread.is_complete), ("", 500, false));
        let sent = SentRequestFields::of(
            "GET\0http\0db\0/x\0\x0000-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            8080 << 16 | 404,
        );
        assert_eq!((sent.request.host, sent.request.port, sent.request.status), ("db", 8080, 404));
        assert_eq!(sent.context.map(|context| context.span), Some(0xb7ad_6b71_6920_3331));
        let java = include_str!("../../java-runtime/src/main/java/java/instr/Requests.java");
        assert!(java.contains("INCOMPLETE = 1 << 16;"));
        assert_eq!(StatementFields::of("\0select '\0'"), StatementFields { error: "", text: "select '\0'" });
        assert_eq!(StatementFields::of("x.Y\0select 1").error, "x.Y");
    }
}
