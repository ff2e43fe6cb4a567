//! Shows an [`Analysis`](crate::Analysis): as text for a terminal, as one HTML page, as JSON.

mod advice;
mod data;
mod diagnosis_data;
mod diff_data;
mod group_data;
mod html;
mod terminal;
mod time_line;
mod transaction_data;
mod units;

pub use data::json;
pub use diagnosis_data::{DiagnosisJson, diagnosis_json};
pub use html::{diff_html, html, html_with_time_line};
pub use terminal::{
    DiagnosisOptions, TerminalOptions, View, allocated, class_and_method, comparison, diagnosis, method, moved,
    terminal, transactions, view, walk_end, walk_hot_spots, walk_level,
};
pub use transaction_data::transactions_json;
pub use units::{bytes, count, counted, date, duration, margin};
