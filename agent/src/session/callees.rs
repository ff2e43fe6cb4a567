//! What `instr callees` asks for: what a loaded method may call.

use std::cell::RefCell;

use classfile::access;
use control::{Callees, CalleesRequest, ErrorCode, LeftAlone, Refusal};
use instrument_core::facts::call_sites::{Call, CallKind, Target};
use instrument_core::internal_name::{package_of, to_source};
use instrument_core::rules::nearest_name::nearest_name;
use instrument_core::rules::patterns::NameGlob;
use instrument_core::rules::patterns::method_pattern::MethodPattern;
use instrument_core::rules::patterns::text_pattern::TextPattern;
use instrument_core::selection::ClassOrigin;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Session;
use super::loaded_inventory::refuse_at_the_end;
use crate::call_sites::MethodKey;
use crate::classes::hierarchy::{ClassId, LoaderId};
use crate::classes::known_calls::KnownCalls;
use crate::classes::large_files::LARGE_FILES;
use crate::discovery::{
    ClassAt, Declared, InstrumentedCode, Limits, LoadedProgram, LoadedTypes, MethodAt, ProbeState, Program, Types,
    explore, implementers, resolve, subclasses_declare_all,
};
use crate::jvm::{Jvmti, LoadedClass, STATEMENT, Wish, ask_for};
use crate::transform::JvmOrigin;
use crate::transform::inspection::Inspection;
use crate::transform::method_state::MethodOfClass;

/// Most levels: what is deeper is asked for by the method from which it begins.
const DEEPEST: usize = 20;
/// Most methods in an answer, unless the request states another number.
const MOST: usize = 1_000;
/// More are never listed at once: the answer is kept in memory until it is sent.
const LIMIT: usize = 100_000;
/// Most implementers of a call, unless the request states another number.
const IMPLEMENTERS: usize = 8;
/// Most bytes of a class, unless the request states another number.
const CLASS_KB: u64 = 1_024;
/// Most methods that are asked for at once.
const MOST_ASKED: usize = 100;
/// Most names in the text of a refusal.
const MOST_NAMES: usize = 20;
/// Most classes in one.
const MOST_NAMED: usize = 5;
const CONNECTION: &[u8] = b"java/sql/Connection";
/// With which the names of its methods begin that prepare statements.
const PREPARING: &[u8] = b"prepare";

/// The methods that a request means.
struct Asked {
    class: NameGlob,
    method: MethodPattern,
    loader: Option<TextPattern>,
}

impl Asked {
    /// Reads `package.Class.method` or `package.Class.method(types)`.
    fn parse(request: &CalleesRequest) -> Result<Asked, Refusal> {
        let text = request.method.as_str();
        let named = text.split_once('(').map_or(text, |(named, _)| named);
        let split = named.rfind(['.', '/']).and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
        let (class, method) = split.ok_or_else(|| {
            Refusal::from(format!("`{text}` names no method"))
                .help("write `package.Class.method`, or `package.Class.method(int, String)`")
        })?;
        let loader = request.loader.as_deref().map(TextPattern::loader).transpose();
        Ok(Asked {
            class: NameGlob::class(class).map_err(|error| error.message)?,
            method: MethodPattern::parse(method).map_err(|error| error.message)?,
            loader: loader.map_err(|error| error.message)?,
        })
    }

    fn has_loader(&self, names: &str) -> bool {
        let names = || {
            names
                .split(", ")
                .any(|name| self.loader.as_ref().is_some_and(|loader| loader.glob.matches(name.as_bytes())))
        };
        self.loader.is_none() || names()
    }
}

/// What the session knows about the code of classes.
struct SessionCode<'a>(&'a Inspection<'a>);

impl InstrumentedCode for SessionCode<'_> {
    fn known(&self) -> &KnownCalls {
        &self.0.instrumentation.calls
    }

    fn is_rewritten(&self, (name, loader): &ClassId) -> bool {
        self.0.instrumentation.rewritten.has(name, *loader)
    }

    fn is_wrapper(&self, (class, loader): &ClassId, name: &[u8], descriptor: &[u8]) -> bool {
        let wrapped = self.0.instrumentation.wrapped.of_class(class, *loader);
        wrapped.is_some_and(|wrapped| wrapped.has(name, descriptor))
    }

    fn recorded(&self, class: &ClassId, name: &[u8], descriptor: &[u8]) -> u64 {
        let probed = self.0.probe_of(class, MethodOfClass { name, descriptor, flags: 0 });
        probed.and_then(|probed| probed.recorded).unwrap_or(0)
    }

    fn is_called_by_templates(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
        self.0.generation.templates().calls(owner, name, descriptor)
    }

    fn jdk_class(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.0.generation.types.jdk_class(name)
    }
}

