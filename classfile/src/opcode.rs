//! The one table of opcodes (JVMS 6.5): name, operands, control flow, stack effect.
//! Decoder, encoder, printer and checks all derive from it.

/// What follows the opcode byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nothing.
    None,
    /// A signed byte (`bipush`).
    Byte,
    /// A signed 16-bit value (`sipush`).
    Short,
    /// A one-byte constant-pool index (`ldc`).
    ShortConstant,
    /// A two-byte constant-pool index.
    Constant,
    /// A one-byte local slot.
    Local,
    /// A one-byte local slot and a signed byte (`iinc`).
    Increment,
    /// A signed 16-bit distance.
    Branch,
    /// A signed 32-bit distance (`goto_w`, `jsr_w`).
    WideBranch,
    /// `tableswitch`: padding, default, low, high, distances.
    TableSwitch,
    /// `lookupswitch`: padding, default, count, pairs.
    LookupSwitch,
    /// A two-byte constant-pool index, a count, a zero.
    InvokeInterface,
    /// A two-byte constant-pool index, two zeros.
    InvokeDynamic,
    /// A one-byte primitive type (`newarray`).
    ArrayType,
    /// A two-byte constant-pool index and a one-byte number of dimensions.
    MultiNewArray,
    /// Another opcode with a two-byte local slot (and a two-byte increment for `iinc`).
    Wide,
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the target or the next instruction.
    Conditional,
    /// To the target only.
    Goto,
    /// To the target, with a return address (`jsr`).
    Subroutine,
    /// To a return address (`ret`).
    SubroutineReturn,
    /// To one of several targets.
    Switch,
    /// Out of the method, normally.
    Return,
    /// To a handler or out of the method (`athrow`).
    Throw,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OpcodeInfo {
    /// Mnemonic of the JVMS.
    pub name: &'static str,
    /// Operands.
    pub form: Form,
    /// Control flow.
    pub flow: Flow,
    /// Words taken from the operand stack; -1 if the operand decides.
    pub pops: i8,
    /// Words put on the operand stack; -1 if the operand decides.
    pub pushes: i8,
}

const fn row(name: &'static str, form: Form, flow: Flow, pops: i8, pushes: i8) -> OpcodeInfo {
    OpcodeInfo { name, form, flow, pops, pushes }
}

/// The row of an opcode; `None` for the 54 bytes that are no opcode of class files.
#[inline]
pub fn info(opcode: u8) -> Option<&'static OpcodeInfo> {
    TABLE.get(usize::from(opcode))
}

/// Length in bytes of instructions with this opcode; 0 where the operands decide (switches, `wide`) and for unknown opcodes.
#[inline]
pub fn fixed_length(opcode: u8) -> usize {
    usize::from(outline(opcode).length)
}

const LENGTHS: [u8; 256] = lengths();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler: an index out of bounds does not compile")]
const fn lengths() -> [u8; 256] {
    let mut lengths = [0; 256];
    let mut opcode = 0;
    while opcode < ROWS.len() {
        lengths[opcode] = match ROWS[opcode].form {
            Form::None => 1,
            Form::Byte | Form::ShortConstant | Form::Local | Form::ArrayType => 2,
            Form::Short | Form::Constant | Form::Increment | Form::Branch => 3,
            Form::MultiNewArray => 4,
            Form::WideBranch | Form::InvokeInterface | Form::InvokeDynamic => 5,
            Form::TableSwitch | Form::LookupSwitch | Form::Wide => 0,
        };
        opcode += 1;
    }
    lengths
}

/// What a walk over code needs to know of an opcode, packed for one look-up.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// Length in bytes; 0 where the operands decide and for unknown opcodes.
    pub length: u8,
    /// Slots of the locals that an opcode needs which names its slot itself: 1 for `iload_0`, 5 for `lload_3`. 0 for all others.
    pub implied_slots: u8,
    /// True for a known opcode without operands, or with operands that are only numbers.
    pub is_plain: bool,
}

