//! `[sampler]`: samples of running threads.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use instrument_core::config::{Problems, TableReader};

/// Bounds of the interval in milliseconds. Below, the kernel's own tick is longer; above, samples say nothing.
const INTERVALS: RangeInclusive<u32> = 1..=10_000;
const DEEPEST: u32 = 2048;

/// Samples of what threads execute, taken each time a thread has used a certain amount of processor time. They need no
/// rule and change no class.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SamplerConfig {
    /// Whether samples are taken. Default: `true` if the table `[sampler]` is present.
    #[schemars(default = "yes")]
    pub enabled: bool,
    /// Processor time of a thread between two of its samples, from `1 ms` to `10 s`.
    #[schemars(rename = "interval", schema_with = "interval_schema", default = "interval_text")]
    pub interval_ms: u32,
    /// What takes the samples. Default: `auto`.
    pub engine: SamplerEngine,
    /// Frames of a stack that are recorded; deeper stacks are marked as truncated. `1` records only the innermost method.
    #[schemars(range(min = 1, max = 2048))]
    pub depth: u32,
}

impl Default for SamplerConfig {
    fn default() -> SamplerConfig {
        SamplerConfig { enabled: false, interval_ms: 10, engine: SamplerEngine::Auto, depth: 128 }
    }
}

/// What takes the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum SamplerEngine {
    /// `async` where it is sound, else `jvmti`.
    #[default]
    Auto,
    /// A timer of processor time in each thread, and the JVM's function AsyncGetCallTrace in its signal handler: the stack of
    /// the very moment.
    Async,
    /// A thread that asks the JVM for the stacks of busy threads: these are seen only where the JVM lets them stop.
    Jvmti,
}

fn interval_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^ *[0-9]+ *(ms|s) *$" })
}

fn yes() -> bool {
    true
}

fn interval_text() -> Cow<'static, str> {
    "10 ms".into()
}

/// Reads the table. Who writes it wants samples.
pub(super) fn read_sampler(table: &TableReader<'_, '_>, problems: &mut Problems) -> SamplerConfig {
    let engines = [("auto", SamplerEngine::Auto), ("async", SamplerEngine::Async), ("jvmti", SamplerEngine::Jvmti)];
    let default = SamplerConfig::default();
    SamplerConfig {
        enabled: table.boolean("enabled", problems).unwrap_or(true),
        interval_ms: interval(table, problems).unwrap_or(default.interval_ms),
        engine: table.choice("engine", &engines, problems).map_or(default.engine, serde_spanned::Spanned::into_inner),
        depth: table.number("depth", 1..DEEPEST + 1, problems).unwrap_or(default.depth),
    }
}

fn interval(table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<u32> {
    let text = table.string("interval", problems)?;
    let Some(interval) = parse_interval(text.get_ref()) else {
        let message = format!("`{}` is no interval", text.get_ref());
        problems.error(text.span(), message, Some("write a whole number with its unit: `10 ms` or `1 s`".to_owned()));
        return None;
    };
    if !INTERVALS.contains(&interval) {
        problems.error(text.span(), "`interval` must be between 1 ms and 10 s", None);
        return None;
    }
    Some(interval)
}

/// Milliseconds.
fn parse_interval(text: &str) -> Option<u32> {
    let text = text.trim();
    let (number, unit) = text.split_at_checked(text.find(|letter: char| !letter.is_ascii_digit())?)?;
    let number: u32 = number.parse().ok()?;
    match unit.trim_start() {
        "ms" => Some(number),
        "s" => number.checked_mul(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_a_unit() {
        assert_eq!(parse_interval("10 ms"), Some(10));
        assert_eq!(parse_interval(" 2s "), Some(2000));
        for wrong in ["10", "ms", "", "-1 ms", "1.5 ms", "99999999999 ms", "10 min", "10 ms 5", "9999999 s"] {
            assert_eq!(parse_interval(wrong), None, "{wrong}");
        }
    }
}
