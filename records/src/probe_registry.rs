//! Numbers of probes, process-wide: the method and the template of each number.
//!
//! Numbers go from 1 to 2^24 - 2 (the next one is that of silent probes, `instrument_core::ahead`) and are never given to something else.
//! A class that is retransformed, or defined by another loader, gets the numbers it had: classes of one name in several loaders share them.
//! So do classes of a kind of which many were unloaded ([`class_kinds`](crate::class_kinds)).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use instrument_core::ahead::SILENT_PROBE;
use instrument_core::level::Level;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::class_kinds::{ClassKinds, Kind};
use crate::loader_id::{BOOT, LoaderId};
pub use crate::probe_request::ProbeRequest;

/// The highest number that fits into a record.
pub const HIGHEST_PROBE: usize = SILENT_PROBE as usize - 1;

/// The levels whose records have numbers of their own, directly after that of a live probe: their figures have another meaning.
const OTHER_LEVELS: [Level; 3] = [Level::Watch, Level::Full, Level::Burst];

/// How many numbers a live probe has.
pub const LIVE_NUMBERS: u32 = 1 + OTHER_LEVELS.len() as u32;

/// Returns the numbers under which a live probe records calls from beginning to end: at level time, and at level full.
pub fn exact_numbers(probe: u32) -> [u32; 2] {
    let full = OTHER_LEVELS.iter().position(|level| *level == Level::Full).map_or(0, |at| at as u32 + 1);
    [probe, probe + full]
}

/// What sections show as their class and as their template.
pub const SECTION: &str = "section";

static PROBES: OnceLock<ProbeRegistry> = OnceLock::new();

/// The numbers of this process.
pub fn of_process() -> &'static ProbeRegistry {
    PROBES.get_or_init(ProbeRegistry::default)
}

/// A probe as the trace file names it.
#[derive(Debug, Clone, Copy)]
pub struct ProbeDefinition<'a> {
    /// Its number.
    pub id: u32,
    /// The own number of the probe; another one than `id` if this is one of the others of a live probe.
    pub own: u32,
    /// Internal name of the class.
    pub class: &'a [u8],
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
    /// The context inside which it records only; empty: everywhere.
    pub context: &'a str,
}

/// A probe as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeDescription {
    /// Its number.
    pub number: u32,
    /// `package.Class.method`
    pub method: String,
    /// Descriptor of the method.
    pub descriptor: String,
    /// Name of the template.
    pub template: Arc<str>,
    /// Level of the variant, or of the records of this number.
    pub level: Level,
    /// Whether the level can change.
    pub live: bool,
    /// The context inside which it records only, as `a.B.c > d.E.f`; empty: everywhere.
    pub context: Arc<str>,
}

/// The method of a probe as class files name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedMethod {
    /// Internal name of the class.
    pub class: Arc<[u8]>,
    /// Name of the method.
    pub name: Box<[u8]>,
    /// Its descriptor.
    pub descriptor: Box<[u8]>,
}

/// A probe whose names are compared but not written out.
#[derive(Debug, Clone)]
pub struct KnownProbe(Arc<Probe>);

impl KnownProbe {
    /// Returns class, name and descriptor of the method.
    pub fn method(&self) -> (&[u8], &[u8], &[u8]) {
        (&self.0.class, &self.0.name, &self.0.descriptor)
    }

    /// Returns the name of the template.
    pub fn template(&self) -> &str {
        &self.0.template
    }

    /// Returns the context inside which it records only; empty: everywhere.
    pub fn context(&self) -> &str {
        &self.0.context
    }

    /// Returns the level, if it cannot change.
    pub fn fixed_level(&self) -> Option<Level> {
        (!self.0.live).then_some(self.0.level)
    }
}

/// To which probe the records of a number belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedAs {
    /// The probe's own number.
    pub probe: u32,
    /// The level at which these calls were made; `Time` for all exact times of a live probe.
    pub level: Level,
    /// Whether the probe's level can change.
    pub live: bool,
}

