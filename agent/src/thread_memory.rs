//! Memory that a thread uses again and again, so that it need not be set up for each class.

use std::cell::RefCell;
use std::thread::LocalKey;

/// Runs `body` with the thread's memory; with new memory while that is in use further up the stack, and in the last moments of a thread, when
/// it is gone: native threads leave the JVM then, and load classes on the way.
pub(crate) fn with_memory<M: Default, R>(memory: &'static LocalKey<RefCell<M>>, body: impl Fn(&mut M) -> R) -> R {
    let reused = memory.try_with(|memory| memory.try_borrow_mut().ok().map(|mut memory| body(&mut memory)));
    reused.ok().flatten().unwrap_or_else(|| body(&mut M::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static NUMBERS: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    }

    fn push(number: u32) -> usize {
        with_memory(&NUMBERS, |numbers| {
            numbers.push(number);
            numbers.len()
        })
    }

    #[test]
    fn memory_is_used_again_unless_it_is_in_use() {
        assert_eq!((push(1), push(2)), (1, 2));
        assert_eq!(with_memory(&NUMBERS, |numbers| (numbers.len(), push(3))), (2, 1));
        assert_eq!(push(4), 3);
    }
}
