//! Does every jump of the target keep its target, whatever is inserted before, between and after its instructions?

use classfile::ClassFile;
use classfile::opcode::*;
use instrument_core::{OffsetMap, Outcome};

use crate::assembler::{Type, class_with};
use crate::fixtures::{compiled, instrument, merged, plan};
use crate::hostile::Random;
use crate::inspect::{Body, body, needed_stack};

/// Where a jump to `offset` ends up: through an island if there is one, or through one of each merge.
fn landing(merged: &Body, map: &OffsetMap, mut offset: u32) -> u32 {
    while merged.step_at(offset).opcode == GOTO_W && map.to_original(offset).is_none() {
        offset = merged.step_at(offset).targets[0];
    }
    offset
}

/// Every original instruction is still there, in order, and every jump goes to the same instruction as before.
pub(crate) fn assert_same_flow(original: &Body, merged: &Body, map: &OffsetMap) {
    let mut last = None;
    for step in &original.steps {
        let new = map.to_new(step.offset).unwrap_or_else(|| panic!("instruction {} is not in the map", step.offset));
        assert!(last < Some(new) || (step.opcode == RETURN && last <= Some(new)), "the map is not monotone at {new}");
        last = Some(new);
        let moved = merged.step_at(new);
        if (IRETURN..=RETURN).contains(&step.opcode) {
            continue;
        }
        assert_eq!(map.to_original(new), Some(step.offset));
        let expected: Vec<_> = step.targets.iter().map(|&target| map.to_new(target).unwrap()).collect();
        let found: Vec<_> = moved.targets.iter().map(|&target| landing(merged, map, target)).collect();
        assert_eq!(found, expected, "targets of {} at {}", moved.opcode, step.offset);
        match step.opcode {
            GOTO | JSR => assert!(moved.opcode == step.opcode || moved.opcode == step.opcode + 33),
            _ => assert_eq!(moved.opcode, step.opcode),
        }
        if step.targets.is_empty() {
            assert_eq!(moved.bytes, step.bytes);
        }
        let keys = |step: &crate::inspect::Step| {
            classfile::instruction::Instruction { offset: step.offset, opcode: step.opcode, bytes: &step.bytes }
                .switch()
                .map(|switch| (switch.low, switch.cases().map(|(key, _)| key).collect::<Vec<_>>()))
        };
        assert_eq!(keys(moved), keys(step));
    }
}

/// A method of blocks that end in random jumps and switches.
fn random_method(name: &str, random: &mut Random, blocks: usize, filling: usize) -> Vec<u8> {
    class_with(name, 52, "(I)V", |code| {
        code.limits(1, 1);
        let labels: Vec<_> = (0..blocks).map(|_| code.label()).collect();
        for block in 0..blocks {
            let mut any = || labels[random.below(blocks)];
            let (one, two, three) = (any(), any(), any());
            code.place(labels[block]).frame(&[Type::Int], &[]).repeat(NOP, random.below(filling));
            match random.below(8) {
                0 => drop(code.jump(GOTO, one)),
                1 => drop(code.jump(GOTO_W, two)),
                2 => drop(code.iload(0).jump(IFLT, three)),
                3 => drop(code.iload(0).table_switch(-1, one, &[two, three, one])),
                4 => drop(code.iload(0).lookup_switch(two, &[(i32::MIN, one), (0, three), (70_000, one)])),
                5 => drop(code.iload(0).lookup_switch(one, &[])),
                6 => drop(code.op(RETURN)),
                _ => drop(code.bytes(&[IINC, 0, 1])),
            }
        }
        code.frame(&[Type::Int], &[]).op(RETURN);
    })
}

/// Random methods for the JVM to judge.
pub(crate) fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let names = ["Random0", "Random1", "Random2", "Random3", "Random4", "Random5"];
    names.into_iter().zip(0..).map(|(name, seed)| (name, random_method(name, &mut Random::new(seed), 30, 9))).collect()
}

#[test]
fn random_jumps_keep_their_destination_under_every_template() {
    let templates = ["bare", "straight", "bracket", "clock", "loops", "switches", "catches", "everything"];
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let (blocks, filling) = (2 + random.below(20), 1 + random.below(9));
        let class = random_method("Random", &mut random, blocks, filling);
        let template = templates[random.below(templates.len())];
        let inner = templates[random.below(templates.len())];
        let original = body(&class, 0);
        for stack in [&[template][..], &[template, inner], &[inner, template, inner]] {
            let output = merged(&class, stack);
            let merged = body(&output.bytes, 0);
            assert_same_flow(&original, &merged, &output.methods[0].offset_map);
            needed_stack(&output.bytes, &merged);
            assert_eq!(output.methods[0].length_after as usize, merged.code.len());
        }
    }
}

