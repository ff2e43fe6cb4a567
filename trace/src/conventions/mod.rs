//! OpenTelemetry's semantic conventions: spans of requests and statements, and the names of few values that they ask for (routes, operations,
//! databases).

mod database;
mod route;
mod span;
mod statement;
mod statement_text;

pub use database::{OTHER_DATABASE, database_of_class};
pub use route::{folded_path, request_name};
pub use span::{
    AnsweredRequest, Attribute, AttributeValue, ExecutedStatement, RequestNames, STATUS_ERROR, SentRequest, SpanKind,
    SpanSemantics, argument_attributes,
};
pub use statement::{StatementSummary, summary_of_statement};
pub use statement_text::statement_without_values;
