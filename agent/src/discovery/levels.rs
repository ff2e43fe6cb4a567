//! From method to method: what each may call, level by level, each method once.

use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

use classfile::ModifiedUtf8;
use control::{Callee, CalleeCall, Callees};
use instrument_core::facts::call_sites::{Call, CallKind, MethodName, Target};
use instrument_core::internal_name::to_source;
use instrument_core::selection::signature::signature_of;
use rustc_hash::FxHashMap;

use super::resolution::{ACC_ABSTRACT, ACC_NATIVE, ClassAt, MethodAt, Types, Unresolved, implementers, resolve};

/// How far to go.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Levels.
    pub(crate) depth: usize,
    /// Methods.
    pub(crate) most: usize,
    /// Implementers of each call.
    pub(crate) implementers: usize,
    /// Instructions that count.
    pub(crate) opcodes: Vec<CallKind>,
}

/// The program that is explored.
pub(crate) trait Program {
    /// Its classes.
    fn types(&self) -> &dyn Types;

    /// What a method with bytecode may call, or why that is unknown.
    fn calls(&self, method: MethodAt) -> Result<Arc<[Call]>, String>;

    /// The entry of a method, without its calls.
    fn entry(&self, method: MethodAt) -> Callee;

    /// How many calls of a method its probes have recorded.
    fn recorded(&self, method: MethodAt) -> u64;

    /// Whether the answer is still wanted.
    fn goes_on(&self) -> bool;
}

/// What an entry stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Method(MethodAt),
    Unresolved(MethodName, Unresolved),
    /// What links a dynamic call.
    Bootstrap(MethodName),
    /// A dynamic call of this class, by name and descriptor.
    Dynamic(ClassAt, Box<[u8]>, Box<[u8]>),
}

struct Exploration<'p> {
    program: &'p dyn Program,
    limits: &'p Limits,
    methods: Vec<Callee>,
    places: FxHashMap<Key, usize>,
    /// The methods to be decoded, by their places.
    with_code: Vec<Option<MethodAt>>,
    implementers: FxHashMap<MethodAt, Rc<[MethodAt]>>,
    left_out: usize,
}

/// Returns what these methods may call. The caller adds how much was decoded for that.
pub(crate) fn explore(program: &dyn Program, asked: &[MethodAt], limits: &Limits) -> Callees {
    let mut exploration = Exploration {
        program,
        limits,
        methods: Vec::new(),
        places: FxHashMap::default(),
        with_code: Vec::new(),
        implementers: FxHashMap::default(),
        left_out: 0,
    };
    let asked = asked.iter().filter(|method| exploration.place(Key::Method(**method)).is_some()).count();
    let mut start = 0;
    for _ in 0..limits.depth {
        let end = exploration.methods.len();
        (start..end).for_each(|place| exploration.expand(place));
        start = end;
    }
    let Exploration { methods, left_out, .. } = exploration;
    Callees { asked, methods, left_out, decoded: 0, known: 0, notices: Vec::new() }
}