/// Slots that a load or store takes whose slot is an operand: 2 for longs and doubles.
#[inline]
pub fn slots_taken(opcode: u8) -> u16 {
    if matches!(opcode, LLOAD | DLOAD | LSTORE | DSTORE) { 2 } else { 1 }
}

/// The outline of an opcode.
#[inline]
pub fn outline(opcode: u8) -> Outline {
    // The array has 256 entries, so this never falls back.
    OUTLINES.get(usize::from(opcode)).copied().unwrap_or(UNKNOWN)
}

const UNKNOWN: Outline = Outline { length: 0, implied_slots: 0, is_plain: false };

static OUTLINES: [Outline; 256] = outlines();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler: an index out of bounds does not compile")]
const fn outlines() -> [Outline; 256] {
    let mut outlines = [UNKNOWN; 256];
    let mut opcode = 0;
    while opcode < ROWS.len() {
        outlines[opcode].length = LENGTHS[opcode];
        outlines[opcode].is_plain =
            matches!(ROWS[opcode].form, Form::None | Form::Byte | Form::Short | Form::ArrayType);
        opcode += 1;
    }
    let mut number = 0;
    while number < 20 {
        // The families are int, long, float, double, reference.
        let words = if matches!(number / 4, 1 | 3) { 2 } else { 1 };
        outlines[ILOAD_0 as usize + number].implied_slots = number as u8 % 4 + words;
        outlines[ISTORE_0 as usize + number].implied_slots = number as u8 % 4 + words;
        number += 1;
    }
    outlines
}

/// All opcodes of class files, in order of their number.
pub static TABLE: [OpcodeInfo; 202] = ROWS;

