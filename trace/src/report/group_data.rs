//! Figures by module, package and class, as JSON.

use serde::Serialize;

use crate::analysis::{CallTree, Frame, GroupRow, Grouping, groups};

/// Groups of each kind in a report; those with less time are one row.
const MOST_GROUPS: usize = 2_000;

/// The same figures by module, by package and by class: each list adds up to the same own time.
#[derive(Debug, Serialize)]
pub(super) struct Views {
    modules: Vec<Group>,
    packages: Vec<Group>,
    classes: Vec<Group>,
    /// Whether some methods are listed under their package in `modules`, because their module is not known.
    modules_are_packages: bool,
}

#[derive(Debug, Serialize)]
struct Group {
    name: String,
    methods: u64,
    calls: u64,
    own: u64,
    total: u64,
    estimated: bool,
}

impl Views {
    pub(super) fn of(tree: &CallTree, frames: &[Frame]) -> Views {
        let list = |grouping| bounded(groups(tree, frames, grouping));
        Views {
            modules: list(Grouping::Module),
            packages: list(Grouping::Package),
            classes: list(Grouping::Class),
            modules_are_packages: frames.iter().any(|frame| frame.module.is_empty()),
        }
    }
}

/// The rows with the most time, and one that sums up the others. Calls of those may contain each other, so that row has no
/// total beyond its own time.
fn bounded(mut rows: Vec<GroupRow>) -> Vec<Group> {
    let others = rows.split_off(rows.len().min(MOST_GROUPS));
    let mut groups: Vec<Group> = rows.into_iter().map(Group::of).collect();
    if !others.is_empty() {
        let mut rest = GroupRow { name: format!("({} more)", others.len()), ..GroupRow::default() };
        for row in others {
            rest.methods += row.methods;
            rest.calls += row.calls;
            rest.estimated_calls += row.estimated_calls;
            rest.own = rest.own.saturating_add(row.own);
        }
        rest.total = rest.own;
        groups.push(Group::of(rest));
    }
    groups
}

impl Group {
    fn of(row: GroupRow) -> Group {
        let GroupRow { name, methods, calls, estimated_calls, own, total, .. } = row;
        Group { name, methods, calls, own, total, estimated: estimated_calls > 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_that_are_left_out_are_still_in_the_sum() {
        let row =
            |own: u64| GroupRow { name: own.to_string(), methods: 1, calls: 1, own, total: own, ..GroupRow::default() };
        let rows: Vec<GroupRow> = (1..=MOST_GROUPS as u64 + 3).rev().map(row).collect();
        let whole: u64 = rows.iter().map(|row| row.own).sum();
        let groups = bounded(rows);
        assert_eq!(groups.len(), MOST_GROUPS + 1);
        assert_eq!(groups.iter().map(|group| group.own).sum::<u64>(), whole);
        assert_eq!((groups[MOST_GROUPS].name.as_str(), groups[MOST_GROUPS].own), ("(3 more)", 6));
    }
}