impl Exploration<'_> {
    /// The place of a method in the answer; `None` if there is no room for it.
    fn place(&mut self, key: Key) -> Option<usize> {
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        if self.methods.len() >= self.limits.most {
            return None;
        }
        let (entry, with_code) = match &key {
            Key::Method(method) => (self.program.entry(*method), Some(*method)),
            Key::Unresolved(named, why) => (without_method(of_name(named), why.texts()), None),
            Key::Bootstrap(named) => {
                (without_method(Callee { signature: shortened(named), ..of_name(named) }, BOOTSTRAP), None)
            }
            Key::Dynamic(class, name, descriptor) => {
                let of_call = entry(self.program.types().name(*class), name, descriptor);
                (without_method(of_call, UNKNOWN), None)
            }
        };
        self.methods.push(entry);
        self.with_code.push(with_code);
        self.places.insert(key, self.methods.len() - 1);
        Some(self.methods.len() - 1)
    }

    fn expand(&mut self, place: usize) {
        let method = self.with_code.get(place).copied().flatten();
        let calls = method.filter(|_| self.program.goes_on()).map(|method| (method.0, self.calls(method)));
        let Some(entry) = self.methods.get_mut(place) else { return };
        entry.expanded = true;
        let (class, calls) = match calls {
            None => return,
            Some((_, Err(reason))) => {
                entry.not_decoded = Some(reason);
                return;
            }
            Some((class, Ok(calls))) => (class, calls),
        };
        let opcodes = &self.limits.opcodes;
        let listed: Vec<CalleeCall> = calls
            .iter()
            .filter(|call| opcodes.contains(&call.kind))
            .filter_map(|call| self.call(call, class))
            .collect();
        if let Some(entry) = self.methods.get_mut(place) {
            entry.calls = listed;
        }
    }

    /// What a method may call: nothing if it has no bytecode.
    fn calls(&self, (class, method): MethodAt) -> Result<Arc<[Call]>, String> {
        let methods = self.program.types().methods(class);
        let flags = methods.get(method).map_or(0, |declared| declared.flags);
        if flags & (ACC_ABSTRACT | ACC_NATIVE) != 0 { Ok(Arc::new([])) } else { self.program.calls((class, method)) }
    }

    fn call(&mut self, call: &Call, from: ClassAt) -> Option<CalleeCall> {
        let Some((callee, owner, dispatched)) = self.callee(call, from) else {
            self.left_out += 1;
            return None;
        };
        let candidates = dispatched.map(|method| self.implementers_of(method)).unwrap_or_default();
        let most = candidates.iter().take(self.limits.implementers);
        let implementers: Vec<usize> = most.filter_map(|method| self.place(Key::Method(*method))).collect();
        Some(CalleeCall {
            opcode: call.kind,
            callee,
            owner,
            offsets: call.offsets.clone(),
            lines: call.lines.clone(),
            more_implementers: candidates.len() - implementers.len(),
            implementers,
        })
    }

    /// The place of what is called, the class that the instruction names if it is another, and the method if another one may run in its place.
    fn callee(&mut self, call: &Call, from: ClassAt) -> Option<(usize, Option<String>, Option<MethodAt>)> {
        let (kind, named) = match &call.target {
            Target::Method(named) => (call.kind, named),
            Target::Function(kind, named) => (*kind, named),
            Target::Bootstrap(named) => return Some((self.place(Key::Bootstrap(named.clone()))?, None, None)),
            Target::Unknown(name, descriptor) => {
                return Some((self.place(Key::Dynamic(from, name.clone(), descriptor.clone()))?, None, None));
            }
        };
        let method = match resolve(self.program.types(), named, from) {
            Ok(method) => method,
            Err(why) => return Some((self.place(Key::Unresolved(named.clone(), why))?, None, None)),
        };
        let place = self.place(Key::Method(method))?;
        let declaring = self.program.types().name(method.0);
        let owner = (*declaring != *named.owner).then(|| to_source(&named.owner));
        Some((place, owner, matches!(kind, CallKind::Virtual | CallKind::Interface).then_some(method)))
    }

    /// The methods that may run in the place of this one, those first of which most calls were recorded.
    fn implementers_of(&mut self, method: MethodAt) -> Rc<[MethodAt]> {
        let program = self.program;
        let ranked = || {
            let mut found = implementers(program.types(), method);
            found.sort_by_cached_key(|of| Reverse(program.recorded(*of)));
            found.into()
        };
        Rc::clone(self.implementers.entry(method).or_insert_with(ranked))
    }
}

/// Code and reason of entries that are no methods of loaded classes.
type NoMethod = (&'static str, &'static str);
const BOOTSTRAP: NoMethod = ("bootstrap", "it links a dynamic call, which leads to no method that a class file names");
const UNKNOWN: NoMethod = (
    "dynamic",
    "a dynamic call, and no class file was found that has the calls of this method: what it leads to is unknown",
);

