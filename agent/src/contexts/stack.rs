//! The stack of a thread in place of memory (`place = "stack"`): what its anchors would have noted follows from its frames.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::memory;
use crate::jvm::{Jni, Jvmti, MethodId};

/// So many frames are looked at; methods that are executing further out are not seen.
const MOST_FRAMES: usize = 1024;
/// So many methods are known by their ids at a time. Programs that make classes all the time have ever new ones.
const MOST_KNOWN: usize = 100_000;

/// The classes of the Java runtime: their frames are on top.
const RUNTIME: &[u8] = b"java/instr/";
/// Asks within the call of a method with measured calls, whose own anchors have begun by then.
const CALL_SITES: &[u8] = b"java/instr/Sites";

/// A method by its names, in whatever class loader: the methods of contexts are known by name, too.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct NamedMethod {
    pub(super) class: Arc<[u8]>,
    pub(super) name: Box<[u8]>,
    pub(super) descriptor: Box<[u8]>,
}

impl NamedMethod {
    pub(super) fn new(class: &[u8], name: &[u8], descriptor: &[u8]) -> NamedMethod {
        NamedMethod { class: class.into(), name: name.into(), descriptor: descriptor.into() }
    }
}

type Known = Mutex<FxHashMap<MethodId, Arc<NamedMethod>>>;

fn known() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(Known::default)
}

/// Returns the methods that are executing on the present thread around the call that asks, the outermost first; `None` if the JVM does not say.
pub(super) fn executing(jvmti: Jvmti, jni: &Jni<'_>) -> Option<Vec<Arc<NamedMethod>>> {
    let frames = jvmti.current_stack(MOST_FRAMES).ok()?;
    if frames.len() == MOST_FRAMES {
        memory::count_without_place();
    }
    let ids: Vec<MethodId> = frames.into_iter().filter_map(|(method, _)| method).collect();
    let mut methods: Vec<Option<Arc<NamedMethod>>> = {
        let known = known().lock();
        ids.iter().map(|id| known.get(id).cloned()).collect()
    };
    for (method, id) in methods.iter_mut().zip(ids).filter(|(method, _)| method.is_none()) {
        *method = named(jvmti, jni, id);
    }
    Some(around(methods.into_iter().flatten().collect()))
}

/// Asks the JVM for the names of a method, and remembers them.
fn named(jvmti: Jvmti, jni: &Jni<'_>, id: MethodId) -> Option<Arc<NamedMethod>> {
    let facts = id.facts_without_lines(jvmti, jni)?;
    let method = Arc::new(NamedMethod::new(&facts.class, &facts.name, &facts.descriptor));
    let mut known = known().lock();
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(id, Arc::clone(&method));
    Some(method)
}

/// Returns the frames around the call that asks, the outermost first, of a stack with the innermost first: a method is not inside a context by its own call.
fn around(mut frames: Vec<Arc<NamedMethod>>) -> Vec<Arc<NamedMethod>> {
    let of_runtime = frames.iter().take_while(|frame| frame.class.starts_with(RUNTIME)).count();
    let asks = of_runtime.checked_sub(1).and_then(|last| frames.get(last));
    let own = usize::from(asks.is_none_or(|frame| *frame.class != *CALL_SITES));
    let mut executing = frames.split_off((of_runtime + own).min(frames.len()));
    executing.reverse();
    executing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around_names(classes: &[&str]) -> Vec<String> {
        let frames = classes.iter().map(|class| Arc::new(NamedMethod::new(class.as_bytes(), b"m", b"()V"))).collect();
        around(frames).iter().map(|frame| String::from_utf8_lossy(&frame.class).into_owned()).collect()
    }

    #[test]
    fn a_method_is_not_around_itself_unless_its_calls_are_measured() {
        assert_eq!(around_names(&["java/instr/Places", "java/instr/Contexts", "a/X", "a/B", "a/A"]), ["a/A", "a/B"]);
        assert_eq!(around_names(&["java/instr/Places", "java/instr/Sites", "a/X", "a/A"]), ["a/A", "a/X"]);
        assert!(around_names(&["java/instr/Places", "java/instr/Contexts", "a/X"]).is_empty());
        assert!(around_names(&["java/instr/Places"]).is_empty() && around_names(&[]).is_empty());
    }
}
