//! One class: its names, annotations, sizes and calls.

use std::cell::OnceCell;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use classfile::attributes::annotations;
use classfile::instruction::{Instruction, Instructions};
use classfile::{Attributes, ClassFile, Code, Member, MemberKind, access, opcode};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::blocking_calls::waits;
use super::delegate_sinks::is_sink;
use super::delegates::{Bootstraps, Created, Creation, creations, is_nested_beside};
use super::leaf_bodies::goes_straight_on;
use super::supertypes::Supertypes;
use super::texts::{Text, TextCollector, Texts};

/// What a class file says that rules may ask for. It has no reference into the file, and a few hundred bytes instead of thousands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassFacts {
    texts: Texts,
    name: Text,
    supertypes: Arc<Supertypes>,
    /// Descriptors of all annotations: first those of the class, then those of each method.
    annotations: Box<[Text]>,
    class_annotations: u16,
    /// Owner and name of each method that some body calls.
    called: Box<[(Text, Text)]>,
    /// Indices into `called`: those of each method in the order of its first calls.
    calls: Box<[u16]>,
    /// What the methods create for others to call, in their order.
    delegates: Box<[Site]>,
    methods: Box<[Method]>,
    fingerprint: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Site {
    class: Text,
    is_object: bool,
    /// Name and descriptor; of an object only if it is known as what it is called.
    method: Option<(Text, Text)>,
    /// Owner and name.
    sink: Option<(Text, Text)>,
}

/// A lambda, a method reference or an object that a method creates for others to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delegate<'f> {
    /// Internal name of the class whose method is called.
    pub class: &'f [u8],
    /// Whether it is an object of this class: the method is that of a functional type.
    pub is_object: bool,
    /// Name and descriptor of the method; `None` for an object of which it is not known as what it is called.
    pub method: Option<(&'f [u8], &'f [u8])>,
    /// Owner and name of the method that hands it to another thread, if it reaches one.
    pub sink: Option<(&'f [u8], &'f [u8])>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Method {
    name: Text,
    descriptor: Text,
    access_flags: u16,
    has_code: bool,
    is_leaf: bool,
    may_wait: bool,
    /// Bytes of bytecode.
    size: u16,
    first_annotation: u16,
    annotations: u16,
    calls: u16,
    first_call: u32,
    first_delegate: u16,
    delegates: u16,
}

/// One method of a class.
#[derive(Clone, Copy, Debug)]
pub struct MethodFacts<'f> {
    class: &'f ClassFacts,
    method: &'f Method,
}

impl ClassFacts {
    /// Analyses a class.
    pub fn of(class: &ClassFile<'_>) -> ClassFacts {
        let mut analysis = Analysis::new(class);
        analysis.add_annotations(class, class.attributes());
        let class_annotations = short(analysis.annotations.len());
        let name = analysis.texts.add(class.this_class().0);
        let methods = class.methods().iter().map(|method| analysis.method(class, method)).collect();
        ClassFacts {
            name,
            supertypes: Arc::new(Supertypes::of(class)),
            annotations: analysis.annotations.into(),
            class_annotations,
            called: analysis.called.into(),
            calls: analysis.calls.into(),
            delegates: analysis.delegates.into(),
            methods,
            texts: analysis.texts.finish(),
            fingerprint: fingerprint(class),
        }
    }

    /// Returns the internal name of the class.
    pub fn name(&self) -> &[u8] {
        self.texts.get(self.name)
    }

    /// Returns its direct super types.
    pub fn supertypes(&self) -> &Arc<Supertypes> {
        &self.supertypes
    }

    /// Returns the descriptors of the annotations on the class.
    pub fn annotations(&self) -> impl Iterator<Item = &[u8]> {
        self.annotations_at(0..usize::from(self.class_annotations))
    }

    /// Returns owner and name of each method that some body calls.
    pub fn called(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.called.iter().map(|(owner, name)| (self.texts.get(*owner), self.texts.get(*name)))
    }

