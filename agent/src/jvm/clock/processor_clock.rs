//! The processor's time stamp counter as the clock of the probes (decision 018): two readings cost four fifths of two of
//! `System.nanoTime()`, which reads the same counter and then converts it. Here the drainer converts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jvmti_bindings::sys::jni;

use super::direct_call;
use crate::jvm::environment::Jvmti;
use crate::jvm::error::JavaError;
use crate::jvm::events::event_guard;
use crate::jvm::jni::{Jni, jni_call};
use crate::jvm::runtime_classes::define_class::GlobalClass;

/// Shortest time between two readings of both clocks from which the length of a tick is computed: the error of a reading is some
/// 10 ns, so a second is right to the microsecond.
const LONG_ENOUGH: Duration = Duration::from_millis(10);
/// Fractions of a nanosecond in [`TickScale::factor`].
const FRACTION_BITS: u32 = 40;
const PAIRS: usize = 16;

/// How ticks become nanoseconds. One straight line for the life of the process, so that no order is ever turned round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TickScale {
    ticks: u64,
    nanos: u64,
    /// Nanoseconds a tick, times 2^40.
    factor: u64,
}

impl TickScale {
    /// At `ticks` it was `nanos`; `factor` nanoseconds a tick, times 2^40.
    #[cfg(test)]
    pub(crate) fn new(ticks: u64, nanos: u64, factor: u64) -> TickScale {
        TickScale { ticks, nanos, factor }
    }

    /// The moment of `System.nanoTime()` at which the counter was at `ticks`.
    pub(crate) fn nanos(&self, ticks: u64) -> u64 {
        let since = ticks.wrapping_sub(self.ticks) as i64;
        self.nanos.wrapping_add(((i128::from(since) * i128::from(self.factor)) >> FRACTION_BITS) as u64)
    }

    /// What a probe would read now.
    pub(crate) fn now(&self) -> u64 {
        reading_now()
    }

    /// What the counter says at that moment: the opposite of [`TickScale::nanos`].
    pub(crate) fn ticks(&self, nanos: u64) -> u64 {
        let since = nanos.wrapping_sub(self.nanos) as i64;
        self.ticks.wrapping_add(((i128::from(since) << FRACTION_BITS) / i128::from(self.factor.max(1))) as u64)
    }

    fn between(first: Reading, second: Reading) -> Option<TickScale> {
        let nanos = second.at.checked_duration_since(first.at)?.as_nanos();
        let ticks = u128::from(second.ticks.checked_sub(first.ticks)?);
        let factor = u64::try_from((nanos << FRACTION_BITS).checked_div(ticks)?).ok().filter(|factor| *factor > 0)?;
        Some(TickScale { ticks: second.ticks, nanos: 0, factor })
    }
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) ticks: u64,
    pub(super) at: Instant,
}

impl Reading {
    /// The closest of some pairs: an interrupt between the clocks would make the second one late.
    pub(super) fn take() -> Reading {
        let pairs = (0..PAIRS).map(|_| {
            let before = counter::read();
            let at = Instant::now();
            let width = counter::read().wrapping_sub(before);
            (width, Reading { ticks: before + width / 2, at })
        });
        pairs.min_by_key(|(width, _)| *width).map_or_else(|| Reading { ticks: 0, at: Instant::now() }, |(_, it)| it)
    }
}

static FIRST: OnceLock<Reading> = OnceLock::new();
/// Set when `java.instr.Clock` got its method handle: from then on all probes count ticks.
static IN_USE: OnceLock<TickScale> = OnceLock::new();
static PREPARED: OnceLock<Prepared> = OnceLock::new();
/// Whether the session that runs wants the system's clock, although the probes count ticks for good: they get its time in ticks.
static BY_SYSTEM: AtomicBool = AtomicBool::new(false);
/// Set when the counter turned out to be wrong: no later session reads it.
static DISTRUSTED: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone, Copy)]
struct Prepared {
    clock: GlobalClass,
    java_version: u32,
    scale: TickScale,
    system: SystemTicks,
}