/// The position of a reader of definitions.
#[derive(Debug, Default)]
pub struct Definitions {
    seen: usize,
}

/// All probes.
#[derive(Debug, Default)]
pub struct ProbeRegistry {
    known: Mutex<Known>,
    /// Length of `Known::probes`, to be read without the lock.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Known {
    /// Position `id - 1`.
    probes: Vec<Arc<Probe>>,
    by_class: FxHashMap<Arc<[u8]>, ProbedClass>,
    kinds: ClassKinds,
    /// Names of templates and contexts.
    texts: Vec<Arc<str>>,
}

/// The classes of one name, or those of a kind that share a name.
#[derive(Debug, Default)]
struct ProbedClass {
    /// In the order in which they were given.
    numbers: Vec<u32>,
    /// Loaders that have defined such a class, without those that are known to be gone.
    loaders: Vec<LoaderId>,
    kind: Kind,
    /// Whether there was a time without any of them.
    was_unloaded: bool,
    /// Whether classes with other names have these probes.
    is_shared: bool,
}

#[derive(Debug)]
struct Probe {
    class: Arc<[u8]>,
    name: Box<[u8]>,
    descriptor: Box<[u8]>,
    access_flags: u16,
    template: Arc<str>,
    level: Level,
    live: bool,
    context: Arc<str>,
}

impl Probe {
    fn answers(&self, request: &ProbeRequest<'_>) -> bool {
        *self.name == *request.name
            && *self.descriptor == *request.descriptor
            && *self.template == *request.template
            && self.level == request.level
            && self.live == request.live
            && *self.context == *request.context
    }
}

impl Probe {
    fn describe(&self, number: u32) -> ProbeDescription {
        let class = classfile::ModifiedUtf8(&self.class).to_string().replace('/', ".");
        ProbeDescription {
            number,
            method: format!("{class}.{}", classfile::ModifiedUtf8(&self.name)),
            descriptor: classfile::ModifiedUtf8(&self.descriptor).to_string(),
            template: Arc::clone(&self.template),
            level: self.level,
            live: self.live,
            context: Arc::clone(&self.context),
        }
    }

    /// How many numbers before this one a live probe has its own.
    fn numbers_after_own(&self) -> u32 {
        let other = (1u32..).zip(OTHER_LEVELS).find(|(_, level)| self.live && self.level == *level);
        other.map_or(0, |(position, _)| position)
    }
}

