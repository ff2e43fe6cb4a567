//! Listings as text for a terminal.

use std::fmt::{self, Write};

use super::{Case, Frame, Handler, Line, Listing, Origin, Variable};

/// Colours, if somebody looks at a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) colours: bool,
}

impl Paint {
    fn code(self, code: &str, text: &str) -> String {
        if self.colours && !text.trim().is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A title.
    pub(crate) fn strong(self, text: &str) -> String {
        self.code("1", text)
    }

    /// What is there on the side.
    pub(crate) fn quiet(self, text: &str) -> String {
        self.code("2", text)
    }

    fn of_origin(self, origin: Option<Origin>, text: &str) -> String {
        match origin {
            Some(Origin::Prolog | Origin::Epilog) => self.code("32", text),
            Some(Origin::Return) => self.code("33", text),
            Some(Origin::Target) | None => text.to_owned(),
        }
    }
}

/// Writes all of a listing; `title` says which one it is.
pub(crate) fn write_listing(out: &mut String, title: &str, listing: &Listing, paint: Paint) -> fmt::Result {
    let flags = if listing.flags.is_empty() { "no flags".to_owned() } else { listing.flags.join(" ") };
    let limits = format!(
        "{title}: {flags}; max_stack {}, max_locals {}, {} bytes of code",
        listing.max_stack, listing.max_locals, listing.code_length
    );
    writeln!(out, "  {}", paint.strong(&limits))?;
    write_instructions(out, listing, paint)?;
    write_handlers(out, &listing.exception_table)?;
    write_variables(out, &listing.local_variables)
}

fn write_instructions(out: &mut String, listing: &Listing, paint: Paint) -> fmt::Result {
    let merged = listing.instructions.iter().any(|line| line.origin.is_some());
    let margin = if merged { " ".repeat(14) } else { " ".repeat(4) };
    let mut lines = listing.line_numbers.iter().peekable();
    let mut frames = listing.frames.iter().peekable();
    let mut part = None;
    for line in &listing.instructions {
        while let Some(source) = lines.next_if(|source| u32::from(source.offset) <= line.offset) {
            writeln!(out, "{margin}{}", paint.quiet(&format!("       line {}", source.line)))?;
        }
        while let Some(frame) = frames.next_if(|frame| frame.offset <= line.offset) {
            writeln!(out, "{margin}{}", paint.quiet(&format!("       {}", frame_text(frame))))?;
        }
        let shown = if part == line.origin { "" } else { line.origin.map_or("", Origin::name) };
        part = line.origin;
        let was = line.was.map(|was| was.to_string()).unwrap_or_default();
        let columns = if merged { format!("  {shown:6} {was:>5}") } else { margin.clone() };
        writeln!(out, "{}", paint.of_origin(line.origin, &format!("{columns}{}", instruction_text(line))))?;
        write_cases(out, &line.cases, &margin)?;
    }
    Ok(())
}

fn instruction_text(line: &Line) -> String {
    let mut text = format!("{:6} {}", line.offset, line.mnemonic);
    if !line.operand.is_empty() {
        text = format!("{text} {}", line.operand);
    }
    if !line.comment.is_empty() {
        text = format!("{text}  // {}", line.comment);
    }
    text
}

fn write_cases(out: &mut String, cases: &[Case], margin: &str) -> fmt::Result {
    for Case { key, target } in cases {
        let key = key.map_or_else(|| "default".to_owned(), |key| key.to_string());
        writeln!(out, "{margin}         {key:>7} -> {target}")?;
    }
    Ok(())
}

fn frame_text(frame: &Frame) -> String {
    let stack = if frame.stack.is_empty() { String::new() } else { format!(" stack [{}]", types(&frame.stack)) };
    format!("frame [{}]{stack}", types(&frame.locals))
}

/// Types in a row; many equal ones are counted.
fn types(types: &[String]) -> String {
    let run = |run: &[String]| match run {
        [first, _, _, _, ..] => format!("{first} * {}", run.len()),
        few => few.join(", "),
    };
    types.chunk_by(|a, b| a == b).map(run).collect::<Vec<_>>().join(", ")
}

fn write_handlers(out: &mut String, handlers: &[Handler]) -> fmt::Result {
    if handlers.is_empty() {
        return Ok(());
    }
    writeln!(out, "    exception table:")?;
    for Handler { start, end, handler, catches } in handlers {
        let catches = catches.as_deref().unwrap_or("everything");
        writeln!(out, "      {start:5} to {end:5} -> {handler:5}  {catches}")?;
    }
    Ok(())
}

fn write_variables(out: &mut String, variables: &[Variable]) -> fmt::Result {
    if variables.is_empty() {
        return Ok(());
    }
    writeln!(out, "    local variables:")?;
    for Variable { start, end, slot, name, descriptor } in variables {
        writeln!(out, "      {start:5} to {end:5}  slot {slot:3}  {name} {descriptor}")?;
    }
    Ok(())
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Origin::Prolog => "prolog",
            Origin::Target => "target",
            Origin::Return => "return",
            Origin::Epilog => "epilog",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_of_one_type_are_counted() {
        let shown = |names: &[&str]| types(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(shown(&["int", "-", "-", "-", "-", "long", "long"]), "int, - * 4, long, long");
        assert_eq!(shown(&[]), "");
    }

    #[test]
    fn colours_are_for_terminals() {
        assert_eq!(Paint { colours: false }.strong("x"), "x");
        assert_eq!(Paint { colours: true }.strong("x"), "\x1b[1mx\x1b[0m");
        assert_eq!(Paint { colours: true }.quiet("  "), "  ", "nothing to colour");
    }
}