/// A method of a loaded class that a request means.
#[derive(Debug, Clone)]
pub(super) struct MeantMethod {
    pub(super) key: MethodKey,
    /// As people write it.
    pub(super) text: String,
    pub(super) loader_name: String,
    /// Why it cannot be changed.
    pub(super) obstacle: Option<String>,
    /// What to do about that.
    pub(super) help: String,
    /// Whether its class has native methods.
    pub(super) has_natives: bool,
}

impl Session {
    /// Returns the methods that a request means.
    pub(super) fn meant_methods(&self, method: &str, loader: Option<&str>) -> Result<Vec<MeantMethod>, Refusal> {
        let request = CalleesRequest {
            method: method.to_owned(),
            loader: loader.map(str::to_owned),
            ..CalleesRequest::default()
        };
        let asked = Asked::parse(&request)?;
        self.with_program(CLASS_KB, |types, program, _| {
            let (methods, _) = meant(&asked, method, types, program)?;
            Ok(methods.into_iter().filter_map(|at| meant_method(types, program, at)).collect())
        })
    }

    /// Returns the methods that a call of a measured method may run: the one that its instruction means, or those that may run in its place, each with why it
    /// cannot be measured. `Err` if that is unknown.
    pub(super) fn methods_of_call(&self, from: &MethodKey, call: &Call) -> Result<Vec<MeantMethod>, String> {
        let found = self.with_program(CLASS_KB, |types, program, _| {
            let class = types.all().find(|(_, id)| (&*id.0, id.1) == (&*from.class, from.loader)).map(|(at, _)| at);
            let candidates =
                class.ok_or_else(|| "its class is gone".to_owned()).and_then(|class| candidates(types, class, call));
            Ok(candidates.map(|all| {
                let mut methods: Vec<MeantMethod> =
                    all.into_iter().filter_map(|at| meant_method(types, program, at)).collect();
                methods.truncate(IMPLEMENTERS);
                methods
            }))
        });
        found.map_err(|refusal| refusal.to_string())?
    }

    /// Whether a class is one of JDBC's statements, as far as its loaded super types say.
    pub(super) fn is_statement(&self, class: &[u8], loader: LoaderId) -> bool {
        let found = self.with_program(CLASS_KB, |types, _, _| {
            let found = types.all().find(|(_, id)| &*id.0 == class && (id.1 == loader || class.starts_with(b"java/")));
            Ok(found.is_some_and(|(at, _)| is_or_extends(types, at, STATEMENT)))
        });
        found.unwrap_or(false)
    }

    /// Returns the loaded classes that may know the texts of statements, but for those of the JDK and those that are never changed: the class of the statements
    /// that are executed, if it is known, and the connections of its package, which prepare them; otherwise all statements and connections of JDBC. Each class
    /// less is code of every other request less that the JVM has to compile again.
    pub(super) fn jdbc_classes(&self, executed: Option<&ClassId>) -> Vec<ClassId> {
        let found = self.with_program(CLASS_KB, |types, _, inspection| {
            let (statements, connections) = (changeable_below(types, STATEMENT), changeable_below(types, CONNECTION));
            Ok(match executed.filter(|executed| statements.contains(executed)) {
                None => [statements, connections].concat(),
                Some(executed) => {
                    let is_near = |(name, _): &&ClassId| package_of(name) == package_of(&executed.0);
                    let mut near: Vec<ClassId> = connections.iter().filter(is_near).cloned().collect();
                    let all: FxHashSet<ClassId> = near.iter().cloned().collect();
                    near.retain(|id| !leaves_preparing_to(&all, types, inspection.jvmti, id));
                    [vec![executed.clone()], if near.is_empty() { connections } else { near }].concat()
                }
            })
        });
        found.unwrap_or_default()
    }

    /// Returns the loaded classes that are connections of JDBC, with the same exceptions.
    pub(super) fn connections(&self) -> Vec<ClassId> {
        self.with_program(CLASS_KB, |types, _, _| Ok(changeable_below(types, CONNECTION))).unwrap_or_default()
    }

