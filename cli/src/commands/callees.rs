//! `instr callees`: what a method of a running JVM may call, level by level.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write, stdout};

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use control::{Callee, CalleeCall, Callees, Request};
use instrument_core::facts::call_sites::CallKind;
use serde_json::{Value as Json, json};
use trace::report::{count, counted};

use crate::running_agent::ask;

/// List what a method of a running JVM may call, whether it ever does or not, level by level: each with the state of its probe, and why it can have
/// none. Changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// The method as `package.Class.method`: all of its overloads; or `'package.Class.method(int, String)'`: one of them.
    method: String,
    /// How many levels: 1 is what the method itself may call.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=20))]
    depth: u64,
    /// Only calls by these instructions: `virtual`, `special`, `static`, `interface`, `dynamic`. Default: all.
    #[arg(long, value_delimiter = ',', value_parser = PossibleValuesParser::new(OPCODES).map(opcode))]
    opcodes: Option<Vec<CallKind>>,
    /// Only of class loaders of this name or class, with `*`. Default: all that have the class.
    #[arg(long)]
    loader: Option<String>,
    /// Most methods that are listed. Default: 1,000.
    #[arg(long)]
    most: Option<usize>,
    /// Most methods that are listed for a call because they override or implement the one that it names. Default: 8.
    #[arg(long)]
    implementers: Option<usize>,
    /// Classes whose constants or file are larger are not looked into, in KiB. Default: 1,024.
    #[arg(long)]
    class_kb: Option<u64>,
    /// With `--json`: how many methods the context has at most that is proposed for a callee, the nearest ones on the way to it. Default: 3. The longer, the
    /// fewer calls are recorded in it.
    #[arg(long, value_name = "METHODS", requires = "json", value_parser = clap::value_parser!(u64).range(1..=16))]
    within: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Methods of the context that is proposed for a callee, unless the command line states another number.
const NEAREST: u64 = 3;
/// What makes the letters that follow italic, and what ends that.
const ITALIC: &str = "\x1b[3m";
const UPRIGHT: &str = "\x1b[0m";
const OPCODES: [&str; 5] = ["virtual", "special", "static", "interface", "dynamic"];

fn opcode(word: String) -> CallKind {
    // clap lets only these words pass.
    CallKind::ALL.into_iter().find(|kind| kind.name() == word).unwrap_or(CallKind::Virtual)
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let request = Request::Callees {
        method: arguments.method.clone(),
        loader: arguments.loader.clone(),
        depth: usize::try_from(arguments.depth).ok(),
        opcodes: arguments.opcodes.clone(),
        most: arguments.most,
        implementers: arguments.implementers,
        class_kb: arguments.class_kb,
    };
    let callees: Callees = ask(arguments.pid, &request)?;
    let tree = Tree::of(&callees, arguments.within.unwrap_or(NEAREST) as usize);
    let text = if arguments.json {
        tree.json(&arguments.method).to_string() + "\n"
    } else {
        tree.text(arguments.depth as usize, stdout().is_terminal())
    };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Where a method occurs: its caller, and the number of the occurrence there.
type Occurrence = (usize, usize);

/// The methods of an answer as a tree: each has its callees below it where it occurs first, level by level.
struct Tree<'a> {
    callees: &'a Callees,
    /// Methods of the contexts that are proposed, at most.
    nearest: usize,
    /// Where each method occurs first; those that were asked for do not count what calls them.
    first: BTreeMap<usize, Occurrence>,
    /// All callers of each method.
    origins: BTreeMap<usize, Vec<usize>>,
}

/// A callee where it occurs.
#[derive(Clone, Copy)]
struct Branch<'a> {
    at: usize,
    occurrence: Occurrence,
    call: &'a CalleeCall,
    /// Whether it may be called in the place of another method.
    is_implementer: bool,
}

