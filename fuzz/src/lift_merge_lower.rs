//! Instruments any class: the result can be parsed, its listed probe positions are right, a second run gives the same bytes, and so
//! does each of the two walkers.

use std::sync::{Arc, OnceLock};

use classfile::instruction::Instructions;
use classfile::{ByteWriter, ClassFile, class_writer, opcode};
use instrument_core::engine::both_walkers::instrument_by_both;
use instrument_core::engine::roundtrip::lift_and_lower;
use instrument_core::level::Level;
use instrument_core::options::{Layout, SentinelForm, SlotScheme};
use instrument_core::template::{Template, TemplateId};
use instrument_core::{
    CallSite, Engine, EngineOptions, MethodPlan, Outcome, Refusal, Rewritten, RewrittenMethod, SiteRefusal, Workspace,
};

use super::built_in;

pub fn check(data: &[u8]) {
    let Ok(class) = ClassFile::parse(data) else { return };
    let mut workspace = Workspace::new();
    let nothing = Engine::new(Arc::clone(built_in::library()), options(0)).instrument(&mut workspace, &class, &[]);
    assert_eq!(nothing, Outcome::Unchanged { refused: Vec::new() }, "nothing was asked for");
    let writable = class_writer::write(&class, &mut ByteWriter::new()).is_ok();
    let sound_methods = lowered_as_lifted(&class, &mut workspace);
    // One way for each class, chosen by its bytes: fast, and yet the same for the same class.
    let sum = data.iter().fold(0usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    let engine = Engine::new(Arc::clone(built_in::library()), options(sum));
    let ways: [fn(usize, Vec<TemplateId>) -> MethodPlan; 4] =
        [MethodPlan::inline, MethodPlan::inline, MethodPlan::inline, MethodPlan::wrapper];
    let make = ways[sum / 32 % 4];
    if let Some(templates) = stacks().get(sum % stacks().len()) {
        let innermost = templates.last().and_then(|id| built_in::library().get(*id));
        let has_sites = innermost.is_some_and(Template::declares_scope);
        let sites = |index| if has_sites { sites(&class, index, sum) } else { Vec::new() };
        let plan: Vec<_> =
            (0..class.methods().len()).map(|index| make(index, templates.clone()).with_sites(sites(index))).collect();
        let outcome = engine.instrument(&mut workspace, &class, &plan);
        let (mut refused, mut faults_of_sites) = (Vec::new(), Vec::new());
        match &outcome {
            Outcome::Rewritten(rewritten) => {
                sound(&class, rewritten, writable);
                refused.extend(&rewritten.refused);
                faults_of_sites.extend(rewritten.methods.iter().filter_map(fault_of_sites));
            }
            Outcome::Unchanged { refused: all } => refused.extend(all),
        }
        for (method, fault) in faults_of_sites {
            let strict = options(sum).slots == SlotScheme::AfterLocals && sound_methods.contains(&method);
            assert!(!strict, "{fault} in method {method} with call sites");
        }
        for refused in refused {
            // What passes the engine's check before must pass it afterwards. With slots among the target's own that depends on
            // what the code says of them, which the check does not compare with the frames.
            let strict = options(sum).slots == SlotScheme::AfterLocals && sound_methods.contains(&refused.method_index);
            let own_fault = strict && matches!(refused.reason, Refusal::SelfCheck(_));
            assert!(
                !own_fault,
                "{} in method {} by {templates:?}, {:?}",
                refused.reason, refused.method_index, plan[0].mode
            );
        }
        assert!(outcome == engine.instrument(&mut Workspace::new(), &class, &plan), "another result the second time");
        // With any option of its own the engine merges by way of nodes, so the two walkers are compared without.
        let usual = Engine::new(Arc::clone(built_in::library()), EngineOptions::default());
        if let Err(difference) = instrument_by_both(&usual, &mut workspace, &class, &plan) {
            panic!("the two walkers differ: {difference}");
        }
    }
}

/// Returns the methods whose original code passes the engine's own check; asserts that lifting and lowering keeps this code unchanged.
fn lowered_as_lifted(class: &ClassFile<'_>, workspace: &mut Workspace) -> Vec<usize> {
    let mut sound = Vec::new();
    lift_and_lower(workspace, class, |index, lowered| {
        let Ok(lowered) = lowered else { return };
        let code = class.methods()[index].code(class).expect("it was read").expect("it was lifted");
        let switches = Instructions::new(code.bytecode).flatten().any(|instruction| instruction.switch().is_some());
        // The bytes between a switch's opcode and its first word come out as zeros.
        assert!(lowered.code == code.bytecode || (switches && lowered.code.len() == code.bytecode.len()));
        let length = code.bytecode.len();
        let proper = code.exception_table.rows().all(|row| row.start < row.end && usize::from(row.end) <= length);
        assert!(!proper || code.exception_table.rows().eq(lowered.rows));
        sound.push(index);
    });
    sound
}

/// A site at each call of a method, and one that is perhaps none.
fn sites(class: &ClassFile<'_>, method_index: usize, sum: usize) -> Vec<CallSite> {
    let code = class.methods()[method_index].code(class).ok().flatten();
    let Some(code) = code else { return Vec::new() };
    let instructions = Instructions::new(code.bytecode).map_while(Result::ok);
    let calls = instructions.filter(|step| (opcode::INVOKEVIRTUAL..=opcode::INVOKEDYNAMIC).contains(&step.opcode));
    let offsets = calls.map(|step| step.offset).chain([(sum % code.bytecode.len().max(1)) as u32]);
    let site = |(at, offset): (usize, u32)| CallSite { offset: offset as u16, number: sum.wrapping_add(at) as u16 };
    offsets.enumerate().map(site).collect()
}

/// Returns a method that is written without its call sites because they would have made it faulty.
fn fault_of_sites(method: &RewrittenMethod) -> Option<(usize, &Refusal)> {
    method.refused_sites.iter().find_map(|refused| match &refused.reason {
        SiteRefusal::Method(fault @ Refusal::SelfCheck(_)) => Some((method.method_index, fault)),
        _ => None,
    })
}

/// The engine as it is used, and with each step of the merge done the other way.
fn options(sum: usize) -> EngineOptions {
    let usual = EngineOptions { offset_maps: true, ..EngineOptions::default() };
    let sentinel = SentinelForm::NoOperations;
    match sum / 8 % 4 {
        0 => EngineOptions::default(),
        2 => EngineOptions { layout: Layout::Long, ..usual },
        3 => EngineOptions { slots: SlotScheme::AfterParameters, sentinel, ..usual },
        _ => usual,
    }
}

/// The catch-all at every level, alone, in itself and around the template for call sites, and each other template.
fn stacks() -> &'static [Vec<TemplateId>] {
    static STACKS: OnceLock<Vec<Vec<TemplateId>>> = OnceLock::new();
    STACKS.get_or_init(|| {
        let library = built_in::library();
        let timed = |level| library.find("timed", level).expect("the catch-all exists");
        let (off, watch, time) = (timed(Level::Off), timed(Level::Watch), timed(Level::Time));
        let mut stacks = vec![vec![off], vec![watch], vec![time], vec![time, watch]];
        stacks.push(vec![time, library.call_sites().expect("it is built in")]);
        let others = library.names().filter(|name| *name != "timed");
        stacks.extend(others.filter_map(|name| library.find(name, Level::Time)).map(|id| vec![id]));
        stacks
    })
}

