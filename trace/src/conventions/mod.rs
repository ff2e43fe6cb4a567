//! Names of few values for requests and statements, as OpenTelemetry's semantic conventions ask for: routes, operations, databases.

mod database;
mod route;
mod statement;

pub use database::database_of_class;
pub use route::{folded_path, request_name};
pub use statement::{StatementSummary, summary_of_statement};