    /// Returns the methods, in the order of the class.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = MethodFacts<'_>> + Clone {
        self.methods.iter().map(|method| MethodFacts { class: self, method })
    }

    /// Returns [`fingerprint`] of the file.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns how much memory the facts take.
    pub fn size_in_memory(&self) -> usize {
        size_of::<ClassFacts>()
            + self.texts.len()
            + self.supertypes.names().map(|name| name.len() + 1).sum::<usize>()
            + size_of_val(&*self.annotations)
            + size_of_val(&*self.called)
            + size_of_val(&*self.calls)
            + size_of_val(&*self.delegates)
            + size_of_val(&*self.methods)
    }

    fn annotations_at(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        self.annotations.get(range).unwrap_or_default().iter().map(|text| self.texts.get(*text))
    }
}

impl<'f> MethodFacts<'f> {
    /// Returns the name.
    pub fn name(&self) -> &'f [u8] {
        self.class.texts.get(self.method.name)
    }

    /// Returns the descriptor.
    pub fn descriptor(&self) -> &'f [u8] {
        self.class.texts.get(self.method.descriptor)
    }

    /// Returns the internal name of its class.
    pub fn class(&self) -> &'f [u8] {
        self.class.name()
    }

    /// Returns its flags.
    pub fn access_flags(&self) -> u16 {
        self.method.access_flags
    }

    /// Returns whether it has one of these flags.
    pub fn has(&self, flags: u16) -> bool {
        self.method.access_flags & flags != 0
    }

    /// Returns how many bytes of bytecode it has; `None` if it has none that can be read.
    pub fn size(&self) -> Option<usize> {
        self.method.has_code.then_some(usize::from(self.method.size))
    }

    /// Returns whether its body calls nothing, locks nothing and has no loop.
    pub fn is_leaf(&self) -> bool {
        self.method.is_leaf
    }

    /// Returns whether its body calls something of the JDK that may wait.
    pub fn may_wait(&self) -> bool {
        self.method.may_wait
    }

    /// Returns the descriptors of its annotations.
    pub fn annotations(&self) -> impl Iterator<Item = &'f [u8]> {
        let first = usize::from(self.method.first_annotation);
        self.class.annotations_at(first..first + usize::from(self.method.annotations))
    }

    /// Returns owner and name of the methods that it calls, in the order of the first calls.
    pub fn calls(&self) -> impl Iterator<Item = (&'f [u8], &'f [u8])> {
        let (class, first) = (self.class, self.method.first_call as usize);
        let calls = class.calls.get(first..first + usize::from(self.method.calls)).unwrap_or_default();
        let called = calls.iter().filter_map(|call| class.called.get(usize::from(*call)));
        called.map(|(owner, name)| (class.texts.get(*owner), class.texts.get(*name)))
    }
}

impl ClassFacts {
    /// Whether some method creates something for others to call.
    pub fn has_delegates(&self) -> bool {
        !self.delegates.is_empty()
    }
}

impl<'f> MethodFacts<'f> {
    /// Returns what the method creates for others to call.
    pub fn delegates(&self) -> impl Iterator<Item = Delegate<'f>> {
        let (class, first) = (self.class, usize::from(self.method.first_delegate));
        let sites = class.delegates.get(first..first + usize::from(self.method.delegates)).unwrap_or_default();
        let pair = |pair: (Text, Text)| (class.texts.get(pair.0), class.texts.get(pair.1));
        sites.iter().map(move |site| Delegate {
            class: class.texts.get(site.class),
            is_object: site.is_object,
            method: site.method.map(pair),
            sink: site.sink.map(pair),
        })
    }
}

impl ClassFacts {
    /// Returns the facts with the methods in the order in which another file of the class has them; `None` if it has others.
    pub fn ordered_as(&self, class: &ClassFile<'_>) -> Option<ClassFacts> {
        let named = |method: &Method| (self.texts.get(method.name), self.texts.get(method.descriptor));
        let known: FxHashMap<_, _> = self.methods.iter().map(|method| (named(method), method)).collect();
        let ordered = class.methods().iter().map(|method| known.get(&(method.name.0, method.descriptor.0)));
        let methods: Option<Box<[Method]>> = ordered.map(|method| method.map(|method| (*method).clone())).collect();
        methods
            .filter(|methods| methods.len() == self.methods.len())
            .map(|methods| ClassFacts { methods, ..self.clone() })
    }
}

