//! Draws the screen: what the JVM does, its methods, what the governor decided, and which keys there are.

use control::Status;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row as TableRow, Table};
use trace::report::{bytes, count, counted};

use super::figures::{Column, Interval};
use super::screen::Screen;
use crate::running_agent::standstill;

/// Decisions of the governor that are shown, on screens with room for them.
const DECISIONS: usize = 4;
const ROOM_FOR_DECISIONS: u16 = 16;
/// Narrower screens show neither the median nor the longest call.
const ROOM_FOR_ALL_COLUMNS: u16 = 100;
/// Narrower screens show neither the 99th percentile nor the level.
const ROOM_FOR_LEVELS: u16 = 60;
/// Narrower screens show only the time.
const ROOM_FOR_CALLS: u16 = 40;
const KEYS: &str = "q quit  ←→ sort  r reverse  ↑↓ mark  t w o level  / filter  p pause";

/// Draws all of it.
pub(crate) fn draw(frame: &mut Frame<'_>, screen: &mut Screen) {
    let decisions = recent_decisions(screen, frame.area().height);
    let below = if decisions.is_empty() { 0 } else { decisions.len() as u16 + 1 };
    let areas = [Constraint::Length(2), Constraint::Min(2), Constraint::Length(below), Constraint::Length(1)];
    let [head, methods, governor, keys] = Layout::vertical(areas).areas(frame.area());
    frame.render_widget(Paragraph::new(head_lines(screen, usize::from(head.width))), head);
    draw_methods(frame, screen, methods);
    frame.render_widget(Paragraph::new(decisions), governor);
    frame.render_widget(Paragraph::new(last_line(screen)), keys);
}

fn styled(screen: &Screen, style: Style) -> Style {
    if screen.colours { style } else { Style { fg: None, bg: None, ..style } }
}

fn faint(screen: &Screen) -> Style {
    styled(screen, Style::new().fg(Color::DarkGray))
}

fn alarming(screen: &Screen) -> Style {
    styled(screen, Style::new().fg(Color::Red).add_modifier(Modifier::BOLD))
}

fn head_lines(screen: &Screen, width: usize) -> Vec<Line<'static>> {
    let Some(interval) = &screen.interval else {
        return vec![Line::from(format!("process {}: the first figures are on their way", screen.pid))];
    };
    let status = &interval.status;
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut first = vec![Span::styled(format!("process {}", status.pid), bold)];
    first.extend(alerts(screen, status));
    first.extend([
        Span::raw(format!("  {} calls/s", count(interval.rate.round() as u64))),
        Span::raw(format!(
            "  {} of {}",
            counted(status.methods_instrumented, "method"),
            counted(status.classes_rewritten, "class")
        )),
    ]);
    if let Some(file) = &status.trace_file {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        first.push(Span::styled(format!("  {name} {}", bytes(status.trace_file_bytes)), faint(screen)));
    }
    [first, second_line(screen, interval)].map(|spans| Line::from(fitting(spans, width))).into()
}

/// Returns why figures do not move.
fn alerts(screen: &Screen, status: &Status) -> Vec<Span<'static>> {
    let still = standstill(status).map(|text| Span::styled(format!("  {text}"), alarming(screen)));
    // The details are in `instr status`.
    let brief = |text: &String| text.split(['(', ':']).next().unwrap_or_default().trim_end().to_owned();
    let trouble = status.trace_file_trouble.as_ref().map(brief);
    let trouble = trouble.map(|text| Span::styled(format!("  the trace file {text}"), alarming(screen)));
    let mut alerts: Vec<_> = still.into_iter().chain(trouble).collect();
    if screen.paused {
        let style = styled(screen, Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD));
        alerts.push(Span::styled("  SCREEN PAUSED", style));
    }
    alerts
}

/// Leaves out what would be cut: a figure without its end misleads.
fn fitting(spans: Vec<Span<'static>>, width: usize) -> Vec<Span<'static>> {
    let mut used = 0;
    let fits = |span: &Span<'static>| {
        let fits = used == 0 || used + span.width() <= width;
        used += if fits { span.width() } else { 0 };
        fits
    };
    spans.into_iter().filter(fits).collect()
}

