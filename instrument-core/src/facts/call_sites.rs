//! Which methods a body may call: its invoke instructions, decoded one after the other, whether they are ever executed or not.
//!
//! The bytecode may be that of a class file or that of a loaded class as the JVM shows it. The JVM does not show the bootstrap methods of a class, so
//! what a dynamic call leads to is read from a class file whose body has the same calls ([`FileCalls`], decision 057). Calls that instr has
//! inserted are left out.

use std::fmt;

use classfile::attributes::{LineNumber, Structure, Table};
use classfile::instruction::{Instruction, Instructions};
use classfile::{ClassFile, ConstantPool, Member, MemberRef, opcode};

use serde::{Deserialize, Serialize};

use super::delegates::Bootstraps;

crate::declare_words! {
    /// The instruction of a call.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum CallKind {
        /// invokevirtual
        Virtual = "virtual",
        /// invokespecial: constructors, `super.method()`, private methods of old class files
        Special = "special",
        /// invokestatic
        Static = "static",
        /// invokeinterface
        Interface = "interface",
        /// invokedynamic: lambdas, method references, string concatenation
        Dynamic = "dynamic",
    }
}

impl CallKind {
    fn of_opcode(code: u8) -> Option<CallKind> {
        Some(match code {
            opcode::INVOKEVIRTUAL => CallKind::Virtual,
            opcode::INVOKESPECIAL => CallKind::Special,
            opcode::INVOKESTATIC => CallKind::Static,
            opcode::INVOKEINTERFACE => CallKind::Interface,
            opcode::INVOKEDYNAMIC => CallKind::Dynamic,
            _ => return None,
        })
    }

    /// The instruction that calls as a method handle of this kind does (JVMS 5.4.3.5).
    fn of_handle(kind: u8) -> CallKind {
        match kind {
            6 => CallKind::Static,
            7 | 8 => CallKind::Special,
            9 => CallKind::Interface,
            _ => CallKind::Virtual,
        }
    }
}

/// A method as a class names it, before it is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MethodName {
    /// Internal name of the class that is searched first, or the descriptor of an array.
    pub owner: Box<[u8]>,
    /// Its name.
    pub name: Box<[u8]>,
    /// Its descriptor.
    pub descriptor: Box<[u8]>,
}

impl MethodName {
    fn of(member: MemberRef<'_>) -> MethodName {
        MethodName { owner: member.owner.0.into(), name: member.name.0.into(), descriptor: member.descriptor.0.into() }
    }
}

/// What is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// This method.
    Method(MethodName),
    /// The method of a lambda or of a method reference, which is called as this kind of instruction calls.
    Function(CallKind, MethodName),
    /// What a bootstrap method returns: no method that a class file names.
    Bootstrap(MethodName),
    /// A dynamic call by name and descriptor; what it leads to is unknown.
    Unknown(Box<[u8]>, Box<[u8]>),
}

/// What a body may call, with all places where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The instruction.
    pub kind: CallKind,
    /// What is called.
    pub target: Target,
    /// Offsets of the instructions in the bytecode.
    pub offsets: Vec<u32>,
    /// Their lines, each once, as far as they are known.
    pub lines: Vec<u32>,
}

/// A body.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// Its instructions.
    pub bytecode: &'a [u8],
    /// The constants of its class.
    pub constants: &'a ConstantPool<'a>,
    /// Where lines begin: offset and line, by offset.
    pub lines: &'a [(u32, u32)],
}

/// One invoke instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Site {
    kind: CallKind,
    offset: u32,
    constant: u16,
    /// Without owner for a dynamic call.
    method: MethodName,
}

impl Site {
    fn is_of_runtime(&self) -> bool {
        self.method.owner.starts_with(RUNTIME)
    }

    fn calls_the_same(&self, other: &Site) -> bool {
        self.kind == other.kind && self.method == other.method
    }
}

/// The calls of a method by its class file, in their order, with what dynamic ones lead to.
#[derive(Clone, Debug)]
pub struct FileCalls(Vec<(Site, Option<Target>)>);

impl FileCalls {
    /// Reads those of a method; `None` if it has no code or the file is damaged.
    pub fn of(class: &ClassFile<'_>, method: &Member<'_>) -> Option<FileCalls> {
        let code = method.code(class).ok()??;
        let bootstraps = Bootstraps::of(class);
        let sites = sites(code.bytecode, class.constant_pool()).ok()?.into_iter().filter(|site| !site.is_of_runtime());
        let target = |site: &Site| {
            let function = bootstraps.function_handle(class, site.constant);
            let function =
                function.map(|(kind, method)| Target::Function(CallKind::of_handle(kind), MethodName::of(method)));
            let bootstrap = || bootstraps.factory(class, site.constant).map(MethodName::of).map(Target::Bootstrap);
            function.or_else(bootstrap)
        };
        let with_target = |site: Site| {
            let target = if site.kind == CallKind::Dynamic { target(&site) } else { None };
            (site, target)
        };
        Some(FileCalls(sites.map(with_target).collect()))
    }

