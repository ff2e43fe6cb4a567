//! Javac as the oracle for frames: `targets.ByHand` holds methods and, beside each, the same method with a template written into it
//! by hand. The frames that the merge makes out of those of the first are the frames that javac computes for the second.
//!
//! They are the same at every instruction of prolog and target. In the epilog the merge keeps only what the epilog may use, so there
//! a local that javac still knows may be a top.

use classfile::ClassFile;
use classfile::opcode::{ATHROW, GOTO, RETURN};
use classfile::stack_map::VerificationType::Top;

use crate::fixtures::{compiled, merged_at};
use crate::inspect::{Body, Frame, body};

/// Place of the method of this name.
fn place(class: &[u8], name: &str) -> usize {
    let class = ClassFile::parse(class).unwrap();
    class.methods().iter().position(|method| method.name == name).unwrap_or_else(|| panic!("no method {name}"))
}

/// Name of an instruction without the slot that some have in their opcode, and its offset.
type Step = (&'static str, Option<u32>);

fn steps(body: &Body) -> Vec<Step> {
    let name = |name: &'static str| name.trim_end_matches(['0', '1', '2', '3']).trim_end_matches('_');
    body.names().into_iter().map(name).zip(body.steps.iter().map(|step| Some(step.offset))).collect()
}

/// Javac jumps from the end of a finally block to a return after its handler; the merge returns at once.
fn returning_at_once(body: &Body) -> Vec<Step> {
    let mut steps = steps(body);
    let Some(throw) = body.steps.iter().rposition(|step| step.opcode == ATHROW) else { return steps };
    let Some(after) = body.steps.get(throw + 1).map(|step| step.offset) else { return steps };
    let leads_there = |step: &crate::inspect::Step| step.opcode == GOTO && step.targets == [after];
    let jump = body.steps.iter().position(leads_there).expect("the finally block ends with a jump");
    let moved: Vec<_> = steps.drain(throw + 1..).map(|(name, _)| (name, None)).collect();
    steps.splice(jump..=jump, moved);
    steps
}

fn frame_of(body: &Body, offset: Option<u32>) -> Option<&Frame> {
    body.frames.iter().find(|frame| Some(frame.offset) == offset)
}

fn compare(name: &str, template: &str) -> usize {
    let class = compiled("targets/ByHand");
    let output = merged_at(&class, place(&class, name), &[template]);
    let merged = body(&output.bytes, place(&class, name));
    let by_hand = body(&class, place(&class, &format!("{name}${template}")));
    let (own, wanted) = (steps(&merged), returning_at_once(&by_hand));
    let names = |steps: &[Step]| steps.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(names(&own), names(&wanted), "{name} {template}: written differently by hand");
    assert_eq!(merged.max_locals, by_hand.max_locals, "{name} {template}");
    let map = &output.methods[0].offset_map;
    // Every method ends with a return, which became the store of its result, or nothing.
    let last = body(&class, place(&class, name)).steps.pop().expect("a method has code");
    let last_place = merged.steps.iter().position(|step| Some(step.offset) == map.to_new(last.offset)).unwrap();
    let epilog = last_place + usize::from(last.opcode != RETURN);
    let mut frames = 0;
    for (number, ((step, ours), (_, theirs))) in own.into_iter().zip(wanted).enumerate() {
        let at = format!("{name} {template}, instruction {number} ({step})");
        let (ours, theirs) = match (frame_of(&merged, ours), frame_of(&by_hand, theirs)) {
            (None, None) => continue,
            (Some(ours), Some(theirs)) => (ours, theirs),
            (ours, theirs) => panic!("{at}: {ours:?}, by hand {theirs:?}"),
        };
        frames += 1;
        assert_eq!(ours.stack, theirs.stack, "{at}");
        let slots = ours.locals.len().max(theirs.locals.len());
        for slot in 0..slots {
            let of = |frame: &Frame| frame.locals.get(slot).copied().unwrap_or(Top);
            let same = of(ours) == of(theirs);
            let given_up = number >= epilog && of(ours) == Top;
            assert!(same || given_up, "{at}, slot {slot}: {:?}, by hand {:?}", of(ours), of(theirs));
        }
    }
    assert_eq!(frames, merged.frames.len());
    frames
}

#[test]
fn merged_frames_are_those_that_javac_writes_for_the_same_by_hand() {
    let pairs = [
        ("sign", "clock"),
        ("sign", "loops"),
        ("sum", "clock"),
        ("pick", "clock"),
        ("choose", "clock"),
        ("fill", "loops"),
    ];
    let frames: usize = pairs.into_iter().map(|(name, template)| compare(name, template)).sum();
    assert!(frames > 40, "{frames}");
}
