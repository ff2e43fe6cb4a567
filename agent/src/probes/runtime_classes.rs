//! The runtime's Java classes: defined from memory in the boot loader, package `java.instr`.
//!
//! Every class loader delegates `java.*`, so instrumented code finds them wherever it lives; no file is written and no boot
//! path is appended (which would cost class data sharing).

use std::ffi::{CStr, CString};

use classfile::ModifiedUtf8;
use settings::ContextPlace;

use crate::call_sites::{self, CallSites, Sum};
use crate::caller_hooks;
use crate::conditions;
use crate::config::embedded;
use crate::contexts::{self, Contexts};
use crate::jvm::{
    self, ContextClasses, GlobalClass, Jni, Jvmti, LoadedClass, LoadedClasses, NanoClock, ObjectRef, OwnStack,
    RecorderClasses, RecorderNatives, StaticDoubleField, StaticLongField, counter,
};
use crate::jvm_figures::{FullCalls, exceptions};

/// The package of `java.base` that the runtime uses.
const USED_PACKAGE: &CStr = c"jdk.internal.misc";

/// Uses another package, and calls a method of the JDK that exists only where there are virtual threads.
const CARRIER: &str = "java/instr/Carrier";
const CARRIER_USES_PACKAGE: &CStr = c"jdk.internal.access";
const CARRIER_SINCE: u32 = 21;

const NO_RUNTIME: &str = "this build of the agent has no runtime classes";
const OTHER_RUNTIME: &str = "the classes java.instr.* are loaded already. Either another copy of libinstr.so is in this JVM already and stays at \
     work: load it once only. Or code that `instr pre` instrumented has run with instr-runtime.jar: the agent cannot be attached any more, start \
     the JVM with -agentpath";

/// The classes that the agent talks to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuntimeClasses {
    recorder: GlobalClass,
    clock: GlobalClass,
    contexts: GlobalClass,
    sites: GlobalClass,
    statement_texts: GlobalClass,
    handover: GlobalClass,
    full: GlobalClass,
    caller_finder: GlobalClass,
    /// `java.instr.Watch.tick`.
    pub(crate) tick: StaticDoubleField,
}

impl RuntimeClasses {
    /// Defines all classes, opens what they need, binds their native methods. `counts_ticks`: the probes may read the
    /// processor's counter instead of `System.nanoTime()`.
    pub(crate) fn define(
        jvmti: Jvmti,
        jni: &Jni<'_>,
        natives: &'static dyn RecorderNatives,
        counts_ticks: bool,
    ) -> Result<RuntimeClasses, String> {
        let (mut recorder, mut ring, mut live, mut sections, mut full, mut watch, mut clock) =
            (None, None, None, None, None, None, None);
        let (mut contexts, mut sites, mut statement_texts, mut conditions) = (None, None, None, None);
        let (mut places, mut place_table, mut handover, mut baggage, mut caller_finder) =
            (None, None, None, None, None);
        let mut exported = false;
        let mut defined = Vec::with_capacity(embedded::RUNTIME_CLASSES.len());
        refuse_other_runtime(jvmti, jni)?;
        let (with_virtual_threads, plain): (Vec<_>, Vec<_>) =
            embedded::RUNTIME_CLASSES.iter().partition(|(name, _)| *name == CARRIER);
        for (name, bytes) in plain {
            let class = define(jni, name, bytes)?;
            defined.push(class);
            if !std::mem::replace(&mut exported, true) {
                export(jvmti, jni, USED_PACKAGE, class)?;
            }
            match name {
                "java/instr/Recorder" => recorder = Some(class),
                "java/instr/Ring" => ring = Some(class),
                "java/instr/Live" => live = Some(class),
                "java/instr/Sections" => sections = Some(class),
                "java/instr/Contexts" => contexts = Some(class),
                "java/instr/Places" => places = Some(class),
                "java/instr/PlaceTable" => place_table = Some(class),
                "java/instr/Sites" => sites = Some(class),
                "java/instr/StatementTexts" => statement_texts = Some(class),
                "java/instr/Handover" => handover = Some(class),
                "java/instr/Baggage" => baggage = Some(class),
                "java/instr/CallerFinder" => caller_finder = Some(class),
                "java/instr/Conditions" => conditions = Some(class),
                "java/instr/Full" => full = Some(class),
                "java/instr/Watch" => watch = Some(class),
                "java/instr/Clock" => clock = Some(class),
                _ => {}
            }
        }
        if jvmti.java_version() >= CARRIER_SINCE {
            for (name, bytes) in with_virtual_threads {
                export(jvmti, jni, CARRIER_USES_PACKAGE, define(jni, name, bytes)?)?;
            }
        }
        let (Some(recorder), Some(ring), Some(live), Some(sections)) = (recorder, ring, live, sections) else {
            return Err(NO_RUNTIME.to_owned());
        };
        let (Some(full), Some(watch), Some(clock)) = (full, watch, clock) else {
            return Err(NO_RUNTIME.to_owned());
        };
        let (Some(contexts), Some(sites), Some(statement_texts), Some(conditions), Some(handover)) =
            (contexts, sites, statement_texts, conditions, handover)
        else {
            return Err(NO_RUNTIME.to_owned());
        };
        let (Some(places), Some(place_table), Some(baggage), Some(caller_finder)) =
            (places, place_table, baggage, caller_finder)
        else {
            return Err(NO_RUNTIME.to_owned());
        };
        jvm::register_recorder_natives(jni, RecorderClasses { ring, live, watch, sections }, natives)
            .map_err(|error| error.to_string())?;
        let (of_contexts, of_sites) = (Contexts::addresses(), CallSites::addresses());
        let (slow_call_ends, handover_table) = (call_sites::note_slow_call, (handover, Contexts::carried_address()));
        let of_context_classes = (ContextClasses { contexts, places, place_table }, of_contexts);
        let tables = (of_context_classes, (sites, of_sites), handover_table);
        jvm::register_table_natives((jvmti, jni), tables, note_executed, slow_call_ends)
            .map_err(|error| error.to_string())?;
        jvm::register_stack_walk(jvmti, jni, places, contexts::walk).map_err(|error| error.to_string())?;
        let asked = |stack: OwnStack<'_>, last_step: u8| contexts::of_process().is_called_directly(stack, last_step);
        jvm::register_caller_native(jvmti, jni, contexts, asked).map_err(|error| error.to_string())?;
        let (entered, ended, hands_over) = (caller_hooks::entered, caller_hooks::ended, caller_hooks::hands_over);
        let of_hooks = (caller_hooks::address(), jvm::HookCallbacks { entered, ended, hands_over });
        jvm::register_caller_finder_natives(jvmti, jni, caller_finder, of_hooks).map_err(|error| error.to_string())?;
        let extend =
            |words: [u64; 4], host: &str, present: Option<&str>| contexts::of_process().baggage(words, host, present);
        jvm::register_baggage_native(jni, baggage, extend).map_err(|error| error.to_string())?;
        jvm::register_condition_natives(jvmti, jni, (conditions, statement_texts), conditions::evaluate)
            .map_err(|error| error.to_string())?;
        jvm::register_full_natives(jvmti, jni, full, exceptions::thrown).map_err(|error| error.to_string())?;
        let tick = StaticDoubleField::find(jni, watch, c"tick").map_err(|error| error.to_string())?;
        let origin = NanoClock::calibrate(jni).map_err(|error| error.to_string())?.origin();
        counter::prepare(jvmti, jni, clock, counts_ticks, origin).map_err(|error| error.to_string())?;
        for class in defined {
            jvm::call_static_void_with_class(jni, recorder, c"initialise", class).map_err(|error| error.to_string())?;
        }
        Ok(RuntimeClasses { recorder, clock, contexts, sites, statement_texts, handover, full, caller_finder, tick })
    }

