//! Statements, requests and transfers within another call of the same category. Rules with `outermost = true` have each counted once:
//! its inner calls are recorded as calls only.

use parking_lot::RwLock;
use records::Detail;
use rustc_hash::FxHashSet;

/// The numbers of probes whose inner calls are not counted.
#[derive(Debug, Default)]
pub(crate) struct InnerCalls {
    outermost_only: RwLock<FxHashSet<u32>>,
}

impl InnerCalls {
    /// From now on, calls of these probes, `numbers` of them from `first` on, are counted only outside of others of their category.
    pub(crate) fn count_outermost_only(&self, first: u32, numbers: u32) {
        self.outermost_only.write().extend(first..first.saturating_add(numbers));
    }

    /// Returns the detail as it is counted; `None` if it is to be recorded as a call only.
    pub(crate) fn counted<'d>(&self, detail: Detail<'d>) -> Option<Detail<'d>> {
        match detail.kind {
            b'j' | b'h' | b'c' | b's' if self.outermost_only.read().contains(&detail.probe) => None,
            b'j' | b'h' | b'c' | b's' => Some(Detail { kind: detail.kind.to_ascii_uppercase(), ..detail }),
            _ => Some(detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_call_counts_unless_its_rule_counts_the_outermost_only() {
        let inner_calls = InnerCalls::default();
        inner_calls.count_outermost_only(10, 4);
        let kind = |kind: u8, probe: u32| {
            let detail = Detail { kind, probe, start: 1, duration: 2, number: 0, text: b"select 1" };
            inner_calls.counted(detail).map(|detail| char::from(detail.kind))
        };
        assert_eq!([kind(b'J', 10), kind(b'j', 10), kind(b'j', 13)], [Some('J'), None, None]);
        assert_eq!(
            [kind(b'j', 14), kind(b'h', 9), kind(b's', 9), kind(b'c', 9)].map(Option::unwrap),
            ['J', 'H', 'S', 'C']
        );
        assert_eq!([kind(b'A', 10), kind(b'a', 10)], [Some('A'), Some('a')], "values of calls are no category");
    }
}