fn without_method(entry: Callee, (code, reason): NoMethod) -> Callee {
    Callee { code: Some(code.to_owned()), reason: Some(reason.to_owned()), ..entry }
}

/// The parameters of bootstrap methods are always the same, and long.
fn shortened(named: &MethodName) -> String {
    format!("{}(..)", ModifiedUtf8(&named.name))
}

fn of_name(named: &MethodName) -> Callee {
    entry(&named.owner, &named.name, &named.descriptor)
}

/// An entry without probe, and without calls; of a class by its internal name.
pub(super) fn entry(class: &[u8], method: &[u8], descriptor: &[u8]) -> Callee {
    let [method, descriptor] = [method, descriptor].map(ModifiedUtf8);
    Callee {
        class: to_source(class),
        signature: signature_of(method, descriptor),
        method: method.to_string(),
        descriptor: descriptor.to_string(),
        loader: None,
        state: "none".to_owned(),
        level: None,
        recorded: None,
        wanted_by: Vec::new(),
        code: None,
        reason: None,
        expanded: false,
        not_decoded: None,
        calls: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::resolution::tests::{MadeUp, PUBLIC};
    use super::*;

    /// Calls by method: kind, owner, name.
    type Calls = &'static [(&'static str, &'static [(CallKind, &'static str, &'static str)])];

    struct MadeUpProgram {
        classes: &'static [MadeUp],
        calls: Calls,
        decoded: RefCell<Vec<String>>,
        recorded: &'static str,
    }

    const CLASSES: &[MadeUp] = &[
        MadeUp { name: "java/lang/Object", super_class: None, interfaces: &[], methods: &[] },
        MadeUp {
            name: "a/A",
            super_class: Some(0),
            interfaces: &[],
            methods: &[("a", PUBLIC), ("b", PUBLIC), ("c", PUBLIC), ("d", PUBLIC)],
        },
        MadeUp { name: "a/I", super_class: Some(0), interfaces: &[], methods: &[("i", ACC_ABSTRACT)] },
        MadeUp { name: "a/One", super_class: Some(0), interfaces: &[2], methods: &[("i", PUBLIC)] },
        MadeUp { name: "a/Two", super_class: Some(3), interfaces: &[], methods: &[("i", PUBLIC), ("n", ACC_NATIVE)] },
    ];
    const CALLS: Calls = &[
        (
            "a/A.a",
            &[(CallKind::Special, "a/A", "b"), (CallKind::Special, "a/A", "c"), (CallKind::Interface, "a/I", "i")],
        ),
        ("a/A.b", &[(CallKind::Special, "a/A", "c"), (CallKind::Static, "a/Gone", "x")]),
        ("a/A.c", &[(CallKind::Special, "a/A", "a"), (CallKind::Virtual, "a/Two", "n")]),
        ("a/One.i", &[(CallKind::Virtual, "a/A", "d")]),
        ("a/Two.i", &[]),
    ];

    impl MadeUpProgram {
        fn text(&self, (class, method): MethodAt) -> String {
            let class = &self.classes[class.0];
            format!("{}.{}", class.name, class.methods[method].0)
        }
    }

    impl Program for MadeUpProgram {
        fn types(&self) -> &dyn Types {
            &self.classes
        }

        fn calls(&self, method: MethodAt) -> Result<Arc<[Call]>, String> {
            let text = self.text(method);
            self.decoded.borrow_mut().push(text.clone());
            let calls = self.calls.iter().find(|(of, _)| *of == text).ok_or("made up")?.1;
            let call = |(kind, owner, name): &(CallKind, &str, &str)| {
                let [owner, name] = [*owner, *name].map(|text| text.as_bytes().into());
                let named = MethodName { owner, name, descriptor: b"()V"[..].into() };
                Call { kind: *kind, target: Target::Method(named), offsets: vec![3], lines: vec![] }
            };
            Ok(calls.iter().map(call).collect())
        }

        fn entry(&self, method: MethodAt) -> Callee {
            let text = self.text(method);
            let (class, method) = text.split_once('.').unwrap();
            entry(class.as_bytes(), method.as_bytes(), b"()V")
        }

        fn recorded(&self, method: MethodAt) -> u64 {
            u64::from(self.text(method) == self.recorded)
        }

        fn goes_on(&self) -> bool {
            true
        }
    }

    fn explored(limits: &Limits) -> (Callees, Vec<String>) {
        explored_with("", limits)
    }

    /// A call of this method was recorded.
    fn explored_with(recorded: &'static str, limits: &Limits) -> (Callees, Vec<String>) {
        let program = MadeUpProgram { classes: CLASSES, calls: CALLS, decoded: RefCell::default(), recorded };
        (explore(&program, &[(ClassAt(1), 0)], limits), program.decoded.take())
    }

    fn limits(depth: usize) -> Limits {
        Limits { depth, most: 100, implementers: 8, opcodes: CallKind::ALL.to_vec() }
    }

    /// Each method with the places of what it calls.
    fn lines(callees: &Callees) -> Vec<String> {
        let line = |of: &Callee| {
            let calls = of.calls.iter().map(|call| format!("{} {:?}", call.callee, call.implementers));
            format!("{}.{} -> {}", of.class, of.method, calls.collect::<Vec<_>>().join(", "))
        };
        callees.methods.iter().map(line).collect()
    }

    #[test]
    fn a_level_is_added_at_a_time_and_each_method_is_decoded_once() {
        let (one, decoded) = explored(&limits(1));
        assert_eq!(
            lines(&one),
            ["a.A.a -> 1 [], 2 [], 3 [4, 5]", "a.A.b -> ", "a.A.c -> ", "a.I.i -> ", "a.One.i -> ", "a.Two.i -> "]
        );
        assert_eq!(decoded, ["a/A.a"]);
        let (three, decoded) = explored(&limits(3));
        assert_eq!(
            lines(&three),
            [
                "a.A.a -> 1 [], 2 [], 3 [4, 5]",
                "a.A.b -> 2 [], 6 []",
                "a.A.c -> 0 [], 7 []",
                "a.I.i -> ",
                "a.One.i -> 8 []",
                "a.Two.i -> ",
                "a.Gone.x -> ",
                "a.Two.n -> ",
                "a.A.d -> ",
            ],
            "c is called by a and b, and is one entry; a calls itself by way of c"
        );
        assert_eq!(decoded, ["a/A.a", "a/A.b", "a/A.c", "a/One.i", "a/Two.i", "a/A.d"], "no abstract or native method");
        assert_eq!(
            (three.methods[6].code.as_deref(), three.methods[8].not_decoded.as_deref()),
            (Some("not-loaded"), Some("made up"))
        );
        let expanded: Vec<bool> = one.methods.iter().map(|method| method.expanded).collect();
        assert_eq!(expanded, [true, false, false, false, false, false]);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let (callees, _) = explored(&Limits { most: 3, ..limits(3) });
        assert_eq!((callees.methods.len(), callees.left_out), (3, 3));
        for (recorded, first) in [("", "a.One"), ("a/Two.i", "a.Two")] {
            let (callees, _) = explored_with(recorded, &Limits { implementers: 1, ..limits(1) });
            let call = &callees.methods[0].calls[2];
            assert_eq!(call.more_implementers, 1);
            let listed = callees.methods.get(call.implementers[0]).unwrap();
            assert_eq!(listed.class, first, "those of which calls were recorded, then by name");
        }
    }

    #[test]
    fn each_subset_of_instructions() {
        for kind in CallKind::ALL {
            let (callees, _) = explored(&Limits { opcodes: vec![kind], ..limits(1) });
            let of_kind = CALLS[0].1.iter().filter(|(of, ..)| *of == kind).count();
            assert_eq!(callees.methods[0].calls.len(), of_kind, "{kind:?}");
        }
    }
}
