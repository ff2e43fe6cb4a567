//! What the screen looks like; the expected screens are in `tests/top/expected`, `cargo xtask bless cli` writes them anew.

use std::path::Path;
use std::time::Duration;

use expect_test::expect_file;
use instrument_core::level::Level;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use serde_json::{Value, json};

use super::super::background::LevelChange;
use super::super::screen::Wish;
use super::*;

fn status(factor: u64, lost: u64) -> Value {
    let hot = |method: &str, level: &str, calls: u64, nanos: u64| {
        let recent = (calls > 0).then(|| json!({"p50": nanos / calls, "p99": nanos * 4 / calls, "max": nanos}));
        // As an agent numbers them: any numbers that differ.
        let probe = method.len() as u32;
        json!({"probe": probe, "category": "catch-all", "method": method, "level": level, "calls": calls * factor, "nanos": nanos * factor, "lengths": nanos * factor, "mean_is_known": true, "recent": recent,
            "descriptor": "()V", "estimated_calls": if level == "watch" { calls * factor } else { 0 }})
    };
    json!({
        "agent_version": "0.1.0", "pid": 4711, "trace_file": "/tmp/shop/instr-4711.jfr", "trace_file_bytes": 12_345_678,
        "classes_rewritten": 120, "methods_instrumented": 1_234, "records": 50_000 * factor, "lost": lost,
        "live": [{"category": "catch-all", "levels": {"off": 1, "watch": 2, "time": 1_231}}], "bursts": null,
        "governor": {"budget_percent": 3, "percent": 1.5 * factor as f64, "nanos_per_call": 55.4},
        "decisions": ["1.0 s: com.acme.shop.Basket.add set to watch", "2.0 s: com.acme.shop.Basket.add back to time"],
        "hottest": [
            hot("com.acme.shop.Checkout.pay", "time", 12, 480_000_000),
            hot("com.acme.shop.Basket.add", "watch", 4_000, 60_000_000),
            hot("com.acme.warehouse.a.name.that.needs.quite.some.room.in.a.line.ShelfOfManyThings$Inner.find", "time", 90_000, 99_000_000),
            hot("com.acme.shop.Unused.call", "off", 0, 0),
        ],
    })
}

fn screen(lost: u64) -> Screen {
    let [before, now] = [(1, 0), (3, lost)].map(|(factor, lost)| serde_json::from_value(status(factor, lost)).unwrap());
    let mut screen = Screen::new(4711, true);
    screen.take(Interval::between(&before, now, Duration::from_secs(2)));
    screen
}

fn press(screen: &mut Screen, codes: impl IntoIterator<Item = KeyCode>) -> Option<Wish> {
    codes.into_iter().filter_map(|code| screen.key(KeyEvent::new(code, KeyModifiers::NONE))).last()
}

fn terminal(screen: &mut Screen, width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, screen)).unwrap();
    terminal
}

fn drawn(screen: &mut Screen, width: u16, height: u16) -> String {
    let terminal = terminal(screen, width, height);
    let cells = terminal.backend().buffer().content().chunks(usize::from(width));
    let line = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(ratatui::buffer::Cell::symbol).collect::<String>().trim_end().to_owned() + "\n"
    };
    cells.map(line).collect()
}

