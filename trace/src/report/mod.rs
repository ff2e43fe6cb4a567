//! Shows an [`Analysis`](crate::Analysis): as text for a terminal, as one HTML page, as JSON.

mod advice;
mod data;
mod group_data;
mod html;
mod terminal;
mod time_line;
mod units;

pub use data::json;
pub use html::{html, html_with_time_line};
pub use terminal::{TerminalOptions, View, allocated, comparison, method, moved, terminal, view};
pub use units::{bytes, count, date, duration};
