//! The choice of branches: the smallest set that explains nearly all of what makes a method slow.

/// A branch of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Branch {
    /// A call, by its place in the tree.
    Call(usize),
    OwnCode,
}

/// So much of a method's share is to be explained.
pub(super) const EXPLAINED: f64 = 0.9;
/// A branch explains at least this part of the root's time.
pub(super) const LEAST: f64 = 0.1;
/// Most branches.
const MOST: usize = 3;

/// Returns the branches to follow of a method that explains this share; all shares are those of the root.
pub(super) fn choose(mut branches: Vec<(Branch, f64)>, of_method: f64) -> Vec<Branch> {
    branches.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let (mut chosen, mut explained) = (Vec::new(), 0.0);
    for (branch, share) in branches {
        if share < LEAST || chosen.len() == MOST || explained >= of_method * EXPLAINED {
            break;
        }
        explained += share;
        chosen.push(branch);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(shares: &[f64], of_method: f64) -> Vec<usize> {
        let branches = shares.iter().enumerate().map(|(at, share)| (Branch::Call(at), *share)).collect();
        let calls = choose(branches, of_method).into_iter();
        calls.map(|branch| if let Branch::Call(at) = branch { at } else { panic!("only calls") }).collect()
    }

    #[test]
    fn the_smallest_set_that_explains_nine_tenths() {
        assert_eq!(chosen(&[0.05, 0.92, 0.03], 1.0), [1]);
        assert_eq!(chosen(&[0.3, 0.65, 0.05], 1.0), [1, 0]);
        assert_eq!(chosen(&[0.25, 0.25, 0.25, 0.25], 1.0).len(), 3, "three at most");
        assert_eq!(chosen(&[0.09, 0.08], 0.2), [] as [usize; 0], "a tenth of the root at least");
        assert_eq!(chosen(&[0.19, 0.01], 0.2), [0], "of a method that explains little itself");
    }
}
