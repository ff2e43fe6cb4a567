//! What happens in the JVM besides calls: threads, classes, pauses of the garbage collector.

use super::Recording;
use super::payload::push_text;
use crate::schema::id;
use crate::varint;

impl Recording {
    /// Notes that a thread has started (`jdk.ThreadStart`).
    pub fn thread_started(&mut self, tid: u64, at_nanos: u64) {
        self.thread_event(id::THREAD_START, tid, at_nanos);
    }

    /// Notes that a thread has ended (`jdk.ThreadEnd`) and forgets it: Java never uses its id again.
    pub fn thread_ended(&mut self, tid: u64, at_nanos: u64) {
        self.thread_event(id::THREAD_END, tid, at_nanos);
        self.threads.forget(tid);
    }

    /// Says that a thread has ended, which may be all that is told of its end: it is not remembered for long.
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
        self.event_now(id::LIVE_THREAD, at_nanos, |recording, payload| {
            varint::push(payload, recording.threads.use_thread(tid, recording.constants.chunk()));
        });
    }

    /// Notes a class that was loaded already when the recording began (`instr.LoadedClass`), by its internal name.
    pub fn loaded_class(&mut self, name: &[u8], at_nanos: u64) {
        self.event_now(id::LOADED_CLASS, at_nanos, |recording, payload| {
            varint::push(payload, u64::from(recording.constants.use_class_named(name)));
        });
    }

    /// Notes that a thread defines a class (`jdk.ClassDefine`).
    pub fn class_defined(&mut self, name: &[u8], tid: u64, at_nanos: u64) {
        self.event_now(id::CLASS_DEFINE, at_nanos, |recording, payload| {
            varint::push(payload, recording.threads.use_thread(tid, recording.constants.chunk()));
            varint::push(payload, u64::from(recording.constants.use_class_named(name)));
        });
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
}