impl<'a> Tree<'a> {
    fn of(callees: &'a Callees, nearest: usize) -> Tree<'a> {
        let mut tree = Tree { callees, nearest, first: BTreeMap::new(), origins: BTreeMap::new() };
        for caller in 0..callees.methods.len() {
            for branch in tree.branches(caller) {
                if branch.at >= callees.asked {
                    tree.first.entry(branch.at).or_insert(branch.occurrence);
                }
                let origins = tree.origins.entry(branch.at).or_default();
                if !origins.contains(&caller) {
                    origins.push(caller);
                }
            }
        }
        tree
    }

    /// What a method may call, each callee followed by its implementers.
    fn branches(&self, caller: usize) -> Vec<Branch<'a>> {
        let calls = self.callees.methods.get(caller).into_iter().flat_map(|of| &of.calls);
        let of_call = |call: &'a CalleeCall| {
            let implementers = call.implementers.iter().map(|at| (*at, true));
            std::iter::once((call.callee, false)).chain(implementers).map(move |(at, is_it)| (at, call, is_it))
        };
        let all = calls.flat_map(of_call).enumerate();
        all.map(|(number, (at, call, is_implementer))| Branch {
            at,
            occurrence: (caller, number),
            call,
            is_implementer,
        })
        .collect()
    }

    fn is_first(&self, branch: Branch<'_>) -> bool {
        self.first.get(&branch.at) == Some(&branch.occurrence)
    }

    fn name(&self, at: usize) -> String {
        self.callees.methods.get(at).map(|of| format!("{}.{}", of.class, of.signature)).unwrap_or_default()
    }

    /// The context in which a probe in a callee records what this caller leads to: the nearest methods on the way that can have an anchor, the outermost first.
    /// So each level more adds its caller.
    fn within(&self, caller: usize) -> Option<String> {
        let mut nearest = Vec::new();
        let mut at = Some(caller);
        while let Some(method) = at.and_then(|at| self.callees.methods.get(at)).filter(|_| nearest.len() < self.nearest)
        {
            if method.code.is_none() {
                nearest.push(format!("{}.{}", method.class, method.method));
            }
            // First occurrences lead to what was asked for, level by level.
            at = at.and_then(|at| self.first.get(&at)).map(|(caller, _)| *caller);
        }
        nearest.reverse();
        (!nearest.is_empty()).then(|| nearest.join(" > "))
    }

    fn text(&self, depth: usize, has_italics: bool) -> String {
        let mut lines = Vec::new();
        for asked in 0..self.callees.asked {
            let Some(method) = self.callees.methods.get(asked) else { continue };
            let loader = method.loader.as_deref().map(|loader| format!(" [{loader}]")).unwrap_or_default();
            let after = format!("{loader}: {}", state(method));
            lines.push(Line { recorded: method.recorded, before: String::new(), name: self.name(asked), after });
            self.add_below(&mut lines, asked, 1);
        }
        let mut text = in_columns(&lines, has_italics);
        let Callees { methods, left_out, decoded, known, notices, asked } = self.callees;
        let listed = counted((methods.len() - asked) as u64, "callee");
        let levels = counted(depth as u64, "level");
        let _ = writeln!(
            text,
            "# {listed} on {levels}; {} decoded, {} known from before",
            counted(*decoded, "method"),
            count(*known)
        );
        if *left_out > 0 {
            let _ = writeln!(text, "# {} not listed; `--most` lists more", counted(*left_out as u64, "call"));
        }
        notices.iter().for_each(|notice| _ = writeln!(text, "# {notice}"));
        text
    }

    fn add_below(&self, lines: &mut Vec<Line>, caller: usize, level: usize) {
        let indent = "  ".repeat(level);
        if let Some(why) = self.callees.methods.get(caller).and_then(|of| of.not_decoded.as_deref()) {
            lines.push(Line::remark(format!("{indent}? callees unknown: {why}")));
        }
        for branch in self.branches(caller) {
            let Some(method) = self.callees.methods.get(branch.at) else { continue };
            let opcode = if branch.is_implementer { "  or" } else { branch.call.opcode.name() };
            let is_first = self.is_first(branch);
            let is_elsewhere = !is_first && !method.calls.is_empty();
            let elsewhere = if is_elsewhere { "; its callees are listed at its first call" } else { "" };
            lines.push(Line {
                recorded: method.recorded,
                before: format!("{indent}{level} {opcode:<9} "),
                name: self.name(branch.at),
                after: format!(": {}{}{elsewhere}", state(method), source_lines(branch)),
            });
            if is_first {
                self.add_below(lines, branch.at, level + 1);
            }
            let is_last = branch
                .call
                .implementers
                .last()
                .map_or(!branch.is_implementer, |last| branch.is_implementer && *last == branch.at);
            if is_last && branch.call.more_implementers > 0 {
                let more = branch.call.more_implementers;
                let more = count(more as u64);
                lines.push(Line::remark(format!("{indent}{level}   or      {more} more; `--implementers` lists them")));
            }
        }
    }

    fn json(&self, asked: &str) -> Json {
        let Callees { left_out, decoded, known, notices, .. } = self.callees;
        let roots: Vec<Json> =
            (0..self.callees.asked).filter_map(|at| self.callees.methods.get(at)).map(facts).collect();
        let mut callees: Vec<Json> = Vec::new();
        for root in 0..self.callees.asked {
            callees.extend(self.json_below(root, root));
        }
        json!({
            "method": asked, "callees": callees, "methods": roots, "left_out": left_out, "decoded": decoded,
            "known": known, "notices": notices,
        })
    }

    /// The callees of a method; of those that were asked for together with it, a callee that an earlier one has is listed there.
    fn json_below(&self, caller: usize, root: usize) -> Vec<Json> {
        let is_shared =
            |branch: &Branch<'_>| caller == root && self.first.get(&branch.at).is_some_and(|(first, _)| *first < root);
        let mut nodes: Vec<Json> = Vec::new();
        let mut is_left_out = false;
        for branch in self.branches(caller) {
            if !branch.is_implementer {
                is_left_out = is_shared(&branch);
            }
            if is_left_out {
                continue;
            }
            let node = self.node(branch, root);
            let callee = nodes.last_mut().filter(|_| branch.is_implementer);
            match callee.and_then(|callee| callee.get_mut("implementers")?.as_array_mut()) {
                Some(implementers) => implementers.push(node),
                None => nodes.push(node),
            }
        }
        nodes
    }

    fn node(&self, branch: Branch<'_>, root: usize) -> Json {
        let Some(method) = self.callees.methods.get(branch.at) else { return Json::Null };
        let is_first = self.is_first(branch);
        let callees = if is_first { self.json_below(branch.at, root) } else { Vec::new() };
        let mut node = facts(method);
        let mut add = |key: &str, value: Json| {
            if let Some(node) = node.as_object_mut() {
                node.insert(key.to_owned(), value);
            }
        };
        add("opcode", branch.call.opcode.name().into());
        add("within", self.within(branch.occurrence.0).into());
        add("callees", callees.into());
        add("shown_elsewhere", (!is_first).into());
        let origins = self.origins.get(&branch.at).into_iter().flatten().map(|caller| self.name(*caller));
        add("origins", json!(origins.collect::<Vec<_>>()));
        if !branch.is_implementer {
            let CalleeCall { lines, offsets, owner, more_implementers, .. } = branch.call;
            add("lines", json!(lines));
            add("offsets", json!(offsets));
            add("owner", json!(owner.as_ref().unwrap_or(&method.class)));
            add("implementers", json!([]));
            add("more_implementers", json!(more_implementers));
        }
        node
    }
}