    /// Returns what the methods may call that the request means.
    pub(super) fn callees_of(&self, request: &CalleesRequest) -> Result<Callees, Refusal> {
        let asked = Asked::parse(request)?;
        let limits = Limits {
            depth: request.depth.unwrap_or(1).min(DEEPEST),
            most: request.most.unwrap_or(MOST).min(LIMIT),
            implementers: request.implementers.unwrap_or(IMPLEMENTERS),
            opcodes: request.opcodes.clone().unwrap_or_else(|| CallKind::ALL.to_vec()),
        };
        self.with_program(request.class_kb.unwrap_or(CLASS_KB), |types, program, inspection| {
            let (methods, notices) = meant(&asked, &request.method, types, program)?;
            let mut callees = explore(program, &methods, &limits);
            refuse_at_the_end(inspection)?;
            (callees.decoded, callees.known) = program.counts();
            callees.notices = notices;
            Ok(callees)
        })
    }

    /// Looks at the program of the loaded classes; those that take more KiB than this are not looked into.
    fn with_program<R>(
        &self,
        class_kb: u64,
        look: impl FnOnce(&LoadedTypes<'_>, &LoadedProgram<'_>, &Inspection<'_>) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let most_bytes = usize::try_from(class_kb).unwrap_or(usize::MAX).saturating_mul(1_024);
        self.with_loaded(|loaded, inspection| {
            let (jvmti, jni) = (inspection.jvmti, inspection.jni);
            // Only threads that the JVM knows may ask.
            if !ask_for(jvmti, Wish::Bytecodes) {
                return Err(Refusal::from("this JVM does not show bytecode".to_owned()));
            }
            let types = LoadedTypes::of(jvmti, jni, loaded);
            let obstacles = RefCell::default();
            let states = |class: LoadedClass<'_>, id: &ClassId, method: &Declared| {
                state_of(inspection, &obstacles, (class, id, LARGE_FILES.exceeds(id, most_bytes)), method)
            };
            let loader_name = |class: LoadedClass<'_>, id: &ClassId| loader_name(inspection, class, id);
            let goes_on = || refuse_at_the_end(inspection).is_ok();
            let code = SessionCode(inspection);
            let program = LoadedProgram::new((jvmti, jni), &types, &code, most_bytes, &states, &loader_name, &goes_on);
            look(&types, &program, inspection)
        })
    }
}

/// Hidden classes have a `+` in their names.
fn may_be_changed((name, _): &ClassId) -> bool {
    ![&b"java/"[..], b"javax/", b"com/sun/"].iter().any(|package| name.starts_with(package)) && !name.contains(&b'+')
}

/// Returns the classes below this one that may be changed, each once.
fn changeable_below(types: &LoadedTypes<'_>, top: &[u8]) -> Vec<ClassId> {
    let tops = types.all().filter(|(_, (name, _))| &**name == top).map(|(at, _)| at);
    let below: FxHashSet<ClassAt> = tops.flat_map(|top| types.subtypes(top)).collect();
    below.into_iter().filter_map(|at| Some(types.class(at)?.1.clone())).filter(may_be_changed).collect()
}

/// Whether a connection is abstract and each loaded subclass is one of these and declares all methods that prepare statements itself, as in connection pools: then
/// it is enough to change the subclasses.
fn leaves_preparing_to(all: &FxHashSet<ClassId>, types: &LoadedTypes<'_>, jvmti: Jvmti, id: &ClassId) -> bool {
    let found = types.all().find(|(_, of)| *of == id).and_then(|(at, _)| Some((at, types.class(at)?.0)));
    let Some((class, _)) = found.filter(|(_, loaded)| !loaded.is_concrete(jvmti)) else { return false };
    let are_changed = types.subtypes(class).iter().all(|at| types.class(*at).is_some_and(|(_, id)| all.contains(id)));
    are_changed && subclasses_declare_all(types, class, PREPARING)
}

/// Whether a class has this name, or extends or implements one that has.
fn is_or_extends(types: &LoadedTypes<'_>, class: ClassAt, top: &[u8]) -> bool {
    let (mut pending, mut seen) = (vec![class], FxHashSet::default());
    while let Some(at) = pending.pop() {
        if types.name(at) == top {
            return true;
        }
        if seen.insert(at) {
            let (super_class, interfaces) = types.super_types(at);
            pending.extend(super_class.into_iter().chain(interfaces.iter().copied()));
        }
    }
    false
}

/// Returns the methods that a call may run.
fn candidates(types: &LoadedTypes<'_>, from: ClassAt, call: &Call) -> Result<Vec<MethodAt>, String> {
    let (kind, named) = match &call.target {
        Target::Method(named) => (call.kind, named),
        Target::Function(kind, named) => (*kind, named),
        Target::Bootstrap(_) | Target::Unknown(..) => {
            return Err("a dynamic call: what it leads to is unknown".to_owned());
        }
    };
    let resolved = resolve(types, named, from).map_err(|why| why.texts().1.to_owned())?;
    let mut all = vec![resolved];
    if matches!(kind, CallKind::Virtual | CallKind::Interface) {
        all.extend(implementers(types, resolved));
    }
    all.retain(|(class, method)| types.methods(*class).get(*method).is_some_and(|of| of.flags & access::ABSTRACT == 0));
    if all.is_empty() { Err("no loaded class implements it".to_owned()) } else { Ok(all) }
}