/// Returns a hash of the constants of a class and of its methods, in whatever order. A JVM that writes a loaded class down again keeps these, but
/// neither all attributes nor the order.
pub fn fingerprint(class: &ClassFile<'_>) -> u64 {
    let constants = FxBuildHasher.hash_one(class.bytes().get(8..class.constant_pool().end_offset()));
    let methods = class.methods().iter().map(|method| {
        let code = method.code(class).ok().flatten().map(|code| code.bytecode);
        FxBuildHasher.hash_one((method.access_flags, method.name.0, method.descriptor.0, code))
    });
    methods.fold(constants, u64::wrapping_add)
}

/// One class being analysed.
#[derive(Debug)]
struct Analysis<'a> {
    texts: TextCollector,
    annotations: Vec<Text>,
    called: Vec<(Text, Text)>,
    calls: Vec<u16>,
    /// By the index of a constant.
    constants: Box<[Constant]>,
    /// For each place in `called` where the calls begin of the last method that calls it, plus one.
    listed: Vec<usize>,
    delegates: Vec<Site>,
    /// Read when the first dynamic call is seen.
    bootstraps: OnceCell<Bootstraps<'a>>,
}

/// What is known of a constant.
#[derive(Clone, Copy, Debug)]
enum Constant {
    NotRead,
    NoMethod,
    /// A lambda, a method reference, or a class beside this one.
    Delegate,
    /// Its place in `called`.
    Method {
        place: u16,
        waits: bool,
        is_sink: bool,
    },
}

