//! What happens to a class when it is loaded or retransformed. Most classes end at their name: many are rejected
//! by its first bytes before they are presented here (`jvm/events/name_gate.rs`).
//!
//! Runs on the loading thread, on several threads at once, and nested when a class loader is asked for a resource. A
//! retransform hands us the class as it was before our own rewrite, so everything that is still wanted is applied again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use classfile::{ClassFile, HeadMemory};
use control::LeftAlone;
use instrument_core::level::Level;
use instrument_core::outcome::{FREQ_INLINE_SIZE, MAX_INLINE_SIZE};
use instrument_core::selection::{ClassContext, ClassDecision, MethodDecision};
use instrument_core::{Insertion, MethodPlan, Outcome, Refused, Rewritten, Workspace};
use records::probe_registry::ProbeRequest;

use super::ahead_of_time::Inserted;
use super::class_origin::JvmOrigin;
use super::class_plan::{ClassPlan, Coming};
use super::hook_facts::HookFacts;
use super::measured_calls::MeasuredCalls;
use super::numbered_places::{self, NumberedPlace};
use super::undecided::Undecided;
use super::wishes::{self, Decided};
use crate::call_sites;
use crate::classes::hierarchy::{BOOT, LoaderId, LoaderView, Newcomer};
use crate::classes::safe_retransforms::SAFE_RETRANSFORMS;
use crate::classes::unloaded_classes;
use crate::classes::wrapped_classes::WrappedMethods;
use crate::desired::generation::Generation;
use crate::jvm;
use crate::statistics::{RefusedMethod, Statistics};
use crate::thread_memory::with_memory;
use crate::transform::instrumentation::Instrumentation;

