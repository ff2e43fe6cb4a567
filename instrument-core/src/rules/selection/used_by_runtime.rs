//! Which methods of the JDK the probes call, directly or through others: instrumenting one of them would make a probe call
//! itself. The list is computed from bytecode: that of the templates which the rules use, of the runtime's classes, and of
//! the JDK that runs.
//!
//! A call is followed to the method that the named class has or inherits from its super classes, and to those that the
//! runtime's own sub classes of it have or inherit instead. Other overriding methods are not followed: the runtime hands no
//! object of the application to the JDK. Of interface calls only those of `JavaLangAccess` are followed, the back door of
//! `java.lang`, whose one implementation is known.
//! Class initialisers are not followed: they run once.

use std::collections::VecDeque;

use classfile::ClassFile;
use classfile::instruction::Instructions;
use classfile::opcode;
use rustc_hash::{FxHashMap, FxHashSet};

use super::rule_set::RuleSet;
use crate::weave::template::TemplateLibrary;

/// More methods than any sensible runtime reaches; a safeguard for an odd JDK.
const MOST_METHODS: usize = 5000;

/// Methods that are left alone but not followed: they run only with a debugging property of the JDK, and lead to half of it.
const NOT_FOLLOWED: &[(&[u8], &[u8])] = &[
    // -Djdk.traceVirtualThreadLocals
    (b"java/lang/ThreadLocal", b"printStackTrace"),
    (b"java/lang/ThreadLocal", b"dumpStackIfVirtualThread"),
];

/// What the merge calls to box a value that a template asks for: class and primitive type.
const BOXINGS: &[(&str, char)] = &[
    ("Boolean", 'Z'),
    ("Byte", 'B'),
    ("Character", 'C'),
    ("Short", 'S'),
    ("Integer", 'I'),
    ("Long", 'J'),
    ("Float", 'F'),
    ("Double", 'D'),
];

/// Where class files of the JDK come from.
pub type ClassBytes<'s> = dyn Fn(&[u8]) -> Option<Vec<u8>> + 's;

/// A template that the rules use.
#[derive(Debug, Clone, Copy)]
pub struct TemplateCode<'a> {
    /// The class file that holds it.
    pub class: &'a [u8],
    /// The name of its method.
    pub method: &'a str,
}

impl<'a> TemplateCode<'a> {
    /// The templates that some rule uses; `classes` are the class files that templates come from, the user's own first.
    pub fn in_use(
        rules: &RuleSet,
        library: &'a TemplateLibrary,
        classes: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Vec<TemplateCode<'a>> {
        let class_file = |binary_name: &str| {
            let name = binary_name.replace('.', "/");
            let is_it = |bytes: &&[u8]| {
                ClassFile::parse(bytes).is_ok_and(|class| class.this_class().as_bytes() == name.as_bytes())
            };
            classes.clone().find(is_it)
        };
        let ids = rules.rules().iter().flat_map(|rule| rule.templates().iter());
        ids.filter_map(|id| {
            let (class, method) = library.get(*id)?.source.rsplit_once('.')?;
            Some(TemplateCode { class: class_file(class)?, method })
        })
        .collect()
    }
}

/// The methods that the probes reach.
#[derive(Debug, Default)]
pub struct UsedByRuntime {
    /// By class: name and descriptor, without anything between them.
    methods: FxHashMap<Vec<u8>, FxHashSet<Vec<u8>>>,
}

/// A method as a call names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct MethodName {
    class: Vec<u8>,
    name: Vec<u8>,
    descriptor: Vec<u8>,
}

impl UsedByRuntime {
    /// Follows all calls of the templates. `runtime` are name and class file of each class of the runtime.
    pub fn compute(runtime: &[(&str, &[u8])], templates: &[TemplateCode<'_>], jdk: &ClassBytes<'_>) -> UsedByRuntime {
        let of_runtime = |name: &[u8]| {
            let (_, bytes) = runtime.iter().find(|(runtime, _)| runtime.as_bytes() == name)?;
            Some(bytes.to_vec())
        };
        let source = |name: &[u8]| of_runtime(name).or_else(|| jdk(name));
        let mut closure = Closure::new(&source);
        runtime.iter().for_each(|(name, _)| closure.add_receiver(name.as_bytes()));
        closure.add_back_door();
        for template in templates {
            let Ok(class) = ClassFile::parse(template.class) else { continue };
            let methods = class.methods().iter().enumerate();
            for (index, _) in methods.filter(|(_, method)| method.name.as_bytes() == template.method.as_bytes()) {
                closure.open.extend(calls_of(&class, index));
            }
        }
        closure.run();
        closure.used
    }

    /// Whether the probes reach this method.
    pub fn contains(&self, class: &[u8], method: &[u8], descriptor: &[u8]) -> bool {
        self.methods.get(class).is_some_and(|methods| methods.contains([method, descriptor].concat().as_slice()))
    }

    fn add(&mut self, method: &MethodName) -> bool {
        let signature = [method.name.as_slice(), &method.descriptor].concat();
        self.methods.entry(method.class.clone()).or_default().insert(signature)
    }

    /// How many methods the probes reach.
    pub fn count(&self) -> usize {
        self.methods.values().map(FxHashSet::len).sum()
    }

    /// Internal names of the classes of these methods, in no order.
    pub fn classes(&self) -> impl Iterator<Item = &[u8]> {
        self.methods.keys().map(Vec::as_slice)
    }

    /// False if too many methods are reached, so that the rest was not followed: the JDK is an odd one.
    pub fn is_complete(&self) -> bool {
        self.count() < MOST_METHODS
    }
}

/// The interface by which `java.lang` makes package-private methods available to other packages; in older JDKs in `jdk.internal.misc`.
const JAVA_LANG_ACCESS: [&[u8]; 2] = [b"jdk/internal/access/JavaLangAccess", b"jdk/internal/misc/JavaLangAccess"];

struct Closure<'s> {
    source: &'s ClassBytes<'s>,
    classes: FxHashMap<Vec<u8>, Option<Vec<u8>>>,
    /// Classes whose methods may run when a method of the key is called.
    receivers: FxHashMap<Vec<u8>, Vec<Vec<u8>>>,
    used: UsedByRuntime,
    open: VecDeque<MethodName>,
}