/// A line of the tree.
struct Line {
    /// Calls of the method that were recorded.
    recorded: Option<u64>,
    before: String,
    /// The name of the method, if the line is about one.
    name: String,
    after: String,
}

impl Line {
    fn remark(text: String) -> Line {
        Line { recorded: None, before: text, name: String::new(), after: String::new() }
    }
}

/// Returns the lines with the number of recorded calls before them. Names of methods of which nothing was recorded are in italics if the terminal can show these.
fn in_columns(lines: &[Line], has_italics: bool) -> String {
    const TITLE: &str = "calls";
    let recorded: Vec<String> = lines.iter().map(|line| line.recorded.map(count).unwrap_or_default()).collect();
    let width = recorded.iter().map(String::len).max().unwrap_or(0).max(TITLE.len());
    let mut text = format!("{TITLE:>width$}  method\n");
    for (Line { recorded, before, name, after }, shown) in lines.iter().zip(&recorded) {
        let is_italic = has_italics && !name.is_empty() && recorded.unwrap_or(0) == 0;
        let (begin, end) = if is_italic { (ITALIC, UPRIGHT) } else { ("", "") };
        // Writing to a String does not fail.
        let _ = writeln!(text, "{shown:>width$}  {before}{begin}{name}{end}{after}");
    }
    text
}

