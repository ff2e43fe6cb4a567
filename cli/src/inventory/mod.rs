//! Which classes and methods are instrumented, and why the others are not: one line each, in an order that does not change, so that `diff` of
//! two inventories shows the effect of another configuration or another version of the application.

pub(crate) mod application_files;
pub(crate) mod of_files;
pub(crate) mod of_process;

use std::collections::BTreeMap;
use std::io::{self, Write};

use control::{InventoryClass, InventoryMethod};
use serde::Serialize;
use trace::report::{count, counted};

/// The classes by name, each once.
#[derive(Debug, Default)]
pub(crate) struct Inventory {
    classes: BTreeMap<String, InventoryClass>,
    /// Classes that are not listed because there are too many.
    left_out: usize,
}

/// The sums of an inventory.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Totals<'i> {
    classes: usize,
    classes_instrumented: usize,
    /// Of the classes that a rule matches.
    methods: usize,
    methods_instrumented: usize,
    /// By code of the reason.
    classes_unchanged: BTreeMap<&'i str, usize>,
    methods_unchanged: BTreeMap<&'i str, usize>,
    /// By file name of the jar or directory.
    jars: BTreeMap<&'i str, OfJar>,
    left_out: usize,
}

#[derive(Debug, Default, Serialize)]
struct OfJar {
    classes: usize,
    classes_instrumented: usize,
}

impl Inventory {
    /// Adds a class, unless one of this name was added before: a JVM takes the first of a class path, too.
    pub(crate) fn add(&mut self, class: InventoryClass) {
        self.classes.entry(class.class.clone()).or_insert(class);
    }

    /// Whether a class of this name was added.
    pub(crate) fn has(&self, class: &str) -> bool {
        self.classes.contains_key(class)
    }

    /// Whether some method is instrumented.
    pub(crate) fn has_instrumented(&self) -> bool {
        self.classes.values().any(InventoryClass::is_instrumented)
    }

    /// Returns the sums.
    pub(crate) fn totals(&self) -> Totals<'_> {
        let mut totals = Totals { classes: self.classes.len(), left_out: self.left_out, ..Totals::default() };
        for class in self.classes.values() {
            let is_instrumented = usize::from(class.is_instrumented());
            totals.classes_instrumented += is_instrumented;
            totals.methods += class.methods.unwrap_or(0);
            totals.methods_instrumented += class.instrumented;
            if let Some(code) = class.code.as_deref().filter(|_| !class.is_instrumented()) {
                *totals.classes_unchanged.entry(code).or_default() += 1;
            }
            for (code, methods) in &class.left_alone {
                *totals.methods_unchanged.entry(code).or_default() += methods;
            }
            if let Some(jar) = class.jar.as_deref() {
                let of_jar = totals.jars.entry(jar).or_default();
                of_jar.classes += 1;
                of_jar.classes_instrumented += is_instrumented;
            }
        }
        totals
    }

    /// Writes a line for each class and each listed method, then the totals.
    pub(crate) fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        for class in self.classes.values() {
            writeln!(out, "{}", class_line(class))?;
            for method in &class.listed {
                writeln!(out, "{}", method_line(&class.class, method))?;
            }
        }
        self.totals().write_text(out)
    }

    /// Writes a JSON object with a line for each class.
    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{{\"classes\": [")?;
        for (at, class) in self.classes.values().enumerate() {
            write!(out, "{}\n{}", if at > 0 { "," } else { "" }, serde_json::to_string(class)?)?;
        }
        writeln!(out, "\n],\n\"totals\": {}}}", serde_json::to_string(&self.totals())?)
    }
}

impl Totals<'_> {
    fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "# {} of {} instrumented; {} of {} of the classes that rules match",
            count(self.classes_instrumented as u64),
            counted(self.classes as u64, "class"),
            count(self.methods_instrumented as u64),
            counted(self.methods as u64, "method")
        )?;
        for (what, codes) in [("classes", &self.classes_unchanged), ("methods", &self.methods_unchanged)] {
            let codes: Vec<String> =
                codes.iter().map(|(code, number)| format!("{} {code}", count(*number as u64))).collect();
            if !codes.is_empty() {
                writeln!(out, "# {what} not instrumented: {}", codes.join(", "))?;
            }
        }
        for (jar, OfJar { classes, classes_instrumented }) in &self.jars {
            writeln!(out, "# {jar}: {} of {}", count(*classes_instrumented as u64), counted(*classes as u64, "class"))?;
        }
        if self.left_out > 0 {
            writeln!(out, "# {} not listed; a larger `--most` lists more", counted(self.left_out as u64, "class"))?;
        }
        Ok(())
    }
}

/// `yes com.acme.Order: 3 of 5 methods (rule orders)`
pub(crate) fn class_line(class: &InventoryClass) -> String {
    let InventoryClass { class: name, instrumented, methods, wanted_by, reason, .. } = class;
    match (class.is_instrumented(), methods) {
        (true, Some(methods)) => {
            format!("yes {name}: {instrumented} of {} ({})", counted(*methods as u64, "method"), wanted_by.join(", "))
        }
        (true, None) => format!("yes {name}: {} ({})", counted(*instrumented as u64, "method"), wanted_by.join(", ")),
        (false, _) => format!("no  {name}: {}", reason.as_deref().unwrap_or("unknown")),
    }
}

/// `yes com.acme.Order.total(int) long: timed at level time, inline (rule orders)`
pub(crate) fn method_line(class: &str, method: &InventoryMethod) -> String {
    let InventoryMethod { signature, templates, level, present_level, mode, wanted_by, reason, .. } = method;
    if !method.is_instrumented() {
        return format!("no  {class}.{signature}: {}", reason.as_deref().unwrap_or("unknown"));
    }
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let templates = templates.join(" around ");
    let present = present_level.as_ref().map_or(String::new(), |level| format!(", at level {level} now"));
    let wanted = format!("{templates} at level {}, {} ({})", text(level), text(mode), text(wanted_by));
    format!("yes {class}.{signature}: {wanted}{present}")
}