impl<'s> Closure<'s> {
    fn new(source: &'s ClassBytes<'s>) -> Closure<'s> {
        let (classes, receivers) = (FxHashMap::default(), FxHashMap::default());
        Closure { source, classes, receivers, used: UsedByRuntime::default(), open: VecDeque::new() }
    }

    fn bytes(&mut self, name: &[u8]) -> Option<&[u8]> {
        if !self.classes.contains_key(name) {
            self.classes.insert(name.to_vec(), (self.source)(name));
        }
        self.classes.get(name)?.as_deref()
    }

    /// Makes a class a receiver of calls to its super classes.
    fn add_receiver(&mut self, class: &[u8]) {
        let mut ancestor = class.to_vec();
        while let Some(above) = self.bytes(&ancestor).and_then(super_class) {
            self.receivers.entry(above.clone()).or_default().push(class.to_vec());
            ancestor = above;
        }
    }

    /// Makes the implementation of `JavaLangAccess`, an anonymous class of `System`, a receiver of calls to it.
    fn add_back_door(&mut self) {
        let candidates = (1..10).map(|number| format!("java/lang/System${number}").into_bytes());
        for candidate in candidates {
            let Some(class) = self.bytes(&candidate).and_then(|bytes| ClassFile::parse(bytes).ok()) else { continue };
            let interfaces: Vec<Vec<u8>> = class.interfaces().map(|name| name.as_bytes().to_vec()).collect();
            for door in interfaces.into_iter().filter(|name| JAVA_LANG_ACCESS.contains(&name.as_slice())) {
                self.receivers.entry(door).or_default().push(candidate.clone());
            }
        }
    }

    fn run(&mut self) {
        while let Some(called) = self.open.pop_front() {
            if !self.used.is_complete() {
                return;
            }
            let overriding = self.receivers.get(&called.class).into_iter().flatten();
            self.open.extend(overriding.map(|class| MethodName { class: class.clone(), ..called.clone() }));
            if boxes(&called) {
                self.open.extend(BOXINGS.iter().map(boxing));
            }
            if let Some(calls) = self.follow(called) {
                self.open.extend(calls);
            }
        }
    }

    /// Finds the method that is called, going up the super classes, and what it calls if it is new.
    fn follow(&mut self, mut called: MethodName) -> Option<Vec<MethodName>> {
        loop {
            let class = ClassFile::parse(self.bytes(&called.class)?).ok()?;
            let found = class.methods().iter().position(|method| {
                method.name.as_bytes() == called.name && method.descriptor.as_bytes() == called.descriptor
            });
            let Some(index) = found else {
                called.class = class.super_class()?.as_bytes().to_vec();
                continue;
            };
            let calls = if is_followed(&called) { calls_of(&class, index) } else { Vec::new() };
            return self.used.add(&called).then_some(calls);
        }
    }
}

fn super_class(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(ClassFile::parse(bytes).ok()?.super_class()?.as_bytes().to_vec())
}

/// Whether the merge puts calls that box values where this is called.
fn boxes(called: &MethodName) -> bool {
    let asks: [&[u8]; 4] = [b"arg", b"args", b"result", b"captured"];
    called.class == b"java/instr/Target" && asks.contains(&called.name.as_slice())
}

fn boxing(&(class, primitive): &(&str, char)) -> MethodName {
    MethodName {
        class: format!("java/lang/{class}").into_bytes(),
        name: b"valueOf".to_vec(),
        descriptor: format!("({primitive})Ljava/lang/{class};").into_bytes(),
    }
}

/// Whether a probe that works goes through this method. One that makes an exception (with a message, hence formatters, locales,
/// regular expressions) is called when something is wrong already, which in the runtime's own code it never is.
fn is_followed(called: &MethodName) -> bool {
    let makes_exception = called.descriptor.ends_with(b"Exception;") || called.descriptor.ends_with(b"Error;");
    !makes_exception && !NOT_FOLLOWED.contains(&(called.class.as_slice(), called.name.as_slice()))
}

/// The methods that a method calls. What cannot be read calls nothing.
fn calls_of(class: &ClassFile<'_>, method_index: usize) -> Vec<MethodName> {
    let code = class.methods().get(method_index).and_then(|method| method.code(class).ok().flatten());
    let Some(code) = code else { return Vec::new() };
    Instructions::new(code.bytecode)
        .map_while(Result::ok)
        .filter(|instruction| {
            use opcode::{INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL};
            matches!(instruction.opcode, INVOKESTATIC | INVOKESPECIAL | INVOKEVIRTUAL | INVOKEINTERFACE)
        })
        .filter_map(|instruction| class.constant_pool().member_ref(instruction.u2(0)).ok())
        .map(|member| MethodName {
            class: member.owner.as_bytes().to_vec(),
            name: member.name.as_bytes().to_vec(),
            descriptor: member.descriptor.as_bytes().to_vec(),
        })
        .collect()
}
