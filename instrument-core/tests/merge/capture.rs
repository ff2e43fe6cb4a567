//! Do templates get the values that a rule chooses, as they were passed, on every way out, and boxed only there?

use classfile::opcode::*;
use classfile::{ClassFile, Member};
use instrument_core::capture::{ArgumentKey, Capture, CapturedMethod, CapturedValue, Render};
use instrument_core::level::Mode;
use instrument_core::{EngineOptions, MethodPlan, Outcome, Refusal, Rewritten, SlotScheme};

use crate::assembler::{ClassBuilder, PUBLIC_STATIC, class_with};
use crate::fixtures::{classes, compiled, instrument, instrument_with, plan};
use crate::inspect::body;
use crate::jvm::{events, folder, lines, run};

fn everything() -> Capture {
    let arguments = vec![ArgumentKey::Receiver, ArgumentKey::All];
    Capture { arguments, result: true, length: 100, render: Render::Identity }
}

fn capture(keys: &[ArgumentKey]) -> Capture {
    Capture { arguments: keys.to_vec(), result: false, length: 7, render: Render::ToString }
}

fn captured(class: &[u8], templates: &[&str], capture: Option<&Capture>) -> Rewritten {
    match instrument(class, &[capturing(class, 0, templates, capture)]) {
        Outcome::Rewritten(rewritten) => rewritten,
        Outcome::Unchanged { refused } => panic!("refused: {}", refused.first().expect("a reason").reason),
    }
}

fn capturing(class: &[u8], index: usize, templates: &[&str], capture: Option<&Capture>) -> MethodPlan {
    let class = ClassFile::parse(class).unwrap();
    plan(index, templates).capturing(capture.map(|capture| capture.in_method(&class, &class.methods()[index])))
}

/// Plans `captures` for all methods but those that the program itself needs to tell what was noted.
fn plans(class: &[u8], mode: Mode, templates: &[&str]) -> Vec<MethodPlan> {
    let parsed = ClassFile::parse(class).unwrap();
    let is_meant = |method: &Member<'_>| !["main", "done"].iter().any(|name| method.name == *name);
    let methods = parsed.methods().iter().enumerate().filter(|(_, method)| is_meant(method));
    methods.map(|(index, _)| MethodPlan { mode, ..capturing(class, index, templates, Some(&everything())) }).collect()
}

fn ran(name: &str, options: EngineOptions, mode: Mode, templates: &[&str]) -> (String, Vec<Refusal>) {
    let folder = folder(&format!("capture-{name}"));
    std::fs::create_dir_all(folder.join("targets")).unwrap();
    let class = compiled("targets/Capturing");
    let Outcome::Rewritten(output) = instrument_with(options, &class, &plans(&class, mode, templates)) else {
        panic!("all refused")
    };
    std::fs::write(folder.join("targets/Capturing.class"), output.bytes).unwrap();
    let refused = output.refused.into_iter().map(|refused| refused.reason).collect();
    (run(&[&folder, &classes()], &["targets.Capturing"]), refused)
}

const OF_METHODS: [(&str, &str); 5] = [
    ("static", "100Ia,b,c,d,e,return[-7,1099511627776,2.5,text,byte[],1]"),
    ("each", "100Ithis,z,b,c,s,f,colour,nothing,return[Capturing,true,-1,c,9,1.5,RED,null,3.5]"),
    ("thrown reason", "100iwhy[reason]"),
    ("recursion", "100In,return[1,1] 100In,return[2,2] 100In,return[3,6]"),
    ("reused", "100Ia,b,return[20,22,42]"),
];

#[test]
fn what_is_passed_is_captured_although_the_target_overwrites_it() {
    let expected = run(&[&classes()], &["targets.Capturing"]);
    let among = EngineOptions { slots: SlotScheme::AfterParameters, ..EngineOptions::default() };
    for (name, options) in [("inline", EngineOptions::default()), ("among-parameters", among)] {
        let (text, refused) = ran(name, options, Mode::Inline, &["captures"]);
        assert_eq!(refused, []);
        assert_eq!(lines(&text, "result "), lines(&expected, "result "));
        OF_METHODS.iter().for_each(|(what, noted)| assert_eq!(events(&text, what), *noted));
        assert_eq!(events(&text, "constructor"), "100ifirst,second[3,4.5]", "arguments, but not the object");
        assert_eq!(events(&text, "chain"), "100ifirst,second[4,12.5] 100itext[12.5]");
        assert_eq!(events(&text, "thrown before this()"), "", "no handler before the object is made");
    }
}

#[test]
fn a_wrapper_captures_what_it_passes_on() {
    let (text, refused) = ran("wrapper", EngineOptions::default(), Mode::Wrapper, &["captures"]);
    OF_METHODS.iter().for_each(|(what, noted)| assert_eq!(events(&text, what), *noted));
    assert_eq!(refused.len(), 2, "constructors have no wrappers");
}

#[test]
fn stacked_templates_capture_the_same_and_before_the_target_there_is_no_result() {
    let (text, _) = ran("stack", EngineOptions::default(), Mode::Inline, &["captures", "captures-straight"]);
    let before = "before[20,22,null]";
    let after = "100Ia,b,return[20,22,42]";
    assert_eq!(events(&text, "reused"), format!("{before} {after} {after}"));
}

