//! What happens in the JVM besides calls: threads, classes, compiled code, pauses of the garbage collector.

use std::sync::Arc;

use super::live_state::{Code, CodeOwner, StateChange};
use super::payload::{cut_text, push_text};
use super::{Destination, MethodInfo, Recording, Retransform};
use crate::schema::id;
use crate::varint;

/// Longer names of machine code are cut.
const LONGEST_NAME: usize = 1024;

impl Recording {
    /// Notes that a thread has started (`jdk.ThreadStart`).
    pub fn thread_started(&mut self, tid: u64, at_nanos: u64) {
        self.thread_event(id::THREAD_START, tid, at_nanos);
        self.thread_lives(tid);
    }

    /// Notes that a thread has ended (`jdk.ThreadEnd`). Its name is remembered for a while: samples of it may be under way.
    pub fn thread_ended(&mut self, tid: u64, at_nanos: u64) {
        self.thread_event(id::THREAD_END, tid, at_nanos);
        self.threads.forget_later(tid);
        self.change(StateChange::ThreadEnded { tid });
    }

    /// Notes how often a thread has left its processor since it began (`instr.ThreadSwitches`): because it had to wait, and
    /// because another thread took its place.
    pub fn thread_switches(&mut self, tid: u64, (voluntary, involuntary): (u64, u64), at_nanos: u64) {
        self.event_now(id::THREAD_SWITCHES, at_nanos, |recording, payload| {
            let key = recording.threads.use_thread(tid, recording.constants.chunk());
            for number in [key, voluntary, involuntary] {
                varint::push(payload, number);
            }
        });
    }

    /// Notes that a thread has ended, for which there may be no event: it is not remembered for long.
    pub fn thread_gone(&mut self, tid: u64) {
        self.threads.forget_later(tid);
    }

    fn thread_event(&mut self, type_id: u32, tid: u64, at_nanos: u64) {
        self.event_now(type_id, at_nanos, |recording, payload| {
            let key = recording.threads.use_thread(tid, recording.constants.chunk());
            varint::push(payload, key);
            varint::push(payload, key);
        });
    }

    /// Notes a thread that lived already when the recording began (`instr.LiveThread`).
    pub fn live_thread(&mut self, tid: u64, at_nanos: u64) {
        let at = self.moment(at_nanos);
        self.live_thread_at(tid, at);
        self.thread_lives(tid);
    }

    pub(super) fn live_thread_at(&mut self, tid: u64, at: u64) {
        self.event(id::LIVE_THREAD, at, |recording, payload| {
            varint::push(payload, recording.threads.use_thread(tid, recording.constants.chunk()));
        });
    }

    fn thread_lives(&mut self, tid: u64) {
        // Only a ring needs to know.
        if let (Destination::Ring(ring), Some((name, os_id))) =
            (&mut self.destination, self.threads.name_and_os_id(tid))
        {
            ring.change(StateChange::Thread { tid, name: name.into(), os_id });
        }
    }

    /// Notes a class that was loaded already when the recording began (`instr.LoadedClass`), by its internal name and the
    /// number of its loader.
    pub fn loaded_class(&mut self, name: &[u8], loader: u64, at_nanos: u64) {
        let at = self.moment(at_nanos);
        let class = self.constants.class(name);
        self.loaded_class_at(class, loader, at);
        self.change(StateChange::Class { loader, class });
    }

    pub(super) fn loaded_class_at(&mut self, class: u32, loader: u64, at: u64) {
        self.event(id::LOADED_CLASS, at, |recording, payload| {
            recording.constants.use_class(class);
            varint::push(payload, u64::from(class));
            varint::push(payload, loader);
        });
    }