/// What is known of a method wherever it occurs.
fn facts(method: &Callee) -> Json {
    json!({
        "class": method.class, "method": method.method, "descriptor": method.descriptor, "loader": method.loader,
        "state": method.state, "level": method.level, "calls": method.recorded, "wanted_by": method.wanted_by, "code": method.code,
        "reason": method.reason, "callees_unknown": method.not_decoded,
    })
}

fn state(method: &Callee) -> String {
    let by = if method.wanted_by.is_empty() { String::new() } else { format!(" ({})", method.wanted_by.join(", ")) };
    let level = method.level.as_deref().unwrap_or_default();
    match (method.state.as_str(), method.reason.as_deref()) {
        ("none", Some(reason)) => format!("no probe: {reason}"),
        ("none", None) => "no probe".to_owned(),
        ("inactive", _) => format!("probe at level off{by}"),
        (state, _) => format!("{state} at level {level}{by}"),
    }
}

fn source_lines(branch: Branch<'_>) -> String {
    let CalleeCall { lines, owner, .. } = branch.call;
    if branch.is_implementer {
        return String::new();
    }
    let owner = owner.as_deref().map(|owner| format!(", by way of {owner}")).unwrap_or_default();
    let numbers: Vec<String> = lines.iter().map(u32::to_string).collect();
    match numbers.as_slice() {
        [] => owner,
        [one] => format!("{owner}, line {one}"),
        several => format!("{owner}, lines {}", several.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, calls: &[(usize, &[usize])]) -> Json {
        let call = |(at, implementers): &(usize, &[usize])| json!({"opcode": "virtual", "callee": at, "offsets": [3], "lines": [7, 9], "implementers": implementers, "more_implementers": implementers.len()});
        json!({"class": "a.B", "method": name, "descriptor": "()V", "signature": format!("{name}() void"), "state": "none",
            "expanded": true, "calls": calls.iter().map(call).collect::<Vec<_>>()})
    }

    fn callees() -> Callees {
        let mut methods = [
            method("a", &[(1, &[]), (2, &[3])]),
            method("b", &[(2, &[3]), (4, &[])]),
            method("c", &[]),
            method("d", &[(0, &[])]),
            method("e", &[]),
        ];
        methods[0]["loader"] = json!("app");
        methods[1]["state"] = json!("probed");
        methods[1]["level"] = json!("time");
        methods[1]["recorded"] = json!(1_200);
        methods[1]["wanted_by"] = json!(["rule orders"]);
        methods[2]["code"] = json!("abstract");
        methods[2]["reason"] = json!("it is abstract");
        methods[3]["state"] = json!("inactive");
        methods[3]["recorded"] = json!(0);
        methods[4]["not_decoded"] = json!("skipped: too large");
        let callees =
            json!({"asked": 1, "methods": methods, "left_out": 2, "decoded": 4, "known": 1, "notices": ["so it is"]});
        serde_json::from_value(callees).unwrap()
    }

    #[test]
    fn each_method_has_its_callees_where_it_occurs_first() {
        let callees = callees();
        let expected = "calls  method\n\
            \x20      a.B.a() void [app]: no probe\n\
            1,200    1 virtual   a.B.b() void: probed at level time (rule orders), lines 7 9\n\
            \x20          2 virtual   a.B.c() void: no probe: it is abstract, lines 7 9\n\
            \x20   0      2   or      a.B.d() void: probe at level off; its callees are listed at its first call\n\
            \x20          2   or      1 more; `--implementers` lists them\n\
            \x20          2 virtual   a.B.e() void: no probe, lines 7 9\n\
            \x20            ? callees unknown: skipped: too large\n\
            \x20        1 virtual   a.B.c() void: no probe: it is abstract, lines 7 9\n\
            \x20   0    1   or      a.B.d() void: probe at level off\n\
            \x20          2 virtual   a.B.a() void: no probe, lines 7 9; its callees are listed at its first call\n\
            \x20        1   or      1 more; `--implementers` lists them\n\
            # 4 callees on 2 levels; 4 methods decoded, 1 known from before\n\
            # 2 calls not listed; `--most` lists more\n\
            # so it is\n";
        assert_eq!(Tree::of(&callees, 3).text(2, false), expected);
    }

    #[test]
    fn names_of_methods_without_data_are_in_italics_where_these_can_be_shown() {
        let callees = callees();
        let text = Tree::of(&callees, 3).text(1, true);
        let italic: Vec<&str> =
            text.split(ITALIC).skip(1).filter_map(|rest| Some(rest.split_once(UPRIGHT)?.0)).collect();
        assert!(italic.contains(&"a.B.c() void") && italic.contains(&"a.B.d() void"), "{text}");
        assert!(!italic.contains(&"a.B.b() void") && text.contains("a.B.b() void"), "{text}");
        assert_eq!(text.replace(ITALIC, "").replace(UPRIGHT, ""), Tree::of(&callees, 3).text(1, false));
    }

    #[test]
    fn scripts_get_a_tree_in_which_each_callee_has_all_its_origins() {
        let callees = callees();
        let tree = Tree::of(&callees, 3).json("a.B.a");
        assert_eq!(tree["method"], "a.B.a");
        assert_eq!(tree["callees"].as_array().unwrap().len(), 2);
        let [b, c] = [&tree["callees"][0], &tree["callees"][1]];
        assert_eq!(
            (&b["class"], &b["method"], &b["opcode"], &b["state"], &b["reason"]),
            (&json!("a.B"), &json!("b"), &json!("virtual"), &json!("probed"), &Json::Null)
        );
        assert_eq!((&b["calls"], &c["calls"], &c["implementers"][0]["calls"]), (&json!(1_200), &Json::Null, &json!(0)));
        assert_eq!((&c["reason"], &c["origins"]), (&json!("it is abstract"), &json!(["a.B.a() void", "a.B.b() void"])));
        assert_eq!((&c["shown_elsewhere"], &b["callees"][0]["shown_elsewhere"]), (&json!(false), &json!(true)));
        assert_eq!(c["implementers"][0]["callees"][0]["method"], "a");
        assert_eq!((&b["within"], &b["callees"][1]["within"]), (&json!("a.B.a"), &json!("a.B.a > a.B.b")));
        assert_eq!(b["callees"][0]["implementers"][0]["callees"], json!([]), "they are where it occurs first");
    }

    /// One level more adds its caller, and leaves out the outermost of more than three; what can have no anchor is no step.
    #[test]
    fn the_context_of_a_callee_are_the_nearest_methods_on_the_way() {
        let mut methods = ["a", "b", "c", "d", "e"].map(|name| method(name, &[]));
        for (at, of) in methods.iter_mut().enumerate().take(4) {
            *of = method(of["method"].as_str().unwrap(), &[(at + 1, &[])]);
        }
        methods[1]["code"] = json!("native");
        let callees = json!({"asked": 1, "methods": methods, "left_out": 0, "decoded": 4, "known": 0});
        let callees: Callees = serde_json::from_value(callees).unwrap();
        let tree = Tree::of(&callees, 3).json("a.B.a");
        let mut node = &tree["callees"][0];
        let mut within = Vec::new();
        while let Some(context) = node["within"].as_str() {
            within.push(context);
            node = &node["callees"][0];
        }
        assert_eq!(within, ["a.B.a", "a.B.a", "a.B.a > a.B.c", "a.B.a > a.B.c > a.B.d"]);
        let of_one = Tree::of(&callees, 1).json("a.B.a");
        let fourth = of_one.pointer("/callees/0/callees/0/callees/0/callees/0/within");
        assert_eq!(fourth, Some(&json!("a.B.d")), "as many as are wanted");
    }

    #[test]
    fn a_callee_of_two_methods_that_were_asked_for_is_listed_once() {
        let methods =
            [method("a", &[(2, &[])]), method("b", &[(2, &[]), (3, &[])]), method("c", &[]), method("d", &[])];
        let callees = json!({"asked": 2, "methods": methods, "left_out": 0, "decoded": 2, "known": 0});
        let callees: Callees = serde_json::from_value(callees).unwrap();
        let tree = Tree::of(&callees, 3).json("a.B.*");
        let names: Vec<&str> =
            tree["callees"].as_array().unwrap().iter().filter_map(|of| of["method"].as_str()).collect();
        assert_eq!(names, ["c", "d"]);
        assert_eq!(tree["callees"][0]["origins"], json!(["a.B.a() void", "a.B.b() void"]));
    }
}