#[rustfmt::skip]
const ROWS: [OpcodeInfo; 202] = [
    row("nop", Form::None, Flow::Next, 0, 0),
    row("aconst_null", Form::None, Flow::Next, 0, 1),
    row("iconst_m1", Form::None, Flow::Next, 0, 1),
    row("iconst_0", Form::None, Flow::Next, 0, 1),
    row("iconst_1", Form::None, Flow::Next, 0, 1),
    row("iconst_2", Form::None, Flow::Next, 0, 1),
    row("iconst_3", Form::None, Flow::Next, 0, 1),
    row("iconst_4", Form::None, Flow::Next, 0, 1),
    row("iconst_5", Form::None, Flow::Next, 0, 1),
    row("lconst_0", Form::None, Flow::Next, 0, 2),
    row("lconst_1", Form::None, Flow::Next, 0, 2),
    row("fconst_0", Form::None, Flow::Next, 0, 1),
    row("fconst_1", Form::None, Flow::Next, 0, 1),
    row("fconst_2", Form::None, Flow::Next, 0, 1),
    row("dconst_0", Form::None, Flow::Next, 0, 2),
    row("dconst_1", Form::None, Flow::Next, 0, 2),
    row("bipush", Form::Byte, Flow::Next, 0, 1),
    row("sipush", Form::Short, Flow::Next, 0, 1),
    row("ldc", Form::ShortConstant, Flow::Next, 0, 1),
    row("ldc_w", Form::Constant, Flow::Next, 0, 1),
    row("ldc2_w", Form::Constant, Flow::Next, 0, 2),
    row("iload", Form::Local, Flow::Next, 0, 1),
    row("lload", Form::Local, Flow::Next, 0, 2),
    row("fload", Form::Local, Flow::Next, 0, 1),
    row("dload", Form::Local, Flow::Next, 0, 2),
    row("aload", Form::Local, Flow::Next, 0, 1),
    row("iload_0", Form::None, Flow::Next, 0, 1),
    row("iload_1", Form::None, Flow::Next, 0, 1),
    row("iload_2", Form::None, Flow::Next, 0, 1),
    row("iload_3", Form::None, Flow::Next, 0, 1),
    row("lload_0", Form::None, Flow::Next, 0, 2),
    row("lload_1", Form::None, Flow::Next, 0, 2),
    row("lload_2", Form::None, Flow::Next, 0, 2),
    row("lload_3", Form::None, Flow::Next, 0, 2),
    row("fload_0", Form::None, Flow::Next, 0, 1),
    row("fload_1", Form::None, Flow::Next, 0, 1),
    row("fload_2", Form::None, Flow::Next, 0, 1),
    row("fload_3", Form::None, Flow::Next, 0, 1),
    row("dload_0", Form::None, Flow::Next, 0, 2),
    row("dload_1", Form::None, Flow::Next, 0, 2),
    row("dload_2", Form::None, Flow::Next, 0, 2),
    row("dload_3", Form::None, Flow::Next, 0, 2),
    row("aload_0", Form::None, Flow::Next, 0, 1),
    row("aload_1", Form::None, Flow::Next, 0, 1),
    row("aload_2", Form::None, Flow::Next, 0, 1),
    row("aload_3", Form::None, Flow::Next, 0, 1),
    row("iaload", Form::None, Flow::Next, 2, 1),
    row("laload", Form::None, Flow::Next, 2, 2),
    row("faload", Form::None, Flow::Next, 2, 1),
    row("daload", Form::None, Flow::Next, 2, 2),
    row("aaload", Form::None, Flow::Next, 2, 1),
    row("baload", Form::None, Flow::Next, 2, 1),
    row("caload", Form::None, Flow::Next, 2, 1),
    row("saload", Form::None, Flow::Next, 2, 1),
    row("istore", Form::Local, Flow::Next, 1, 0),
    row("lstore", Form::Local, Flow::Next, 2, 0),
    row("fstore", Form::Local, Flow::Next, 1, 0),
    row("dstore", Form::Local, Flow::Next, 2, 0),
    row("astore", Form::Local, Flow::Next, 1, 0),
    row("istore_0", Form::None, Flow::Next, 1, 0),
    row("istore_1", Form::None, Flow::Next, 1, 0),
    row("istore_2", Form::None, Flow::Next, 1, 0),
    row("istore_3", Form::None, Flow::Next, 1, 0),
    row("lstore_0", Form::None, Flow::Next, 2, 0),
    row("lstore_1", Form::None, Flow::Next, 2, 0),
    row("lstore_2", Form::None, Flow::Next, 2, 0),
    row("lstore_3", Form::None, Flow::Next, 2, 0),
    row("fstore_0", Form::None, Flow::Next, 1, 0),
    row("fstore_1", Form::None, Flow::Next, 1, 0),
    row("fstore_2", Form::None, Flow::Next, 1, 0),
    row("fstore_3", Form::None, Flow::Next, 1, 0),
    row("dstore_0", Form::None, Flow::Next, 2, 0),
    row("dstore_1", Form::None, Flow::Next, 2, 0),
    row("dstore_2", Form::None, Flow::Next, 2, 0),
    row("dstore_3", Form::None, Flow::Next, 2, 0),
    row("astore_0", Form::None, Flow::Next, 1, 0),
    row("astore_1", Form::None, Flow::Next, 1, 0),
    row("astore_2", Form::None, Flow::Next, 1, 0),
    row("astore_3", Form::None, Flow::Next, 1, 0),
    row("iastore", Form::None, Flow::Next, 3, 0),
    row("lastore", Form::None, Flow::Next, 4, 0),
    row("fastore", Form::None, Flow::Next, 3, 0),
    row("dastore", Form::None, Flow::Next, 4, 0),
    row("aastore", Form::None, Flow::Next, 3, 0),
    row("bastore", Form::None, Flow::Next, 3, 0),
    row("castore", Form::None, Flow::Next, 3, 0),
    row("sastore", Form::None, Flow::Next, 3, 0),
    row("pop", Form::None, Flow::Next, 1, 0),
    row("pop2", Form::None, Flow::Next, 2, 0),
    row("dup", Form::None, Flow::Next, 1, 2),
    row("dup_x1", Form::None, Flow::Next, 2, 3),
    row("dup_x2", Form::None, Flow::Next, 3, 4),
    row("dup2", Form::None, Flow::Next, 2, 4),
    row("dup2_x1", Form::None, Flow::Next, 3, 5),
    row("dup2_x2", Form::None, Flow::Next, 4, 6),
    row("swap", Form::None, Flow::Next, 2, 2),
    row("iadd", Form::None, Flow::Next, 2, 1),
    row("ladd", Form::None, Flow::Next, 4, 2),
    row("fadd", Form::None, Flow::Next, 2, 1),
    row("dadd", Form::None, Flow::Next, 4, 2),
    row("isub", Form::None, Flow::Next, 2, 1),
    row("lsub", Form::None, Flow::Next, 4, 2),
    row("fsub", Form::None, Flow::Next, 2, 1),
    row("dsub", Form::None, Flow::Next, 4, 2),
    row("imul", Form::None, Flow::Next, 2, 1),
    row("lmul", Form::None, Flow::Next, 4, 2),
    row("fmul", Form::None, Flow::Next, 2, 1),
    row("dmul", Form::None, Flow::Next, 4, 2),
    row("idiv", Form::None, Flow::Next, 2, 1),
    row("ldiv", Form::None, Flow::Next, 4, 2),
    row("fdiv", Form::None, Flow::Next, 2, 1),
    row("ddiv", Form::None, Flow::Next, 4, 2),
    row("irem", Form::None, Flow::Next, 2, 1),
    row("lrem", Form::None, Flow::Next, 4, 2),
    row("frem", Form::None, Flow::Next, 2, 1),
    row("drem", Form::None, Flow::Next, 4, 2),
    row("ineg", Form::None, Flow::Next, 1, 1),
    row("lneg", Form::None, Flow::Next, 2, 2),
    row("fneg", Form::None, Flow::Next, 1, 1),
    row("dneg", Form::None, Flow::Next, 2, 2),
    row("ishl", Form::None, Flow::Next, 2, 1),
    row("lshl", Form::None, Flow::Next, 3, 2),
    row("ishr", Form::None, Flow::Next, 2, 1),
    row("lshr", Form::None, Flow::Next, 3, 2),
    row("iushr", Form::None, Flow::Next, 2, 1),
    row("lushr", Form::None, Flow::Next, 3, 2),
    row("iand", Form::None, Flow::Next, 2, 1),
    row("land", Form::None, Flow::Next, 4, 2),
    row("ior", Form::None, Flow::Next, 2, 1),
    row("lor", Form::None, Flow::Next, 4, 2),
    row("ixor", Form::None, Flow::Next, 2, 1),
    row("lxor", Form::None, Flow::Next, 4, 2),
    row("iinc", Form::Increment, Flow::Next, 0, 0),
    row("i2l", Form::None, Flow::Next, 1, 2),
    row("i2f", Form::None, Flow::Next, 1, 1),
    row("i2d", Form::None, Flow::Next, 1, 2),
    row("l2i", Form::None, Flow::Next, 2, 1),
    row("l2f", Form::None, Flow::Next, 2, 1),
    row("l2d", Form::None, Flow::Next, 2, 2),
    row("f2i", Form::None, Flow::Next, 1, 1),
    row("f2l", Form::None, Flow::Next, 1, 2),
    row("f2d", Form::None, Flow::Next, 1, 2),
    row("d2i", Form::None, Flow::Next, 2, 1),
    row("d2l", Form::None, Flow::Next, 2, 2),
    row("d2f", Form::None, Flow::Next, 2, 1),
    row("i2b", Form::None, Flow::Next, 1, 1),
    row("i2c", Form::None, Flow::Next, 1, 1),
    row("i2s", Form::None, Flow::Next, 1, 1),
    row("lcmp", Form::None, Flow::Next, 4, 1),
    row("fcmpl", Form::None, Flow::Next, 2, 1),
    row("fcmpg", Form::None, Flow::Next, 2, 1),
    row("dcmpl", Form::None, Flow::Next, 4, 1),
    row("dcmpg", Form::None, Flow::Next, 4, 1),
    row("ifeq", Form::Branch, Flow::Conditional, 1, 0),
    row("ifne", Form::Branch, Flow::Conditional, 1, 0),
    row("iflt", Form::Branch, Flow::Conditional, 1, 0),
    row("ifge", Form::Branch, Flow::Conditional, 1, 0),
    row("ifgt", Form::Branch, Flow::Conditional, 1, 0),
    row("ifle", Form::Branch, Flow::Conditional, 1, 0),
    row("if_icmpeq", Form::Branch, Flow::Conditional, 2, 0),
    row("if_icmpne", Form::Branch, Flow::Conditional, 2, 0),
    row("if_icmplt", Form::Branch, Flow::Conditional, 2, 0),
    row("if_icmpge", Form::Branch, Flow::Conditional, 2, 0),
    row("if_icmpgt", Form::Branch, Flow::Conditional, 2, 0),
    row("if_icmple", Form::Branch, Flow::Conditional, 2, 0),
    row("if_acmpeq", Form::Branch, Flow::Conditional, 2, 0),
    row("if_acmpne", Form::Branch, Flow::Conditional, 2, 0),
    row("goto", Form::Branch, Flow::Goto, 0, 0),
    row("jsr", Form::Branch, Flow::Subroutine, 0, 1),
    row("ret", Form::Local, Flow::SubroutineReturn, 0, 0),
    row("tableswitch", Form::TableSwitch, Flow::Switch, 1, 0),
    row("lookupswitch", Form::LookupSwitch, Flow::Switch, 1, 0),
    row("ireturn", Form::None, Flow::Return, 1, 0),
    row("lreturn", Form::None, Flow::Return, 2, 0),
    row("freturn", Form::None, Flow::Return, 1, 0),
    row("dreturn", Form::None, Flow::Return, 2, 0),
    row("areturn", Form::None, Flow::Return, 1, 0),
    row("return", Form::None, Flow::Return, 0, 0),
    row("getstatic", Form::Constant, Flow::Next, -1, -1),
    row("putstatic", Form::Constant, Flow::Next, -1, -1),
    row("getfield", Form::Constant, Flow::Next, -1, -1),
    row("putfield", Form::Constant, Flow::Next, -1, -1),
    row("invokevirtual", Form::Constant, Flow::Next, -1, -1),
    row("invokespecial", Form::Constant, Flow::Next, -1, -1),
    row("invokestatic", Form::Constant, Flow::Next, -1, -1),
    row("invokeinterface", Form::InvokeInterface, Flow::Next, -1, -1),
    row("invokedynamic", Form::InvokeDynamic, Flow::Next, -1, -1),
    row("new", Form::Constant, Flow::Next, 0, 1),
    row("newarray", Form::ArrayType, Flow::Next, 1, 1),
    row("anewarray", Form::Constant, Flow::Next, 1, 1),
    row("arraylength", Form::None, Flow::Next, 1, 1),
    row("athrow", Form::None, Flow::Throw, 1, 0),
    row("checkcast", Form::Constant, Flow::Next, 1, 1),
    row("instanceof", Form::Constant, Flow::Next, 1, 1),
    row("monitorenter", Form::None, Flow::Next, 1, 0),
    row("monitorexit", Form::None, Flow::Next, 1, 0),
    row("wide", Form::Wide, Flow::Next, -1, -1),
    row("multianewarray", Form::MultiNewArray, Flow::Next, -1, -1),
    row("ifnull", Form::Branch, Flow::Conditional, 1, 0),
    row("ifnonnull", Form::Branch, Flow::Conditional, 1, 0),
    row("goto_w", Form::WideBranch, Flow::Goto, 0, 0),
    row("jsr_w", Form::WideBranch, Flow::Subroutine, 0, 1),
];

