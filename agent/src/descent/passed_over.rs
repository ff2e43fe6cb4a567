//! Long ways: a call leads through dozens of methods of frameworks before anything is decided. Measuring each of them would change as many classes, and
//! stop the application as often, to show one figure again and again. Measured are the methods of the application's own packages, those where stacks part, and the
//! last one; the others are only named.

use instrument_core::internal_name::package_of;

use super::stacks::Step;

/// Ways that are not longer are measured at every level.
const SHORT: usize = 6;
/// Most methods of a way that are measured at once.
const MOST: usize = 6;
/// Stacks part where fewer than this fraction of them goes on the same way.
const NEARLY_ALL: f64 = 0.9;
/// Parts of a package's name that the application's packages have in common, such as `com.acme`.
const COMMON_PARTS: usize = 2;

/// Returns the methods of a way that are measured, each with those that are passed over before it. `root` is the class that is diagnosed, by its internal name.
pub(crate) fn thinned(way: Vec<Step>, root: &[u8]) -> Vec<Step> {
    if way.len() <= SHORT {
        return way;
    }
    let last = way.len() - 1;
    let (mut measured, mut passed): (Vec<Step>, Vec<_>) = (Vec::new(), Vec::new());
    for (at, step) in way.into_iter().enumerate() {
        let is_own = common_package(&step.method.key.class) == common_package(root);
        if is_own || at == last || step.part_that_goes_on < NEARLY_ALL {
            measured.push(Step { passed: std::mem::take(&mut passed), ..step });
        } else {
            passed.push(step.method);
        }
        if measured.len() == MOST {
            break;
        }
    }
    measured
}

/// Returns the first levels of a way, all of which are measured.
pub(crate) fn level_by_level(mut way: Vec<Step>) -> Vec<Step> {
    way.truncate(MOST);
    way
}

fn common_package(class: &[u8]) -> &[u8] {
    let package = package_of(class);
    let ends = package.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let end = ends.chain([package.len()]).nth(COMMON_PARTS - 1).unwrap_or(package.len());
    package.get(..end).unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::stacks::FrameMethod;
    use super::super::tree::tests::key;
    use super::*;

    fn way(names: &[&str]) -> Vec<Step> {
        let method = |name: &&str| FrameMethod {
            key: key(name),
            text: (*name).to_owned(),
            is_native: false,
            is_synchronized: false,
            is_fixed: false,
        };
        let step = |name| Step {
            method: Arc::new(method(name)),
            callee: None,
            offset: None,
            part_that_goes_on: 1.0,
            passed: Vec::new(),
        };
        names.iter().map(step).collect()
    }

    /// `P.a P.b > Till.pay`: what was passed over, and what is measured.
    fn shown(way: &[Step]) -> Vec<String> {
        let passed = |step: &Step| step.passed.iter().map(|method| method.text.clone()).collect::<Vec<_>>().join(" ");
        way.iter().map(|step| format!("{} > {}", passed(step), step.method.text)).collect()
    }

    #[test]
    fn of_a_long_way_own_methods_and_the_last_one_are_measured() {
        let names =
            ["x/P.a", "x/P.b", "com/acme/shop/Till.pay", "x/P.c", "x/Q.d", "com/acme/db/Db.get", "y/R.e", "y/R.f"];
        let thin = thinned(way(&names), b"com/acme/web/Start");
        assert_eq!(
            shown(&thin),
            ["x/P.a x/P.b > com/acme/shop/Till.pay", "x/P.c x/Q.d > com/acme/db/Db.get", "y/R.e > y/R.f"]
        );
        assert_eq!(thinned(way(&names[..6]), b"z/Z").len(), 6, "a short way is measured at each level");
        assert_eq!(level_by_level(way(&names)).len(), 6);
    }

    #[test]
    fn where_stacks_part_is_measured_and_a_way_of_own_methods_is_followed_in_parts() {
        let mut all = way(&["x/P.a", "x/P.b", "x/P.c", "x/P.d", "x/P.e", "x/P.f", "x/P.g"]);
        all[2].part_that_goes_on = 0.7;
        assert_eq!(shown(&thinned(all.clone(), b"z/Z")), ["x/P.a x/P.b > x/P.c", "x/P.d x/P.e x/P.f > x/P.g"]);
        assert_eq!(thinned(all, b"x/Other").len(), 6);
    }
}
