//! Bytes that Java code reads by address while native code writes them.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::AtomicU8;

/// `count` bytes of zero that live as long as the process; `None` without memory. Pages that nobody touches take none.
pub(crate) fn zeroed_for_ever(count: usize) -> Option<&'static [AtomicU8]> {
    let layout = Layout::array::<AtomicU8>(count).ok().filter(|layout| layout.size() > 0)?;
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc_zeroed(layout) };
    if memory.is_null() {
        return None;
    }
    // SAFETY: `count` bytes, initialised with zero, which is an AtomicU8; never given back, and reached by nobody else but
    // through atomic bytes (Java code reads single bytes).
    Some(unsafe { std::slice::from_raw_parts(memory.cast(), count) })
}
