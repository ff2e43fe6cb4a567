//! HotSpot's performance counters, decoded from the memory in which it keeps them (the format that `jstat` reads, version 2).

use rustc_hash::FxHashMap;

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];

/// Counters by name.
#[derive(Debug, Default)]
pub struct PerfCounters {
    numbers: FxHashMap<String, u64>,
    texts: FxHashMap<String, String>,
}

impl PerfCounters {
    /// Decodes a copy of the memory; `None` if it is something else.
    pub fn decode(memory: &[u8]) -> Option<PerfCounters> {
        if memory.get(..4)? != MAGIC {
            return None;
        }
        let mut counters = PerfCounters::default();
        let mut at = word(memory, 24)? as usize;
        for _ in 0..word(memory, 28)? {
            let length = word(memory, at)? as usize;
            let entry = memory.get(at..at.checked_add(length)?)?;
            if counters.add(entry).is_none() {
                break;
            }
            at += length;
        }
        Some(counters)
    }

    fn add(&mut self, entry: &[u8]) -> Option<()> {
        let name = text(entry.get(word(entry, 4)? as usize..)?);
        let data = entry.get(word(entry, 16)? as usize..)?;
        match entry.get(12)? {
            b'J' => drop(self.numbers.insert(name, u64::from_ne_bytes(data.get(..8)?.try_into().ok()?))),
            b'B' => drop(self.texts.insert(name, text(data))),
            _ => {}
        }
        Some(())
    }

    /// Counters with these values.
    #[must_use]
    pub fn of_numbers(numbers: &[(&str, u64)]) -> PerfCounters {
        let numbers = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        PerfCounters { numbers, ..PerfCounters::default() }
    }

    /// A counter.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.numbers.get(name).copied()
    }

    /// A counter that HotSpot keeps in ticks of its clock, in seconds.
    pub fn seconds(&self, name: &str) -> Option<f64> {
        let frequency = self.number("sun.os.hrt.frequency").filter(|frequency| *frequency > 0)?;
        Some(self.number(name)? as f64 / frequency as f64)
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: u8, data: &[u8]) -> Vec<u8> {
        let name_bytes = (name.len() + 1).next_multiple_of(8);
        let length = 24 + name_bytes + data.len().next_multiple_of(8);
        let mut entry = Vec::new();
        for number in [length as u32, 24, 0] {
            entry.extend(number.to_ne_bytes());
        }
        entry.extend([kind, 0, 0, 0]);
        entry.extend((24 + name_bytes as u32).to_ne_bytes());
        entry.resize(24, 0);
        entry.extend(name.as_bytes());
        entry.resize(24 + name_bytes, 0);
        entry.extend(data);
        entry.resize(length, 0);
        entry
    }

    fn memory(entries: &[Vec<u8>]) -> Vec<u8> {
        let mut memory = MAGIC.to_vec();
        memory.extend([1, 2, 0, 1]);
        memory.resize(24, 0);
        memory.extend(32_u32.to_ne_bytes());
        memory.extend((entries.len() as u32).to_ne_bytes());
        entries.iter().for_each(|entry| memory.extend(entry));
        memory
    }

    #[test]
    fn numbers_texts_and_times_are_found_by_name() {
        let memory = memory(&[
            entry("sun.os.hrt.frequency", b'J', &1_000_000_u64.to_ne_bytes()),
            entry("sun.gc.collector.0.name", b'B', b"G1 young\0"),
            entry("sun.gc.collector.0.time", b'J', &2_500_000_u64.to_ne_bytes()),
        ]);
        let counters = PerfCounters::decode(&memory).unwrap();
        assert_eq!(counters.text("sun.gc.collector.0.name"), Some("G1 young"));
        assert_eq!(counters.seconds("sun.gc.collector.0.time"), Some(2.5));
        assert_eq!(counters.number("java.threads.live"), None);
    }

    #[test]
    fn damaged_memory_never_does_harm() {
        let whole = memory(&[entry("a", b'J', &7_u64.to_ne_bytes()), entry("b", b'B', b"text")]);
        assert!(PerfCounters::decode(b"").is_none() && PerfCounters::decode(&[0; 64]).is_none());
        for at in 0..whole.len() {
            for value in [0, 1, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = PerfCounters::decode(&damaged);
            }
            let _ = PerfCounters::decode(&whole[..at]);
        }
    }
}