fn meant_method(
    types: &LoadedTypes<'_>,
    program: &LoadedProgram<'_>,
    (class, method): MethodAt,
) -> Option<MeantMethod> {
    let (_, id) = types.class(class)?;
    let declared = types.methods(class).get(method)?.clone();
    let key = MethodKey {
        class: (&*id.0).into(),
        loader: id.1,
        name: (&*declared.name).into(),
        descriptor: (&*declared.descriptor).into(),
    };
    let entry = program.entry((class, method));
    let implemented = implementers(types, (class, method));
    let names = implemented.iter().take(MOST_NAMED).map(|(class, _)| to_source(types.name(*class)));
    let help = if declared.flags & access::ABSTRACT != 0 && !implemented.is_empty() {
        format!("name a class that implements it: {}", names.collect::<Vec<_>>().join(", "))
    } else {
        "`instr callees` shows what can be measured, and `instr explain --live` why not".to_owned()
    };
    let text = key.text();
    // A class that waits for a frame to return does so for a diagnosis, too.
    let obstacle = entry.reason.filter(|_| entry.code.as_deref() != Some("waits"));
    let has_natives = types.methods(class).iter().any(|method| method.flags & access::NATIVE != 0);
    Some(MeantMethod { key, text, loader_name: entry.loader.unwrap_or_default(), obstacle, help, has_natives })
}

/// What keeps classes from being changed, by class: asking is not cheap.
type Obstacles = RefCell<FxHashMap<ClassId, Option<LeftAlone>>>;

