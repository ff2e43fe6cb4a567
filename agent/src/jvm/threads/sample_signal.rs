//! Timers of processor time, one a thread, whose signal takes a sample of the very moment with the JVM's AsyncGetCallTrace, and sets the timer for the next one.
//!
//! What runs in the handler must be safe at any instruction of any thread: it allocates nothing, takes no lock, touches
//! no thread-local storage of ours and leaves `errno` alone. The handler stays installed when sampling has stopped: a signal
//! that was under way would end the process if nobody handled it.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use std::time::Duration;

use jvmti_bindings::sys::jni;

use super::sample_buffer::{Moment, RawFrame, SampleBuffer, Walked};
use super::sample_moments::SampleMoments;
use super::stub_caller::{caller_contexts, program_counter};
use crate::jvm::java_vm::JavaVm;
use crate::jvm::jni::Jni;
use crate::jvm::process::vm_structs::{CodeRegions, VmStructs};

/// In the upper half of a signal's value: a timer of ours has sent it.
const OURS: usize = 0x494e_5354;
const BLOCK: usize = 256;
const BLOCKS: usize = 256;
const NO_TIMER: i64 = -1;
/// What AsyncGetCallTrace answers in stubs of the JVM, and where a compiled method has no frame yet or no more.
const UNKNOWN_PLACE_IN_JAVA: c_int = -5;
/// Answer for a thread that the JVM does not know.
const NOT_JAVA: usize = 1;

/// What AsyncGetCallTrace fills.
#[repr(C)]
struct RawTrace {
    env: *mut jni::JNIEnv,
    outcome: c_int,
    frames: *mut RawFrame,
}

type AsyncGetCallTrace = unsafe extern "C" fn(*mut RawTrace, c_int, *mut c_void);

/// `siginfo_t` of a timer's signal, as 64-bit Linux lays it out.
#[repr(C)]
struct TimerSignal {
    number: c_int,
    errno: c_int,
    code: c_int,
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: usize,
}

/// Most intervals that one sample represents: no thread is out of reach for longer.
const MOST_TICKS: u32 = 10_000;

static WALK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// Absent in JVMs that do not say where their code is.
static CODE: OnceLock<Option<CodeRegions>> = OnceLock::new();
static VM: AtomicPtr<jni::JavaVM> = AtomicPtr::new(null_mut());
/// Null while no samples are taken.
static BUFFER: AtomicPtr<SampleBuffer> = AtomicPtr::new(null_mut());
static IN_HANDLER: AtomicUsize = AtomicUsize::new(0);
static SLOTS: [AtomicPtr<[ThreadSlot; BLOCK]>; BLOCKS] = [const { AtomicPtr::new(null_mut()) }; BLOCKS];

/// The timer of one thread. Slots are used again, never freed.
#[derive(Debug)]
pub(crate) struct ThreadSlot {
    os_thread: AtomicI32,
    timer: AtomicI64,
    /// JNI environment of the thread, 0 if it is not known yet, [`NOT_JAVA`] if there is none.
    env: AtomicUsize,
    registration: AtomicU64,
    /// Processor time of the thread when the timer was started, in nanoseconds.
    begin: AtomicU64,
    moments: SampleMoments,
}

/// Why samples cannot be taken this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// The JVM has no AsyncGetCallTrace.
    NoWalker,
    /// Somebody else handles SIGPROF: another profiler.
    SignalInUse,
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unavailable::NoWalker => "this JVM has no AsyncGetCallTrace",
            Unavailable::SignalInUse => "another profiler handles SIGPROF in this process",
        })
    }
}

