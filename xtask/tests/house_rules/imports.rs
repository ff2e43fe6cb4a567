//! Which file of the agent imports which: folders form no circle, and within a folder neither do its files.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::{code_lines, violations};

/// A module by the names that lead to it from the crate: `["classes", "hierarchy", "known"]`.
type Module = Vec<String>;
type Imports = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn folders_of_the_agent_import_each_other_in_no_circle() {
    let folder = |module: &Module| module.first().cloned().unwrap_or_default();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, used) in imports() {
        uses.entry(folder(&module)).or_default().extend(used.iter().map(folder));
    }
    let circle = in_circles(&uses);
    assert!(circle.is_empty(), "folders in a circle: {circle:?}");
    uses.entry("jvm".to_owned()).or_default().insert("session".to_owned());
    assert!(in_circles(&uses).contains("session"), "a circle is found");
}

#[test]
fn files_of_the_agent_import_each_other_in_no_circle() {
    // A `mod.rs` shows what its files declare, and they use each other by way of it: only files without files below them count.
    let imports = imports();
    let has_files =
        |module: &Module| imports.keys().any(|other| other.len() > module.len() && other.starts_with(module));
    let uses = imports.iter().filter(|(module, _)| !has_files(module));
    let uses: Imports = uses.map(|(module, used)| (module.clone(), used.clone())).collect();
    let circle = in_circles(&uses);
    assert!(circle.is_empty(), "files in a circle: {circle:?}");
    assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 300, "imports are found");
}

#[test]
fn imports_are_resolved() {
    let known: BTreeSet<Module> = [&["a"][..], &["a", "b"], &["a", "c"], &["d"]].map(names).into();
    let code = "use crate::{a::{b::X, c}, d}; use super::c::Y; fn f() { crate::d::say(); self::g() }";
    let found = imported(code, &names(&["a", "b"]), &known);
    assert_eq!(found, [names(&["a", "c"]), names(&["d"])].into());
}

fn names(of: &[&str]) -> Module {
    of.iter().map(|name| (*name).to_owned()).collect()
}

/// Which module of the agent uses which, tests left out.
fn imports() -> Imports {
    let files: RefCell<BTreeMap<Module, String>> = RefCell::default();
    // Nothing is a violation here: every file is only read.
    violations(&["rs"], |path, text| {
        let inside = path.strip_prefix("agent/src/")?.strip_suffix(".rs")?;
        let inside = inside.strip_suffix("/mod").unwrap_or(inside);
        let is_left_out = inside == "lib" || inside.ends_with("tests");
        let production = text.split(concat!("#[cfg(", "test)]")).next().unwrap_or(text);
        let code: String = code_lines(production).flat_map(|(_, line)| [line, "\n"]).collect();
        (!is_left_out).then(|| files.borrow_mut().insert(names(&inside.split('/').collect::<Vec<_>>()), code));
        None
    });
    let files = files.into_inner();
    let known = files.keys().cloned().collect();
    files.iter().map(|(module, code)| (module.clone(), imported(code, module, &known))).collect()
}

/// The other modules among `known` that the code of `module` names, in `use` declarations and in paths.
fn imported(code: &str, module: &Module, known: &BTreeSet<Module>) -> BTreeSet<Module> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("::") {
        let start = code[..at].rfind(|c| !is_word(c)).map_or(0, |before| before + 1);
        let is_inside_a_path = code[..start].ends_with("::");
        if is_inside_a_path || !["crate", "super", "self"].contains(&&code[start..at]) {
            continue;
        }
        for path in paths(&code[start..]) {
            let mut base = if path[0] == "crate" { Module::new() } else { module.clone() };
            let up = path.iter().filter(|name| *name == "super").count();
            base.truncate(base.len().saturating_sub(up));
            base.extend(path.into_iter().filter(|name| !["crate", "super", "self"].contains(&name.as_str())));
            let longest =
                (1..=base.len()).rev().map(|length| base[..length].to_vec()).find(|part| known.contains(part));
            found.extend(longest.filter(|used| used != module));
        }
    }
    found
}

/// The paths that `text` begins with: one, or one for each name in braces.
fn paths(text: &str) -> Vec<Module> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(text.len());
    let words = |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect::<Module>();
    let first = words(&text[..end]);
    let Some(list) = text[end..].strip_prefix('{').filter(|_| text[..end].ends_with("::")) else { return vec![first] };
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for c in list.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            _ if depth < 0 => break,
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().unwrap().push(c),
        }
    }
    let whole =
        |part: &String| paths(part.trim()).into_iter().map(|rest| [first.clone(), rest].concat()).collect::<Vec<_>>();
    parts.iter().flat_map(whole).collect()
}

/// What is left when those that need nobody and those that nobody needs are taken away, again and again.
fn in_circles<T: Ord + Clone>(uses: &BTreeMap<T, BTreeSet<T>>) -> BTreeSet<T> {
    let mut left: BTreeSet<T> = uses.keys().cloned().collect();
    loop {
        let needs = |a: &T, b: &T| a != b && uses[a].contains(b);
        let stays = |one: &T| left.iter().any(|other| needs(one, other)) && left.iter().any(|other| needs(other, one));
        let (kept, gone): (BTreeSet<_>, BTreeSet<_>) = left.iter().cloned().partition(stays);
        left = kept;
        if gone.is_empty() {
            return left;
        }
    }
}
