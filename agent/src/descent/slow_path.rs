//! Where the time of one slow call went.

use super::tree::{NodeAt, NodeOf, Tree};
use crate::call_sites::{Cell, Sum};

/// What takes less than this part of the call is none of its path.
const LEAST_PART: u64 = 10;

/// Returns the calls in which the time of one call of the root went, each within the one before and the longest there, by what the call took at its cells. A call whose method is measured has
/// the name of that.
pub(crate) fn slow_path(tree: &Tree, cells: &[(Cell, Sum)]) -> Vec<(String, Sum)> {
    let sum = |at: NodeAt| {
        let cell = tree.get(at)?.cell?;
        cells.iter().find(|(of, _)| *of == cell).map(|(_, sum)| *sum)
    };
    let whole = sum(0).map_or(0, |sum| sum.time);
    let mut path: Vec<(String, Sum)> = Vec::new();
    let mut at = 0;
    loop {
        let below = tree.children(at).filter_map(|child| Some((child, sum(child)?)));
        let Some((longest, sum)) = below.max_by_key(|(_, sum)| sum.time) else { return path };
        if sum.time < whole / LEAST_PART {
            return path;
        }
        let Some(node) = tree.get(longest) else { return path };
        match (&node.of, path.last_mut()) {
            (NodeOf::Method(_), Some((called, _))) => called.clone_from(&node.text),
            _ => path.push((node.text.clone(), sum)),
        }
        at = longest;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use instrument_core::facts::call_sites::{Call, CallKind, Target};

    use super::*;
    use crate::call_sites::{FoundCall, MethodKey};

    fn key(name: &str) -> MethodKey {
        let [class, name, descriptor] = ["a/B", name, "()V"].map(|text| Arc::from(text.as_bytes()));
        MethodKey { class, loader: 1, name, descriptor }
    }

    fn call(name: &str) -> FoundCall {
        let target = Target::Unknown(name.as_bytes().into(), b"()V"[..].into());
        FoundCall { call: Call { kind: CallKind::Static, target, offsets: vec![0], lines: vec![] }, refused: None }
    }

    fn name(found: &FoundCall) -> String {
        match &found.call.target {
            Target::Unknown(name, _) => String::from_utf8_lossy(name).into_owned(),
            _ => String::new(),
        }
    }

    #[test]
    fn the_path_goes_on_with_what_took_longest_in_this_call() {
        let mut tree = Tree::default();
        tree.add_method(None, (key("root"), "root".to_owned()), (0, &[call("short"), call("long")]), &name);
        tree.add_method(Some(2), (key("impl"), "impl".to_owned()), (3, &[call("deep"), call("none")]), &name);
        let sum = |calls, time| Sum { calls, time };
        let path = |cells: &[(Cell, Sum)]| {
            slow_path(&tree, cells).into_iter().map(|(text, sum)| (text, sum.time)).collect::<Vec<_>>()
        };
        let cells = [(0, sum(1, 100)), (1, sum(2, 5)), (2, sum(1, 90)), (3, sum(1, 89)), (4, sum(1, 80))];
        assert_eq!(path(&cells), [("impl".to_owned(), 90), ("deep".to_owned(), 80)]);
        let cells = [(0, sum(1, 100)), (1, sum(2, 60)), (2, sum(1, 30)), (3, sum(1, 29))];
        assert_eq!(path(&cells), [("short".to_owned(), 60)], "another call is slow for another reason");
        assert_eq!(path(&[(0, sum(1, 100)), (1, sum(1, 9))]), [], "its own code");
        assert_eq!(path(&[]), []);
    }
}
