//! The figures of methods under their public names. `docs/metrics.md` lists them.

use std::sync::Arc;

use instrument_core::level::Level;
use records::level_times::LevelTimes;
use records::probe_registry::{Definitions, ProbeDefinition, ProbeRegistry};

use super::family::{Attributes, Family, Kind, Unit, Value};
use super::method_table::{MethodFigures, MethodSnapshot};

/// Attributes of every probe that came into being up to now.
#[derive(Debug)]
pub struct MethodNames {
    probes: &'static ProbeRegistry,
    definitions: Definitions,
    /// Position `id - 1`.
    named: Vec<NamedProbe>,
}

/// One probe as it is published.
#[derive(Debug, Clone)]
pub struct NamedProbe {
    /// Method, descriptor, template, level and how exact times are.
    pub attributes: Attributes,
    level: Level,
    socket_direction: Option<&'static str>,
    /// The probe's own number.
    own: u32,
}

impl MethodNames {
    /// Names of the probes in this registry.
    pub fn new(probes: &'static ProbeRegistry) -> MethodNames {
        MethodNames { probes, definitions: Definitions::default(), named: Vec::new() }
    }

    /// Learns what is new.
    pub fn update(&mut self) {
        let named = &mut self.named;
        self.probes.new_definitions(&mut self.definitions, |probe| named.push(NamedProbe::of(&probe)));
    }

    /// The probes at this level, with their numbers.
    pub fn at_level(&self, level: Level) -> impl Iterator<Item = (u32, &NamedProbe)> {
        (1..).zip(&self.named).filter(move |(_, named)| named.level == level)
    }

    /// The probe of this number.
    pub fn get(&self, probe: u32) -> Option<&NamedProbe> {
        self.named.get((probe as usize).checked_sub(1)?)
    }
}

impl NamedProbe {
    /// Class and method.
    pub fn function(&self) -> &str {
        self.attributes.first().map_or("", |(_, function)| function)
    }

    /// Whether times are those of ticks (level watch).
    pub fn is_estimated(&self) -> bool {
        self.level == Level::Watch
    }

    fn of(probe: &ProbeDefinition<'_>) -> NamedProbe {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let name = text(probe.name);
        let function = format!("{}.{name}", text(probe.class).replace('/', "."));
        let precision = match probe.level {
            Level::Watch => "estimate",
            Level::Burst => "windows",
            _ => "exact",
        };
        let inside = (!probe.context.is_empty()).then(|| ("instr.context", probe.context.to_owned()));
        let attributes = [
            ("code.function.name", function),
            ("instr.descriptor", text(probe.descriptor)),
            ("instr.template", probe.template.to_owned()),
            ("instr.level", probe.level.name().to_owned()),
            ("instr.precision", precision.to_owned()),
        ];
        let socket_direction = match probe.template {
            "socket-write" => Some("write"),
            "socket" if name.starts_with("read") => Some("read"),
            "socket" => Some("write"),
            _ => None,
        };
        let (attributes, own) = (attributes.into_iter().chain(inside).collect(), probe.own);
        NamedProbe { attributes, level: probe.level, socket_direction, own }
    }
}

/// One number of a method; `None` if there is none yet.
type Reading = fn(&MethodFigures) -> Option<f64>;

const CALLS: Unit = Unit::Things("{call}");