/// Prepares the handler; no signal is sent and no sample taken yet.
pub(crate) fn prepare(vm: JavaVm) -> Result<(), Unavailable> {
    if !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
        return Err(Unavailable::NoWalker);
    }
    // SAFETY: a NUL-terminated name; the libraries of the process are searched.
    let walk = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"AsyncGetCallTrace".as_ptr()) };
    if walk.is_null() {
        return Err(Unavailable::NoWalker);
    }
    WALK.store(walk, Ordering::Release);
    VM.store(vm.raw(), Ordering::Release);
    CODE.get_or_init(|| VmStructs::find().and_then(CodeRegions::find));
    let present = present_handler();
    if present == handler_address() {
        return Ok(());
    }
    if present != libc::SIG_DFL && present != libc::SIG_IGN {
        return Err(Unavailable::SignalInUse);
    }
    install();
    if has_signal() { Ok(()) } else { Err(Unavailable::SignalInUse) }
}

/// Whether SIGPROF is still delivered to us.
pub(crate) fn has_signal() -> bool {
    present_handler() == handler_address()
}

fn handler_address() -> usize {
    on_signal as *const () as usize
}

fn present_handler() -> usize {
    let mut present = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only asks; all-zero is a valid sigaction, which is overwritten on success.
    unsafe {
        libc::sigaction(libc::SIGPROF, std::ptr::null(), present.as_mut_ptr());
        present.assume_init().sa_sigaction
    }
}

fn install() {
    // SAFETY: all-zero is a valid sigaction; the handler has the signature that SA_SIGINFO asks for and lives as long as
    // the process, because an agent's library is never unloaded.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = handler_address();
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGPROF, &action, null_mut());
    }
}

/// From now on signals fill `buffer`.
pub(crate) fn switch_on(buffer: &'static SampleBuffer) {
    BUFFER.store(std::ptr::from_ref(buffer).cast_mut(), Ordering::SeqCst);
}

/// From now on signals are ignored; waits for handlers that are at work, which takes microseconds.
pub(crate) fn switch_off() {
    BUFFER.store(null_mut(), Ordering::SeqCst);
    for _ in 0..1_000 {
        if IN_HANDLER.load(Ordering::SeqCst) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    tracing::warn!("a thread has been in the sampler's signal handler for long");
}

/// The slot with a number; `None` beyond the 65,536th thread at a time.
pub(crate) fn slot(number: usize) -> Option<&'static ThreadSlot> {
    let place = SLOTS.get(number / BLOCK)?;
    if place.load(Ordering::Acquire).is_null() {
        let block: Box<[ThreadSlot; BLOCK]> = Box::new(std::array::from_fn(|_| ThreadSlot::new()));
        let block = Box::into_raw(block);
        if place.compare_exchange(null_mut(), block, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: made above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(block) });
        }
    }
    known_slot(number)
}

/// The slot with a number, without making it.
fn known_slot(number: usize) -> Option<&'static ThreadSlot> {
    let block = SLOTS.get(number / BLOCK)?.load(Ordering::Acquire);
    // SAFETY: null or a block that is never freed.
    unsafe { block.as_ref() }?.get(number % BLOCK)
}

/// Setting a timer takes less than this.
const SOONEST: Duration = Duration::from_micros(10);

impl ThreadSlot {
    const fn new() -> ThreadSlot {
        ThreadSlot {
            os_thread: AtomicI32::new(0),
            timer: AtomicI64::new(NO_TIMER),
            env: AtomicUsize::new(0),
            registration: AtomicU64::new(0),
            begin: AtomicU64::new(0),
            moments: SampleMoments::none(),
        }
    }