fn sound(class: &ClassFile<'_>, rewritten: &Rewritten, writable: bool) {
    let again = ClassFile::parse(&rewritten.bytes).expect("what is written can be read");
    let renamed = rewritten.methods.iter().filter(|method| method.renamed.is_some()).count();
    assert_eq!(again.methods().len(), class.methods().len() + renamed);
    let mut out = ByteWriter::new();
    let written = class_writer::write(&again, &mut out);
    assert!(written.is_ok() || !writable, "every attribute can be decoded: {written:?}");
    assert!(written.is_err() || out.as_slice() == rewritten.bytes, "written otherwise than read");
    for (number, probe) in rewritten.probes.iter().enumerate() {
        let found = rewritten.bytes.get(probe.offset..probe.offset + 4);
        assert_eq!(found, Some(&(number as u32).to_be_bytes()[..]), "the probe's number is not where it is said to be");
    }
    for method in &rewritten.methods {
        let code =
            again.methods()[method.method_index].code(&again).expect("its code can be read").expect("it has code");
        assert_eq!(code.bytecode.len(), method.length_after as usize);
        let (mut original, mut new) = (0, 0);
        for (from, to, length) in method.offset_map.stretches() {
            assert!(from >= original && to >= new, "the offset map is not monotone");
            (original, new) = (from + length, to);
        }
        assert!(original <= method.length_before && new <= method.length_after, "the offset map leaves the code");
    }
}