#[test]
fn switches_are_padded_for_their_new_place() {
    // Four alignments in the input times what the templates' prologs make of them.
    for nops in 0..4 {
        for template in ["bare", "straight", "clock", "switches", "everything"] {
            let class = class_with("Padded", 52, "(I)V", |code| {
                let (a, b) = (code.label(), code.label());
                code.limits(1, 1).repeat(NOP, nops).iload(0).table_switch(5, a, &[b, a]);
                code.place(a).frame(&[Type::Int], &[]).iload(0).lookup_switch(b, &[(9, b)]);
                code.place(b).frame(&[Type::Int], &[]).op(RETURN);
            });
            let output = merged(&class, &[template]);
            let merged = body(&output.bytes, 0);
            assert_same_flow(&body(&class, 0), &merged, &output.methods[0].offset_map);
            let switches = merged.steps.iter().filter(|step| matches!(step.opcode, TABLESWITCH | LOOKUPSWITCH));
            for step in switches {
                let padding = 3 - (step.offset as usize & 3);
                assert!(step.bytes[1..=padding].iter().all(|&byte| byte == 0));
            }
        }
    }
}

#[test]
fn compiled_methods_keep_their_flow() {
    for file in ["targets/Behaviour", "targets/Behaviour$Child", "targets/Run", "targets/Shape", "probe/Log"] {
        let original = compiled(file);
        let count = ClassFile::parse(&original).unwrap().methods().len();
        let mut rewritten = 0;
        for (index, template) in (0..count).flat_map(|index| [(index, "bracket"), (index, "loops"), (index, "catches")])
        {
            let Outcome::Rewritten(output) = instrument(&original, &[plan(index, &[template])]) else { continue };
            let (before, after) = (body(&original, index), body(&output.bytes, index));
            assert_same_flow(&before, &after, &output.methods[0].offset_map);
            rewritten += 1;
        }
        assert!(rewritten >= count * 2, "{file}: {rewritten} of {count} methods");
    }
}

/// A template of nothing but the sentinel, and a method that returns once, at its end: nothing changes.
#[test]
fn an_empty_template_changes_no_byte_of_code() {
    let mut same = 0;
    for file in ["targets/Behaviour", "targets/Behaviour$Child", "targets/Run", "probe/Log"] {
        let original = compiled(file);
        for index in 0..ClassFile::parse(&original).unwrap().methods().len() {
            let Outcome::Rewritten(output) = instrument(&original, &[plan(index, &["bare"])]) else { continue };
            let (before, after) = (body(&original, index), body(&output.bytes, index));
            let returns = before.steps.iter().filter(|step| (IRETURN..=RETURN).contains(&step.opcode)).count();
            if returns == 1 && (IRETURN..=RETURN).contains(&before.steps.last().unwrap().opcode) {
                assert_eq!(before.code, after.code, "{file} {index}");
                assert_eq!(before.rows, after.rows, "{file} {index}");
                let frames = [&before, &after].map(|body| body.attribute("StackMapTable"));
                assert_eq!(frames[0], frames[1], "{file} {index}");
                assert_eq!((before.max_stack, before.max_locals), (after.max_stack, after.max_locals));
                same += 1;
            }
        }
    }
    assert!(same > 40, "{same}");
}

#[test]
fn wide_jumps_of_the_input_stay_wide() {
    let class = class_with("Wide", 48, "()V", |code| {
        let (subroutine, end) = (code.label(), code.label());
        code.limits(1, 1).jump(JSR_W, subroutine).jump(GOTO_W, end);
        code.place(subroutine).bytes(&[ASTORE_0, RET, 0]).place(end).op(RETURN);
    });
    let output = merged(&class, &["bracket"]);
    let merged = body(&output.bytes, 0);
    assert_same_flow(&body(&class, 0), &merged, &output.methods[0].offset_map);
    assert!(merged.names().contains(&"jsr_w") && merged.names().contains(&"goto_w"));
}