/// The system's clock in ticks, along the line of the counter: calls that run while a session ends and another begins have a start and an
/// end that agree.
#[derive(Debug, Clone, Copy)]
struct SystemTicks {
    ticks: u64,
    at: Instant,
    /// Ticks a nanosecond, times 2^40.
    factor: u64,
}

impl SystemTicks {
    fn along(scale: &TickScale, reading: Reading) -> Option<SystemTicks> {
        let factor = (1u128 << (2 * FRACTION_BITS)) / u128::from(scale.factor.max(1));
        Some(SystemTicks { ticks: reading.ticks, at: reading.at, factor: u64::try_from(factor).ok()? })
    }

    fn at(&self, moment: Instant) -> u64 {
        // Nothing is recorded before the process has begun.
        let nanos = moment.saturating_duration_since(self.at).as_nanos();
        self.ticks.wrapping_add(((nanos * u128::from(self.factor)) >> FRACTION_BITS) as u64)
    }
}

/// Takes the first reading, as early as possible.
pub(crate) fn note_beginning() {
    if counter::is_trusted() {
        FIRST.get_or_init(Reading::take);
    }
}

/// Returns the CPU time in which a processor makes this number of cycles, counted at the rate of its counter; `None` where the counter is not
/// trusted.
pub(crate) fn time_of_cycles(cycles: u64) -> Option<Duration> {
    let scale = TickScale::between(*FIRST.get()?, Reading::take())?;
    let nanos = (u128::from(cycles) * u128::from(scale.factor)) >> FRACTION_BITS;
    Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}

/// The line from ticks to nanoseconds; `None` while, or if, the probes read `System.nanoTime()`.
pub(crate) fn scale_in_use() -> Option<&'static TickScale> {
    IN_USE.get()
}

/// From now on the probes read the system's clock, or what is best. Only between sessions.
pub(crate) fn read_system(by_system: bool) {
    BY_SYSTEM.store(by_system || DISTRUSTED.load(Ordering::Acquire), Ordering::Release);
}

/// Has the probes read the system's clock for the rest of the process, also while calls are running.
pub(super) fn distrust() {
    DISTRUSTED.store(true, Ordering::Release);
    BY_SYSTEM.store(true, Ordering::Release);
}

/// Whether the probes read the processor's counter at present.
pub(crate) fn is_read() -> bool {
    IN_USE.get().is_some() && !BY_SYSTEM.load(Ordering::Acquire)
}

/// What compiled code calls.
extern "C" fn reading_now() -> u64 {
    if BY_SYSTEM.load(Ordering::Relaxed)
        && let Some(prepared) = PREPARED.get()
    {
        return prepared.system.at(Instant::now());
    }
    counter::read()
}

/// Binds the native methods of `java.instr.Clock` and gets the counter ready if it is `wanted` and can be trusted.
/// `java_now` is what `System.nanoTime()` says, and when.
pub(crate) fn prepare(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    clock: GlobalClass,
    wanted: bool,
    java_now: (i64, Instant),
) -> Result<(), JavaError> {
    let native = |name: &'static std::ffi::CStr, kind: &'static std::ffi::CStr, function: *const std::ffi::c_void| {
        jni::JNINativeMethod { name: name.as_ptr(), signature: kind.as_ptr(), fnPtr: function.cast_mut() }
    };
    let natives = [
        native(c"reader", c"()J", reader as *const _),
        native(c"reading", c"()Ljava/lang/invoke/MethodHandle;", reading as *const _),
        native(c"read", c"()J", read as *const _),
    ];
    // SAFETY: valid environment, live class, three methods with the signatures of these functions.
    if unsafe { jni_call!(jni, RegisterNatives, clock.raw(), natives.as_ptr(), 3) } != jni::JNI_OK {
        return Err(jni.failure("binding the native methods of the clock"));
    }
    let java_version = jvmti.java_version();
    if wanted
        && is_compiled_by_c2(jvmti)
        && (java_version == 17 || java_version >= 21)
        && let Some((scale, system)) = measure(java_now)
    {
        PREPARED.get_or_init(|| Prepared { clock, java_version, scale, system });
    }
    Ok(())
}