/// What the records tell of the methods in the snapshot.
pub(crate) fn families(snapshot: &MethodSnapshot, names: &MethodNames) -> Vec<Family> {
    use Kind::{Distribution, Gauge};
    let mut duration =
        Family::new("instr.method.duration", Unit::Seconds, Distribution, "Duration of the calls that ended");
    let mut others: Vec<(Family, Reading)> = vec![
        (Family::new("instr.method.duration.min", Unit::Seconds, Gauge, "Shortest call since the start"), |method| {
            Some(method.durations.min() as f64 / 1e9)
        }),
        (Family::new("instr.method.duration.max", Unit::Seconds, Gauge, "Longest call since the start"), |method| {
            Some(method.durations.max() as f64 / 1e9)
        }),
        (
            Family::new(
                "instr.method.duration.mean",
                Unit::Seconds,
                Gauge,
                "Mean duration of the last interval's calls",
            ),
            |method| method.interval?.mean,
        ),
        (
            Family::new(
                "instr.method.rate",
                Unit::Rate("{call}/s"),
                Gauge,
                "Calls a second that ended in the last interval",
            ),
            |method| Some(method.interval?.rate),
        ),
        (
            Family::new(
                "instr.method.concurrency",
                CALLS,
                Gauge,
                "Mean number of calls at work in the last interval, by Little's law from the calls that ended in it",
            ),
            |method| Some(method.interval?.concurrency),
        ),
    ];
    for (probe, method) in &snapshot.methods {
        let Some(named) = names.get(*probe) else { continue };
        let watched = named.is_estimated().then(|| method.watched());
        let is_of_single_calls = |family: &Family| family.name.starts_with(duration.name);
        for (family, value) in &mut others {
            let is_known = !matches!(watched, Some(None)) || !is_of_single_calls(family);
            if let Some(value) = value(method).filter(|_| is_known) {
                family.push(Arc::clone(&named.attributes), Value::Number(value));
            }
        }
        let durations = match watched {
            None => Value::Durations(Box::new(method.durations.clone())),
            Some(Some(durations)) => Value::Durations(Box::new(durations)),
            Some(None) => Value::Estimate(method.durations.count(), method.durations.sum() as f64 / 1e9),
        };
        duration.push(Arc::clone(&named.attributes), durations);
    }
    let mut families = vec![duration];
    families.extend(others.into_iter().map(|(family, _)| family));
    families.push(socket_bytes(snapshot, names));
    families.extend(totals(snapshot));
    families
}

/// For how long methods whose level was changed were at the level of the series: the part of the time to which its figures apply.
pub(crate) fn level_times(snapshot: &MethodSnapshot, names: &MethodNames, times: &LevelTimes) -> Family {
    let help = "Time at this level, of methods whose level was changed: what the other figures of the series apply to";
    let mut family = Family::new("instr.method.level.time", Unit::Seconds, Kind::Gauge, help);
    for named in snapshot.methods.iter().filter_map(|(probe, _)| names.get(*probe)) {
        if let Some(time) = times.at(named.own, named.level) {
            family.push(Arc::clone(&named.attributes), Value::Number(time.as_secs_f64()));
        }
    }
    family
}

fn socket_bytes(snapshot: &MethodSnapshot, names: &MethodNames) -> Family {
    let help = "Bytes through sockets, as the templates `socket` and `socket-write` see them";
    let mut family = Family::new("instr.socket.io", Unit::Bytes, Kind::Counter, help);
    for direction in ["read", "write"] {
        let methods = snapshot
            .methods
            .iter()
            .filter(|(probe, _)| names.get(*probe).is_some_and(|named| named.socket_direction == Some(direction)));
        let bytes: Vec<u64> = methods.map(|(_, method)| method.socket_bytes).collect();
        if !bytes.is_empty() {
            family = family.with(&[("network.io.direction", direction)], Value::Integer(bytes.iter().sum()));
        }
    }
    family
}

fn totals(snapshot: &MethodSnapshot) -> [Family; 3] {
    let family = |name, help, count| Family::new(name, CALLS, Kind::Counter, help).with(&[], Value::Integer(count));
    [
        family("instr.records", "Calls that were recorded", snapshot.records),
        family(
            "instr.records.lost",
            "Calls whose records were lost: no memory was free, or the clock jumped while they ran",
            snapshot.lost,
        ),
        Family::new(
            "instr.methods.omitted",
            Unit::Things("{method}"),
            Kind::Gauge,
            "Methods that were called and have no series, because `max-methods` others took more time",
        )
        .with(&[], Value::Integer(snapshot.omitted as u64)),
    ]
}