    /// Starts the timer of a thread; `jni` if it is the current one, otherwise the thread finds out by itself. `number` is
    /// that of the slot.
    pub(crate) fn start(
        &self,
        number: usize,
        os_thread: i32,
        jni: Option<&Jni<'_>>,
        registration: u64,
        interval: Duration,
    ) -> io::Result<()> {
        self.env.store(jni.map_or(0, |jni| jni.raw() as usize), Ordering::Relaxed);
        self.registration.store(registration, Ordering::Relaxed);
        let mut timer: libc::timer_t = null_mut();
        // SAFETY: all-zero is a valid sigevent; every field that the kernel reads for SIGEV_THREAD_ID is set.
        let created = unsafe {
            let mut event: libc::sigevent = MaybeUninit::zeroed().assume_init();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGPROF;
            event.sigev_value = libc::sigval { sival_ptr: (OURS << 32 | number) as *mut c_void };
            event.sigev_notify_thread_id = os_thread;
            libc::timer_create(clock_of(os_thread), &mut event, &mut timer)
        };
        if created != 0 {
            return Err(io::Error::last_os_error());
        }
        self.begin.store(nanos_of(clock_of(os_thread)), Ordering::Relaxed);
        let first = self.moments.begin(registration, interval, kernel_tick());
        self.os_thread.store(os_thread, Ordering::Release);
        self.timer.store(timer as i64, Ordering::Release);
        // One that has expired when it is set sends its signal at once, at no tick of the kernel: short threads would have many samples, all in this system call.
        let used = nanos_of(clock_of(os_thread)).saturating_sub(self.begin.load(Ordering::Relaxed));
        if !self.set(first.max(Duration::from_nanos(used) + SOONEST)) {
            let error = io::Error::last_os_error();
            self.stop();
            return Err(error);
        }
        Ok(())
    }

    /// Has the timer send its signal when the thread has used so much processor time since the start. May be called in signal handlers.
    fn set(&self, used: Duration) -> bool {
        let timer = self.timer.load(Ordering::Acquire);
        if timer == NO_TIMER {
            return false;
        }
        let at = Duration::from_nanos(self.begin.load(Ordering::Relaxed)).saturating_add(used);
        let times = libc::itimerspec { it_interval: timespec(Duration::ZERO), it_value: timespec(at) };
        // SAFETY: a timer that `start` has made; if another thread deletes it meanwhile, its number is not given again for two billion timers, and the
        // call fails. The structure lives through the call.
        unsafe { libc::timer_settime(timer as libc::timer_t, libc::TIMER_ABSTIME, &times, null_mut()) == 0 }
    }

    fn is_timer(&self, number: c_int) -> bool {
        self.timer.load(Ordering::Acquire) == i64::from(number)
    }

    /// Sets the timer for the next sample; returns how many moments for samples have passed. Called by the handler on the slot's thread.
    fn next(&self) -> u32 {
        let now = nanos_of(libc::CLOCK_THREAD_CPUTIME_ID);
        let used = Duration::from_nanos(now.saturating_sub(self.begin.load(Ordering::Relaxed)));
        let (passed, next) = self.moments.next(used, MOST_TICKS);
        self.set(next);
        passed
    }

    /// Ends the timer. Called by its thread, no signal of it is delivered later; else one may be, and is ignored.
    pub(crate) fn stop(&self) {
        let timer = self.timer.swap(NO_TIMER, Ordering::AcqRel);
        if timer != NO_TIMER {
            // SAFETY: the timer was made by `start` and is deleted once, because it was taken out of the slot.
            unsafe { libc::timer_delete(timer as libc::timer_t) };
        }
        self.os_thread.store(0, Ordering::Release);
    }

    /// Address of the thread's JNI environment, once a signal has been delivered.
    pub(crate) fn environment(&self) -> Option<u64> {
        Some(self.env.load(Ordering::Acquire) as u64).filter(|env| *env > NOT_JAVA as u64)
    }

    /// Whether the thread has turned out to be none of the JVM's.
    pub(crate) fn is_foreign(&self) -> bool {
        self.env.load(Ordering::Acquire) == NOT_JAVA
    }

    /// The JNI environment of the thread, which is the current one. Called by the handler.
    fn find_environment(&self) -> Option<*mut jni::JNIEnv> {
        let known = self.env.load(Ordering::Acquire);
        if known > NOT_JAVA {
            return Some(known as *mut jni::JNIEnv);
        }
        let vm = VM.load(Ordering::Acquire);
        if known == NOT_JAVA || vm.is_null() {
            return None;
        }
        let mut env: *mut c_void = null_mut();
        // SAFETY: the JVM is alive while samples are taken. HotSpot's GetEnv reads the thread's own data and nothing else, so
        // a signal handler may call it.
        let result = unsafe { ((**vm).GetEnv)(vm, &mut env, jni::JNI_VERSION_1_8) };
        let found = result == jni::JNI_OK && !env.is_null();
        self.env.store(if found { env as usize } else { NOT_JAVA }, Ordering::Release);
        found.then_some(env.cast())
    }
}

