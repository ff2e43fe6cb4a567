//! Bodies that call nothing and do not repeat anything.

use classfile::instruction::Instruction;
use classfile::opcode;

/// Returns whether the instruction calls nothing, locks nothing and does not jump back.
/// A body of such instructions always ends within nanoseconds.
pub(super) fn goes_straight_on(instruction: &Instruction<'_>) -> bool {
    match instruction.opcode {
        opcode::INVOKEVIRTUAL
        | opcode::INVOKESPECIAL
        | opcode::INVOKESTATIC
        | opcode::INVOKEINTERFACE
        | opcode::INVOKEDYNAMIC
        | opcode::MONITORENTER => false,
        opcode::TABLESWITCH | opcode::LOOKUPSWITCH => match instruction.switch() {
            Some(switch) => switch.default > 0 && switch.cases().all(|(_, distance)| distance > 0),
            None => false,
        },
        _ => instruction.branch_target().is_none_or(|target| target > i64::from(instruction.offset)),
    }
}

#[cfg(test)]
mod tests {
    use classfile::instruction::Instructions;

    use super::*;

    /// Bytecode that cannot be read counts as no leaf: the engine will say what is wrong with it.
    fn is_leaf_without_loop(bytecode: &[u8]) -> bool {
        Instructions::new(bytecode)
            .all(|instruction| instruction.is_ok_and(|instruction| goes_straight_on(&instruction)))
    }

    #[test]
    fn straight_code_and_forward_branches_are_leaves() {
        assert!(is_leaf_without_loop(&[opcode::ICONST_0, opcode::IRETURN]));
        // iload_0; ifeq +4; iconst_1 ireturn ...
        assert!(is_leaf_without_loop(&[
            opcode::ILOAD,
            0,
            opcode::IFEQ,
            0,
            5,
            opcode::ICONST_0,
            opcode::IRETURN,
            3,
            opcode::IRETURN
        ]));
        let mut switch = vec![opcode::TABLESWITCH, 0, 0, 0];
        for word in [20i32, 0, 0, 20] {
            switch.extend(word.to_be_bytes());
        }
        switch.push(opcode::RETURN);
        assert!(is_leaf_without_loop(&switch));
        switch[19] = 0xf0;
        switch[16..19].fill(0xff);
        assert!(!is_leaf_without_loop(&switch), "a case that jumps back is a loop");
    }

    #[test]
    fn calls_locks_and_loops_are_not() {
        for call in [opcode::INVOKEVIRTUAL, opcode::INVOKESPECIAL, opcode::INVOKESTATIC] {
            assert!(!is_leaf_without_loop(&[call, 0, 1, opcode::RETURN]));
        }
        for call in [opcode::INVOKEINTERFACE, opcode::INVOKEDYNAMIC] {
            assert!(!is_leaf_without_loop(&[call, 0, 1, 0, 0, opcode::RETURN]));
        }
        assert!(!is_leaf_without_loop(&[opcode::MONITORENTER, opcode::RETURN]));
        assert!(!is_leaf_without_loop(&[opcode::NOP, opcode::GOTO, 0xff, 0xff]));
        assert!(!is_leaf_without_loop(&[opcode::GOTO, 0, 0]), "a jump to itself is a loop");
        assert!(!is_leaf_without_loop(&[opcode::NOP, opcode::GOTO_W, 0xff, 0xff, 0xff, 0xff]));
    }

    #[test]
    fn operands_are_not_taken_for_instructions() {
        assert!(is_leaf_without_loop(&[opcode::BIPUSH, opcode::INVOKEVIRTUAL, opcode::IRETURN]));
        assert!(is_leaf_without_loop(&[opcode::WIDE, opcode::IINC, 0, opcode::INVOKESTATIC, 0, 1, opcode::RETURN]));
    }

    #[test]
    fn damaged_code_is_left_to_the_engine() {
        for damaged in [&[opcode::BIPUSH][..], &[0xfe], &[opcode::TABLESWITCH]] {
            assert!(!is_leaf_without_loop(damaged), "{damaged:?}");
        }
    }
}