thread_local! {
    /// Memory of the engine, reused from class to class.
    static WORKSPACE: RefCell<Workspace> = RefCell::new(Workspace::default());
    /// Memory for reading the heads of classes.
    static HEAD: RefCell<HeadMemory> = RefCell::new(HeadMemory::default());
    /// How long this thread was in the hook up to now.
    static IN_HOOK: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Returns how long this thread was in the hook up to now, with classes that some rule may want.
pub(crate) fn time_in_hook() -> Duration {
    IN_HOOK.try_with(Cell::get).unwrap_or_default()
}

/// Whether nothing but the name is needed to leave the class alone. Calls nobody, as the session is locked meanwhile.
pub(crate) fn ends_at_its_name(instrumentation: &Instrumentation, class: &jvm::ClassFile<'_>) -> bool {
    Statistics::add(&instrumentation.statistics.classes_seen, 1);
    let generation = instrumentation.generation();
    let rules = generation.rules();
    let unwanted = || class.name.is_some_and(|name| !generation.wants_name(name));
    class.is_new() && !rules.needs_hierarchy() && unwanted()
}

/// Decides about a class that did not end at its name and rewrites it; `None` leaves it as it is.
pub(crate) fn class_file(instrumentation: &Instrumentation, class: &jvm::ClassFile<'_>) -> Option<Vec<u8>> {
    // To the end that of the beginning, whatever is reloaded meanwhile.
    let generation = instrumentation.generation();
    let rules = generation.rules();
    let coming = Coming::of(class, instrumentation.wrapped);
    if let Some(name) = class.name.filter(|_| class.is_loaded()) {
        // What was decided with other rules is not in force any more, even if these do not look at the class.
        instrumentation.facts.note_decision(name, class.loader_id(), None);
    }
    let wanted = class.name.is_none_or(|name| generation.wants_name(name)) || coming.has_wrappers();
    if !wanted && !rules.needs_hierarchy() {
        return unchanged(instrumentation, class);
    }
    // Not the CPU time of the thread: asking for that is a system call, and takes longer than most classes.
    let (start, before) = (Instant::now(), time_in_hook());
    let rewritten = fenced(&instrumentation.statistics, class.name, || {
        examine(instrumentation, &generation, class, wanted, &coming)
    });
    let time = start.elapsed();
    // Of classes within this one nothing is added twice.
    let _ = IN_HOOK.try_with(|in_hook| in_hook.set(before + time));
    Statistics::add(&instrumentation.statistics.hook_nanos, usize::try_from(time.as_nanos()).unwrap_or(0));
    rewritten.filter(|_| !instrumentation.config.agent.discard).or_else(|| unchanged(instrumentation, class))
}

/// The class stays as it is, without the probes that it may have now.
fn unchanged(instrumentation: &Instrumentation, class: &jvm::ClassFile<'_>) -> Option<Vec<u8>> {
    if let Some(name) = class.name.filter(|_| class.is_loaded()) {
        instrumentation.rewritten.note_unchanged(name, class.loader_id());
    }
    None
}

/// What becomes of a class. If that panics, the class stays as it is and is counted and named in the statistics file; the log's panic hook
/// has said where. All that is shared is atomics, locks that do not poison, and memory that is set up anew for each class: the next class is
/// examined as if nothing had happened.
fn fenced(statistics: &Statistics, name: Option<&[u8]>, examine: impl FnOnce() -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    catch_unwind(AssertUnwindSafe(examine)).unwrap_or_else(|_| {
        let class = text(name.unwrap_or(b"?"));
        statistics.refuse("panic", RefusedMethod { class, method: String::new(), reason: "internal error".to_owned() });
        None
    })
}

fn examine(
    instrumentation: &Instrumentation,
    generation: &Generation,
    class: &jvm::ClassFile<'_>,
    wanted: bool,
    coming: &Coming,
) -> Option<Vec<u8>> {
    let (rules, pass) = (generation.rules(), instrumentation.live.pass());
    if wanted {
        Statistics::add(&instrumentation.statistics.classes_examined, 1);
    }
    unloaded_classes::forget_freed(|gone| instrumentation.forget(gone));
    // Only questions about super types depend on the loader.
    let loader = if rules.needs_hierarchy() { class.loader_id() } else { BOOT };
    let newcomer = Newcomer::of(class, loader, instrumentation.java_version, |version, class, bytes, is_record| {
        SAFE_RETRANSFORMS.may_come_again(version, class, bytes, is_record)
    });
    let view = LoaderView::of_class(&generation.types, loader, class, newcomer.as_ref());
    let origin = JvmOrigin::of(class);
    let never = |class: &[u8], method: &[u8], descriptor: &[u8]| generation.is_untouchable(class, method, descriptor);
    let facts = HookFacts::new(&instrumentation.facts, class);
    let marks = class.name.map(|name| generation.delegates.of_class(name)).unwrap_or_default();
    let reach = Some(&*generation.reach);
    let context =
        ClassContext { hierarchy: &view, origin: &origin, facts: &facts, never: &never, delegates: &marks, reach };
    if !passes_first_look((instrumentation, generation), class, (&view, &context), wanted, coming) {
        return None;
    }
    let file = match ClassFile::parse(class.bytes) {
        Ok(file) => file,
        Err(error) => {
            let class = text(class.name.unwrap_or(b"?"));
            instrumentation
                .statistics
                .refuse("class-format", RefusedMethod { class, method: String::new(), reason: error.to_string() });
            return None;
        }
    };
    call_sites::of_process().note_hook(file.this_class().as_bytes(), class.loader_id());
    let decided = wishes::decide(instrumentation, generation, (&file, class.loader_id()), &context, coming);
    facts.note_decision(file.this_class().as_bytes(), decided.by_rules);
    generation.delegates.add(file.this_class().as_bytes(), &decided.decision.delegates);
    if !marks.is_empty() {
        generation.delegates.note_decided(file.this_class().as_bytes());
    }
    let decision = &decided.decision;
    if decision.unresolved.is_empty() && decision.chosen().next().is_some() {
        view.note_wanted(file.super_class().into_iter().chain(file.interfaces()).map(|name| name.0));
    }
    if !decision.unresolved.is_empty() {
        instrumentation.late.remember(class.jvmti, file.this_class().as_bytes(), loader);
    }
    let rewritten = instrument((instrumentation, generation), class, &file, &decided, coming)?;
    let name = file.this_class().as_bytes();
    let is_first = matches!(coming, Coming::First);
    if is_first && !instrumentation.config.agent.discard {
        let renamed = rewritten.methods.iter().filter(|method| method.renamed.is_some());
        let wrapped: WrappedMethods = renamed.filter_map(|method| file.methods().get(method.method_index)).collect();
        instrumentation.wrapped.note(name, class, wrapped);
    }
    instrumentation.rewritten.note(name, class, is_first, pass);
    // Asked after it was noted: a detach that did not find it there finds the class as it was.
    if instrumentation.is_leaving() {
        if is_first {
            instrumentation.wrapped.note(name, class, WrappedMethods::default());
        }
        return instrumentation.wrapped.without_templates(class);
    }
    if is_first && !instrumentation.config.agent.discard {
        SAFE_RETRANSFORMS.note_changed(instrumentation.java_version, name, class);
    }
    Some(rewritten.bytes)
}

/// Learns the super types of the class, if rules ask for any, and says whether the rest of it must be looked at.
fn passes_first_look(
    (instrumentation, generation): (&Instrumentation, &Generation),
    class: &jvm::ClassFile<'_>,
    (view, context): (&LoaderView<'_>, &ClassContext<'_>),
    wanted: bool,
    coming: &Coming,
) -> bool {
    let rules = generation.rules();
    let look = |memory: &mut HeadMemory| {
        // A class that cannot be read is counted below, if a rule wants it.
        let Ok(head) = rules.first_look(class.bytes, memory) else { return wanted };
        if rules.needs_hierarchy() {
            view.arrive(&head, &Undecided { instrumentation, generation, jvmti: class.jvmti, jni: class.jni });
        }
        // The log at level debug holds the reason for each method.
        let is_told = tracing::enabled!(tracing::Level::DEBUG);
        let is_claimed = class.name.is_some_and(|name| generation.is_claimed(name)) || !context.delegates.is_empty();
        let context = ClassContext { hierarchy: &view.without_asking(), ..*context };
        let is_taken = wanted && (is_told || coming.has_wrappers() || is_claimed || rules.may_take(&head, &context));
        Statistics::add(&instrumentation.statistics.classes_unmatched, usize::from(wanted && !is_taken));
        is_taken
    };
    with_memory(&HEAD, look)
}

/// Merges the templates and gives the probes their numbers.
fn instrument(
    (instrumentation, generation): (&Instrumentation, &Generation),
    class: &jvm::ClassFile<'_>,
    file: &ClassFile<'_>,
    decided: &Decided,
    coming: &Coming,
) -> Option<Rewritten> {
    let decision = &decided.decision;
    // Loaded before this session, or the rules did not want it then; not one that is retransformed for the governor or after a reload.
    let is_new = || !instrumentation.rewritten.had(file.this_class().as_bytes(), class.loader_id());
    let is_counted = matches!(coming, Coming::First) || is_new();
    let refuse_all = |refused: &[Refused]| instrumentation.statistics.refuse_methods(file, refused);
    count_skipped(instrumentation, decision);
    log_decisions(generation, file, decision);
    if decision.chosen().next().is_some()
        && let Some(inserted) = Inserted::of(generation, file)
    {
        let mut rewritten = inserted.claimed(instrumentation, file, decision, is_counted)?;
        numbered((instrumentation, generation), (file, class.loader_id()), decided, &mut rewritten)?;
        instrumentation.dump.write(&file.this_class().to_string(), &rewritten.bytes);
        return Some(rewritten);
    }
    let mut plan = ClassPlan::new(file, decision, coming);
    let measured = MeasuredCalls::plan(file, decided, &mut plan);
    refuse_all(&plan.refused);
    generation.doubts.note(file, decision);
    if plan.methods.is_empty() {
        return None;
    }
    let mut outcome = run_engine(generation, file, &plan.methods);
    // What a rule wants and the method cannot have does not keep out what a person wants, nor a context what a rule wants.
    if leave_to_claims(&mut plan, decided, refused_of(&outcome)) {
        refuse_all(refused_of(&outcome));
        outcome = run_engine(generation, file, &plan.methods);
    }
    // A wrapper that has no room for the templates any more must stay all the same.
    if coming.has_wrappers() && !refused_of(&outcome).is_empty() {
        refuse_all(refused_of(&outcome));
        let refused = refused_of(&outcome);
        plan.strip(|method_index| refused.iter().any(|refused| refused.method_index == method_index));
        outcome = run_engine(generation, file, &plan.methods);
    }
    refuse_all(refused_of(&outcome));
    measured.note(&outcome);
    let Outcome::Rewritten(mut rewritten) = outcome else { return None };
    numbered((instrumentation, generation), (file, class.loader_id()), decided, &mut rewritten)?;
    if is_counted {
        count_rewritten(instrumentation, file, &rewritten, &plan);
    }
    log_insertions(generation, file, &plan.methods, &rewritten);
    instrumentation.dump.write(&file.this_class().to_string(), &rewritten.bytes);
    Some(rewritten)
}

fn refused_of(outcome: &Outcome) -> &[Refused] {
    match outcome {
        Outcome::Rewritten(rewritten) => &rewritten.refused,
        Outcome::Unchanged { refused } => refused,
    }
}

/// Leaves to methods that cannot have all templates those that are wanted most; returns whether there are such methods.
fn leave_to_claims(plan: &mut ClassPlan, decided: &Decided, refused: &[Refused]) -> bool {
    let mut is_other = false;
    for refused in refused {
        if let Some(templates) = decided.templates_if_refused(refused.method_index) {
            is_other |= plan.leave(refused.method_index, &templates);
        }
    }
    is_other
}

fn run_engine(generation: &Generation, file: &ClassFile<'_>, plan: &[MethodPlan]) -> Outcome {
    with_memory(&WORKSPACE, |workspace| generation.engine.instrument(workspace, file, plan))
}

/// Returns the methods of the plan that cannot have what is planned, with the reasons, by their position.
pub(super) fn refusals(generation: &Generation, file: &ClassFile<'_>, plan: &ClassPlan) -> BTreeMap<usize, LeftAlone> {
    let outcome = run_engine(generation, file, &plan.methods);
    let refused = plan.refused.iter().chain(refused_of(&outcome));
    let why = |refused: &Refused| LeftAlone::new(refused.reason.key(), refused.reason.to_string());
    refused.map(|refused| (refused.method_index, why(refused))).collect()
}

/// One line for each method, for those who ask for `log = "debug"`.
fn log_decisions(generation: &Generation, file: &ClassFile<'_>, decision: &ClassDecision) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    for (method, decided) in file.methods().iter().zip(&decision.methods) {
        let name = format!("{}.{}{}", file.this_class(), method.name, method.descriptor);
        match decided {
            MethodDecision::Skipped(reason) => tracing::debug!("{name}: left alone: {reason}"),
            MethodDecision::Chosen(chosen) => {
                let rule = generation.rule_of(chosen).map_or("?", |rule| rule.name());
                tracing::debug!("{name}: instrumented at level {} (rule {rule})", chosen.level);
            }
        }
    }
}