impl ProbeRegistry {
    /// Numbers for the probes of a class of this loader, in the order of the requests; `None` if there are no more numbers.
    pub fn numbers(&self, (class, loader): (&[u8], LoaderId), requests: &[ProbeRequest<'_>]) -> Option<Vec<u32>> {
        let mut known = self.known.lock();
        if known.probes.len() + (1 + OTHER_LEVELS.len()) * requests.len() > HIGHEST_PROBE {
            return None;
        }
        let (class, mut of_class) = known.take_class(class, requests);
        if !of_class.is_shared && !of_class.loaders.contains(&loader) {
            if of_class.loaders.is_empty() {
                known.kinds.note_loaded(&class, of_class.kind, std::mem::take(&mut of_class.was_unloaded));
            }
            of_class.loaders.push(loader);
        }
        let of_numbers = &mut of_class.numbers;
        let mut at = 0;
        let mut numbers = Vec::with_capacity(requests.len());
        for request in requests {
            let number = known.find(of_numbers, &mut at, request);
            let number = number.unwrap_or_else(|| {
                let number = known.add(&class, request);
                of_numbers.push(number);
                if request.live {
                    let others = OTHER_LEVELS.map(|level| known.add(&class, &ProbeRequest { level, ..*request }));
                    of_numbers.extend(others);
                }
                at = of_numbers.len();
                number
            });
            numbers.push(number);
        }
        known.by_class.insert(class, of_class);
        self.count.store(known.probes.len(), Ordering::Release);
        Some(numbers)
    }

    /// Notes that these loaders are gone, and their classes with them.
    pub fn note_unloaded(&self, gone: &FxHashSet<LoaderId>) {
        let mut known = self.known.lock();
        let Known { by_class, kinds, .. } = &mut *known;
        for (name, of_class) in by_class.iter_mut().filter(|(_, of_class)| !of_class.loaders.is_empty()) {
            of_class.loaders.retain(|loader| !gone.contains(loader));
            if of_class.loaders.is_empty() {
                of_class.was_unloaded = true;
                kinds.note_unloaded(name, of_class.kind);
            }
        }
    }

    /// How many numbers were given, and under how many names of classes.
    pub fn sizes(&self) -> (usize, usize) {
        let known = self.known.lock();
        (known.probes.len(), known.by_class.len())
    }

    /// The number of the sections of this name, which the application marks itself; 0 if there are no more numbers.
    pub fn section(&self, name: &[u8]) -> u32 {
        // The lines and fields of other tools end there.
        let name: String = String::from_utf8_lossy(name)
            .chars()
            .map(|letter| match letter {
                ';' => ',',
                _ if letter.is_control() => ' ',
                _ => letter,
            })
            .collect();
        let request = ProbeRequest {
            name: name.as_bytes(),
            descriptor: b"()V",
            access_flags: 0x0008,
            template: SECTION,
            level: Level::Time,
            live: false,
            context: "",
        };
        let numbers = self.numbers((SECTION.as_bytes(), BOOT), &[request]);
        numbers.and_then(|numbers| numbers.first().copied()).unwrap_or(0)
    }

    /// All probes of loaded classes, each live one once. Probes that classes share are among them in any case.
    pub fn described(&self) -> Vec<ProbeDescription> {
        let mut described = Vec::new();
        self.each_described(|probe| described.push(probe));
        described
    }

    /// Calls `each` for every probe of a loaded class, each live one once.
    fn each_described(&self, mut each: impl FnMut(ProbeDescription)) {
        // Copied, so that class loading does not wait while names are written out.
        let copied: Vec<(Arc<Probe>, u32)> = {
            let known = self.known.lock();
            let numbered = known.probes.iter().zip(1..);
            let own = numbered.filter(|(probe, _)| !probe.live || !OTHER_LEVELS.contains(&probe.level));
            own.filter(|(probe, _)| known.is_loaded(probe)).map(|(probe, number)| (Arc::clone(probe), number)).collect()
        };
        copied.into_iter().for_each(|(probe, number)| each(probe.describe(number)));
    }

    /// The probe of a number.
    pub fn describe(&self, number: u32) -> Option<ProbeDescription> {
        let probe = self.known.lock().probes.get((number as usize).checked_sub(1)?).map(Arc::clone)?;
        Some(probe.describe(number))
    }

    /// Returns the probes that methods of classes of this name got, with their own numbers; none if classes with other names share them.
    pub fn of_class(&self, class: &[u8]) -> Vec<(u32, KnownProbe)> {
        let known = self.known.lock();
        let Some(of_class) = known.by_class.get(class).filter(|of_class| !of_class.is_shared) else {
            return Vec::new();
        };
        let probe = |number: &u32| {
            let probe = known.probes.get((*number as usize).checked_sub(1)?)?;
            (probe.numbers_after_own() == 0).then(|| (*number, KnownProbe(Arc::clone(probe))))
        };
        of_class.numbers.iter().filter_map(probe).collect()
    }

    /// Returns the probes of these numbers, as far as they were given.
    pub fn known(&self, numbers: impl Iterator<Item = u32>) -> Vec<Option<KnownProbe>> {
        let known = self.known.lock();
        let probe = |number: u32| known.probes.get((number as usize).checked_sub(1)?).map(Arc::clone).map(KnownProbe);
        numbers.map(probe).collect()
    }

    /// The own number of the probe that records under `number`, and the level of these records.
    pub fn own_number(&self, number: u32) -> Option<(u32, Level)> {
        let known = self.known.lock();
        let probe = known.probes.get((number as usize).checked_sub(1)?)?;
        Some((number.checked_sub(probe.numbers_after_own())?, probe.level))
    }

    /// Probe and level of the records of each of these numbers, as far as they were given.
    pub fn recorded_as(&self, numbers: impl Iterator<Item = u32>) -> Vec<Option<RecordedAs>> {
        let known = self.known.lock();
        let look_up = |number: u32| {
            let probe = known.probes.get((number as usize).checked_sub(1)?)?;
            Some(RecordedAs { probe: number - probe.numbers_after_own(), level: probe.level, live: probe.live })
        };
        numbers.map(look_up).collect()
    }

    /// The highest number that was given; 0 before the first.
    pub fn highest(&self) -> u32 {
        u32::try_from(self.count.load(Ordering::Acquire)).unwrap_or(u32::MAX)
    }

    /// The method that has the probe of this number; `None` if classes with several names share it.
    pub fn method(&self, number: u32) -> Option<ProbedMethod> {
        let known = self.known.lock();
        let probe = known.probes.get((number as usize).checked_sub(1)?).map(Arc::clone)?;
        if known.by_class.get(&probe.class).is_some_and(|of_class| of_class.is_shared) {
            return None;
        }
        let (class, name, descriptor) = (Arc::clone(&probe.class), probe.name.clone(), probe.descriptor.clone());
        Some(ProbedMethod { class, name, descriptor })
    }

    /// Calls `each` with the probes that were added since the last time.
    pub fn new_definitions(&self, definitions: &mut Definitions, mut each: impl FnMut(ProbeDefinition<'_>)) {
        if self.count.load(Ordering::Acquire) == definitions.seen {
            return;
        }
        // Copied, so that class loading does not wait for what the reader does with them.
        let fresh: Vec<Arc<Probe>> = self.known.lock().probes.get(definitions.seen..).unwrap_or_default().to_vec();
        for probe in &fresh {
            definitions.seen += 1;
            each(ProbeDefinition {
                id: u32::try_from(definitions.seen).unwrap_or(0),
                own: u32::try_from(definitions.seen).unwrap_or(0).saturating_sub(probe.numbers_after_own()),
                class: &probe.class,
                name: &probe.name,
                descriptor: &probe.descriptor,
                access_flags: probe.access_flags,
                template: &probe.template,
                level: probe.level,
                context: &probe.context,
            });
        }
    }
}

impl Known {
    /// Returns whether a class with this probe may be loaded: some loader of it is not known to be gone.
    fn is_loaded(&self, probe: &Probe) -> bool {
        let of_class = self.by_class.get(&probe.class);
        of_class.is_none_or(|of_class| of_class.is_shared || !of_class.loaders.is_empty())
    }

    /// Takes the probes of a class out of the table, and the name under which they are recorded.
    fn take_class(&mut self, class: &[u8], requests: &[ProbeRequest<'_>]) -> (Arc<[u8]>, ProbedClass) {
        if let Some(found) = self.by_class.remove_entry(class) {
            return found;
        }
        let kind = Kind::of(class, requests);
        let Some(shared) = self.kinds.shared_name(class, kind) else {
            return (class.into(), ProbedClass { kind, ..ProbedClass::default() });
        };
        self.by_class.remove_entry(&*shared).unwrap_or_else(|| {
            let (class, shared) = (classfile::ModifiedUtf8(class), Arc::<[u8]>::from(shared));
            let name = classfile::ModifiedUtf8(&shared);
            tracing::info!(
                "many classes like {class} were unloaded: the calls of the next ones are recorded as {name}"
            );
            (shared, ProbedClass { is_shared: true, ..ProbedClass::default() })
        })
    }

    /// The number of an equal probe. A class usually asks again in the same order, so the search continues where it ended.
    fn find(&self, of_class: &[u32], at: &mut usize, request: &ProbeRequest<'_>) -> Option<u32> {
        for step in 0..of_class.len() {
            let position = (*at + step) % of_class.len();
            let number = *of_class.get(position)?;
            if self.probes.get(number as usize - 1).is_some_and(|probe| probe.answers(request)) {
                *at = position + 1;
                return Some(number);
            }
        }
        None
    }

    /// Returns the text, kept once: many probes have the same template and context.
    fn shared(&mut self, text: &str) -> Arc<str> {
        let known = self.texts.iter().find(|known| ***known == *text).map(Arc::clone);
        known.unwrap_or_else(|| {
            let text: Arc<str> = Arc::from(text);
            self.texts.push(Arc::clone(&text));
            text
        })
    }

    fn add(&mut self, class: &Arc<[u8]>, request: &ProbeRequest<'_>) -> u32 {
        let (template, context) = (self.shared(request.template), self.shared(request.context));
        self.probes.push(Arc::new(Probe {
            class: Arc::clone(class),
            name: request.name.into(),
            descriptor: request.descriptor.into(),
            access_flags: request.access_flags,
            template,
            level: request.level,
            live: request.live,
            context,
        }));
        u32::try_from(self.probes.len()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class_kinds::MOST_OF_A_KIND;

    fn request<'a>(name: &'a str, template: &'a str, level: Level) -> ProbeRequest<'a> {
        ProbeRequest {
            name: name.as_bytes(),
            descriptor: b"()V",
            access_flags: 1,
            template,
            level,
            live: false,
            context: "",
        }
    }

    #[test]
    fn equal_requests_get_equal_numbers_and_a_change_of_level_a_new_one() {
        let registry = ProbeRegistry::default();
        let numbers = |class: &str, requests: &[ProbeRequest<'_>]| registry.numbers((class.as_bytes(), 1), requests);
        let (a, b) = (request("a", "timed", Level::Time), request("b", "timed", Level::Time));
        let watched = request("a", "timed", Level::Watch);
        assert_eq!(numbers("p/C", &[a, b]), Some(vec![1, 2]));
        assert_eq!(numbers("p/D", &[a]), Some(vec![3]));
        assert_eq!(numbers("p/C", &[a, b]), Some(vec![1, 2]));
        assert_eq!(numbers("p/C", &[b, watched, a]), Some(vec![2, 4, 1]));
    }

    #[test]
    fn a_live_probe_has_the_next_numbers_too_for_other_levels() {
        let registry = ProbeRegistry::default();
        let live = ProbeRequest { live: true, ..request("a", "timed", Level::Time) };
        let ask = || registry.numbers((b"p/C", 1), &[live, request("b", "timed", Level::Time)]);
        assert_eq!(ask(), Some(vec![1, 5]));
        assert_eq!(ask(), Some(vec![1, 5]), "the same when the class is retransformed");
        let described = registry.described().into_iter().map(|probe| (probe.number, probe.method, probe.live));
        assert_eq!(described.collect::<Vec<_>>(), [(1, "p.C.a".to_owned(), true), (5, "p.C.b".to_owned(), false)]);
        let recorded = |number| registry.recorded_as([number].into_iter()).pop().flatten();
        assert_eq!(recorded(3), Some(RecordedAs { probe: 1, level: Level::Full, live: true }));
        assert_eq!(recorded(5), Some(RecordedAs { probe: 5, level: Level::Time, live: false }));
        assert_eq!((recorded(0), recorded(6)), (None, None));
        let mut levels = Vec::new();
        registry.new_definitions(&mut Definitions::default(), |probe| levels.push(probe.level));
        assert_eq!(levels, [Level::Time, Level::Watch, Level::Full, Level::Burst, Level::Time]);
        let java = include_str!("../../java-runtime/src/main/java/java/instr/Live.java");
        for (line, level) in
            [("TICKS = 1;", Level::Watch), ("FULL_CALLS = 2;", Level::Full), ("BURSTS = 3;", Level::Burst)]
        {
            let number = OTHER_LEVELS.iter().position(|other| *other == level).unwrap() + 1;
            assert!(java.contains(line) && line.ends_with(&format!("= {number};")), "{line}");
        }
    }

    /// With tens of thousands of probes it takes milliseconds to write out their names.
    #[test]
    fn class_loading_does_not_wait_while_probes_are_described_or_defined() {
        let registry = ProbeRegistry::default();
        let names = ["a", "b", "c"];
        registry.numbers((b"p/C", 1), &names.map(|name| request(name, "timed", Level::Time)));
        let mut described = 0;
        registry.each_described(|_| {
            described += 1;
            assert!(!registry.known.is_locked(), "the lock of class loading is held while a probe is described");
        });
        let mut defined = 0;
        registry.new_definitions(&mut Definitions::default(), |_| {
            defined += 1;
            assert!(!registry.known.is_locked(), "the lock of class loading is held while a probe is defined");
        });
        assert_eq!((described, defined), (3, 3));
    }

    #[test]
    fn each_definition_is_reported_once_with_its_number() {
        let registry = ProbeRegistry::default();
        let mut definitions = Definitions::default();
        let mut reported = Vec::new();
        let mut report = |definitions: &mut Definitions| {
            registry.new_definitions(definitions, |probe| {
                reported.push(format!("{} {} {}", probe.id, String::from_utf8_lossy(probe.name), probe.level));
            });
        };
        registry.numbers((b"C", 1), &[request("a", "t", Level::Time)]);
        report(&mut definitions);
        report(&mut definitions);
        registry.numbers((b"C", 1), &[request("a", "t", Level::Time), request("b", "t", Level::Watch)]);
        report(&mut definitions);
        assert_eq!(reported, ["1 a time", "2 b watch"]);
    }

    #[test]
    fn classes_with_ever_new_names_share_numbers_after_many_were_unloaded() {
        let registry = ProbeRegistry::default();
        let live = ProbeRequest { live: true, ..request("run", "timed", Level::Time) };
        let define = |class: String, loader| registry.numbers((class.as_bytes(), loader), &[live]).unwrap()[0];
        let staying = define("p/Script0".to_owned(), LoaderId::MAX);
        let loaders = LoaderId::try_from(3 * MOST_OF_A_KIND).unwrap();
        for loader in 1..=loaders {
            define(format!("p/Script{loader}"), loader);
            registry.note_unloaded(&FxHashSet::from_iter([loader]));
        }
        assert_eq!(registry.sizes(), (4 * (MOST_OF_A_KIND + 2), MOST_OF_A_KIND + 2));
        assert_eq!(define("p/Script0".to_owned(), LoaderId::MAX), staying, "retransformed");
        assert_eq!(registry.method(staying).map(|method| method.class), Some(b"p/Script0".as_slice().into()));
        let shared = define("p/Script9999".to_owned(), 9999);
        assert_eq!(registry.describe(shared).map(|probe| probe.method).as_deref(), Some("p.Script*.run"));
        assert_eq!(registry.method(shared), None, "no class has this name");
    }

    #[test]
    fn the_same_classes_deployed_again_and_again_keep_their_numbers_and_share_nothing() {
        let registry = ProbeRegistry::default();
        let define = |class: &str, loader| {
            registry.numbers((class.as_bytes(), loader), &[request("run", "timed", Level::Time)]).unwrap()[0]
        };
        let loaders = LoaderId::try_from(2 * MOST_OF_A_KIND).unwrap();
        for loader in 1..=loaders {
            assert_eq!((define("p/A", loader), define("p/B", loader)), (1, 2));
            registry.note_unloaded(&FxHashSet::from_iter([loader]));
        }
        assert_eq!(define("p/New", 1), 3, "a class that the next version adds has probes of its own");
    }
}