    /// For each site of a body, its place in the file; `None` if the body lacks a call of the file, or has another order of them.
    fn places(&self, body: &[Site]) -> Option<Vec<Option<usize>>> {
        let mut next = 0;
        let places = body.iter().map(|site| {
            let (in_file, _) = self.0.get(next)?;
            let is_there = in_file.calls_the_same(site);
            next += usize::from(is_there);
            is_there.then_some(next.saturating_sub(1))
        });
        let places = places.collect();
        (next == self.0.len()).then_some(places)
    }
}

/// Says whether a method is called, by owner, name and descriptor.
pub type IsCalled<'i> = dyn Fn(&[u8], &[u8], &[u8]) -> bool + 'i;

/// What instr has inserted into a body.
#[derive(Clone, Copy)]
pub struct Insertions<'i> {
    /// Whether it carries a probe.
    pub has_probe: bool,
    /// Whether code of templates calls a method.
    pub calls: &'i IsCalled<'i>,
}

impl fmt::Debug for Insertions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Insertions").field("has_probe", &self.has_probe).finish_non_exhaustive()
    }
}

impl Insertions<'_> {
    /// Nothing, apart from calls of the runtime.
    pub const NONE: Insertions<'static> = Insertions { has_probe: false, calls: &|_, _, _| false };

    fn may_have(&self, site: &Site) -> bool {
        let MethodName { owner, name, descriptor } = &site.method;
        self.has_probe && (self.calls)(owner, name, descriptor)
    }
}

/// The classes of the runtime: nobody else calls them.
const RUNTIME: &[u8] = b"java/instr/";

/// Returns whether the class file is needed to know what the body calls: a call is dynamic, or could be one that instr has inserted.
pub fn needs_file(body: &Body<'_>, insertions: &Insertions<'_>) -> bool {
    let needs = |site: &Site| site.kind == CallKind::Dynamic || insertions.may_have(site);
    sites(body.bytecode, body.constants).is_ok_and(|sites| sites.iter().any(needs))
}

/// Returns what the body may call, in the order in which it first does. A call that could have been inserted is left out unless the file has it, too.
///
/// # Errors
/// If the bytecode or a constant is damaged.
pub fn calls(
    body: &Body<'_>,
    file: Option<&FileCalls>,
    insertions: &Insertions<'_>,
) -> Result<Vec<Call>, classfile::Error> {
    let mut found = sites(body.bytecode, body.constants)?;
    found.retain(|site| !site.is_of_runtime());
    let places = file.and_then(|file| file.places(&found)).unwrap_or_default();
    let mut calls: Vec<Call> = Vec::new();
    for (at, site) in found.into_iter().enumerate() {
        let place = places.get(at).copied().flatten();
        if place.is_none() && insertions.may_have(&site) {
            continue;
        }
        let in_file = file.zip(place).and_then(|(file, place)| file.0.get(place));
        add(&mut calls, body.lines, &site, in_file.and_then(|(_, target)| target.clone()));
    }
    Ok(calls)
}

fn add(calls: &mut Vec<Call>, lines: &[(u32, u32)], site: &Site, linked: Option<Target>) {
    let target = match (site.kind, linked) {
        (CallKind::Dynamic, Some(target)) => target,
        (CallKind::Dynamic, None) => Target::Unknown(site.method.name.clone(), site.method.descriptor.clone()),
        _ => Target::Method(site.method.clone()),
    };
    let line = lines.iter().rev().find(|(start, _)| *start <= site.offset).map(|(_, line)| *line);
    let known = calls.iter().position(|call| call.kind == site.kind && call.target == target);
    let at = known.unwrap_or_else(|| {
        calls.push(Call { kind: site.kind, target, offsets: Vec::new(), lines: Vec::new() });
        calls.len() - 1
    });
    let Some(call) = calls.get_mut(at) else { return };
    call.offsets.push(site.offset);
    call.lines.extend(line.filter(|line| !call.lines.contains(line)));
}

