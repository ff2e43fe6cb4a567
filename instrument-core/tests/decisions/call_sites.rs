//! What methods may call, compared with what `javap -c -p tasks.Submits` prints (`javap-Submits.txt`).

use classfile::{ClassFile, opcode};
use instrument_core::facts::call_sites::{CallKind, Target, calls_of};

use crate::classes;

const JAVAP: &str = include_str!("javap-Submits.txt");

/// One instruction: offset, mnemonic, and the method; of dynamic calls nothing.
type Line = (u32, String, String);

/// The calls in the output of javap, method by method, as the offsets begin anew with each.
fn of_javap() -> Vec<Line> {
    let line = |line: &str| {
        let (offset, rest) = line.trim().split_once(": invoke")?;
        let (kind, comment) = (rest.split_whitespace().next()?, rest.split_once("// ")?.1);
        let method = comment.trim_start_matches("Interface").trim_start_matches("Method ").replace('"', "");
        // javap leaves out the class itself.
        let owner = method.split_once(':')?.0;
        let method = if owner.contains('.') { method } else { format!("tasks/Submits.{method}") };
        let method = if kind == "dynamic" { String::new() } else { method };
        Some((offset.parse().ok()?, format!("invoke{kind}"), method))
    };
    JAVAP.lines().filter_map(line).collect()
}

#[test]
fn the_calls_are_those_that_javap_prints() {
    let bytes = std::fs::read(classes().join("tasks/Submits.class")).unwrap();
    let class = ClassFile::parse(&bytes).unwrap();
    let mut found = Vec::new();
    for method in class.methods() {
        let mut of_method: Vec<Line> = Vec::new();
        for call in calls_of(&class, method).unwrap() {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let callee = match &call.target {
                Target::Method(method) => {
                    format!("{}.{}:{}", text(&method.owner), text(&method.name), text(&method.descriptor))
                }
                _ => String::new(),
            };
            let name = format!("invoke{}", call.kind.name());
            assert!(opcode::TABLE.iter().any(|row| row.name == name));
            of_method.extend(call.offsets.iter().map(|offset| (*offset, name.clone(), callee.clone())));
        }
        of_method.sort();
        found.extend(of_method);
    }
    let expected = of_javap();
    assert!(expected.len() > 40, "{expected:?}");
    assert_eq!(found, expected);
}

#[test]
fn lambdas_and_method_references_lead_to_their_methods() {
    let bytes = std::fs::read(classes().join("tasks/Submits.class")).unwrap();
    let class = ClassFile::parse(&bytes).unwrap();
    let all = class.methods().iter().flat_map(|method| calls_of(&class, method).unwrap());
    let dynamic: Vec<_> = all.filter(|call| call.kind == CallKind::Dynamic).collect();
    let functions = dynamic.iter().filter_map(|call| match &call.target {
        Target::Function(kind, method) => Some((*kind, String::from_utf8_lossy(&method.name).into_owned())),
        _ => None,
    });
    let functions: Vec<(CallKind, String)> = functions.collect();
    assert_eq!(functions.len(), dynamic.len(), "all of them are lambdas or method references");
    let has = |kind: CallKind, name: &str| functions.contains(&(kind, name.to_owned()));
    assert!(has(CallKind::Static, "lambda$lambda$0") && has(CallKind::Special, "<init>"), "{functions:?}");
}

#[test]
fn calls_have_their_lines() {
    let bytes = include_bytes!("../../../classfile/tests/classes/Everything.class");
    let class = ClassFile::parse(bytes).unwrap();
    let calls = class.methods().iter().flat_map(|method| calls_of(&class, method).unwrap());
    assert!(calls.into_iter().any(|call| call.lines.iter().any(|line| *line > 10)));
}