    /// Chooses the clock of the probes and gets it ready; before anybody asks what time it is. The classes are those of the first
    /// session, but a later one gets the system's clock if it asks for that.
    pub(crate) fn start_clock(&self, jni: &Jni<'_>, by_system: bool) -> Result<(), String> {
        counter::read_system(by_system);
        jvm::call_static_void(jni, self.clock, c"warmUp").map_err(|error| error.to_string())
    }

    /// Gets the probes ready whose level can change; before they are switched on.
    pub(crate) fn warm_up(&self, jni: &Jni<'_>) -> Result<(), String> {
        jvm::call_static_void(jni, self.recorder, c"warmUp").map_err(|error| error.to_string())
    }

    /// Gets anchors and conditional probes ready: what is compiled for these is compiled for both ways, inside a context and outside. Records nothing.
    pub(crate) fn warm_up_contexts(&self, jni: &Jni<'_>) -> Result<(), String> {
        // What is not noted has one way only, and a walk of the stack is nothing that the JIT compiles.
        if contexts::place() == ContextPlace::Stack {
            return Ok(());
        }
        jvm::call_static_void(jni, self.contexts, c"warmUp").map_err(|error| error.to_string())
    }

    /// Gets the hooks of caller finders ready: what is compiled for these is compiled for hooks that are on, too.
    pub(crate) fn warm_up_caller_hooks(&self, jni: &Jni<'_>) -> Result<(), String> {
        jvm::call_static_void(jni, self.caller_finder, c"warmUp").map_err(|error| error.to_string())
    }

