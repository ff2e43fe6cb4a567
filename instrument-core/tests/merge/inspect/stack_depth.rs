//! The operand stack that a body needs, by following every way through it: independent of what the engine computes.

use std::collections::BTreeMap;

use classfile::descriptor::{FieldType, MethodDescriptor};
use classfile::opcode::{self, Flow};
use classfile::{ClassFile, ConstantPool};

use super::{Body, Step};

/// The deepest stack on any way from the first instruction. Two ways to one place must arrive with the same depth.
pub(crate) fn needed_stack(class: &[u8], body: &Body) -> u16 {
    let class = ClassFile::parse(class).unwrap();
    let mut depths = BTreeMap::new();
    let mut pending = vec![(0, 0)];
    let mut deepest = 0;
    while let Some((offset, depth)) = pending.pop() {
        if let Some(known) = depths.insert(offset, depth) {
            assert_eq!(known, depth, "two ways to {offset} differ");
            continue;
        }
        let step = body.step_at(offset);
        let info = opcode::info(step.opcode).unwrap();
        let after = depth + effect(class.constant_pool(), step);
        assert!(after >= 0, "underflow at {offset} ({})", info.name);
        deepest = deepest.max(after).max(depth);
        for row in &body.rows {
            if (u32::from(row.start)..u32::from(row.end)).contains(&offset) {
                pending.push((u32::from(row.handler), 1));
                deepest = deepest.max(1);
            }
        }
        let pushed = i32::from(info.flow == Flow::Subroutine);
        pending.extend(step.targets.iter().map(|&target| (target, after.max(pushed))));
        if matches!(info.flow, Flow::Next | Flow::Conditional | Flow::Subroutine) {
            pending.push((offset + step.bytes.len() as u32, after - pushed));
        }
    }
    deepest as u16
}

fn effect(pool: &ConstantPool<'_>, step: &Step) -> i32 {
    let info = opcode::info(step.opcode).unwrap();
    let constant = || u16::from_be_bytes([step.bytes[1], step.bytes[2]]);
    let field = || {
        let descriptor = pool.member_ref(constant()).unwrap().descriptor.as_bytes();
        i32::from(FieldType::take(descriptor).unwrap().0.kind().words())
    };
    match step.opcode {
        opcode::GETSTATIC => field(),
        opcode::PUTSTATIC => -field(),
        opcode::GETFIELD => field() - 1,
        opcode::PUTFIELD => -field() - 1,
        opcode::MULTIANEWARRAY => 1 - i32::from(step.bytes[3]),
        opcode::INVOKEVIRTUAL..=opcode::INVOKEDYNAMIC => {
            let descriptor = match step.opcode {
                opcode::INVOKEDYNAMIC => pool.dynamic(constant()).unwrap().2,
                _ => pool.member_ref(constant()).unwrap().descriptor,
            };
            let descriptor = MethodDescriptor::parse(descriptor.as_bytes()).unwrap();
            let receiver = i32::from(!matches!(step.opcode, opcode::INVOKESTATIC | opcode::INVOKEDYNAMIC));
            let result = descriptor.return_type().map_or(0, |result| i32::from(result.kind().words()));
            result - i32::from(descriptor.parameter_words()) - receiver
        }
        opcode::WIDE => {
            let inner = opcode::info(step.bytes[1]).unwrap();
            i32::from(inner.pushes) - i32::from(inner.pops)
        }
        _ => i32::from(info.pushes.max(0)) - i32::from(info.pops.max(0)),
    }
}