/// Returns the invoke instructions of a body.
fn sites(bytecode: &[u8], constants: &ConstantPool<'_>) -> Result<Vec<Site>, classfile::Error> {
    let mut sites = Vec::new();
    for instruction in Instructions::new(bytecode) {
        let instruction: Instruction<'_> = instruction?;
        let Some(kind) = CallKind::of_opcode(instruction.opcode) else { continue };
        let constant = instruction.u2(0);
        let method = match kind {
            CallKind::Dynamic => {
                let (_, name, descriptor) = constants.dynamic(constant)?;
                MethodName { owner: Box::default(), name: name.0.into(), descriptor: descriptor.0.into() }
            }
            _ => MethodName::of(constants.member_ref(constant)?),
        };
        sites.push(Site { kind, offset: instruction.offset, constant, method });
    }
    Ok(sites)
}

/// Returns what a method of a class file may call, as [`calls`] does; nothing if it has no code.
///
/// # Errors
/// If the bytecode or a constant is damaged.
pub fn calls_of(class: &ClassFile<'_>, method: &Member<'_>) -> Result<Vec<Call>, classfile::Error> {
    let Some(code) = method.code(class)? else { return Ok(Vec::new()) };
    let table = code.attributes(class).find(b"LineNumberTable")?;
    let rows = table.and_then(|table| Table::<LineNumber>::read(&mut table.reader("LineNumberTable"), 0).ok());
    let row = |row: LineNumber| (u32::from(row.start), u32::from(row.line));
    let mut lines: Vec<(u32, u32)> = rows.into_iter().flat_map(|rows: Table<'_, _>| rows).map(row).collect();
    lines.sort_unstable();
    let body = Body { bytecode: code.bytecode, constants: class.constant_pool(), lines: &lines };
    calls(&body, FileCalls::of(class, method).as_ref(), &Insertions::NONE)
}

#[cfg(test)]
mod tests {
    use classfile::opcode::{
        ALOAD_0, BIPUSH, INVOKEDYNAMIC, INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL,
    };
    use classfile::opcode::{POP, RETURN, SIPUSH, TABLESWITCH};

    use super::*;

    /// Constants: methods at 10, 20, ... by owner and name, all `()V`, and a dynamic call `apply` at 5.
    fn beginning(methods: &[(&str, &str)]) -> Vec<u8> {
        let mut file = [0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61].to_vec();
        file.extend((methods.len() as u16 * 10 + 10).to_be_bytes());
        let utf8 = |file: &mut Vec<u8>, text: &str| {
            file.push(1);
            file.extend((text.len() as u16).to_be_bytes());
            file.extend(text.as_bytes());
        };
        let unused = |file: &mut Vec<u8>, count: usize| (0..count).for_each(|_| file.extend([3, 0, 0, 0, 0]));
        // 1 to 9: names of the dynamic call.
        utf8(&mut file, "()V");
        utf8(&mut file, "apply");
        file.extend([12, 0, 2, 0, 1]);
        unused(&mut file, 1);
        file.extend([18, 0, 0, 0, 3]);
        unused(&mut file, 4);
        for (at, (owner, name)) in methods.iter().enumerate() {
            let first = at as u8 * 10 + 10;
            file.extend([10, 0, first + 1, 0, first + 3]);
            file.extend([7, 0, first + 2]);
            utf8(&mut file, owner);
            file.extend([12, 0, first + 4, 0, 1]);
            utf8(&mut file, name);
            unused(&mut file, 5);
        }
        file.extend([0; 5]);
        file
    }

    fn found(
        bytecode: &[u8],
        methods: &[(&str, &str)],
        insertions: &Insertions<'_>,
        file: Option<&FileCalls>,
    ) -> Vec<String> {
        let file_bytes = beginning(methods);
        let constants = ConstantPool::of_beginning(&file_bytes).unwrap();
        let body = Body { bytecode, constants: &constants, lines: &[(0, 7), (4, 8)] };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let line = |call: Call| {
            let target = match &call.target {
                Target::Method(method) => format!("{}.{}", text(&method.owner), text(&method.name)),
                other => format!("{other:?}").chars().take_while(|character| *character != '(').collect(),
            };
            format!("{} {target} at {:?} lines {:?}", call.kind.name(), call.offsets, call.lines)
        };
        calls(&body, file, insertions).unwrap().into_iter().map(line).collect()
    }

    const METHODS: [(&str, &str); 2] = [("a/B", "run"), ("a/C", "go")];

    #[test]
    fn calls_are_listed_once_with_all_their_places() {
        let body =
            [INVOKESTATIC, 0, 10, ALOAD_0, INVOKEVIRTUAL, 0, 20, INVOKESTATIC, 0, 10, INVOKESPECIAL, 0, 10, RETURN];
        assert_eq!(
            found(&body, &METHODS, &Insertions::NONE, None),
            [
                "static a/B.run at [0, 7] lines [7, 8]",
                "virtual a/C.go at [4] lines [8]",
                "special a/B.run at [10] lines [8]"
            ]
        );
    }

    #[test]
    fn operands_are_not_taken_for_instructions() {
        // Padding up to an offset that is divisible by four, the distance of the default, the lowest and the highest case, the distance of this.
        let switch = [TABLESWITCH, 0, 0, 0, 0, 0, INVOKEVIRTUAL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INVOKEVIRTUAL, 0];
        let body = [
            &[BIPUSH, INVOKEVIRTUAL, POP, SIPUSH, INVOKEVIRTUAL, INVOKESTATIC, POP, BIPUSH, INVOKEDYNAMIC][..],
            &switch,
        ]
        .concat();
        assert!(found(&body, &METHODS, &Insertions::NONE, None).is_empty());
    }

    #[test]
    fn an_instruction_that_is_cut_off_or_has_no_method_is_an_error() {
        let file = beginning(&METHODS);
        let constants = ConstantPool::of_beginning(&file).unwrap();
        for bytecode in [&[INVOKEVIRTUAL, 0][..], &[INVOKEINTERFACE, 0, 1, 1, 0], &[0xfe]] {
            assert!(calls(&Body { bytecode, constants: &constants, lines: &[] }, None, &Insertions::NONE).is_err());
        }
    }

    #[test]
    fn what_instr_inserts_is_left_out() {
        let methods = [("java/instr/Timer", "enter"), ("a/Shown", "text"), ("a/B", "run")];
        let body = [INVOKESTATIC, 0, 10, INVOKESTATIC, 0, 20, INVOKESTATIC, 0, 30, INVOKESTATIC, 0, 20, RETURN];
        let of_template = |_: &[u8], name: &[u8], _: &[u8]| name == b"text";
        let with_probe = Insertions { has_probe: true, calls: &of_template };
        assert_eq!(found(&body, &methods, &with_probe, None), ["static a/B.run at [6] lines [8]"]);
        let without = Insertions { has_probe: false, ..with_probe };
        assert_eq!(found(&body, &methods, &without, None).len(), 2, "it makes the call itself");
        // The file has the second of the two: the first one was inserted.
        let file_bytes = beginning(&methods);
        let constants = ConstantPool::of_beginning(&file_bytes).unwrap();
        let original = [INVOKESTATIC, 0, 30, INVOKESTATIC, 0, 20, RETURN];
        let original = FileCalls(sites(&original, &constants).unwrap().into_iter().map(|site| (site, None)).collect());
        assert_eq!(
            found(&body, &methods, &with_probe, Some(&original)),
            ["static a/B.run at [6] lines [8]", "static a/Shown.text at [9] lines [8]"]
        );
    }

    #[test]
    fn a_dynamic_call_is_linked_only_by_a_file_that_has_the_calls_of_the_body() {
        let body = [INVOKESTATIC, 0, 10, INVOKEDYNAMIC, 0, 5, 0, 0, RETURN];
        let file_bytes = beginning(&METHODS);
        let constants = ConstantPool::of_beginning(&file_bytes).unwrap();
        let linked = |bytecode: &[u8]| {
            let target = Target::Function(
                CallKind::Static,
                MethodName { owner: b"a/B"[..].into(), name: b"lambda"[..].into(), descriptor: b"()V"[..].into() },
            );
            FileCalls(
                sites(bytecode, &constants).unwrap().into_iter().map(|site| (site, Some(target.clone()))).collect(),
            )
        };
        let dynamic = |file: Option<FileCalls>| found(&body, &METHODS, &Insertions::NONE, file.as_ref()).remove(1);
        assert_eq!(dynamic(Some(linked(&body))), "dynamic Function at [3] lines [7]");
        assert_eq!(dynamic(None), "dynamic Unknown at [3] lines [7]");
        let other = [INVOKESTATIC, 0, 20, INVOKEDYNAMIC, 0, 5, 0, 0, RETURN];
        assert_eq!(dynamic(Some(linked(&other))), "dynamic Unknown at [3] lines [7]");
        assert!(needs_file(&Body { bytecode: &body, constants: &constants, lines: &[] }, &Insertions::NONE));
    }

    #[test]
    fn method_handles_call_as_instructions_do() {
        let kinds = [5, 6, 7, 8, 9].map(|kind| CallKind::of_handle(kind).name());
        assert_eq!(kinds, ["virtual", "static", "special", "special", "interface"]);
    }
}
