//! The name under which a recording has the template of a probe: calls with different names are different rows of every report.

use instrument_core::level::Level;
use records::probe_registry::ProbeDefinition;

/// Returns the name of the template, with the context inside which it records and the level that measures in another way.
pub(super) fn template_name(probe: &ProbeDefinition<'_>) -> String {
    let suffix = match probe.level {
        Level::Burst => trace::IN_BURSTS,
        Level::Full => trace::AT_FULL,
        Level::Off | Level::Watch | Level::Time => "",
    };
    let inside = if probe.context.is_empty() { "" } else { trace::INSIDE };
    format!("{}{inside}{}{suffix}", probe.template, probe.context)
}