/// One line for each rewritten method, for those who ask for `log = "debug"`.
fn log_insertions(generation: &Generation, file: &ClassFile<'_>, plan: &[MethodPlan], rewritten: &Rewritten) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    for done in &rewritten.methods {
        let Some(method) = file.methods().get(done.method_index) else { continue };
        let planned = plan.iter().find(|planned| planned.method_index == done.method_index);
        let Some(planned) = planned else { continue };
        let insertion = Insertion { class: file, method, plan: planned, done, library: generation.engine.library() };
        tracing::debug!("{insertion}");
    }
}

fn count_skipped(instrumentation: &Instrumentation, decision: &ClassDecision) {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for method in &decision.methods {
        let MethodDecision::Skipped(reason) = method else { continue };
        match counts.iter_mut().find(|(key, _)| *key == reason.key()) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason.key(), 1)),
        }
    }
    instrumentation.statistics.skip(counts.into_iter());
}

/// Gives the probes their numbers; `None`, with the reason counted, if there are none left.
fn numbered(
    (instrumentation, generation): (&Instrumentation, &Generation),
    (file, loader): (&ClassFile<'_>, LoaderId),
    decided: &Decided,
    rewritten: &mut Rewritten,
) -> Option<()> {
    let numbered = number_probes((instrumentation, generation), (file, loader), decided, rewritten);
    if numbered.is_none() {
        let (class, reason) = (file.this_class().to_string(), "there are no more probe numbers".to_owned());
        instrumentation
            .statistics
            .refuse("probe-numbers-exhausted", RefusedMethod { class, method: String::new(), reason });
    }
    numbered
}

/// Replaces the engine's numbers by those of the process.
fn number_probes(
    (instrumentation, generation): (&Instrumentation, &Generation),
    (file, loader): (&ClassFile<'_>, LoaderId),
    decided: &Decided,
    rewritten: &mut Rewritten,
) -> Option<()> {
    let templates = generation.templates();
    let mut places = numbered_places::of(templates, (file, decided), &rewritten.probes);
    for (offset, number) in places.fixed.drain(..) {
        write_number(&mut rewritten.bytes, offset, number)?;
    }
    let mut watches = false;
    let requests = places.probes.iter().map(|place| {
        let method = file.methods().get(place.slot.method_index);
        let template = templates.get(place.slot.template);
        let level = template.map_or(Level::Time, |template| template.level);
        let live = template.is_some_and(|template| template.live);
        watches |= !live && level == Level::Watch;
        ProbeRequest {
            name: method.map_or(b"?", |method| method.name.as_bytes()),
            descriptor: method.map_or(b"", |method| method.descriptor.as_bytes()),
            access_flags: method.map_or(0, |method| method.access_flags),
            template: template.map_or("?", |template| template.name.as_str()),
            level,
            live,
            context: place.conditional.map_or("", |probe| probe.context.text()),
        }
    });
    let requests: Vec<ProbeRequest<'_>> = requests.collect();
    let numbers = instrumentation.probes.numbers((file.this_class().as_bytes(), loader), &requests)?;
    for (NumberedPlace { slot, conditional }, number) in places.probes.iter().zip(&numbers) {
        write_number(&mut rewritten.bytes, slot.offset, *number)?;
        if let Some(conditional) = conditional {
            instrumentation.begin_conditional(generation, *number, conditional);
            continue;
        }
        let Some(MethodDecision::Chosen(chosen)) = decided.decision.methods.get(slot.method_index) else { continue };
        let claimed = decided.claimed_probe(slot.method_index, slot.template);
        if templates.get(slot.template).is_some_and(|template| template.live) {
            instrumentation.begin_live(generation, *number, chosen, claimed);
        } else {
            instrumentation.begin_fixed(generation, *number, chosen, claimed);
        }
    }
    if watches {
        instrumentation.need_ticker();
    }
    Some(())
}

/// Overwrites the four bytes of a `CONSTANT_Integer`.
fn write_number(bytes: &mut [u8], offset: usize, number: u32) -> Option<()> {
    let place = bytes.get_mut(offset..offset.checked_add(4)?)?;
    place.copy_from_slice(&number.to_be_bytes());
    Some(())
}

fn count_rewritten(instrumentation: &Instrumentation, file: &ClassFile<'_>, rewritten: &Rewritten, plan: &ClassPlan) {
    let (mut instrumented, mut wrapped, mut past_max, mut past_freq) = (0, 0, 0, 0);
    let (mut code_before, mut code_after) = (0, 0);
    for method in rewritten.methods.iter().filter(|method| plan.has_templates(method.method_index)) {
        instrumented += 1;
        if method.renamed.is_some() {
            wrapped += 1;
            continue;
        }
        code_before += method.length_before as usize;
        code_after += method.length_after as usize;
        past_max += usize::from(method.grew_past(MAX_INLINE_SIZE));
        past_freq += usize::from(method.grew_past(FREQ_INLINE_SIZE));
    }
    let statistics = &instrumentation.statistics;
    for (counter, amount) in [
        (&statistics.classes_rewritten, 1),
        (&statistics.methods_instrumented, instrumented),
        (&statistics.methods_wrapped, wrapped),
        (&statistics.probes, rewritten.probes.len()),
        (&statistics.bytes_in, file.bytes().len()),
        (&statistics.bytes_out, rewritten.bytes.len()),
        (&statistics.code_bytes_in, code_before),
        (&statistics.code_bytes_out, code_after),
        (&statistics.past_max_inline_size, past_max),
        (&statistics.past_freq_inline_size, past_freq),
    ] {
        Statistics::add(counter, amount);
    }
}

fn text(name: &[u8]) -> String {
    classfile::ModifiedUtf8(name).to_string()
}

#[cfg(test)]
mod tests {
    use instrument_core::{Engine, EngineOptions};

    use super::*;
    use crate::recorder::RecordCounts;
    use crate::statistics::End;

    fn refused(statistics: &Statistics) -> serde_json::Value {
        let end = End {
            analysis: control::Analysis::default(),
            records: RecordCounts::default(),
            samples: None,
            trace_file: None,
            wrapped_classes: 0,
            kept: None,
            discard: false,
            warnings: &[],
        };
        let all: serde_json::Value = serde_json::from_str(&statistics.to_json(&end)).unwrap();
        serde_json::json!([all["refused"], all["refused_methods"]])
    }

    /// A class of the runtime with a template around its first method, in the thread's memory.
    fn instrumented() -> Option<Vec<u8>> {
        let setup = crate::config::setup::from_text("[[rule]]\nclass = 'a.B'\nlevel = 'time'\n", "c.toml").unwrap();
        let template = setup.rules.rules()[0].templates()[0];
        let engine = Engine::new(setup.templates, EngineOptions::default());
        let (_, bytes) = crate::config::embedded::RUNTIME_CLASSES[0];
        let file = ClassFile::parse(bytes).unwrap();
        let plan = [MethodPlan::inline(file.methods().len() - 1, vec![template])];
        match with_memory(&WORKSPACE, |workspace| engine.instrument(workspace, &file, &plan)) {
            Outcome::Rewritten(rewritten) => Some(rewritten.bytes),
            Outcome::Unchanged { refused } => panic!("{refused:?}"),
        }
    }

    #[test]
    fn a_panic_leaves_the_class_as_it_is_and_the_next_one_gets_its_template() {
        let expected = instrumented();
        let statistics = Statistics::default();
        for name in [Some(b"a/C".as_slice()), None] {
            // In the middle of a class, with the thread's memory in use and what the last class left in it.
            let broken = || with_memory(&WORKSPACE, |_| -> Option<Vec<u8>> { panic!("on purpose") });
            assert_eq!(fenced(&statistics, name, broken), None, "the JVM keeps its own bytes");
        }
        let listed = |class| serde_json::json!({"class": class, "method": "", "reason": "internal error"});
        assert_eq!(refused(&statistics), serde_json::json!([{"panic": 2}, [listed("a/C"), listed("?")]]));
        assert!(expected.is_some() && fenced(&statistics, Some(b"a/D"), instrumented) == expected);
        assert_eq!(refused(&statistics)[0]["panic"], 2, "counted once each");
    }

    #[test]
    fn a_number_replaces_exactly_its_four_bytes() {
        let mut bytes = [0xaa; 8];
        assert_eq!(write_number(&mut bytes, 2, 0x00c0_ffee), Some(()));
        assert_eq!(bytes, [0xaa, 0xaa, 0, 0xc0, 0xff, 0xee, 0xaa, 0xaa]);
        assert_eq!(write_number(&mut bytes, 5, 1), None, "beyond the end");
        assert_eq!(write_number(&mut bytes, usize::MAX, 1), None);
    }
}
