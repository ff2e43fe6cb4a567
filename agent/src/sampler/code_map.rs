//! Whose machine code is at an address of the code cache: the methods that the JIT has compiled and the stubs of the JVM, as the JVM reports them while samples are
//! taken. It names what a thread executed whose stack could not be read.
//!
//! The JVM uses the same addresses again, and samples are named up to 50 ms after they were taken: code that is gone stays known for that long.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::thread_timers;
use crate::jvm::{CodePlace, Jvmti, MethodId, signal};

static MAP: Mutex<CodeMap> = Mutex::new(CodeMap { present: BTreeMap::new(), gone: Vec::new() });

thread_local! {
    /// Whether the events of this thread are about code that was there before, and are for this map only.
    static IS_LISTING: Cell<bool> = const { Cell::new(false) };
}

/// Whose code it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CodeOwner {
    /// A compiled method, with all that is inlined in it.
    Method(MethodId),
    /// Code of the JVM itself.
    Stub(Arc<str>),
}

#[derive(Debug)]
struct CodeMap {
    /// By start address; none overlap.
    present: BTreeMap<u64, Code>,
    /// What is gone, in the order of time.
    gone: Vec<GoneCode>,
}

#[derive(Debug)]
struct Code {
    end: u64,
    owner: CodeOwner,
}

#[derive(Debug)]
struct GoneCode {
    begin: u64,
    code: Code,
    /// When it was reported to be gone, on the clock of the samples.
    until: u64,
}

/// Learns of all code that exists now. The events of code must be on.
pub(super) fn list_present(jvmti: Jvmti) {
    IS_LISTING.set(true);
    if let Err(error) = jvmti.tell_code() {
        tracing::info!(%error, "compiled code has no names where stacks cannot be read");
    }
    IS_LISTING.set(false);
}

/// A method has been compiled. Returns whether only this map asks.
pub(crate) fn method_compiled(method: MethodId, place: CodePlace) -> bool {
    add(place, || CodeOwner::Method(method))
}

/// The JVM has made code for itself. Returns whether only this map asks.
pub(crate) fn code_generated(name: &[u8], place: CodePlace) -> bool {
    add(place, || CodeOwner::Stub(String::from_utf8_lossy(name).into()))
}

fn add(place: CodePlace, owner: impl FnOnce() -> CodeOwner) -> bool {
    if thread_timers::are_running() {
        MAP.lock().begin(place, owner(), signal::monotonic_nanos());
    }
    IS_LISTING.get()
}

/// The compiled code at this address is gone.
pub(crate) fn code_unloaded(address: u64) {
    if thread_timers::are_running() {
        MAP.lock().end(address, signal::monotonic_nanos());
    }
}

/// Whose code was at an address at a moment on the clock of the samples.
pub(super) fn owner_at(address: u64, at: u64) -> Option<CodeOwner> {
    MAP.lock().owner_at(address, at).cloned()
}

/// Nobody will ask about moments before this one.
pub(super) fn forget_before(at: u64) {
    MAP.lock().gone.retain(|gone| gone.until >= at);
}

/// Forgets everything.
pub(super) fn clear() {
    let mut map = MAP.lock();
    map.present.clear();
    map.gone.clear();
}

impl CodeMap {
    fn begin(&mut self, place: CodePlace, owner: CodeOwner, now: u64) {
        let end = place.address.saturating_add(place.length);
        if end == place.address {
            return;
        }
        // Whatever has been there is gone, reported or not.
        while let Some((before, _)) = self.present.range(..end).next_back().filter(|(_, code)| code.end > place.address)
        {
            let before = *before;
            self.end(before, now);
        }
        self.present.insert(place.address, Code { end, owner });
    }

    fn end(&mut self, begin: u64, now: u64) {
        if let Some(code) = self.present.remove(&begin) {
            self.gone.push(GoneCode { begin, code, until: now });
        }
    }

    fn owner_at(&self, address: u64, at: u64) -> Option<&CodeOwner> {
        let was_there = |gone: &&GoneCode| at < gone.until && (gone.begin..gone.code.end).contains(&address);
        let gone = self.gone.iter().find(was_there).map(|gone| &gone.code);
        // Events are late: present code may have run before it was reported.
        let present = || self.present.range(..=address).next_back().map(|(_, code)| code);
        gone.or_else(present).filter(|code| address < code.end).map(|code| &code.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> CodeMap {
        CodeMap { present: BTreeMap::new(), gone: Vec::new() }
    }

    fn begin(map: &mut CodeMap, (address, length): (u64, u64), name: &str, now: u64) {
        map.begin(CodePlace { address, length }, CodeOwner::Stub(name.into()), now);
    }

    fn at(map: &CodeMap, address: u64, at: u64) -> String {
        match map.owner_at(address, at) {
            Some(CodeOwner::Stub(name)) => name.to_string(),
            Some(CodeOwner::Method(_)) => "a method".to_owned(),
            None => String::new(),
        }
    }

    #[test]
    fn code_lies_from_its_first_byte_to_its_last() {
        let mut map = map();
        begin(&mut map, (100, 20), "a", 1);
        begin(&mut map, (120, 10), "b", 1);
        begin(&mut map, (u64::MAX - 1, 20), "at the end", 1);
        begin(&mut map, (90, 0), "empty", 1);
        assert_eq!(
            [90, 99, 100, 119, 120, 129, 130].map(|address| at(&map, address, 5)),
            ["", "", "a", "a", "b", "b", ""]
        );
    }

    /// C1's code of a method is unloaded, C2's code of another one takes its place.
    #[test]
    fn samples_before_a_change_belong_to_what_was_there() {
        let mut map = map();
        begin(&mut map, (100, 20), "first", 10);
        map.end(100, 20);
        assert_eq!([at(&map, 105, 19), at(&map, 105, 20)], ["first", ""]);
        begin(&mut map, (90, 40), "second", 30);
        begin(&mut map, (95, 10), "third", 40);
        assert_eq!([19, 25, 39, 40].map(|moment| at(&map, 100, moment)), ["first", "second", "second", "third"]);
        assert_eq!(at(&map, 110, 41), "", "what is overlapped is gone as a whole");
        map.end(7, 50);
    }

    #[test]
    fn a_new_piece_replaces_all_that_it_overlaps() {
        let mut map = map();
        (0..4).for_each(|n| begin(&mut map, (100 + n * 10, 10), "small", 1));
        begin(&mut map, (105, 20), "large", 2);
        let now = [100, 105, 124, 125, 130].map(|address| at(&map, address, 3));
        assert_eq!(now, ["", "large", "large", "", "small"]);
    }
}
