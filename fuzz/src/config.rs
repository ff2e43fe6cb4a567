//! Any text as a configuration: rules, or diagnostics whose places lie in the text.

use settings::Diagnostic;

use super::built_in;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = settings::asks_to_abort(text);
    match settings::parse(text, "fuzz.toml") {
        Ok((config, warnings)) => {
            assert!(!warnings.iter().any(Diagnostic::is_error), "an error, and yet a configuration");
            in_place(text, &warnings);
            match config.compile_rules(built_in::library(), built_in::presets()) {
                Ok(rules) => drop(rules.wants_name(b"com/acme/Thing")),
                Err(problems) => in_place(text, &problems),
            }
        }
        Err(problems) => {
            assert!(problems.iter().any(Diagnostic::is_error), "no configuration, and yet no error");
            in_place(text, &problems);
        }
    }
}

fn in_place(text: &str, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics.iter().filter(|diagnostic| diagnostic.file == "fuzz.toml") {
        let Diagnostic { span, line, column, source_line, width, .. } = diagnostic;
        assert!(span.start <= span.end && text.get(span.clone()).is_some(), "{diagnostic:?}");
        // A text that ends with a line break has an empty last line.
        let shown = text.split_inclusive('\n').chain([""]).nth(line - 1);
        let shown = shown.unwrap_or_else(|| panic!("no such line: {diagnostic:?}"));
        assert_eq!(shown.lines().next().unwrap_or_default(), source_line, "{diagnostic:?}");
        let characters = source_line.chars().count();
        assert!((1..=characters + 1).contains(column), "{diagnostic:?}");
        assert!(*width >= 1 && column - 1 + width <= characters.max(column - 1 + 1), "{diagnostic:?}");
        assert!(diagnostic.to_string().contains('^'));
    }
}