#[test]
fn nothing_is_boxed_before_the_template_asks() {
    let class = class_with("Boxes", 52, "(JI)V", |code| {
        code.limits(0, 3).op(RETURN);
    });
    let output = captured(&class, &["captures"], Some(&everything()));
    let merged = body(&output.bytes, 0);
    let boxing = |opcode: u8| opcode == ANEWARRAY;
    let first_array = merged.steps.iter().position(|step| boxing(step.opcode)).unwrap();
    let branch = merged.steps.iter().position(|step| step.opcode == IFLT).unwrap();
    assert!(branch < first_array, "{:?}", merged.names());
    assert_eq!(merged.names()[..6], ["lload_0", "lstore_3", "iload_2", "istore", "invokestatic", "lstore"]);
}

#[test]
fn without_a_choice_the_values_are_null_and_nothing_is_copied() {
    let class = class_with("Chosen", 52, "(JI)V", |code| {
        code.limits(0, 3).op(RETURN);
    });
    let nothing = capture(&[ArgumentKey::Index(5)]);
    for capture in [None, Some(&nothing)] {
        let merged = body(&captured(&class, &["captures-straight"], capture).bytes, 0);
        let names = merged.names();
        assert_eq!(names.iter().filter(|name| **name == "aconst_null").count(), 3, "{names:?}");
        assert_eq!(merged.max_locals, 3, "{names:?}");
    }
}

#[test]
fn copies_may_be_after_the_255th_slot() {
    let descriptor = format!("({})J", "J".repeat(127));
    let mut class = ClassBuilder::new("Wide", 52);
    class.method(PUBLIC_STATIC, "m", &descriptor, |code| {
        code.limits(2, 254).bytes(&[LCONST_1, LRETURN]);
    });
    let output = captured(&class.finish(), &["captures"], Some(&everything()));
    let merged = body(&output.bytes, 0);
    assert!(merged.max_locals > 508, "{}", merged.max_locals);
    assert_eq!(merged.steps.iter().filter(|step| step.opcode == AASTORE).count(), 2 * 128, "on both ways out");
    assert!(merged.steps.iter().any(|step| step.opcode == WIDE));
}

#[test]
fn a_method_that_would_be_too_long_is_refused() {
    let descriptor = format!("({})V", "I".repeat(255));
    let mut class = ClassBuilder::new("Long", 52);
    class.method(PUBLIC_STATIC, "m", &descriptor, |code| {
        code.limits(0, 255).bytes(&[NOP; 5_000]).op(RETURN);
    });
    let class = class.finish();
    let outcome = instrument(&class, &[capturing(&class, 0, &["captures"], Some(&everything()))]);
    let Outcome::Unchanged { refused } = outcome else { panic!("was merged") };
    assert!(matches!(refused[0].reason, Refusal::HugeForJit { .. }), "{}", refused[0].reason);
}

fn resolved(name: &str, capture: &Capture) -> CapturedMethod {
    let bytes = compiled("targets/Capturing");
    let class = ClassFile::parse(&bytes).unwrap();
    let method = class.methods().iter().find(|method| method.name == name).unwrap();
    CapturedMethod::of(&class, method, capture)
}

#[test]
fn arguments_are_found_by_number_and_by_name_and_each_once() {
    use ArgumentKey::{All, Index, Receiver};
    let name = |name: &str| ArgumentKey::of_text(name);
    let found = resolved("each", &capture(&[name("s"), Index(0), Receiver, name("z"), Index(3)]));
    let expected =
        [(CapturedValue::Argument(3), "s"), (CapturedValue::Argument(0), "z"), (CapturedValue::Receiver, "this")];
    assert_eq!(found.values, expected.map(|(value, name)| (value, name.to_owned())));
    assert!(found.notes.is_empty());
    let left_out = resolved("each", &capture(&[name("!f"), name("!nothing"), All, Index(6), name("!unknown")]));
    assert_eq!(
        left_out.values.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(),
        ["z", "b", "c", "s", "colour"]
    );
    let all = resolved("each", &capture(&[Index(6), All]));
    assert_eq!(all.values.first(), Some(&(CapturedValue::Argument(6), "nothing".to_owned())));
    assert_eq!(all.values.len(), 7);
}

#[test]
fn values_that_cannot_be_captured_are_reported_with_the_reason() {
    let keys = [ArgumentKey::Index(2), ArgumentKey::of_text("c"), ArgumentKey::Receiver];
    let wish = Capture { result: true, ..capture(&keys) };
    assert_eq!(
        resolved("<init>", &wish).notes,
        [
            "no argument 2: the method has arguments 0 to 1",
            "no argument `c`: they are first, second",
            "no `this`: before `super()` nothing may look at it",
            "no result: the method returns nothing"
        ]
    );
    assert_eq!(resolved("statically", &wish).notes, ["no `this`: the method is static"]);
    let bytes = class_with("Nameless", 52, "(J)V", |code| {
        code.limits(0, 2).op(RETURN);
    });
    let class = ClassFile::parse(&bytes).unwrap();
    let nameless = CapturedMethod::of(&class, &class.methods()[0], &capture(&[ArgumentKey::All, keys[1].clone()]));
    assert_eq!(nameless.values, [(CapturedValue::Argument(0), "arg0".to_owned())]);
    assert!(nameless.notes[0].contains("use its number"), "{:?}", nameless.notes);
    let secret = capture(&[ArgumentKey::All, ArgumentKey::of_text("!password")]);
    let nameless = CapturedMethod::of(&class, &class.methods()[0], &secret);
    assert!(nameless.values.is_empty() && nameless.notes[0].contains("to be left out"), "{:?}", nameless.notes);
}