#[rustfmt::skip]
#[allow(missing_docs, reason = "the names are the mnemonics of the JVMS")]
mod mnemonic {
    pub const NOP: u8 = 0x00;
    pub const ACONST_NULL: u8 = 0x01;
    pub const ICONST_M1: u8 = 0x02;
    pub const ICONST_0: u8 = 0x03;
    pub const ICONST_1: u8 = 0x04;
    pub const ICONST_2: u8 = 0x05;
    pub const ICONST_3: u8 = 0x06;
    pub const ICONST_4: u8 = 0x07;
    pub const ICONST_5: u8 = 0x08;
    pub const LCONST_0: u8 = 0x09;
    pub const LCONST_1: u8 = 0x0a;
    pub const FCONST_0: u8 = 0x0b;
    pub const FCONST_1: u8 = 0x0c;
    pub const FCONST_2: u8 = 0x0d;
    pub const DCONST_0: u8 = 0x0e;
    pub const DCONST_1: u8 = 0x0f;
    pub const BIPUSH: u8 = 0x10;
    pub const SIPUSH: u8 = 0x11;
    pub const LDC: u8 = 0x12;
    pub const LDC_W: u8 = 0x13;
    pub const LDC2_W: u8 = 0x14;
    pub const ILOAD: u8 = 0x15;
    pub const LLOAD: u8 = 0x16;
    pub const FLOAD: u8 = 0x17;
    pub const DLOAD: u8 = 0x18;
    pub const ALOAD: u8 = 0x19;
    pub const ILOAD_0: u8 = 0x1a;
    pub const ILOAD_1: u8 = 0x1b;
    pub const ILOAD_2: u8 = 0x1c;
    pub const ILOAD_3: u8 = 0x1d;
    pub const LLOAD_0: u8 = 0x1e;
    pub const LLOAD_1: u8 = 0x1f;
    pub const LLOAD_2: u8 = 0x20;
    pub const LLOAD_3: u8 = 0x21;
    pub const FLOAD_0: u8 = 0x22;
    pub const FLOAD_1: u8 = 0x23;
    pub const FLOAD_2: u8 = 0x24;
    pub const FLOAD_3: u8 = 0x25;
    pub const DLOAD_0: u8 = 0x26;
    pub const DLOAD_1: u8 = 0x27;
    pub const DLOAD_2: u8 = 0x28;
    pub const DLOAD_3: u8 = 0x29;
    pub const ALOAD_0: u8 = 0x2a;
    pub const ALOAD_1: u8 = 0x2b;
    pub const ALOAD_2: u8 = 0x2c;
    pub const ALOAD_3: u8 = 0x2d;
    pub const IALOAD: u8 = 0x2e;
    pub const LALOAD: u8 = 0x2f;
    pub const FALOAD: u8 = 0x30;
    pub const DALOAD: u8 = 0x31;
    pub const AALOAD: u8 = 0x32;
    pub const BALOAD: u8 = 0x33;
    pub const CALOAD: u8 = 0x34;
    pub const SALOAD: u8 = 0x35;
    pub const ISTORE: u8 = 0x36;
    pub const LSTORE: u8 = 0x37;
    pub const FSTORE: u8 = 0x38;
    pub const DSTORE: u8 = 0x39;
    pub const ASTORE: u8 = 0x3a;
    pub const ISTORE_0: u8 = 0x3b;
    pub const ISTORE_1: u8 = 0x3c;
    pub const ISTORE_2: u8 = 0x3d;
    pub const ISTORE_3: u8 = 0x3e;
    pub const LSTORE_0: u8 = 0x3f;
    pub const LSTORE_1: u8 = 0x40;
    pub const LSTORE_2: u8 = 0x41;
    pub const LSTORE_3: u8 = 0x42;
    pub const FSTORE_0: u8 = 0x43;
    pub const FSTORE_1: u8 = 0x44;
    pub const FSTORE_2: u8 = 0x45;
    pub const FSTORE_3: u8 = 0x46;
    pub const DSTORE_0: u8 = 0x47;
    pub const DSTORE_1: u8 = 0x48;
    pub const DSTORE_2: u8 = 0x49;
    pub const DSTORE_3: u8 = 0x4a;
    pub const ASTORE_0: u8 = 0x4b;
    pub const ASTORE_1: u8 = 0x4c;
    pub const ASTORE_2: u8 = 0x4d;
    pub const ASTORE_3: u8 = 0x4e;
    pub const IASTORE: u8 = 0x4f;
    pub const LASTORE: u8 = 0x50;
    pub const FASTORE: u8 = 0x51;
    pub const DASTORE: u8 = 0x52;
    pub const AASTORE: u8 = 0x53;
    pub const BASTORE: u8 = 0x54;
    pub const CASTORE: u8 = 0x55;
    pub const SASTORE: u8 = 0x56;
    pub const POP: u8 = 0x57;
    pub const POP2: u8 = 0x58;
    pub const DUP: u8 = 0x59;
    pub const DUP_X1: u8 = 0x5a;
    pub const DUP_X2: u8 = 0x5b;
    pub const DUP2: u8 = 0x5c;
    pub const DUP2_X1: u8 = 0x5d;
    pub const DUP2_X2: u8 = 0x5e;
    pub const SWAP: u8 = 0x5f;
    pub const IADD: u8 = 0x60;
    pub const LADD: u8 = 0x61;
    pub const FADD: u8 = 0x62;
    pub const DADD: u8 = 0x63;
    pub const ISUB: u8 = 0x64;
    pub const LSUB: u8 = 0x65;
    pub const FSUB: u8 = 0x66;
    pub const DSUB: u8 = 0x67;
    pub const IMUL: u8 = 0x68;
    pub const LMUL: u8 = 0x69;
    pub const FMUL: u8 = 0x6a;
    pub const DMUL: u8 = 0x6b;
    pub const IDIV: u8 = 0x6c;
    pub const LDIV: u8 = 0x6d;
    pub const FDIV: u8 = 0x6e;
    pub const DDIV: u8 = 0x6f;
    pub const IREM: u8 = 0x70;
    pub const LREM: u8 = 0x71;
    pub const FREM: u8 = 0x72;
    pub const DREM: u8 = 0x73;
    pub const INEG: u8 = 0x74;
    pub const LNEG: u8 = 0x75;
    pub const FNEG: u8 = 0x76;
    pub const DNEG: u8 = 0x77;
    pub const ISHL: u8 = 0x78;
    pub const LSHL: u8 = 0x79;
    pub const ISHR: u8 = 0x7a;
    pub const LSHR: u8 = 0x7b;
    pub const IUSHR: u8 = 0x7c;
    pub const LUSHR: u8 = 0x7d;
    pub const IAND: u8 = 0x7e;
    pub const LAND: u8 = 0x7f;
    pub const IOR: u8 = 0x80;
    pub const LOR: u8 = 0x81;
    pub const IXOR: u8 = 0x82;
    pub const LXOR: u8 = 0x83;
    pub const IINC: u8 = 0x84;
    pub const I2L: u8 = 0x85;
    pub const I2F: u8 = 0x86;
    pub const I2D: u8 = 0x87;
    pub const L2I: u8 = 0x88;
    pub const L2F: u8 = 0x89;
    pub const L2D: u8 = 0x8a;
    pub const F2I: u8 = 0x8b;
    pub const F2L: u8 = 0x8c;
    pub const F2D: u8 = 0x8d;
    pub const D2I: u8 = 0x8e;
    pub const D2L: u8 = 0x8f;
    pub const D2F: u8 = 0x90;
    pub const I2B: u8 = 0x91;
    pub const I2C: u8 = 0x92;
    pub const I2S: u8 = 0x93;
    pub const LCMP: u8 = 0x94;
    pub const FCMPL: u8 = 0x95;
    pub const FCMPG: u8 = 0x96;
    pub const DCMPL: u8 = 0x97;
    pub const DCMPG: u8 = 0x98;
    pub const IFEQ: u8 = 0x99;
    pub const IFNE: u8 = 0x9a;
    pub const IFLT: u8 = 0x9b;
    pub const IFGE: u8 = 0x9c;
    pub const IFGT: u8 = 0x9d;
    pub const IFLE: u8 = 0x9e;
    pub const IF_ICMPEQ: u8 = 0x9f;
    pub const IF_ICMPNE: u8 = 0xa0;
    pub const IF_ICMPLT: u8 = 0xa1;
    pub const IF_ICMPGE: u8 = 0xa2;
    pub const IF_ICMPGT: u8 = 0xa3;
    pub const IF_ICMPLE: u8 = 0xa4;
    pub const IF_ACMPEQ: u8 = 0xa5;
    pub const IF_ACMPNE: u8 = 0xa6;
    pub const GOTO: u8 = 0xa7;
    pub const JSR: u8 = 0xa8;
    pub const RET: u8 = 0xa9;
    pub const TABLESWITCH: u8 = 0xaa;
    pub const LOOKUPSWITCH: u8 = 0xab;
    pub const IRETURN: u8 = 0xac;
    pub const LRETURN: u8 = 0xad;
    pub const FRETURN: u8 = 0xae;
    pub const DRETURN: u8 = 0xaf;
    pub const ARETURN: u8 = 0xb0;
    pub const RETURN: u8 = 0xb1;
    pub const GETSTATIC: u8 = 0xb2;
    pub const PUTSTATIC: u8 = 0xb3;
    pub const GETFIELD: u8 = 0xb4;
    pub const PUTFIELD: u8 = 0xb5;
    pub const INVOKEVIRTUAL: u8 = 0xb6;
    pub const INVOKESPECIAL: u8 = 0xb7;
    pub const INVOKESTATIC: u8 = 0xb8;
    pub const INVOKEINTERFACE: u8 = 0xb9;
    pub const INVOKEDYNAMIC: u8 = 0xba;
    pub const NEW: u8 = 0xbb;
    pub const NEWARRAY: u8 = 0xbc;
    pub const ANEWARRAY: u8 = 0xbd;
    pub const ARRAYLENGTH: u8 = 0xbe;
    pub const ATHROW: u8 = 0xbf;
    pub const CHECKCAST: u8 = 0xc0;
    pub const INSTANCEOF: u8 = 0xc1;
    pub const MONITORENTER: u8 = 0xc2;
    pub const MONITOREXIT: u8 = 0xc3;
    pub const WIDE: u8 = 0xc4;
    pub const MULTIANEWARRAY: u8 = 0xc5;
    pub const IFNULL: u8 = 0xc6;
    pub const IFNONNULL: u8 = 0xc7;
    pub const GOTO_W: u8 = 0xc8;
    pub const JSR_W: u8 = 0xc9;
}

pub use mnemonic::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_agree_with_the_jvms() {
        for (opcode, name) in [
            (0x00, "nop"),
            (0x12, "ldc"),
            (0x84, "iinc"),
            (0xa7, "goto"),
            (0xb6, "invokevirtual"),
            (0xba, "invokedynamic"),
            (0xbf, "athrow"),
            (0xc4, "wide"),
            (0xc9, "jsr_w"),
            (0x36, "istore"),
            (0x57, "pop"),
            (0x94, "lcmp"),
        ] {
            assert_eq!(info(opcode).unwrap().name, name);
        }
        assert!(info(0xca).is_none());
        assert_eq!(fixed_length(INVOKEINTERFACE), 5);
        assert_eq!(fixed_length(TABLESWITCH), 0);
        assert_eq!(fixed_length(0xff), 0);
    }
}
