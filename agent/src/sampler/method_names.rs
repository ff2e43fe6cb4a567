//! The names behind the JVM's method ids, asked once.

use rustc_hash::FxHashMap;

use super::sample_queue::{QueuedFrame, QueuedItem, SampleQueue};
use crate::jvm::{Jni, Jvmti, MethodFacts, MethodId};

/// So many methods are known at a time; then all are told again, under new numbers. Programs that make classes all the time have ever
/// new ones.
const MOST: usize = 100_000;

/// Methods by id, with the numbers that the queue knows them by.
#[derive(Debug, Default)]
pub(super) struct MethodNames {
    known: FxHashMap<MethodId, Known>,
    next: u32,
    /// All methods have been told to so many who look at copies of the samples.
    told_to: u32,
    unloaded: Option<u32>,
    unnamed: Option<u32>,
}

#[derive(Debug)]
struct Known {
    number: u32,
    lines: Vec<(u32, u32)>,
}

impl MethodNames {
    /// A frame for the queue, which has been told the method afterwards.
    pub(super) fn frame(
        &mut self,
        (jvmti, jni): (Jvmti, &Jni<'_>),
        queue: &SampleQueue,
        (method, offset): (Option<MethodId>, Option<u32>),
    ) -> QueuedFrame {
        let looks = queue.looks();
        if std::mem::replace(&mut self.told_to, looks) != looks {
            *self = MethodNames { next: self.next, told_to: looks, ..MethodNames::default() };
        }
        let stand_in = |number| QueuedFrame { method: number, line: 0, offset };
        let Some(id) = method else {
            let number = self.unnamed.unwrap_or_else(|| self.tell(queue, stand_in_facts("no id")));
            self.unnamed = Some(number);
            return stand_in(number);
        };
        if !self.known.contains_key(&id) {
            let Some(facts) = id.facts(jvmti, jni) else {
                let number = self.unloaded.unwrap_or_else(|| self.tell(queue, stand_in_facts("class unloaded")));
                self.unloaded = Some(number);
                return stand_in(number);
            };
            if self.known.len() >= MOST {
                self.known.clear();
            }
            let lines = facts.lines.clone();
            let number = self.tell(queue, facts);
            self.known.insert(id, Known { number, lines });
        }
        let known = self.known.get(&id);
        let line = known.zip(offset).map_or(0, |(known, offset)| line_at(&known.lines, offset));
        QueuedFrame { method: known.map_or(0, |known| known.number), line, offset }
    }

    fn tell(&mut self, queue: &SampleQueue, facts: MethodFacts) -> u32 {
        let number = self.next;
        queue.push(QueuedItem::Method { number, facts });
        self.next += 1;
        number
    }
}

/// A method that cannot be named, and why.
fn stand_in_facts(why: &str) -> MethodFacts {
    MethodFacts {
        class: b"instr/UnknownMethod".to_vec(),
        name: why.as_bytes().to_vec(),
        descriptor: b"()V".to_vec(),
        access_flags: 0,
        is_modifiable: false,
        lines: Vec::new(),
    }
}

/// The line of an offset in the bytecode, 0 if unknown.
fn line_at(lines: &[(u32, u32)], offset: u32) -> u32 {
    let after = lines.partition_point(|(start, _)| *start <= offset);
    after.checked_sub(1).and_then(|index| lines.get(index)).map_or(0, |(_, line)| *line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_call_is_the_one_that_begins_before_it() {
        let lines = [(0, 10), (4, 11), (9, 13)];
        assert_eq!([0, 3, 4, 8, 9, 500].map(|offset| line_at(&lines, offset)), [10, 10, 11, 11, 13, 13]);
        assert_eq!(line_at(&[(2, 7)], 1), 0);
    }
}
