//! Whether a method was called by the last method of a context itself, not by way of others.

use instrument_core::rules::patterns::NameGlob;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use crate::jvm::{MethodFacts, MethodId, OwnStack};

const RUNTIME: &[u8] = b"java/instr/";
/// Methods that are remembered; when there are as many, all are forgotten.
const MOST_KNOWN: usize = 1 << 12;

/// The last method of a context, for probes that record only what it calls itself.
#[derive(Debug)]
pub(crate) struct ImmediateCaller {
    method: NameGlob,
    /// The JVM never gives an id to another method.
    known: RwLock<FxHashMap<MethodId, Frame>>,
}

/// What a frame is to the question who called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// A method of the runtime, which the probe has called.
    Runtime,
    /// It may be the method that is asked for.
    Caller,
    /// It calls for another one: reflection, a method handle, a lambda, what the compiler or the wrapper mode has made.
    PassedThrough,
    Other,
}

impl ImmediateCaller {
    /// A caller whose name matches.
    pub(crate) fn new(method: NameGlob) -> ImmediateCaller {
        ImmediateCaller { method, known: RwLock::default() }
    }

    /// Whether it is the caller of the method whose probe asks.
    pub(super) fn is_caller_on(&self, stack: OwnStack<'_>) -> bool {
        let mut is_past_probe = false;
        let found = stack.find_map(|method| {
            let frame = self.frame(method, || stack.facts(method));
            answer(&mut is_past_probe, frame)
        });
        found.unwrap_or(false)
    }

    fn frame(&self, method: MethodId, facts: impl FnOnce() -> Option<MethodFacts>) -> Frame {
        if let Some(frame) = self.known.read().get(&method) {
            return *frame;
        }
        let Some(facts) = facts() else { return Frame::Other };
        let frame = self.classify(&facts);
        let known = &mut *self.known.write();
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(method, frame);
        frame
    }

    fn classify(&self, method: &MethodFacts) -> Frame {
        let MethodFacts { class, name, is_modifiable, .. } = method;
        if class.starts_with(RUNTIME) {
            return Frame::Runtime;
        }
        // Those of lambdas and of method handles.
        if !is_modifiable {
            return Frame::PassedThrough;
        }
        // First, because a pattern may name what the compiler has made.
        if self.method.matches(&[class, &b"/"[..], name].concat()) {
            return Frame::Caller;
        }
        if method.is_go_between() { Frame::PassedThrough } else { Frame::Other }
    }
}

/// Looks at the next frame; `None` if the one after it has to say.
fn answer(is_past_probe: &mut bool, frame: Frame) -> Option<bool> {
    match frame {
        Frame::Runtime if !*is_past_probe => None,
        _ if !std::mem::replace(is_past_probe, true) => None,
        Frame::PassedThrough => None,
        Frame::Runtime | Frame::Caller | Frame::Other => Some(frame == Frame::Caller),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNTHETIC: u16 = 0x1000;

    fn method(text: &str, access_flags: u16) -> MethodFacts {
        let (class, name) = text.rsplit_once('.').unwrap();
        let [class, name, descriptor] = [class, name, "()V"].map(|text| text.as_bytes().to_vec());
        let is_modifiable = !text.contains("Lambda");
        MethodFacts { class, name, descriptor, access_flags, is_modifiable, lines: Vec::new() }
    }

    /// Whether `a.B.b*` is the caller of the method at the third place.
    fn is_caller(stack: &[(&str, u16)]) -> bool {
        let caller = ImmediateCaller::new(NameGlob::method("a.B.b*").unwrap());
        let mut is_past_probe = false;
        let mut frames = stack
            .iter()
            .enumerate()
            .map(|(at, (text, flags))| caller.frame(MethodId::of_number(at), || Some(method(text, *flags))));
        frames.find_map(|frame| answer(&mut is_past_probe, frame)).unwrap_or(false)
    }

    fn calls(frames: &[(&str, u16)]) -> bool {
        let probe = [("java/instr/Contexts.isCalledDirectly", 0), ("java/instr/Contexts.enter", 0), ("a/X.x", 0)];
        is_caller(&[&probe[..], frames].concat())
    }

    #[test]
    fn the_method_that_calls_is_the_caller_and_none_further_out() {
        assert!(calls(&[("a/B.b", 0)]) && calls(&[("a/B.b2", 0), ("a/C.c", 0)]));
        assert!(!calls(&[("a/C.c", 0), ("a/B.b", 0)]), "by way of another method");
        assert!(!calls(&[("a/X.x", 0), ("a/B.b", 0)]), "recursion of the probed method");
        assert!(
            !calls(&[("java/instr/Conditions.evaluate", 0), ("a/B.b", 0)]),
            "called while a condition is evaluated"
        );
        assert!(!calls(&[]) && !is_caller(&[]));
    }

    #[test]
    fn what_calls_for_another_is_passed_through() {
        let between = [
            vec![("a/X.x", SYNTHETIC | 0x40)],
            vec![("a/B.lambda$b$0", SYNTHETIC), ("a/B$$Lambda+0x0000000800c03000.run", 0)],
            vec![("a/C$$Lambda$14/0x0000000800c03000.run", 0)],
            vec![
                ("jdk/internal/reflect/NativeMethodAccessorImpl.invoke0", 0x100),
                ("java/lang/reflect/Method.invoke", 0),
            ],
            vec![("java/lang/invoke/LambdaForm$DMH+0x0000000800c03000.invokeStatic", 0)],
            vec![("a/B._b$instr", SYNTHETIC)],
        ];
        for between in between {
            assert!(calls(&[&between[..], &[("a/B.b", 0)]].concat()), "{between:?}");
            assert!(!calls(&[&between[..], &[("a/C.c", 0), ("a/B.b", 0)]].concat()), "{between:?}");
        }
        assert!(!calls(&[("java/util/ArrayList.forEach", 0), ("a/B.b", 0)]), "code of the JDK that is no reflection");
    }
}