fn state_of(
    inspection: &Inspection<'_>,
    obstacles: &Obstacles,
    (class, id, is_too_large): (LoadedClass<'_>, &ClassId, bool),
    method: &Declared,
) -> ProbeState {
    let method = MethodOfClass { name: &method.name, descriptor: &method.descriptor, flags: method.flags };
    if let Some(probed) = inspection.probe_of(id, method) {
        let wanted_by = probed.wanted_by.iter().cloned().collect();
        return ProbeState { level: Some(probed.level), recorded: probed.recorded, wanted_by, obstacle: None };
    }
    let of_class = || {
        if is_too_large {
            return inspection.obstacle_besides_constants(class, id);
        }
        let mut known = obstacles.borrow_mut();
        known.entry(id.clone()).or_insert_with(|| inspection.obstacle(class, id)).clone()
    };
    ProbeState { obstacle: inspection.obstacle_of(id, method).or_else(of_class), ..ProbeState::default() }
}

fn loader_name(inspection: &Inspection<'_>, class: LoadedClass<'_>, id: &ClassId) -> String {
    let (jvmti, jni) = (inspection.jvmti, inspection.jni);
    class.with_loader(jvmti, jni, |loader| {
        let origin = JvmOrigin { jvmti, jni, name: Some(&id.0), loader, protection_domain: None };
        origin.loader().unwrap_or_default().join(", ")
    })
}

/// Returns the methods that are meant, and notices about classes that were not looked into.
fn meant(
    asked: &Asked,
    text: &str,
    types: &LoadedTypes<'_>,
    program: &LoadedProgram<'_>,
) -> Result<(Vec<MethodAt>, Vec<String>), Refusal> {
    let classes: Vec<(ClassAt, &ClassId)> = types.all().filter(|(_, id)| asked.class.matches(&id.0)).collect();
    if classes.is_empty() {
        return Err(no_class(asked, text, types));
    }
    let of_loader = |at: ClassAt| asked.has_loader(&program.loader_of(at).unwrap_or_default());
    let mut classes: Vec<(ClassAt, &ClassId)> = classes.into_iter().filter(|(at, _)| of_loader(*at)).collect();
    if classes.is_empty() {
        let text = format!("no class loader of this name has a class {}", asked.class.text());
        return Err(Refusal::new(ErrorCode::UnknownName, text)
            .help("`instr explain --live PID CLASS` shows the loaders that have it"));
    }
    classes.sort_by_key(|(_, id)| *id);
    let (mut methods, mut notices) = (Vec::new(), Vec::new());
    for (at, id) in &classes {
        let declared = types.methods(*at);
        let matching = declared.iter().enumerate().filter(|(_, of)| asked.method.matches(&of.name, &of.descriptor));
        methods.extend(matching.map(|(method, _)| (*at, method)));
        if !types.is_linked(*at) {
            let loader = program.loader_of(*at).unwrap_or_default();
            notices.push(format!(
                "{} of class loader {loader} is not linked yet: its methods are unknown",
                to_source(&id.0)
            ));
        }
    }
    if methods.is_empty() {
        return Err(no_method(asked, text, &classes, types, &notices));
    }
    if methods.len() > MOST_ASKED {
        notices
            .push(format!("{text} means {} methods, of which the first {MOST_ASKED} are looked into", methods.len()));
        methods.truncate(MOST_ASKED);
    }
    Ok((methods, notices))
}

fn no_class(asked: &Asked, text: &str, types: &LoadedTypes<'_>) -> Refusal {
    let class = asked.class.text().replace('/', ".");
    let is_class = NameGlob::class(text).is_ok_and(|glob| types.all().any(|(_, id)| glob.matches(&id.0)));
    if is_class {
        return Refusal::new(ErrorCode::UnknownName, format!("{text} is a class, not a method"))
            .help(format!("name one of its methods: `{text}.method`"));
    }
    let names: Vec<String> = types.all().map(|(_, id)| to_source(&id.0)).collect();
    let help = match nearest_name(&class, names.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "it may be loaded later, or the name is wrong".to_owned(),
    };
    Refusal::new(ErrorCode::UnknownName, format!("no loaded class is named {class}")).help(help)
}

fn no_method(
    asked: &Asked,
    text: &str,
    classes: &[(ClassAt, &ClassId)],
    types: &LoadedTypes<'_>,
    notices: &[String],
) -> Refusal {
    if let Some(notice) = notices.first() {
        return Refusal::from(notice.clone()).help("ask again once the program uses it");
    }
    let declared = classes.iter().flat_map(|(at, _)| types.methods(*at).to_vec());
    let mut names: Vec<String> = declared.map(|of| classfile::ModifiedUtf8(&of.name).to_string()).collect();
    names.sort_unstable();
    names.dedup();
    let class = asked.class.text().replace('/', ".");
    let wanted = asked.method.text();
    let name = wanted.split_once('(').map_or(wanted, |(name, _)| name).trim();
    let help = match nearest_name(name, names.iter().map(String::as_str)) {
        Some(nearest) if nearest == name => {
            format!("{nearest} has other parameters: `instr callees` of `{class}.{name}` lists all of its overloads")
        }
        Some(nearest) => format!("did you mean `{class}.{nearest}`?"),
        None => format!("its methods are {}", first_names(&names)),
    };
    Refusal::new(
        ErrorCode::UnknownName,
        format!(
            "{class} has no method {}",
            text.strip_prefix(&class).map_or(wanted, |rest| rest.trim_start_matches('.'))
        ),
    )
    .help(help)
}

/// As many as a line takes, and how many more there are.
pub(super) fn first_names(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_cut_says_so() {
        let names: Vec<String> = (0..22).map(|number| format!("m{number}")).collect();
        assert!(first_names(&names).ends_with("m18, m19 and 2 more"), "{}", first_names(&names));
        assert_eq!(first_names(&names[..2]), "m0, m1");
    }

    fn parse(method: &str) -> Result<Asked, Refusal> {
        Asked::parse(&CalleesRequest { method: method.to_owned(), ..CalleesRequest::default() })
    }

    #[test]
    fn a_method_is_named_with_or_without_its_types() {
        let all = parse("a.b.C.run").unwrap();
        assert!(all.class.matches(b"a/b/C") && !all.class.matches(b"a/b/D"));
        assert!(all.method.matches(b"run", b"()V") && all.method.matches(b"run", b"(I)V"));
        let one = parse("a.b.C.run(java.util.List, int)").unwrap();
        assert!(one.class.matches(b"a/b/C"), "dots within the types are not those of the class");
        assert!(one.method.matches(b"run", b"(Ljava/util/List;I)V") && !one.method.matches(b"run", b"(I)V"));
        assert!(parse("a.C.<init>").unwrap().method.matches(b"<init>", b"()V"));
        for wrong in ["run", "a.C.run(", "a;.C.run"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn loaders_are_known_by_their_names_and_classes() {
        let request = CalleesRequest {
            method: "a.C.run".to_owned(),
            loader: Some("*.Web*".to_owned()),
            ..CalleesRequest::default()
        };
        let asked = Asked::parse(&request).unwrap();
        assert!(asked.has_loader("shop, org.acme.WebLoader") && !asked.has_loader("app"));
        assert!(parse("a.C.run").unwrap().has_loader("app"));
    }
}