    /// Looks at the thread of the measured call that has this frame.
    pub(crate) fn with_thread_of_frame<R>(
        &self,
        jni: &Jni<'_>,
        frame: usize,
        look: impl FnOnce(ObjectRef<'_>) -> R,
    ) -> Option<R> {
        jvm::with_static_thread(jni, self.sites, c"threads", frame, look)
    }

    /// Forgets the texts of prepared statements that were remembered for diagnoses and conditions, if none wants them any more.
    pub(crate) fn forget_statement_texts(&self, jni: &Jni<'_>) {
        if let Err(error) = jvm::call_static_void(jni, self.statement_texts, c"forget") {
            tracing::debug!(%error, "texts of statements stay in memory");
        }
    }

    /// From now on the texts of statements that are prepared are remembered for conditions, where methods have the template for that, or are not.
    pub(crate) fn remember_statements(&self, jni: &Jni<'_>, remember: bool) {
        match StaticLongField::find(jni, self.statement_texts, c"conditions") {
            Ok(conditions) => conditions.set(jni, remember.into()),
            Err(error) => tracing::error!(%error, "texts of statements are not known to conditions"),
        }
        if !remember {
            self.forget_statement_texts(jni);
        }
    }

    /// The present thread, which is none of the virtual ones, begins: it may have taken contexts along.
    pub(crate) fn thread_begins(&self, jni: &Jni<'_>) {
        if let Err(error) = jvm::call_static_void(jni, self.handover, c"threadBegins") {
            tracing::debug!(%error, "a thread takes no context along");
        }
    }

    /// The present thread ends.
    pub(crate) fn thread_ends(&self, jni: &Jni<'_>) {
        if let Err(error) = jvm::call_static_void(jni, self.handover, c"threadEnds") {
            tracing::debug!(%error, "a thread keeps the contexts that it has taken along");
        }
    }

    /// Switches all probes on.
    pub(crate) fn start(&self, jni: &Jni<'_>) -> Result<(), String> {
        jvm::call_static_void(jni, self.recorder, c"start").map_err(|error| error.to_string())
    }

    /// Lets the probes of level full write their figures into this memory, processor time among them or not.
    pub(crate) fn start_full(&self, jni: &Jni<'_>, calls: &FullCalls, cpu_times: bool) -> Result<(), String> {
        self.set_full(jni, calls.java_fields(cpu_times).into_iter())
    }

    /// Lets the hooks of caller finders read what threads have allocated.
    pub(crate) fn let_allocation_be_read(&self, jni: &Jni<'_>, calls: &FullCalls) -> Result<(), String> {
        self.set_full(jni, calls.allocation_fields())
    }

    fn set_full(&self, jni: &Jni<'_>, fields: impl Iterator<Item = (&'static CStr, i64)>) -> Result<(), String> {
        for (name, value) in fields {
            let field = StaticLongField::find(jni, self.full, name).map_err(|error| error.to_string())?;
            field.set(jni, value);
        }
        Ok(())
    }

    /// Switches all probes on or off, those of level full only if their figures are wanted.
    pub(crate) fn switch(&self, jni: &Jni<'_>, on: bool, counts_full: bool) -> Result<(), String> {
        if !on {
            self.stop(jni);
            return Ok(());
        }
        if counts_full {
            let full = StaticLongField::find(jni, self.full, c"on").map_err(|error| error.to_string())?;
            full.set(jni, 1);
        }
        self.start(jni)
    }

    /// Switches all probes off.
    pub(crate) fn stop(&self, jni: &Jni<'_>) {
        match StaticLongField::find(jni, self.full, c"on") {
            Ok(on) => on.set(jni, 0),
            Err(error) => tracing::error!(%error, "the probes of level full cannot be switched off"),
        }
        if let Err(error) = jvm::call_static_void(jni, self.recorder, c"stop") {
            tracing::error!(%error, "the probes cannot be switched off");
        }
    }
}

fn note_executed(diagnosis: u8, cell: u32, text: Option<&[u8]>, (calls, time): (u64, u64)) {
    let text = text.map(|text| ModifiedUtf8(text).to_string());
    CallSites::note_executed(diagnosis, cell, text.as_deref(), Sum { calls, time });
}

/// Fails if a class of the runtime is loaded already. Defining some of the classes and then failing would leave the application with probes whose
/// native methods nobody binds.
fn refuse_other_runtime(jvmti: Jvmti, jni: &Jni<'_>) -> Result<(), String> {
    let loaded = LoadedClasses::all(jvmti, jni).map_err(|error| error.to_string())?;
    let is_ours = |class: &LoadedClass<'_>| {
        let name = class.internal_name(jvmti);
        name.is_some_and(|name| embedded::RUNTIME_CLASSES.iter().any(|(own, _)| own.as_bytes() == &*name))
    };
    if loaded.as_slice().iter().any(is_ours) {
        return Err(OTHER_RUNTIME.to_owned());
    }
    Ok(())
}

fn export(jvmti: Jvmti, jni: &Jni<'_>, package: &CStr, class: GlobalClass) -> Result<(), String> {
    jvm::export_to_class(jvmti, jni, package, class).map_err(|error| error.to_string())
}

fn define(jni: &Jni<'_>, name: &str, bytes: &[u8]) -> Result<GlobalClass, String> {
    let name = CString::new(name).map_err(|error| error.to_string())?;
    jvm::define_boot_class(jni, &name, bytes).map_err(|error| {
        if error.is_duplicate_class() {
            return OTHER_RUNTIME.to_owned();
        }
        format!("{}: {error}", name.to_string_lossy())
    })
}
