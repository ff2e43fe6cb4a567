//! Random methods of an old class (version 49), which has no frames and so may have any shape: blocks that end in jumps, switches,
//! subroutine calls, returns and throws, in no sensible order, with handlers over any stretch and operands left over anywhere.

use classfile::opcode::*;

use crate::assembler::{CodeBuilder, Label, class_with};
use crate::hostile::Random;

/// What an operand is: I and A are one word, J two.
type Operands = &'static str;

/// Instructions without an operand of their own: what they pop and push, the last the topmost.
const PLAIN: [(u8, Operands, Operands); 34] = [
    (NOP, "", ""),
    (ICONST_0, "", "I"),
    (ICONST_5, "", "I"),
    (ACONST_NULL, "", "A"),
    (LCONST_0, "", "J"),
    (POP, "I", ""),
    (POP, "A", ""),
    (POP2, "J", ""),
    (POP2, "II", ""),
    (DUP, "I", "II"),
    (DUP, "A", "AA"),
    (DUP_X1, "AI", "IAI"),
    (DUP_X2, "JI", "IJI"),
    (DUP2, "J", "JJ"),
    (DUP2, "AI", "AIAI"),
    (DUP2_X1, "IJ", "JIJ"),
    (DUP2_X2, "JJ", "JJJ"),
    (SWAP, "IA", "AI"),
    (IADD, "II", "I"),
    (LADD, "JJ", "J"),
    (INEG, "I", "I"),
    (I2L, "I", "J"),
    (L2I, "J", "I"),
    (LCMP, "JJ", "I"),
    (IDIV, "II", "I"),
    (LSHL, "JI", "J"),
    (ARRAYLENGTH, "A", "I"),
    (AALOAD, "AI", "A"),
    (IALOAD, "AI", "I"),
    (LALOAD, "AI", "J"),
    (IASTORE, "AII", ""),
    (LASTORE, "AIJ", ""),
    (MONITORENTER, "A", ""),
    (MONITOREXIT, "A", ""),
];

/// Conditional jumps and what they pop.
const CONDITIONS: [(u8, Operands); 5] = [(IFEQ, "I"), (IFGE, "I"), (IF_ICMPLT, "II"), (IF_ACMPNE, "AA"), (IFNULL, "A")];

/// Operands that a block may begin with. A handler begins with one reference, and so does a subroutine.
const ENTRIES: [Operands; 6] = ["", "", "", "A", "I", "AJ"];

/// Descriptor of the method, what it returns, and how.
const RETURNS: [(&str, Operands, u8); 4] =
    [("()V", "", RETURN), ("(I)I", "I", IRETURN), ("(JI)J", "J", LRETURN), ("()Ljava/lang/Object;", "A", ARETURN)];

const SLOTS: usize = 6;

struct Generator<'g, 'p> {
    code: &'g mut CodeBuilder<'p>,
    random: &'g mut Random,
    /// What is on the operand stack.
    stack: String,
    returned: (Operands, u8),
}

/// The class with one random method.
pub(crate) fn random_program(random: &mut Random) -> Vec<u8> {
    let (descriptor, result, opcode) = RETURNS[random.below(RETURNS.len())];
    class_with("Random", 49, descriptor, |code| {
        code.limits(60, SLOTS as u16 + 2);
        let (stack, returned) = (String::new(), (result, opcode));
        Generator { code, random, stack, returned }.method();
    })
}

impl Generator<'_, '_> {
    fn method(&mut self) {
        let count = 2 + self.random.below(14);
        let mut blocks = vec![(self.code.label(), "")];
        for _ in 1..count {
            blocks.push((self.code.label(), ENTRIES[self.random.below(ENTRIES.len())]));
        }
        for at in 0..count {
            let (label, entry) = blocks[at];
            self.code.place(label);
            entry.clone_into(&mut self.stack);
            for _ in 0..self.random.below(8) {
                self.instruction();
            }
            let next = blocks.get(at + 1).copied();
            self.ending(&blocks, next);
        }
        let end = self.code.here();
        for _ in 0..self.random.below(4) {
            let start = self.random.below(count);
            let next = start + 1 + self.random.below(count - start);
            let handlers: Vec<_> = blocks.iter().filter(|(_, entry)| *entry == "A").collect();
            let Some((handler, _)) = handlers.get(self.random.below(handlers.len().max(1))) else { break };
            let stop = blocks.get(next).map_or(end, |(label, _)| *label);
            let catches = [None, Some("java/lang/RuntimeException"), Some("Random")][self.random.below(3)];
            self.code.row(blocks[start].0, stop, *handler, catches);
        }
    }

