//! Which methods of the JDK the probes call, directly or through others: instrumenting one of them would make a probe call
//! itself. The list is computed from bytecode: that of the templates which the rules use, of the runtime embedded in this
//! library, and of the JDK that runs.
//!
//! A call is followed to the method that the named class has or inherits from its super classes, and to those that the
//! runtime's own sub classes of it have or inherit instead (`ThreadLocal.get` is `CarrierThreadLocal.get` for a ring). Other
//! overriding methods are not followed: the runtime hands no object of the application to the JDK. Of interface calls only
//! those of `JavaLangAccess` are followed, the back door of `java.lang`, whose one implementation is known.
//! Class initialisers are not followed: they run once.

use std::collections::VecDeque;

use classfile::ClassFile;
use classfile::instruction::Instructions;
use classfile::opcode;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::embedded;

/// More methods than any sensible runtime reaches; a safeguard for an odd JDK.
const MOST_METHODS: usize = 5000;

/// Methods that are left alone but not followed: they run only with a debugging property of the JDK, and lead to half of it.
const NOT_FOLLOWED: &[(&[u8], &[u8])] = &[
    // -Djdk.traceVirtualThreadLocals
    (b"java/lang/ThreadLocal", b"printStackTrace"),
    (b"java/lang/ThreadLocal", b"dumpStackIfVirtualThread"),
];

/// Where class files of the JDK come from.
type Source<'s> = dyn Fn(&[u8]) -> Option<Vec<u8>> + 's;

/// A template that the rules use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TemplateCode<'a> {
    /// The class file that holds it.
    pub(crate) class: &'a [u8],
    /// The name of its method.
    pub(crate) method: &'a str,
}

/// The methods that the probes reach.
#[derive(Debug, Default)]
pub(crate) struct UsedByRuntime {
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
    /// Follows all calls of the templates.
    pub(crate) fn compute(templates: &[TemplateCode<'_>], jdk: &Source<'_>) -> UsedByRuntime {
        let runtime = |name: &[u8]| {
            let (_, bytes) = embedded::RUNTIME_CLASSES.iter().find(|(runtime, _)| runtime.as_bytes() == name)?;
            Some(bytes.to_vec())
        };
        let source = |name: &[u8]| runtime(name).or_else(|| jdk(name));
        let mut closure = Closure::new(&source);
        embedded::RUNTIME_CLASSES.iter().for_each(|(name, _)| closure.add_receiver(name.as_bytes()));
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
    pub(crate) fn contains(&self, class: &[u8], method: &[u8], descriptor: &[u8]) -> bool {
        self.methods.get(class).is_some_and(|methods| methods.contains([method, descriptor].concat().as_slice()))
    }

    fn add(&mut self, method: &MethodName) -> bool {
        let signature = [method.name.as_slice(), &method.descriptor].concat();
        self.methods.entry(method.class.clone()).or_default().insert(signature)
    }

    fn len(&self) -> usize {
        self.methods.values().map(FxHashSet::len).sum()
    }
}

/// The interface behind which `java.lang` hides methods for other packages; in older JDKs `jdk.internal.misc` has it.
const JAVA_LANG_ACCESS: [&[u8]; 2] = [b"jdk/internal/access/JavaLangAccess", b"jdk/internal/misc/JavaLangAccess"];

struct Closure<'s> {
    source: &'s Source<'s>,
    classes: FxHashMap<Vec<u8>, Option<Vec<u8>>>,
    /// Classes whose methods may run when a method of the key is called.
    receivers: FxHashMap<Vec<u8>, Vec<Vec<u8>>>,
    used: UsedByRuntime,
    open: VecDeque<MethodName>,
}

impl<'s> Closure<'s> {
    fn new(source: &'s Source<'s>) -> Closure<'s> {
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
            if self.used.len() >= MOST_METHODS {
                tracing::warn!("the runtime reaches more methods than expected; the rest is not followed");
                return;
            }
            let overriding = self.receivers.get(&called.class).into_iter().flatten();
            self.open.extend(overriding.map(|class| MethodName { class: class.clone(), ..called.clone() }));
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

#[cfg(test)]
mod tests {
    use super::*;
    use class_source::{JavaHome, JdkImage};

    /// javac built this crate, so there is a JDK; every one that is installed is asked.
    fn images() -> Vec<JdkImage> {
        let images: Vec<_> =
            JavaHome::installed(&[]).iter().filter_map(|home| JdkImage::open(home.path()).ok()).collect();
        assert!(!images.is_empty(), "no JDK found");
        images
    }

    fn timed() -> TemplateCode<'static> {
        let (_, class) =
            embedded::TEMPLATE_CLASSES.iter().find(|(name, _)| *name == "instr/templates/CatchAll").unwrap();
        TemplateCode { class, method: "timed" }
    }

    #[test]
    fn what_a_probe_reaches_is_found_and_what_it_does_not_is_not() {
        for image in images() {
            let used = UsedByRuntime::compute(&[timed()], &|name| image.find(name).ok().flatten());
            let reached: [(&str, &str, &str); 5] = [
                ("java/lang/System", "nanoTime", "()J"),
                ("java/lang/Thread", "currentThread", "()Ljava/lang/Thread;"),
                ("java/lang/Thread", "getName", "()Ljava/lang/String;"),
                ("java/lang/ThreadLocal", "get", "()Ljava/lang/Object;"),
                ("java/lang/Object", "<init>", "()V"),
            ];
            for (class, name, descriptor) in reached {
                assert!(used.contains(class.as_bytes(), name.as_bytes(), descriptor.as_bytes()), "{class}.{name}");
            }
            // Only where there are virtual threads; reached because the runtime has a sub class of it.
            if image.find("jdk/internal/misc/CarrierThreadLocal").unwrap().is_some() {
                assert!(used.contains(b"jdk/internal/misc/CarrierThreadLocal", b"get", b"()Ljava/lang/Object;"));
                let door = |class: &Vec<u8>| class.starts_with(b"java/lang/System$");
                assert!(used.methods.keys().any(door), "the implementation of JavaLangAccess");
                assert!(used.methods.contains_key(b"java/lang/Thread".as_slice()));
            }
            // Reached only through ThreadLocal.get.
            assert!(used.methods.keys().any(|class| class == b"java/lang/ThreadLocal$ThreadLocalMap"));
            assert!(!used.contains(b"java/util/ArrayList", b"add", b"(Ljava/lang/Object;)Z"));
            assert!(!used.contains(
                b"java/util/HashMap",
                b"put",
                b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"
            ));
            assert!(
                used.len() < 1000,
                "{} methods of {}: more than a probe can need",
                used.len(),
                image.path().display()
            );
        }
    }

    #[test]
    fn a_call_is_followed_to_the_inherited_method() {
        let image = images().swap_remove(0);
        let find = |name: &[u8]| image.find(name).ok().flatten();
        // LinkedHashMap inherits `put`, which calls HashMap.hash.
        let mut closure = Closure::new(&find);
        let descriptor = b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;".to_vec();
        closure.open.push_back(MethodName {
            class: b"java/util/LinkedHashMap".to_vec(),
            name: b"put".to_vec(),
            descriptor,
        });
        closure.run();
        assert!(closure.used.contains(
            b"java/util/HashMap",
            b"put",
            b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"
        ));
        assert!(closure.used.contains(b"java/util/HashMap", b"hash", b"(Ljava/lang/Object;)I"));
    }
}