impl<'a> Analysis<'a> {
    fn new(class: &ClassFile<'a>) -> Analysis<'a> {
        let constants = usize::from(class.constant_pool().count());
        Analysis {
            texts: TextCollector::with_capacity(constants / 4),
            annotations: Vec::new(),
            called: Vec::new(),
            calls: Vec::new(),
            constants: vec![Constant::NotRead; constants].into(),
            listed: Vec::new(),
            delegates: Vec::new(),
            bootstraps: OnceCell::new(),
        }
    }

    fn add_annotations(&mut self, class: &ClassFile<'_>, attributes: Attributes<'_, '_>) {
        for annotation in annotations(attributes) {
            let Ok(descriptor) = class.constant_pool().utf8(annotation.descriptor) else { continue };
            self.annotations.push(self.texts.add(descriptor.0));
        }
    }

    fn method(&mut self, class: &ClassFile<'a>, method: &Member<'a>) -> Method {
        let first_annotation = self.annotations.len();
        self.add_annotations(class, method.attributes(class));
        let code = method.code(class).ok().flatten();
        let bytecode = code.as_ref().map(|code| code.bytecode).unwrap_or_default();
        let (first_call, first_delegate) = (self.calls.len(), self.delegates.len());
        let Body { is_leaf, may_wait, has_delegates } = match method.has(access::ABSTRACT | access::NATIVE) {
            true => Body::default(),
            false => self.body(class, bytecode),
        };
        if let Some(code) = code.as_ref().filter(|_| has_delegates) {
            self.add_delegates(class, code);
        }
        Method {
            name: self.texts.add(method.name.0),
            descriptor: self.texts.add(method.descriptor.0),
            access_flags: method.access_flags,
            has_code: code.is_some(),
            is_leaf,
            may_wait,
            size: short(bytecode.len()),
            first_annotation: short(first_annotation),
            annotations: short(self.annotations.len() - first_annotation),
            calls: short(self.calls.len() - first_call),
            first_call: u32::try_from(first_call).unwrap_or(u32::MAX),
            first_delegate: short(first_delegate),
            delegates: short(self.delegates.len() - first_delegate),
        }
    }

    /// Notes the calls of a body. What cannot be read is no leaf and calls nothing.
    fn body(&mut self, class: &ClassFile<'a>, bytecode: &'a [u8]) -> Body {
        let mut body = Body { is_leaf: true, ..Body::default() };
        let first_call = self.calls.len();
        for instruction in Instructions::new(bytecode) {
            let Ok(instruction) = instruction else {
                body.is_leaf = false;
                break;
            };
            body.is_leaf = body.is_leaf && goes_straight_on(&instruction);
            if !matches!(instruction.opcode, opcode::INVOKEVIRTUAL..=opcode::NEW) {
                continue;
            }
            match self.constant(class, &instruction) {
                Some(Constant::Delegate) => body.has_delegates = true,
                Some(Constant::Method { place, waits, is_sink }) => {
                    body.may_wait |= waits;
                    body.has_delegates |= is_sink;
                    let listed = self.listed.get_mut(usize::from(place));
                    if let Some(listed) = listed.filter(|listed| **listed != first_call + 1) {
                        *listed = first_call + 1;
                        self.calls.push(place);
                    }
                }
                Some(Constant::NotRead | Constant::NoMethod) | None => {}
            }
        }
        body
    }

    /// Returns what the constant of a call or of `new` is.
    fn constant(&mut self, class: &ClassFile<'a>, instruction: &Instruction<'a>) -> Option<Constant> {
        let index = instruction.u2(0);
        let known = self.constants.get(usize::from(index)).copied()?;
        if !matches!(known, Constant::NotRead) {
            return Some(known);
        }
        let pool = class.constant_pool();
        let found = match instruction.opcode {
            opcode::INVOKEDYNAMIC => {
                let bootstraps = self.bootstraps.get_or_init(|| Bootstraps::of(class));
                bootstraps.function(class, index).map(|_| Constant::Delegate)
            }
            opcode::NEW => {
                let name = pool.class_name(index).ok();
                name.filter(|name| is_nested_beside(name.0, class.this_class().0)).map(|_| Constant::Delegate)
            }
            _ => {
                let callee = pool.member_ref(index).ok().filter(|callee| callee.kind != MemberKind::Field);
                callee.map(|callee| {
                    let place = short(self.called.len());
                    self.called.push((self.texts.add(callee.owner.0), self.texts.add(callee.name.0)));
                    self.listed.push(0);
                    let is_sink = is_sink(callee.owner.0, callee.name.0);
                    Constant::Method { place, waits: waits(&callee), is_sink }
                })
            }
        };
        let found = found.unwrap_or(Constant::NoMethod);
        *self.constants.get_mut(usize::from(index))? = found;
        Some(found)
    }

    fn add_delegates(&mut self, class: &ClassFile<'a>, code: &Code<'a>) {
        let own = class.this_class().0;
        let found = creations(class, code, self.bootstraps.get_or_init(|| Bootstraps::of(class)));
        for Creation { created, sink } in found {
            let (class, method) = match created {
                Created::Function(method) => (method.owner.0, Some((method.name.0, method.descriptor.0))),
                Created::Object(class) if sink.is_some() || is_nested_beside(class, own) => {
                    (class, sink.and_then(|(_, method)| method))
                }
                Created::Object(_) => continue,
            };
            let site = Site {
                class: self.texts.add(class),
                is_object: matches!(created, Created::Object(_)),
                method: method.map(|(name, descriptor)| (self.texts.add(name), self.texts.add(descriptor))),
                sink: sink.map(|(sink, _)| (self.texts.add(sink.owner.0), self.texts.add(sink.name.0))),
            };
            self.delegates.push(site);
        }
    }
}

/// What the pass over a body finds.
#[derive(Clone, Copy, Debug, Default)]
struct Body {
    is_leaf: bool,
    may_wait: bool,
    /// Whether it may create something for others to call.
    has_delegates: bool,
}

/// All of these are counted in 16 bits by the class file itself.
fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
