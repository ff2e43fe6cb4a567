//! The names behind the JVM's method ids, asked once.

use rustc_hash::FxHashMap;

use super::sample_queue::{QueuedFrame, QueuedItem, SampleQueue};
use crate::jvm::{Jni, Jvmti, MethodFacts, MethodId};

/// So many methods are known at a time; then all are defined again, under new numbers. Programs that make classes all the time have ever
/// new ones.
const MOST: usize = 100_000;
const UNLOADED: &str = "class unloaded";

/// Methods by id, with the numbers that the queue knows them by.
#[derive(Debug, Default)]
pub(super) struct MethodNames {
    known: FxHashMap<MethodId, Known>,
    next: u32,
    unloaded: Option<Known>,
    without_id: Option<Known>,
}

#[derive(Debug, Default)]
struct Known {
    number: u32,
    lines: Vec<(u32, u32)>,
    /// The last reader of copies that has its definition.
    defined_for: u32,
}

impl MethodNames {
    /// A frame for the queue, which has the definition of its method afterwards.
    pub(super) fn frame(
        &mut self,
        (jvmti, jni): (Jvmti, &Jni<'_>),
        queue: &SampleQueue,
        (method, offset): (Option<MethodId>, Option<u32>),
    ) -> QueuedFrame {
        let Some(id) = method else {
            return QueuedFrame {
                method: stand_in(&mut self.without_id, &mut self.next, queue, WITHOUT_ID),
                line: 0,
                offset,
            };
        };
        if !self.known.contains_key(&id) {
            let Some(facts) = id.facts(jvmti, jni) else {
                let method = stand_in(&mut self.unloaded, &mut self.next, queue, UNLOADED);
                return QueuedFrame { method, line: 0, offset };
            };
            if self.known.len() >= MOST {
                self.known.clear();
            }
            let known = define(&mut self.next, queue, facts, None);
            self.known.insert(id, known);
        }
        let Some(known) = self.known.get_mut(&id) else { return QueuedFrame { method: 0, line: 0, offset } };
        if std::mem::replace(&mut known.defined_for, queue.readers()) != queue.readers() {
            let facts = id.facts(jvmti, jni);
            let unnamed = facts.is_none().then_some(UNLOADED);
            let facts = facts.unwrap_or_else(|| stand_in_facts(UNLOADED));
            queue.define_again(QueuedItem::Method { number: known.number, facts, unnamed });
        }
        let line = offset.map_or(0, |offset| line_at(&known.lines, offset));
        QueuedFrame { method: known.number, line, offset }
    }
}

fn define(next: &mut u32, queue: &SampleQueue, facts: MethodFacts, unnamed: Option<&'static str>) -> Known {
    let known = Known { number: *next, lines: facts.lines.clone(), defined_for: queue.readers() };
    *next += 1;
    queue.push(QueuedItem::Method { number: known.number, facts, unnamed });
    known
}

/// The number of the method that represents those without a name, for this reason.
fn stand_in(place: &mut Option<Known>, next: &mut u32, queue: &SampleQueue, why: &'static str) -> u32 {
    let known = place.get_or_insert_with(|| define(next, queue, stand_in_facts(why), Some(why)));
    if std::mem::replace(&mut known.defined_for, queue.readers()) != queue.readers() {
        let (number, facts) = (known.number, stand_in_facts(why));
        queue.define_again(QueuedItem::Method { number, facts, unnamed: Some(why) });
    }
    known.number
}

/// As for frames that execute code from before their class was changed.
const WITHOUT_ID: &str = "no name: its class was changed or unloaded meanwhile";

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
