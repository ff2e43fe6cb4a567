//! The call tree of a running JVM up to now, as its agent keeps it up: no file is needed.

use std::io::{Write, stdout};

use anyhow::Result;
use control::{CallTree, Request};
use trace::report::{count, duration};

use crate::running_agent::{ask_call_tree, ask_text};

/// Calls with a smaller share of the time, in percent, are not printed.
const SMALLEST_SHARE: f64 = 1.0;
const MOST_LINES: usize = 150;

/// Prints the tree once, as text or as the agent's JSON.
pub(crate) fn print_tree(pid: u32, json: bool) -> Result<()> {
    let text = if json {
        ask_text(pid, &Request::CallTree { stream: false })?.trim_end().to_owned()
    } else {
        lines(&ask_call_tree(pid)?).join("\n")
    };
    writeln!(stdout(), "{text}")?;
    Ok(())
}

fn lines(tree: &CallTree) -> Vec<String> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    let mut waiting: Vec<(usize, usize)> = Vec::new();
    for (index, node) in tree.nodes.iter().enumerate() {
        match node.parent.and_then(|parent| below.get_mut(parent)) {
            Some(children) => children.push(index),
            None => waiting.push((index, 0)),
        }
    }
    let total_of = |index: usize| tree.nodes.get(index).map_or(0, |node| node.total);
    let all: u64 = waiting.iter().map(|(index, _)| total_of(*index)).fold(0, u64::saturating_add);
    let smallest = SMALLEST_SHARE / 100.0 * all as f64;
    let mut lines = vec![format!("{:>9} {:>5} {:>9} {:>11}  call tree up to now", "total", "%", "own", "calls")];
    waiting.sort_by_key(|(index, _)| total_of(*index));
    let mut hidden = 0;
    while let Some((index, depth)) = waiting.pop() {
        let Some(node) = tree.nodes.get(index) else { continue };
        if (node.total as f64) < smallest || lines.len() > MOST_LINES {
            hidden += paths(&below, index);
            continue;
        }
        let share = 100.0 * node.total as f64 / all.max(1) as f64;
        let (total, own, calls) = (duration(node.total), duration(node.own), count(node.calls));
        let indent = "  ".repeat(depth);
        lines.push(format!("{total:>9} {share:>5.1} {own:>9} {calls:>11}  {indent}{}", node.method));
        let mut children = below.get(index).cloned().unwrap_or_default();
        children.sort_by_key(|child| total_of(*child));
        waiting.extend(children.into_iter().map(|child| (child, depth + 1)));
    }
    if hidden > 0 {
        lines.push(format!("  ... {} more with little time", count(hidden)));
    }
    if tree.left_out > 0 {
        lines.push(format!("  {} calls are not in the tree: too deep, or too many paths", count(tree.left_out)));
    }
    if tree.misplaced > 0 {
        lines.push(format!("  {} groups of calls may stand too far out", count(tree.misplaced)));
    }
    lines
}

/// The number of nodes from `node` down.
fn paths(below: &[Vec<usize>], node: usize) -> u64 {
    let mut left = vec![node];
    let mut paths = 0;
    while let Some(node) = left.pop() {
        paths += 1;
        left.extend(below.get(node).into_iter().flatten());
    }
    paths
}

#[cfg(test)]
mod tests {
    use control::TreeNode;

    use super::*;

    #[test]
    fn callees_stand_below_their_callers_the_longest_first() {
        let node =
            |parent, method: &str, total, own| TreeNode { parent, method: method.to_owned(), calls: 2, total, own };
        let nodes = vec![
            node(None, "a.Other.run", 300, 300),
            node(None, "a.Main.main", 9_700, 700),
            node(Some(1), "a.B.short", 2_000, 2_000),
            node(Some(1), "a.B.long", 7_000, 7_000),
            node(Some(3), "a.B.tiny", 5, 3),
            node(Some(4), "a.B.tinier", 2, 2),
        ];
        let lines = lines(&CallTree { nodes, left_out: 3, misplaced: 0 });
        let names: Vec<String> = lines.iter().map(|line| line.chars().skip(39).collect()).collect();
        assert_eq!(names[1..5], ["a.Main.main", "  a.B.long", "  a.B.short", "a.Other.run"]);
        assert!(lines[1].contains("97.0") && lines[5].contains("2 more") && lines[6].contains("3 calls"), "{lines:?}");
    }
}
