//! What a number is asked for.

use instrument_core::level::Level;

/// What a probe is asked for by.
#[derive(Debug, Clone, Copy)]
pub struct ProbeRequest<'a> {
    /// Name of the method.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Its access flags.
    pub access_flags: u16,
    /// Name of the template.
    pub template: &'a str,
    /// Level of the template's variant.
    pub level: Level,
    /// Whether the variant is live: the next numbers after the probe's own are then its, too, for the records of the levels that measure in another way.
    pub live: bool,
    /// The context inside which it records only, as `a.B.c > d.E.f`; empty: everywhere.
    pub context: &'a str,
}
