//! What surrounds the methods: heap, garbage collections, threads, classes, processor time, memory and bytes of the process.
//!
//! Sources: `java.lang.Runtime` (native methods) for the heap, HotSpot's performance counters for collections, threads and
//! classes, the kernel for the process. A source that is missing leaves its metrics out; nothing is guessed.

use std::fs;

use metrics::{Family, Kind, PerfCounters, Unit, Value};

use crate::jvm::{HeapSize, Jni, VmStructs, heap_size, perf_memory, process_cpu_time};

/// Where the readings come from.
#[derive(Debug)]
pub(crate) struct Environment {
    structs: Option<VmStructs>,
}

impl Environment {
    /// Finds what this JVM offers.
    pub(crate) fn find() -> Environment {
        let structs = VmStructs::find();
        if structs.is_none() {
            tracing::info!(
                "this JVM exports no table of its structures: no metrics of garbage collections, threads, classes"
            );
        }
        Environment { structs }
    }

    /// All metrics now.
    pub(crate) fn families(&self, jni: &Jni<'_>) -> Vec<Family> {
        let mut families = Vec::new();
        match heap_size(jni) {
            Ok(heap) => families.extend(heap_families(heap)),
            Err(error) => tracing::debug!(%error, "the heap's size cannot be read"),
        }
        let memory = self.structs.and_then(perf_memory);
        if let Some(counters) = memory.as_deref().and_then(PerfCounters::decode) {
            families.extend([collections(&counters), threads(&counters)]);
            families.extend(classes(&counters));
        }
        families.extend(process_families(&ProcessFiles::read()));
        families
    }
}

fn heap_families(heap: HeapSize) -> [Family; 3] {
    let family = |name, help, bytes| {
        let attributes = [("jvm.memory.type", "heap")];
        Family::new(name, Unit::Bytes, Kind::UpDownCounter, help).with(&attributes, Value::Integer(bytes))
    };
    [
        family("jvm.memory.used", "Java heap that is occupied, garbage included", heap.used),
        family("jvm.memory.committed", "Java heap asked of the operating system", heap.committed),
        family("jvm.memory.limit", "The most that the Java heap may become", heap.limit),
    ]
}

fn collections(counters: &PerfCounters) -> Family {
    let help = "Garbage collections and the time they took";
    let mut family = Family::new("jvm.gc.duration", Unit::Seconds, Kind::Distribution, help);
    for number in 0..8 {
        let name = |field: &str| format!("sun.gc.collector.{number}.{field}");
        let (Some(count), Some(seconds)) = (counters.number(&name("invocations")), counters.seconds(&name("time")))
        else {
            continue;
        };
        let collector = counters.text(&name("name")).unwrap_or("unknown");
        family = family.with(&[("jvm.gc.name", collector)], Value::CountAndSum(count, seconds));
    }
    family
}

fn threads(counters: &PerfCounters) -> Family {
    let family =
        Family::new("jvm.thread.count", Unit::Things("{thread}"), Kind::UpDownCounter, "Platform threads alive");
    let (Some(live), Some(daemon)) = (counters.number("java.threads.live"), counters.number("java.threads.daemon"))
    else {
        return family;
    };
    family
        .with(&[("jvm.thread.daemon", "false")], Value::Integer(live.saturating_sub(daemon)))
        .with(&[("jvm.thread.daemon", "true")], Value::Integer(daemon))
}

fn classes(counters: &PerfCounters) -> Vec<Family> {
    let sum = |one: &str, other: &str| Some(counters.number(one)? + counters.number(other).unwrap_or(0));
    let loaded = sum("java.cls.loadedClasses", "java.cls.sharedLoadedClasses");
    let unloaded = sum("java.cls.unloadedClasses", "java.cls.sharedUnloadedClasses");
    let (Some(loaded), Some(unloaded)) = (loaded, unloaded) else { return Vec::new() };
    let unit = Unit::Things("{class}");
    vec![
        Family::new("jvm.class.loaded", unit, Kind::Counter, "Classes loaded since the start")
            .with(&[], Value::Integer(loaded)),
        Family::new("jvm.class.unloaded", unit, Kind::Counter, "Classes unloaded since the start")
            .with(&[], Value::Integer(unloaded)),
        Family::new("jvm.class.count", unit, Kind::UpDownCounter, "Classes loaded at present")
            .with(&[], Value::Integer(loaded.saturating_sub(unloaded))),
    ]
}

