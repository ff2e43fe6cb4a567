//! Who gets the records of the probes once they are decoded.

use trace::TaskStep;

/// Bits of the number of a probe in the second word of a call.
pub const PROBE_BITS: u32 = 24;
/// What is left of that word for the duration.
pub const DURATION_BITS: u32 = 40;

/// Who gets the decoded records.
pub trait RecordSink {
    /// The following calls were made by this thread.
    fn thread(&mut self, thread: RecordThread);
    /// A platform thread's name.
    fn thread_name(&mut self, thread: u64, name: &[u8]);
    /// A run of ordinary calls: start in nanoseconds, duration in nanoseconds << 24 | probe.
    fn calls(&mut self, calls: &[[u64; 2]]);
    /// A call of more than 2^40 ns.
    fn long_call(&mut self, probe: u32, start: u64, duration: u64);
    /// A call with a text.
    fn detail(&mut self, detail: Detail<'_>);
    /// The values of a call that was handed on before.
    fn values_of_call(&mut self, _detail: Detail<'_>) {}
    /// A step of a task between threads.
    fn task(&mut self, _step: TaskStep, _task: u32, _at: u64) {}
}

/// The Java thread to which records belong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordThread {
    /// `Thread.getId()`; 0 if the thread had none yet.
    pub id: u64,
    /// Whether it is a virtual thread.
    pub is_virtual: bool,
}

/// A call with a text and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail<'a> {
    /// What the text is: `J` statement, `H` HTTP request that was answered, `C` one that was sent (`detail_fields.rs`), `S` peer, `A` values, `a` values of a call
    /// that was recorded before; `j`, `h`, `c` and `s` the same as in upper case, of a call within another one of its category.
    pub kind: u8,
    /// The probe that was passed.
    pub probe: u32,
    /// Start in nanoseconds.
    pub start: u64,
    /// Duration in nanoseconds.
    pub duration: u64,
    /// HTTP status (and port), number of bytes, or the probe of the driver that executed the statement.
    pub number: u32,
    /// The text after the kind.
    pub text: &'a [u8],
}

impl Detail<'_> {
    /// Hands it on as a call without a text.
    pub fn as_call(&self, sink: &mut impl RecordSink) {
        let Detail { probe, start, duration, .. } = *self;
        if duration >> DURATION_BITS == 0 {
            sink.calls(&[[start, duration << PROBE_BITS | u64::from(probe)]]);
        } else {
            sink.long_call(probe, start, duration);
        }
    }
}