    /// Any instruction that finds its operands on the stack.
    fn instruction(&mut self) {
        match self.random.below(6) {
            0 => self.local(),
            1 => {
                self.code.bytes(&[IINC, self.random.below(SLOTS) as u8, 7]);
            }
            2 => {
                self.code.op(ICONST_2).invoke_static("Random", "other", "(I)J");
                self.stack.push('J');
            }
            _ => {
                let (opcode, pops, pushes) = PLAIN[self.random.below(PLAIN.len())];
                if let Some(rest) = self.stack.strip_suffix(pops) {
                    self.stack = format!("{rest}{pushes}");
                    self.code.op(opcode);
                }
            }
        }
        // Not beyond `max_stack`, with room for what an ending needs.
        if self.stack.len() > 14 {
            self.empty();
        }
    }

    fn local(&mut self) {
        let slot = self.random.below(SLOTS) as u8;
        let wide = self.random.below(4) == 0;
        let (opcode, operand) = [(ILOAD, 'I'), (LLOAD, 'J'), (ALOAD, 'A')][self.random.below(3)];
        let store = self.random.below(2) == 0 && self.stack.ends_with(operand);
        let opcode = if store { opcode + (ISTORE - ILOAD) } else { opcode };
        if store {
            self.stack.pop();
        } else {
            self.stack.push(operand);
        }
        if wide {
            self.code.bytes(&[WIDE, opcode, 0, slot]);
        } else {
            self.code.bytes(&[opcode, slot]);
        }
    }

    fn empty(&mut self) {
        while let Some(operand) = self.stack.pop() {
            self.code.op(if operand == 'J' { POP2 } else { POP });
        }
    }

    fn push(&mut self, operands: Operands) {
        for operand in operands.chars() {
            self.code.op(match operand {
                'I' => ICONST_1,
                'J' => LCONST_1,
                _ => ACONST_NULL,
            });
            self.stack.push(operand);
        }
    }

    /// Ends the block: everything that a jump leads to gets the operands that it begins with.
    fn ending(&mut self, blocks: &[(Label, Operands)], next: Option<(Label, Operands)>) {
        let (target, wanted) = blocks[self.random.below(blocks.len())];
        let same: Vec<_> = blocks.iter().filter(|(_, entry)| *entry == wanted).map(|(label, _)| *label).collect();
        match (self.random.below(9), next) {
            (0, _) => self.with(wanted, |code| {
                code.jump(GOTO, target);
            }),
            (1, _) => self.with(wanted, |code| {
                code.jump(GOTO_W, target);
            }),
            (2 | 3, Some((_, wanted))) => {
                let same: Vec<_> =
                    blocks.iter().filter(|(_, entry)| *entry == wanted).map(|(label, _)| *label).collect();
                let (opcode, pops) = CONDITIONS[self.random.below(CONDITIONS.len())];
                let target = same[self.random.below(same.len())];
                self.with(wanted, |_| ());
                self.push(pops);
                self.code.jump(opcode, target);
            }
            (4, _) => {
                let cases: Vec<_> = (0..self.random.below(5)).map(|_| same[self.random.below(same.len())]).collect();
                self.with(wanted, |code| {
                    code.op(ICONST_3).table_switch(-2, target, &cases);
                });
            }
            (5, _) => {
                let case = |key: usize| (key as i32 * 1_000 - 2_000, same[key % same.len()]);
                let cases: Vec<_> = (0..self.random.below(5)).map(case).collect();
                self.with(wanted, |code| {
                    code.op(ICONST_3).lookup_switch(target, &cases);
                });
            }
            (6, Some((_, ""))) => {
                // A subroutine begins with the address to return to.
                let subroutines: Vec<_> = blocks.iter().filter(|(_, entry)| *entry == "A").collect();
                match subroutines.get(self.random.below(subroutines.len().max(1))) {
                    Some((subroutine, _)) => self.with("", |code| {
                        code.jump(JSR, *subroutine);
                    }),
                    None => self.leave(),
                }
            }
            (7, Some((_, wanted))) => self.with(wanted, |_| ()),
            (8, _) => {
                let slot = self.random.below(SLOTS) as u8;
                self.code.bytes(&[RET, slot]);
            }
            _ => self.leave(),
        }
    }

    fn with(&mut self, wanted: Operands, end: impl FnOnce(&mut CodeBuilder<'_>)) {
        self.empty();
        self.push(wanted);
        end(self.code);
    }

    /// Returns or throws over whatever lies on the stack.
    fn leave(&mut self) {
        if self.random.below(4) == 0 {
            self.code.bytes(&[ACONST_NULL, ATHROW]);
            return;
        }
        let (result, opcode) = self.returned;
        if self.random.below(2) == 0 {
            self.empty();
        }
        self.push(result);
        self.code.op(opcode);
    }
}