    /// Notes the methods of a class that was loaded already when the recording began (`instr.LoadedMethod`): name, descriptor
    /// and access flags of each.
    pub fn loaded_methods<'m>(
        &mut self,
        (class, loader): (&[u8], u64),
        methods: impl Iterator<Item = (&'m [u8], &'m [u8], u16)>,
        at_nanos: u64,
    ) {
        let mut keys = Vec::new();
        for (name, descriptor, flags) in methods {
            let parts = self.constants.parts(class, name, descriptor, flags);
            keys.push(self.constants.method_key(parts));
        }
        let class = self.constants.class(class);
        // First: what the state holds is not forgotten, even if a chunk ends between two of them.
        self.change(StateChange::Methods { loader, class, methods: keys.clone() });
        for key in keys {
            let at = self.moment(at_nanos);
            self.loaded_method_at(key, at);
        }
    }

    pub(super) fn loaded_method_at(&mut self, method: u32, at: u64) {
        self.event(id::LOADED_METHOD, at, |recording, payload| {
            recording.constants.use_method(method);
            varint::push(payload, u64::from(method));
        });
    }

    /// Notes that a thread defines a class (`jdk.ClassDefine`), by its internal name and the number of its loader.
    pub fn class_defined(&mut self, name: &[u8], loader: u64, tid: u64, at_nanos: u64) {
        self.event_now(id::CLASS_DEFINE, at_nanos, |recording, payload| {
            varint::push(payload, recording.threads.use_thread(tid, recording.constants.chunk()));
            varint::push(payload, u64::from(recording.constants.use_class_named(name)));
            varint::push(payload, loader);
        });
        let class = self.constants.class(name);
        self.change(StateChange::Class { loader, class });
    }

    /// Notes that a class loader is gone, and with it all classes that it has defined (`jdk.ClassUnload`, one for each).
    /// Returns how many these are.
    pub fn loader_unloaded(&mut self, loader: u64, at_nanos: u64) -> usize {
        let classes = self.live.classes_of(loader);
        for class in &classes {
            self.event_now(id::CLASS_UNLOAD, at_nanos, |recording, payload| {
                let no_thread = 0;
                varint::push(payload, no_thread);
                recording.constants.use_class(*class);
                varint::push(payload, u64::from(*class));
                varint::push(payload, loader);
            });
            self.change(StateChange::ClassGone { loader, class: *class });
        }
        classes.len()
    }

    /// Notes that a method has been compiled to the code at an address (`instr.CompiledCode`). `place` is the address and
    /// the length in bytes.
    pub fn compiled_code(&mut self, method: MethodInfo<'_>, place: (u64, u64), at_nanos: u64) {
        // Before the key, which nobody holds until the state does.
        let at = self.moment(at_nanos);
        let parts = self.constants.parts(method.class, method.name, method.descriptor, method.access_flags);
        let key = self.constants.method_key(parts);
        self.compiled_code_at(key, place, at);
        let (address, length) = place;
        self.change(StateChange::Code { address, code: Code { owner: CodeOwner::Method(key), length } });
    }

    pub(super) fn compiled_code_at(&mut self, method: u32, place: (u64, u64), at: u64) {
        self.code_event(id::COMPILED_CODE, method, place, at);
    }

    fn code_event(&mut self, type_id: u32, method: u32, (address, length): (u64, u64), at: u64) {
        self.event(type_id, at, |recording, payload| {
            recording.constants.use_method(method);
            for number in [u64::from(method), address, length] {
                varint::push(payload, number);
            }
        });
    }

    /// Records that the compiled code at an address is gone (`instr.CompiledCodeUnload`). Does nothing if no code was recorded
    /// at this address.
    pub fn compiled_code_unloaded(&mut self, address: u64, at_nanos: u64) {
        let Some(Code { owner: CodeOwner::Method(method), length }) = self.live.code.get(&address) else { return };
        let (method, length) = (*method, *length);
        let at = self.moment(at_nanos);
        self.code_event(id::COMPILED_CODE_UNLOAD, method, (address, length), at);
        self.change(StateChange::CodeGone { address });
    }

    /// Notes machine code that the JVM has made for itself (`instr.GeneratedCode`). `place` is its address and its length in
    /// bytes.
    pub fn generated_code(&mut self, name: &str, place: (u64, u64), at_nanos: u64) {
        let name: Arc<str> = cut_text(name, LONGEST_NAME).into();
        let at = self.moment(at_nanos);
        self.generated_code_at(&name, place, at);
        let (address, length) = place;
        self.change(StateChange::Code { address, code: Code { owner: CodeOwner::Jvm(name), length } });
    }

    pub(super) fn generated_code_at(&mut self, name: &str, (address, length): (u64, u64), at: u64) {
        self.event(id::GENERATED_CODE, at, |recording, payload| {
            recording.push_text_of_pool(payload, name);
            varint::push(payload, address);
            varint::push(payload, length);
        });
    }

    /// Notes a file with machine code in the process's memory (`instr.NativeLibrary`); `build_id` in hexadecimal digits, empty if it has
    /// none. `place` is the address of its first byte and the bytes up to the end of the last one.
    pub fn native_library(&mut self, name: &str, build_id: &str, place: (u64, u64), at_nanos: u64) {
        let [name, build_id]: [Arc<str>; 2] = [name, build_id].map(|text| cut_text(text, LONGEST_NAME).into());
        let at = self.moment(at_nanos);
        self.native_library_at(&name, &build_id, place, at);
        let (address, length) = place;
        self.change(StateChange::Code { address, code: Code { owner: CodeOwner::Library { name, build_id }, length } });
    }

    pub(super) fn native_library_at(&mut self, name: &str, build_id: &str, (address, length): (u64, u64), at: u64) {
        self.event(id::NATIVE_LIBRARY, at, |recording, payload| {
            recording.push_text_of_pool(payload, name);
            push_text(payload, build_id);
            varint::push(payload, address);
            varint::push(payload, length);
        });
    }

    /// Notes a window of level burst (`instr.BurstWindow`): calls that began in it were recorded.
    pub fn burst_window(&mut self, at_nanos: u64, duration_nanos: u64) {
        self.make_room();
        let (start, duration) = self.ticks(at_nanos, duration_nanos);
        self.event(id::BURST_WINDOW, start, |_, payload| varint::push(payload, duration));
    }

    /// Notes that loaded classes were retransformed together (`instr.Retransform`).
    pub fn retransform(&mut self, at_nanos: u64, done: Retransform) {
        self.make_room();
        let (start, duration) = self.ticks(at_nanos, done.duration_nanos);
        let (_, stopped) = self.ticks(at_nanos, done.stopped_nanos);
        self.event(id::RETRANSFORM, start, |_, payload| {
            varint::push(payload, duration);
            push_text(payload, done.reason);
            varint::push(payload, done.classes);
            payload.push(u8::from(done.is_rejected));
            varint::push(payload, stopped);
        });
    }

    /// Notes a tick of level watch that was followed by the next one late (`instr.LateTick`).
    pub fn late_tick(&mut self, at_nanos: u64, duration_nanos: u64) {
        self.make_room();
        let (start, duration) = self.ticks(at_nanos, duration_nanos);
        self.event(id::LATE_TICK, start, |_, payload| varint::push(payload, duration));
    }

    /// Notes a pause of the garbage collector (`jdk.GarbageCollection`); `number` counts them from 1.
    pub fn garbage_collection(&mut self, number: u32, at_nanos: u64, duration_nanos: u64) {
        self.make_room();
        let (start, duration) = self.ticks(at_nanos, duration_nanos);
        self.event(id::GARBAGE_COLLECTION, start, |_, payload| {
            varint::push(payload, duration);
            varint::push(payload, u64::from(number));
            push_text(payload, "");
            varint::push(payload, duration);
            varint::push(payload, duration);
        });
    }

    /// Follows a change, now and, in a ring, when its chunk goes.
    pub(super) fn change(&mut self, change: StateChange) {
        if let Destination::Ring(ring) = &mut self.destination {
            ring.change(change.clone());
        }
        self.live.apply(change);
    }

    /// A time on the file's clock, after room was made for an event: before any constant is used for it.
    pub(super) fn moment(&mut self, at_nanos: u64) -> u64 {
        self.make_room();
        self.ticks(at_nanos, 0).0
    }
}
