//! Writes a recording in which each order on one thread hands a task over that runs on another, and both allocate:
//! `cargo run -p trace --example task_recording -- FILE ORDERS`. Prints how many arrows and bytes readers must find.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::path::Path;

use trace::{MethodInfo, ProcessInfo, Recording, RecordingOptions, SampleFrame, TaskStep};

const EPOCH: u64 = 1_700_000_000_000_000_000;
const START: u64 = 5_000_000_000;
/// From one order to the next, in nanoseconds.
const DISTANCE: u64 = 1_000_000;
const BYTES: u64 = 4_096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which file?")?;
    let orders: u32 = arguments.next().ok_or("how many orders?")?.parse()?;
    let process = ProcessInfo { pid: 4711, command_line: "com.acme.Shop".to_owned(), ..ProcessInfo::default() };
    let mut recording = Recording::create(Path::new(&file), RecordingOptions::new(EPOCH, START, process))?;
    recording.allocation_sampler_started(START, BYTES);
    let method = |name: &'static str| MethodInfo {
        class: b"com/acme/Shop",
        name: name.as_bytes(),
        descriptor: b"()V",
        access_flags: 1,
        exact: true,
        template: "timed",
    };
    for (id, name) in (1..).zip(["order", "hand", "work"]) {
        recording.define_method(id, method(name));
    }
    let [hand, work] = ["hand", "work"].map(|name| recording.sampled_method(method(name)));
    let frame = |method| SampleFrame { method, line: 1, bytecode_index: 0, is_native: false };
    recording.define_thread(1, "main", 4711, false);
    recording.define_thread(2, "worker", 4712, false);
    for order in 0..orders {
        let at = START + u64::from(order) * DISTANCE;
        recording.set_thread(1);
        recording.task(TaskStep::HandedOver, order + 1, at + 3_000);
        recording.allocation_sample(at + 3_500, (b"[B", 64, BYTES), &[frame(hand)], false);
        recording.call(2, at + 2_000, 2_000);
        recording.call(1, at + 1_000, 9_000);
        recording.set_thread(2);
        recording.task(TaskStep::Begins, order + 1, at + 20_000);
        recording.allocation_sample(at + 22_000, (b"[B", 64, BYTES), &[frame(work)], false);
        recording.call(3, at + 21_000, 50_000);
        recording.task(TaskStep::Ends, 0, at + 80_000);
    }
    recording.finish()?;
    println!("{orders} arrows, {} bytes", 2 * u64::from(orders) * BYTES);
    Ok(())
}
