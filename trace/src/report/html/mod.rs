//! A report as one HTML page that needs nothing else: no network, no other file.

use super::data::page_json;
use crate::Analysis;
use crate::analysis::TimeLine;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPTS: [&str; 7] = [
    include_str!("model.js"),
    include_str!("flame.js"),
    include_str!("timeline.js"),
    include_str!("tables.js"),
    include_str!("groups.js"),
    include_str!("keys.js"),
    include_str!("page.js"),
];

/// The report as HTML. All names come from the recorded application and are not trusted: they stand in a JSON block
/// that cannot end its element, and the page's script only ever sets them as text.
#[must_use]
pub fn html(analysis: &Analysis) -> String {
    page(analysis, None)
}

/// The report as HTML, with a time line.
#[must_use]
pub fn html_with_time_line(analysis: &Analysis, time_line: &TimeLine) -> String {
    page(analysis, Some(time_line))
}

fn page(analysis: &Analysis, time_line: Option<&TimeLine>) -> String {
    let file = analysis.recording.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let parts = [
        ("TITLE", escape(&file.unwrap_or_default())),
        ("STYLE", STYLE.to_owned()),
        ("DATA", page_json(analysis, time_line).replace('<', "\\u003c")),
        ("SCRIPT", SCRIPTS.concat()),
    ];
    // The page is put together from its pieces, so that no inserted text is searched for further places.
    let mut page = String::with_capacity(PAGE.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    for piece in PAGE.split("@@") {
        match parts.iter().find(|(name, _)| *name == piece) {
            Some((_, text)) => page.push_str(text),
            None => page.push_str(piece),
        }
    }
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