/// The kernel's number for the processor time of a thread (CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED).
fn clock_of(os_thread: i32) -> libc::clockid_t {
    !os_thread << 3 | 6
}

/// The time on a clock in nanoseconds; 0 if the thread has ended. May be called in signal handlers.
fn nanos_of(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: out-parameter on our stack.
    unsafe { libc::clock_gettime(clock, &mut now) };
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}

fn timespec(time: Duration) -> libc::timespec {
    let seconds = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
    libc::timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos().into() }
}

/// How often the kernel looks at timers of processor time: at each of its own ticks.
fn kernel_tick() -> Duration {
    let mut tick = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: out-parameter on our stack.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut tick) };
    let known = u64::try_from(tick.tv_nsec).ok().filter(|nanos| *nanos > 0 && tick.tv_sec == 0);
    Duration::from_nanos(known.unwrap_or(4_000_000))
}

/// Time on the clock that samples carry, in nanoseconds.
pub(crate) fn monotonic_nanos() -> u64 {
    nanos_of(libc::CLOCK_MONOTONIC)
}

unsafe extern "C" fn on_signal(_number: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the address of this thread's errno is always valid.
    let errno = unsafe { *libc::__errno_location() };
    IN_HANDLER.fetch_add(1, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    // SAFETY: the kernel passes a siginfo_t, which is larger than the part that is read, and whose code says whether that part
    // is a timer's.
    if let Some(signal) = unsafe { info.cast::<TimerSignal>().as_ref() }
        && signal.code == libc::SI_TIMER
        && signal.value >> 32 == OURS
        && let Some(slot) = known_slot(signal.value & 0xffff_ffff)
        // Else it is a late signal of a timer that was deleted.
        && slot.is_timer(signal.timer)
    {
        take_sample(slot, context);
    }
    IN_HANDLER.fetch_sub(1, Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn take_sample(slot: &ThreadSlot, context: *mut c_void) {
    // SAFETY: gettid has no preconditions and may be called in signal handlers.
    if slot.os_thread.load(Ordering::Acquire) != unsafe { libc::gettid() } {
        return;
    }
    // Before anything else: a timer that is not set again is silent for ever.
    let ticks = slot.next();
    // SAFETY: null or a buffer that is never freed.
    let Some(buffer) = (unsafe { BUFFER.load(Ordering::SeqCst).as_ref() }).filter(|_| ticks > 0) else { return };
    let Some(env) = slot.find_environment() else { return };
    let walk = WALK.load(Ordering::Acquire);
    if walk.is_null() {
        return;
    }
    // SAFETY: the address of AsyncGetCallTrace in libjvm, whose signature this is since JDK 1.4.
    let walk: AsyncGetCallTrace = unsafe { std::mem::transmute(walk) };
    let thread = slot.registration.load(Ordering::Relaxed);
    let moment = Moment { thread, nanos: monotonic_nanos(), ticks, counter: program_counter(context) };
    buffer.record(moment, |frames, room| {
        let walk_from = |context: *mut c_void| {
            let mut trace = RawTrace { env, outcome: 0, frames };
            // SAFETY: called in a signal handler of the thread whose environment it gets, with the context of that signal, or one that it may have had before, and
            // room for as many frames as it is given; it is made for this, and takes no register of the context for granted.
            unsafe { walk(&mut trace, room, context) };
            trace.outcome
        };
        let outcome = walk_from(context);
        if outcome == UNKNOWN_PLACE_IN_JAVA
            && let Some(Some(code)) = CODE.get()
        {
            for mut caller in caller_contexts(context, *code).into_iter().flatten() {
                let outcome = walk_from((&raw mut caller).cast());
                if outcome > 0 {
                    return Walked { outcome, from_caller: true };
                }
            }
        }
        Walked { outcome, from_caller: false }
    });
}
