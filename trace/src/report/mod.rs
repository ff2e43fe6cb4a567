//! Shows an [`Analysis`](crate::Analysis): as text for a terminal, as one HTML page, as JSON.

mod advice;
mod data;
mod html;
mod terminal;
mod units;

pub use data::json;
pub use html::html;
pub use terminal::{TerminalOptions, comparison, method, terminal};