fn measure((java, java_at): (i64, Instant)) -> Option<(TickScale, SystemTicks)> {
    let first = *FIRST.get()?;
    let missing = LONG_ENOUGH.saturating_sub(first.at.elapsed());
    if !missing.is_zero() {
        std::thread::sleep(missing);
    }
    let second = Reading::take();
    let since = i64::try_from(second.at.checked_duration_since(java_at)?.as_nanos()).ok()?;
    let scale = TickScale { nanos: java.wrapping_add(since) as u64, ..TickScale::between(first, second)? };
    Some((scale, SystemTicks::along(&scale, second)?))
}

/// Without C2 a method handle costs more than it saves.
fn is_compiled_by_c2(jvmti: Jvmti) -> bool {
    let property = |name| jvmti.system_property(name).unwrap_or_default();
    let modes = property(c"java.vm.info");
    property(c"java.vm.name").contains("Server VM")
        && modes.starts_with("mixed mode")
        && !modes.contains("emulated-client")
        && !property(c"java.vm.version").contains("jvmci")
}

extern "system" fn reader(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    if PREPARED.get().is_some() { reading_now as *const () as jni::jlong } else { 0 }
}

extern "system" fn read(_env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jlong {
    reading_now() as jni::jlong
}

extern "system" fn reading(env: *mut jni::JNIEnv, _class: jni::jclass) -> jni::jobject {
    let handle = event_guard::run(event_guard::Event::Native, || {
        let prepared = PREPARED.get()?;
        // SAFETY: the JVM passes this thread's environment, which is valid until this function returns.
        let jni = unsafe { Jni::from_raw(env) }?;
        let handle = match direct_call::method_handle(&jni, prepared.java_version, prepared.clock) {
            Ok(handle) => handle.into_raw(),
            Err(error) => {
                tracing::info!(%error, "the probes read System.nanoTime() instead of the processor's counter");
                return None;
            }
        };
        IN_USE.get_or_init(|| prepared.scale);
        Some(handle)
    });
    handle.unwrap_or(std::ptr::null_mut())
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) mod counter {
    use std::arch::x86_64::{__cpuid, __rdtscp};
    use std::io;

    /// Reads the counter when all instructions before have been executed.
    pub(in crate::jvm) extern "C" fn read() -> u64 {
        let mut processor = 0;
        // SAFETY: only used where `is_trusted`, which asks whether there is such an instruction.
        unsafe { __rdtscp(&raw mut processor) }
    }

    /// Whether the counter runs at one rate in all processors, in step, for ever. The kernel watches that all the time, and
    /// stops reading the counter for its own clocks if it does not; then Java's clock is the better one, too.
    pub(in crate::jvm) fn is_trusted() -> bool {
        const EXTENDED: u32 = 0x8000_0000;
        if __cpuid(EXTENDED).eax < EXTENDED + 7 {
            return false;
        }
        let has_rdtscp = __cpuid(EXTENDED + 1).edx >> 27 & 1 == 1;
        let is_invariant = __cpuid(EXTENDED + 7).edx >> 8 & 1 == 1;
        has_rdtscp && is_invariant && clock_source().is_ok_and(|source| is_the_counter(&source))
    }

    /// Returns what the kernel's own clocks read instead of the counter at present; `None` if they read the counter.
    pub(in crate::jvm) fn other_clock_source() -> Option<String> {
        other_than_the_counter(clock_source())
    }

    /// A file that cannot be read says nothing: the process may have opened as many files as it may.
    pub(super) fn other_than_the_counter(source: io::Result<String>) -> Option<String> {
        source.ok().filter(|source| !is_the_counter(source)).map(|source| source.trim().to_owned())
    }

    fn is_the_counter(source: &str) -> bool {
        source.trim() == "tsc"
    }

    fn clock_source() -> io::Result<String> {
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(super) mod counter {
    pub(in crate::jvm) extern "C" fn read() -> u64 {
        0
    }

    pub(in crate::jvm) fn is_trusted() -> bool {
        false
    }

    pub(in crate::jvm) fn other_clock_source() -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn a_process_without_free_file_descriptors_keeps_its_clock() {
        let unreadable = std::io::Error::from_raw_os_error(24);
        assert_eq!(counter::other_than_the_counter(Err(unreadable)), None);
        assert_eq!(counter::other_than_the_counter(Ok("tsc\n".to_owned())), None);
        assert_eq!(counter::other_than_the_counter(Ok("hpet\n".to_owned())).as_deref(), Some("hpet"));
    }

    #[test]
    fn cycles_are_counted_at_the_rate_of_the_counter() {
        note_beginning();
        let begin = Reading::take();
        std::thread::sleep(LONG_ENOUGH);
        let end = Reading::take();
        let expected = end.at.duration_since(begin.at).as_secs_f64();
        // Only where the counter is trusted.
        if let Some(time) = time_of_cycles(end.ticks - begin.ticks) {
            assert!((time.as_secs_f64() / expected - 1.0).abs() < 0.05, "{time:?} in place of {expected} s");
        }
    }

    #[test]
    fn ticks_become_nanoseconds_and_back_over_years() {
        let scale = TickScale { ticks: 1 << 50, nanos: 5_000_000_000, factor: (1 << FRACTION_BITS) * 10 / 27 };
        assert_eq!(scale.nanos(1 << 50), 5_000_000_000);
        let year = 365 * 24 * 3600 * 2_700_000_000;
        let after = scale.nanos((1 << 50) + year);
        assert!(after.abs_diff(5_000_000_000 + 365 * 24 * 3600 * 1_000_000_000) < 1_000_000);
        assert!(scale.ticks(after).abs_diff((1 << 50) + year) <= 3);
        // Before the origin, too.
        assert_eq!(scale.nanos((1 << 50) - 27_000), 5_000_000_000 - 10_000);
    }

    #[test]
    fn a_measured_scale_agrees_with_the_system_clock() {
        if !counter::is_trusted() {
            // Directly to the stream: the test harness captures what macros print.
            let _ = writeln!(std::io::stderr(), "SKIPPED: the processor's counter is not trusted on this machine");
            return;
        }
        let first = Reading::take();
        std::thread::sleep(LONG_ENOUGH);
        let scale = TickScale::between(first, Reading::take()).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        let third = Reading::take();
        let elapsed = scale.nanos(third.ticks).wrapping_sub(scale.nanos(first.ticks));
        let expected = third.at.duration_since(first.at).as_nanos() as u64;
        // The error of the scale grows with the time, which a busy machine makes longer.
        assert!(elapsed.abs_diff(expected) < expected / 8_000, "{elapsed} instead of {expected} ns");
    }

    #[test]
    fn the_systems_clock_in_ticks_becomes_its_nanoseconds_again() {
        let (now, factor) = (Instant::now(), (1 << FRACTION_BITS) * 10 / 27);
        let scale = TickScale { ticks: 1 << 50, nanos: 5_000_000_000, factor };
        let system = SystemTicks::along(&scale, Reading { ticks: 1 << 50, at: now }).unwrap();
        let month = Duration::from_secs(30 * 24 * 3600);
        let moments = [Duration::ZERO, Duration::from_millis(10), month, month + Duration::from_millis(10)];
        let [begin, soon, late, later] = moments.map(|after| scale.nanos(system.at(now + after)));
        assert_eq!(begin, 5_000_000_000);
        assert!((soon - begin).abs_diff(10_000_000) <= 2 && (later - late).abs_diff(10_000_000) <= 2);
        assert!((late - begin).abs_diff(month.as_nanos() as u64) < 10_000);
    }

    #[test]
    fn a_counter_that_stands_still_or_runs_backwards_is_no_clock() {
        let now = Instant::now();
        let at = |ticks, micros| Reading { ticks, at: now + Duration::from_micros(micros) };
        assert_eq!(TickScale::between(at(7, 0), at(7, 10)), None);
        assert_eq!(TickScale::between(at(9, 0), at(7, 10)), None);
        assert_eq!(TickScale::between(at(7, 10), at(9, 10)), None);
    }
}
