//! Prints what it costs to encode one call, from raw ring records to the bytes of the chunk: `cargo run --release
//! --example encode_speed`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::path::Path;
use std::time::Instant;

use trace::{MethodInfo, ProcessInfo, Recording, RecordingOptions};

const METHODS: u64 = 5_000;
const RING: usize = 4_096;
const ROUNDS: usize = 4_000;

fn main() -> std::io::Result<()> {
    for started_ago in [0, 100_000_000_000, 1_000_000_000_000_000] {
        let records = ring(started_ago);
        let mut recording = Recording::create(Path::new("/dev/null"), options())?;
        for probe in 1..=METHODS {
            let name = format!("method{probe}");
            recording.define_method(
                probe as u32,
                MethodInfo {
                    class: b"com/acme/Service",
                    name: name.as_bytes(),
                    descriptor: b"()V",
                    access_flags: 1,
                    exact: true,
                    template: "timed",
                },
            );
        }
        recording.define_thread(31, "main", 4711, false);
        recording.set_thread(31);
        let mut best = f64::MAX;
        let mut bytes = 0.0;
        for _ in 0..7 {
            let (calls_before, bytes_before) = (recording.statistics().calls, recording.statistics().file_bytes);
            let begin = Instant::now();
            for _ in 0..ROUNDS / 7 {
                recording.calls(&records);
            }
            recording.flush_chunk()?;
            let calls = (recording.statistics().calls - calls_before) as f64;
            best = best.min(begin.elapsed().as_nanos() as f64 / calls);
            bytes = (recording.statistics().file_bytes - bytes_before) as f64 / calls;
        }
        let seconds = started_ago / 1_000_000_000;
        println!("{seconds:>9} s after the start: {best:.2} ns and {bytes:.2} bytes per call, constants included");
    }
    Ok(())
}

fn options() -> RecordingOptions {
    RecordingOptions::new(1_700_000_000_000_000_000, 5_000, ProcessInfo::default())
}

/// Records of one thread: skewed methods, durations from 50 ns to about 1 ms.
fn ring(started_ago: u64) -> Vec<[u64; 2]> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut now = 5_000 + started_ago;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    (0..RING)
        .map(|_| {
            let probe = 1 + (next() % METHODS).min(next() % METHODS);
            let duration = 50 + ((next() % 1_000_000) >> (next() % 20));
            now += duration + 40;
            [now - duration, duration << 24 | probe]
        })
        .collect()
}
