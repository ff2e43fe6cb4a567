//! Probes that methods have before a walk comes to them: what it can use of these, so that no method gets a second one.

use instrument_core::level::Level;
use records::probe_registry::{KnownProbe, exact_numbers};

use crate::call_sites::MethodKey;
use crate::probes::live_control::PresentProbe;
use crate::session::Session;
use crate::session::callees::MeantMethod;

/// The compiled code of a native method keeps the version of its class for which it was made (seen with HotSpot 25: 15 versions of `java.lang.ClassLoader` after some walks).
pub(super) const HAS_NATIVES: &str = "its class has native methods, and the JVM keeps former versions of such a class: walk after walk would take more memory";
/// The template of the probes of walks.
const TIMED: &str = "timed";

/// How calls of a method can be recorded for a walk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By a probe that is inserted; in the place of one with this fixed level, if it is not off.
    Inserted(Level),
    /// By the probe that is there, with these numbers: its level is raised from this one, and put back.
    Raised(Level, Vec<u32>),
    /// All of them are recorded under these numbers, for somebody else.
    Read(Vec<u32>),
}

/// The same for a method that is meant: `Err` also if its class would have to be changed, and should not be.
pub(super) fn way_to(session: &Session, meant: &MeantMethod) -> Result<Way, String> {
    match way_of(session, &meant.key)? {
        Way::Inserted(_) if meant.has_natives => Err(HAS_NATIVES.to_owned()),
        way => Ok(way),
    }
}

/// Returns how calls of a method can be recorded. `Err`: why they are not.
pub(super) fn way_of(session: &Session, key: &MethodKey) -> Result<Way, String> {
    let live = &session.instrumentation.live;
    let withdrawn = session.instrumentation.withdrawn.as_ref().map(|of| of.methods_of(&key.class)).unwrap_or_default();
    if withdrawn.iter().any(|(name, descriptor)| **name == *key.name && **descriptor == *key.descriptor) {
        return Err("the governor has removed its probe, because it is called too often".to_owned());
    }
    let mut held: Vec<(u32, KnownProbe)> = probes_of(session, key)
        // What records inside a context only has a level of its own.
        .filter(|(number, probe)| probe.context().is_empty() && live.holds(*number))
        .collect();
    // Of a probe whose level can change and one with a fixed level, the first has taken the place of the other.
    if held.iter().any(|(_, probe)| probe.fixed_level().is_none()) {
        held.retain(|(_, probe)| probe.fixed_level().is_none());
    }
    let Some((_, first)) = held.first() else { return Ok(Way::Inserted(Level::Off)) };
    // Probes of other templates would record the same calls again.
    let of_first = held.iter().filter(|(_, probe)| probe.template() == first.template());
    let present = |(number, probe): &(u32, KnownProbe)| live.present_probe(*number, probe.fixed_level());
    let ways = of_first.clone().map(present).collect::<Result<Vec<PresentProbe>, String>>()?;
    if ways.iter().all(|way| *way == PresentProbe::RecordsAll) {
        let numbers = of_first.flat_map(|(number, probe)| match probe.fixed_level() {
            Some(_) => vec![*number],
            None => exact_numbers(*number).to_vec(),
        });
        return Ok(Way::Read(numbers.collect()));
    }
    let Some(level) = ways.iter().find_map(|way| way.level()).filter(|_| held.len() == ways.len()) else {
        return Err("it has probes of several templates".to_owned());
    };
    if first.template() != TIMED {
        // Off, it records nothing that would be missing, or be there twice.
        let reason = || {
            format!("it has a probe of template {} at level {level}, which records more than times", first.template())
        };
        return if level == Level::Off { Ok(Way::Inserted(level)) } else { Err(reason()) };
    }
    if ways.iter().all(|way| *way == PresentProbe::AtLevel(level)) {
        Ok(Way::Raised(level, of_first.map(|(number, _)| *number).collect()))
    } else if ways.iter().all(|way| *way == PresentProbe::Fixed(level)) {
        Ok(Way::Inserted(level))
    } else {
        Err("it has several probes, at different levels".to_owned())
    }
}

/// Returns the probes of a method.
fn probes_of<'k>(session: &Session, key: &'k MethodKey) -> impl Iterator<Item = (u32, KnownProbe)> + use<'k> {
    let is_same = |probe: &KnownProbe| probe.method() == (&*key.class, &*key.name, &*key.descriptor);
    session.instrumentation.probes.of_class(&key.class).into_iter().filter(move |(_, probe)| is_same(probe))
}