fn second_line(screen: &Screen, interval: &Interval) -> Vec<Span<'static>> {
    let status = &interval.status;
    let at = |level: &str| status.live.iter().filter_map(|counts| counts.levels.get(level)).sum::<usize>();
    let also = |level: &str| Some(at(level)).filter(|count| *count > 0).map(|count| format!("{count} {level}, "));
    let lost = if status.lost == 0 {
        Span::raw("nothing lost")
    } else {
        let text = format!("{} lost, {} since the last look", count(status.lost), count(interval.lost));
        Span::styled(text, alarming(screen))
    };
    let live = if status.live.is_empty() {
        "levels are fixed".to_owned()
    } else {
        let others = ["full", "burst"].into_iter().filter_map(also).collect::<String>();
        format!("live: {others}{} time, {} watch, {} off", at("time"), at("watch"), at("off"))
    };
    let mut spans = vec![lost];
    if let Some(governor) = &status.governor {
        let text = format!("  governor: {:.2} of {} %", governor.all_percent(), governor.budget_percent);
        let over = governor.all_percent() > f64::from(governor.budget_percent);
        spans.push(Span::styled(text, if over { alarming(screen) } else { Style::new() }));
    }
    spans.push(Span::raw(format!("  {live}")));
    spans
}

/// The columns that fit: what they show, their titles and widths.
fn columns(width: u16) -> Vec<(Column, &'static str, u16)> {
    let all = [
        (Column::Calls, "calls/s", 9),
        (Column::Time, "time/s", 8),
        (Column::Mean, "mean", 8),
        (Column::Median, "p50", 8),
        (Column::P99, "p99", 8),
        (Column::Max, "max", 8),
        (Column::Level, "level", 6),
    ];
    let room = |column: Column| match column {
        Column::Median | Column::Max => ROOM_FOR_ALL_COLUMNS,
        Column::P99 | Column::Level => ROOM_FOR_LEVELS,
        Column::Calls | Column::Mean => ROOM_FOR_CALLS,
        Column::Time | Column::Method => 0,
    };
    all.into_iter().filter(|(column, ..)| width >= room(*column)).collect()
}

fn draw_methods(frame: &mut Frame<'_>, screen: &mut Screen, area: Rect) {
    let columns = columns(area.width);
    let used: u16 = columns.iter().map(|(.., width)| width + 1).sum();
    let room = usize::from(area.width.saturating_sub(used));
    let marker = if screen.reversed { "▲" } else { "▼" };
    let title = |column: Column, title: &str| {
        if column == screen.sort { format!("{title}{marker}") } else { title.to_owned() }
    };
    let mut titles: Vec<Cell<'_>> =
        columns.iter().map(|(column, name, width)| aligned(*column, &title(*column, name), *width).into()).collect();
    titles.push(title(Column::Method, "method").into());
    let rows = screen.rows();
    let marked = screen.position(&rows);
    let lines: Vec<TableRow<'_>> = rows
        .iter()
        .map(|row| {
            let mut cells: Vec<Cell<'_>> =
                columns.iter().map(|(column, _, width)| aligned(*column, &row.cell(*column), *width).into()).collect();
            cells.push(from_the_right(&row.name(), room).into());
            TableRow::new(cells).style(if row.calls == 0 { faint(screen) } else { Style::new() })
        })
        .collect();
    let widths = columns.iter().map(|(.., width)| Constraint::Length(*width)).chain([Constraint::Min(10)]);
    let head = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
    let table = Table::new(lines, widths)
        .header(TableRow::new(titles).style(head))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    screen.table.select(marked);
    frame.render_stateful_widget(table, area, &mut screen.table);
}

fn aligned(column: Column, text: &str, width: u16) -> String {
    let width = usize::from(width);
    if column == Column::Level { text.to_owned() } else { format!("{text:>width$}") }
}

/// The end of a name that is too long: class and method say more than the package.
fn from_the_right(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    ['…'].into_iter().chain(name.chars().skip(length + 1 - room.max(1))).collect()
}

fn recent_decisions(screen: &Screen, height: u16) -> Vec<Line<'static>> {
    let decisions = screen.interval.iter().flat_map(|interval| &interval.status.decisions);
    let all: Vec<&String> = decisions.collect();
    if all.is_empty() || height < ROOM_FOR_DECISIONS {
        return Vec::new();
    }
    let title = format!("levels that were changed ({})", all.len());
    let mut lines = vec![Line::styled(title, Style::new().add_modifier(Modifier::BOLD))];
    lines.extend(all.iter().rev().take(DECISIONS - 1).map(|decision| Line::from(format!("  {decision}"))));
    lines
}

fn last_line(screen: &Screen) -> Line<'static> {
    if screen.typing {
        return Line::from(format!("filter: {}█  (Enter keeps it, Escape clears it)", screen.filter));
    }
    let filter = if screen.filter.is_empty() { String::new() } else { format!("filter: {}  ", screen.filter) };
    match &screen.message {
        Some(message) => Line::from(format!("{filter}{message}")),
        None => Line::styled(format!("{filter}{KEYS}"), faint(screen)),
    }
}

#[cfg(test)]
mod tests;
