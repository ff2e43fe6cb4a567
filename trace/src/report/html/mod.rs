//! A report as one HTML page that needs nothing else: no network, no other file.

use super::data::page_json;
use super::diff_data::diff_json;
use crate::Analysis;
use crate::analysis::{Comparison, TimeLine};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
/// Scripts of both kinds of pages, in their order; those that only one kind has are inserted between them.
const FIRST_SCRIPTS: [&str; 4] =
    [include_str!("model.js"), include_str!("flame.js"), include_str!("timeline.js"), include_str!("tables.js")];
const REPORT_SCRIPTS: [&str; 4] =
    [include_str!("groups.js"), include_str!("diagnoses.js"), include_str!("walks.js"), include_str!("page.js")];
const DIFF_SCRIPTS: [&str; 1] = [include_str!("diff.js")];
const LAST_SCRIPTS: [&str; 2] = [include_str!("keys.js"), include_str!("tabs.js")];

/// The report as HTML. All names come from the recorded application and are not trusted: they are written into a JSON block
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

/// The recordings of two sides beside each other as HTML: a differential flame graph and a table of the methods.
#[must_use]
pub fn diff_html(before: &[Analysis], after: &[Analysis], comparison: &Comparison) -> String {
    let name = |side: &[Analysis]| match side {
        [first, others @ ..] if !others.is_empty() => format!("{} + {} more", file_name(first), others.len()),
        _ => side.first().map_or_else(String::new, file_name),
    };
    let title = format!("{} → {}", name(before), name(after));
    put_together(&title, &diff_json(before, after, comparison), &DIFF_SCRIPTS)
}

fn page(analysis: &Analysis, time_line: Option<&TimeLine>) -> String {
    put_together(&file_name(analysis), &page_json(analysis, time_line), &REPORT_SCRIPTS)
}

fn file_name(analysis: &Analysis) -> String {
    analysis.recording.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn put_together(title: &str, data: &str, scripts: &[&str]) -> String {
    let parts = [
        ("TITLE", escape(title)),
        ("STYLE", STYLE.to_owned()),
        ("DATA", data.replace('<', "\\u003c")),
        ("SCRIPT", [&FIRST_SCRIPTS[..], scripts, &LAST_SCRIPTS[..]].concat().concat()),
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
