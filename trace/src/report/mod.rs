//! Shows an [`Analysis`](crate::Analysis): as text for a terminal, as one HTML page, as JSON.

mod advice;
mod data;
mod html;
mod terminal;
mod time_line;
mod units;

pub use data::json;
pub use html::{html, html_with_time_line};
pub use terminal::{TerminalOptions, allocated, comparison, method, moved, terminal};
pub use units::date;