/// What the kernel tells in files.
#[derive(Debug, Default)]
struct ProcessFiles {
    status: String,
    io: String,
    open_files: Option<usize>,
}

impl ProcessFiles {
    fn read() -> ProcessFiles {
        ProcessFiles {
            status: fs::read_to_string("/proc/self/status").unwrap_or_default(),
            io: fs::read_to_string("/proc/self/io").unwrap_or_default(),
            open_files: fs::read_dir("/proc/self/fd").ok().map(Iterator::count),
        }
    }

    /// The number behind a name and a colon.
    fn number(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

fn process_families(files: &ProcessFiles) -> Vec<Family> {
    let kilobytes = |name| ProcessFiles::number(&files.status, name).map(|number| Value::Integer(number * 1024));
    let bytes = |name| ProcessFiles::number(&files.io, name).map(Value::Integer);
    let one = |family: Family, value: Option<Value>| value.map_or(family.clone(), |value| family.with(&[], value));
    let both = |mut family: Family, attribute: &'static str, values: [(&str, Option<Value>); 2]| {
        for (direction, value) in values {
            family = value.map_or(family.clone(), |value| family.with(&[(attribute, direction)], value));
        }
        family
    };
    let cpu = Family::new("process.cpu.time", Unit::Seconds, Kind::Counter, "Processor time of all threads");
    let resident = Family::new("process.memory.usage", Unit::Bytes, Kind::UpDownCounter, "Memory that is resident");
    let reserved = Family::new("process.memory.virtual", Unit::Bytes, Kind::UpDownCounter, "Memory that is reserved");
    let files_open = Unit::Things("{file_descriptor}");
    let open = Family::new(
        "process.unix.file_descriptor.count",
        files_open,
        Kind::UpDownCounter,
        "Files, sockets and pipes that are open",
    );
    let disk = Family::new("process.disk.io", Unit::Bytes, Kind::Counter, "Bytes read from and written to storage");
    let calls = Family::new(
        "instr.process.io",
        Unit::Bytes,
        Kind::Counter,
        "Bytes through the system calls read and write: files, pipes, and sockets that are used as files",
    );
    vec![
        one(cpu, Some(Value::Number(process_cpu_time().as_secs_f64()))),
        one(resident, kilobytes("VmRSS")),
        one(reserved, kilobytes("VmSize")),
        one(open, files.open_files.map(|count| Value::Integer(count as u64))),
        both(disk, "disk.io.direction", [("read", bytes("read_bytes")), ("write", bytes("write_bytes"))]),
        both(calls, "io.direction", [("read", bytes("rchar")), ("write", bytes("wchar"))]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_of_this_process_what_it_does() {
        let before = process_families(&ProcessFiles::read());
        let written = tempdir_file();
        let after = process_families(&ProcessFiles::read());
        let value = |families: &[Family], name: &str, series: usize| {
            let family = families.iter().find(|family| family.name == name).unwrap();
            match family.series.get(series).unwrap().value {
                Value::Integer(number) => number as f64,
                Value::Number(number) => number,
                _ => panic!("{name} is a number"),
            }
        };
        let grown = |name, series| value(&after, name, series) - value(&before, name, series);
        assert!(grown("instr.process.io", 1) >= written as f64, "{}", grown("instr.process.io", 1));
        assert!(grown("process.cpu.time", 0) > 0.0);
        assert!(value(&after, "process.memory.usage", 0) > 1e6);
        assert!(value(&after, "process.memory.virtual", 0) >= value(&after, "process.memory.usage", 0));
        assert!(value(&after, "process.unix.file_descriptor.count", 0) >= 3.0);
        assert!(value(&after, "process.disk.io", 0) >= 0.0);
    }

    fn tempdir_file() -> usize {
        let path = std::env::temp_dir().join(format!("instr-environment-{}", std::process::id()));
        let bytes = vec![7; 1 << 20];
        fs::write(&path, &bytes).unwrap();
        fs::remove_file(&path).unwrap();
        bytes.len()
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_left_out() {
        let families = process_families(&ProcessFiles::default());
        let told: Vec<_> =
            families.iter().filter(|family| !family.series.is_empty()).map(|family| family.name).collect();
        assert_eq!(told, ["process.cpu.time"]);
    }
}