fn expect(name: &str, actual: &str) {
    expect_file![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/top/expected").join(name)].assert_eq(actual);
}

#[test]
fn a_wide_screen_shows_all_columns_and_what_was_decided() {
    expect("wide.txt", &drawn(&mut screen(0), 120, 18));
}

#[test]
fn a_narrow_screen_keeps_level_and_method() {
    expect("narrow.txt", &drawn(&mut screen(7), 80, 12));
}

#[test]
fn a_filter_a_mark_and_another_order() {
    let mut screen = screen(0);
    let typed = "/SHOP".chars().map(KeyCode::Char);
    press(&mut screen, typed.chain([KeyCode::Enter, KeyCode::Left, KeyCode::Down, KeyCode::Down, KeyCode::Char('p')]));
    expect("filtered.txt", &drawn(&mut screen, 120, 12));
    let change = press(&mut screen, [KeyCode::Char('t')]);
    let method = "com.acme.shop.Checkout.pay".to_owned();
    assert_eq!(change, Some(Wish::Change(LevelChange { method, level: Level::Time })), "the marked one, by calls");
}

#[test]
fn figures_keep_their_units_on_any_screen() {
    for width in 20..120 {
        let text = drawn(&mut screen(0), width, 12);
        let row = text.lines().find(|line| line.contains("pay")).unwrap_or_else(|| panic!("{width}: {text}"));
        assert!(row.contains(" 480 ms "), "{width}: {text}");
        let head = text.lines().take(2).collect::<Vec<_>>().join("\n");
        assert!(!head.contains("governor") || head.contains("4.50 of 3 %"), "{width}: {text}");
        assert!(!head.contains("instr-4711") || head.contains("instr-4711.jfr 12.3 MB"), "{width}: {text}");
    }
}

#[test]
fn probes_that_do_not_record_are_named() {
    let head = |key: &str, value: Value| {
        let mut now = status(3, 0);
        now[key] = value;
        let [before, now] = [status(1, 0), now].map(|status| serde_json::from_value(status).unwrap());
        let mut screen = Screen::new(4711, true);
        screen.take(Interval::between(&before, now, Duration::from_secs(2)));
        drawn(&mut screen, 60, 12).lines().next().unwrap_or_default().to_owned()
    };
    assert!(head("paused", json!(["request"])).contains("process 4711  PROBES PAUSED (request)"));
    assert!(head("ended", json!("asked for by a user")).contains("RECORDING ENDED: asked for by a user"));
    let full = json!("is full since second 3.2 (max-file-mb in [trace]): later calls are counted as lost");
    assert!(head("trace_file_trouble", full).contains("process 4711  the trace file is full since second 3.2"));
    assert!(!head("paused", json!([])).contains("PAUSED"));
}

#[test]
fn nothing_fits_and_still_nothing_breaks() {
    for (width, height) in [(1, 1), (10, 3), (40, 5), (300, 60)] {
        drawn(&mut screen(1), width, height);
        drawn(&mut Screen::new(1, false), width, height);
    }
}

#[test]
fn the_mark_stays_with_its_method_when_the_order_changes_and_when_its_level_does() {
    let mut screen = screen(0);
    press(&mut screen, [KeyCode::Down, KeyCode::Down, KeyCode::Down]);
    let name = |screen: &Screen| {
        let rows = screen.rows();
        screen.position(&rows).map(|at| rows[at].method.clone())
    };
    let marked = name(&screen).unwrap();
    press(&mut screen, [KeyCode::Char('1')]);
    assert_eq!(name(&screen).as_ref(), Some(&marked));
    for row in &mut screen.interval.as_mut().unwrap().rows {
        row.level = "off".to_owned();
    }
    assert_eq!(name(&screen), Some(marked));
}

#[test]
fn keys_end_it_unless_they_are_letters_of_the_filter() {
    assert_eq!(press(&mut screen(0), [KeyCode::Char('q')]), Some(Wish::Quit));
    assert_eq!(press(&mut screen(0), [KeyCode::Char('/'), KeyCode::Char('q')]), None);
    assert_eq!(press(&mut screen(0), [KeyCode::Char('/'), KeyCode::Esc, KeyCode::Esc]), Some(Wish::Quit));
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let mut typing = screen(0);
    press(&mut typing, [KeyCode::Char('/')]);
    assert_eq!(typing.key(control_c), Some(Wish::Quit), "whatever is being typed");
    let mut unmarked = screen(0);
    assert_eq!(press(&mut unmarked, [KeyCode::Char('w')]), None);
    assert!(unmarked.message.is_some(), "it says that nothing is marked");
}

#[test]
fn a_paused_screen_does_not_change() {
    let mut paused = screen(0);
    press(&mut paused, [KeyCode::Char('p')]);
    let other = screen(99).interval.unwrap();
    paused.take(other.clone());
    assert_eq!(paused.interval.as_ref().unwrap().lost, 0);
    press(&mut paused, [KeyCode::Char(' ')]);
    paused.take(other);
    assert_eq!(paused.interval.unwrap().lost, 99);
}

#[test]
fn loss_is_red_and_without_colours_nothing_is() {
    let has_red = |screen: &mut Screen| {
        let terminal = terminal(screen, 120, 18);
        terminal.backend().buffer().content().iter().any(|cell| cell.fg == Color::Red)
    };
    assert!(has_red(&mut screen(5)));
    let mut colourless = screen(5);
    colourless.colours = false;
    assert!(!has_red(&mut colourless));
    assert!(has_red(&mut screen(0)), "the governor's budget is exceeded");
}
