//! Who called the stub of the JVM that a thread is executing. AsyncGetCallTrace knows no frame of a stub, but that of its caller.
//!
//! Called in signal handlers: nothing is allocated, and no memory is read but the page that the stack pointer points to.

use std::ffi::c_void;

use crate::jvm::process::vm_structs::{CodeRegion, CodeRegions};

#[cfg(target_arch = "x86_64")]
const PAGE: u64 = 4096;
#[cfg(target_arch = "x86_64")]
const WORD: u64 = 8;

/// Address of the instruction that was about to be executed; 0 on processors whose registers are not known here.
pub(super) fn program_counter(context: *mut c_void) -> u64 {
    // SAFETY: the kernel passes a handler the context of its thread, or null.
    let Some(context) = (unsafe { context.cast::<libc::ucontext_t>().as_ref() }) else { return 0 };
    #[cfg(target_arch = "x86_64")]
    let counter = context.uc_mcontext.gregs.get(libc::REG_RIP as usize).map_or(0, |counter| *counter as u64);
    #[cfg(target_arch = "aarch64")]
    let counter = context.uc_mcontext.pc;
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let counter = 0;
    counter
}

/// The context of a thread that is executing compiled code or a stub, as it may be when this has returned: the likelier one first. AsyncGetCallTrace refuses one that
/// makes no sense.
#[cfg(target_arch = "x86_64")]
pub(super) fn caller_contexts(context: *mut c_void, code: CodeRegions) -> [Option<libc::ucontext_t>; 2] {
    // SAFETY: the kernel passes a handler the context of its thread, or null.
    let Some(context) = (unsafe { context.cast::<libc::ucontext_t>().as_ref() }) else { return [None, None] };
    let [counter, stack, frame] = [libc::REG_RIP, libc::REG_RSP, libc::REG_RBP]
        .map(|register| context.uc_mcontext.gregs.get(register as usize).map_or(0, |value| *value as u64));
    if code.region(counter) != CodeRegion::Compiled {
        return [None, None];
    }
    // SAFETY: generated code keeps the stack pointer within its thread's stack, so the rest of that page can be read.
    let read = |address: u64| unsafe { (address as *const u64).read_volatile() };
    return_points((stack, frame), read, code).map(|point| {
        let mut caller = *context;
        let [counter, stack, frame] = point?;
        for (register, value) in [(libc::REG_RIP, counter), (libc::REG_RSP, stack), (libc::REG_RBP, frame)] {
            *caller.uc_mcontext.gregs.get_mut(register as usize)? = value as i64;
        }
        Some(caller)
    })
}

/// Elsewhere stubs have no callers: their conventions are not tested.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn caller_contexts(_: *mut c_void, _: CodeRegions) -> [Option<libc::ucontext_t>; 2] {
    [None, None]
}

/// Program counter, stack pointer and frame pointer after the return: of code without a frame, whose return address is on top of the stack, and of code that has saved
/// its caller's frame pointer.
#[cfg(target_arch = "x86_64")]
fn return_points((stack, frame): (u64, u64), read: impl Fn(u64) -> u64, code: CodeRegions) -> [Option<[u64; 3]>; 2] {
    let page = stack & !(PAGE - 1);
    let word = |at: u64| (at >= stack && at.is_multiple_of(WORD) && at & !(PAGE - 1) == page).then(|| read(at));
    let is_code = |address: &u64| code.region(*address) != CodeRegion::Library;
    let without_frame = || Some([word(stack).filter(is_code)?, stack.checked_add(WORD)?, frame]);
    let with_frame = || {
        let above = frame.checked_add(WORD)?;
        Some([word(above).filter(is_code)?, above.checked_add(WORD)?, word(frame)?])
    };
    [without_frame(), with_frame()]
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    const CODE: u64 = 0x1_0000;
    const STACK: u64 = 0x7_0f00;

    /// With these words from the stack pointer on; a word outside the page of the stack pointer must not be read.
    fn points(words: &[u64], frame: u64) -> [Option<[u64; 3]>; 2] {
        let read = |at: u64| {
            assert!((STACK..0x7_1000).contains(&at), "{at:x}");
            words.get(((at - STACK) / WORD) as usize).copied().unwrap_or(0)
        };
        return_points((STACK, frame), read, CodeRegions::for_tests((CODE, CODE + 0x1000)))
    }

    #[test]
    fn the_return_address_is_on_top_or_above_the_saved_frame_pointer() {
        let frame = STACK + 2 * WORD;
        assert_eq!(points(&[CODE + 5], 77), [Some([CODE + 5, STACK + 8, 77]), None]);
        assert_eq!(points(&[1, 2, 99, CODE + 5], frame), [None, Some([CODE + 5, frame + 16, 99])]);
        assert_eq!(points(&[1, 2, 99, 4], frame), [None, None], "nothing but code is returned to");
    }

    #[test]
    fn only_the_page_of_the_stack_pointer_is_read() {
        for frame in [0, STACK - 8, STACK + 1, 0x7_0ff8, 0x7_1000, u64::MAX, u64::MAX - 7] {
            assert_eq!(points(&[1], frame), [None, None], "{frame:x}");
        }
    }
}
