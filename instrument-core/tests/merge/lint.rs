//! Does every fault of a template get a message with the file and line, before anything is merged?

use classfile::Tag;
use classfile::opcode::*;
use instrument_core::level::Level;
use instrument_core::selection::RuleSet;
use instrument_core::selection::UnmetLevel;
use instrument_core::template::{TemplateLibrary, TemplateProblem};

use crate::assembler::{ClassBuilder, CodeBuilder, Type};
use crate::fixtures::{compiled, library};

/// Class, a piece of the message, and a piece of the source line that is named (`-` if the class has no line to name).
const FAULTS: &[(&str, &str, &str)] = &[
    ("NoSentinel", "does not call Target.proceed()", "System.nanoTime()"),
    ("TwoSentinels", "more than once", "Target.proceed()"),
    ("InFinally", "more than once", "Target.proceed()"),
    ("TakesArgument", "must be static, without parameters and void", "Target.proceed()"),
    ("NotStatic", "must be static, without parameters and void", "Target.proceed()"),
    ("NotVoid", "must be static, without parameters and void", "Target.proceed()"),
    ("NoBody", "has no body", "-"),
    ("ReturnsEarly", "returns before Target.proceed()", "return;"),
    ("Skips", "jumps around or back over Target.proceed()", "if (System.nanoTime() == 0)"),
    ("Repeats", "jumps around or back over Target.proceed()", "for (int i = 0; i < 3; i++)"),
    ("Swallows", "swallows what the target throws", "}"),
    ("OwnHelper", "uses helper of its own class", "helper();"),
    ("OwnField", "uses last of its own class", "last = System.nanoTime();"),
    ("OwnClass", "uses its own class", "synchronized (OwnClass.class)"),
    ("UsesLambda", "uses a lambda or method reference", "() -> System.nanoTime()"),
    ("UsesReference", "uses a lambda or method reference", "System::nanoTime"),
    ("UsesForeign", "uses probe.Log, which not every class loader sees", "Log.note"),
    ("UsesForeignArray", "uses probe.Log, which not every class loader sees", "new Log[1][2]"),
    ("CatchesForeign", "uses probe.Refusing, which not every class loader sees", "catch (Refusing e)"),
    ("ResultTooEarly", "uses Target.result() before Target.proceed()", "Target.result()"),
    ("ThrownTooEarly", "uses Target.thrown() before Target.proceed()", "Target.thrown()"),
    ("VariableArgument", "Target.arg needs a constant index", "Target.arg(index)"),
    ("ChosenArgument", "Target.arg needs a constant index", "Target.arg(System.nanoTime()"),
    ("NegativeArgument", "Target.arg needs a constant index", "Target.arg(-1)"),
];

/// Of templates for call sites.
const SCOPES: &[(&str, &str, &str)] = &[
    ("OfAConstant", "Target.scope needs the result of a static method", "Target.scope(5)"),
    ("Twice", "calls Target.scope() more than once", "long other = Target.scope"),
    ("TooLate", "calls Target.scope() after Target.proceed()", "long scope = Target.scope"),
    ("Changed", "a local of its own that is assigned nowhere else", "long scope = Target.scope"),
    ("Sometimes", "can be reached without Target.scope()", "Target.proceed()"),
];

fn problems(class: &[u8]) -> Vec<TemplateProblem> {
    let mut library = TemplateLibrary::new();
    let problems = library.add_class(class, "faulty.jar").expect_err("the template is refused");
    assert_eq!(library.names().count(), 0, "nothing of a faulty class is taken");
    problems
}

#[test]
fn every_fault_is_reported_with_file_and_line() {
    let of =
        |folder: &'static str, faults: &'static [(&str, &str, &str)]| faults.iter().map(move |fault| (folder, fault));
    for (folder, (name, message, line)) in of("faulty", FAULTS).chain(of("scopes", SCOPES)) {
        let problems = problems(&compiled(&format!("{folder}/{name}")));
        let problem = problems.first().unwrap();
        assert!(problem.message.contains(message), "{name}: {problem}");
        assert_eq!(problem.origin, "faulty.jar");
        assert_eq!(problem.template, format!("{folder}.{name}.template"));
        assert_eq!(problem.source_file.as_deref(), Some(format!("{name}.java").as_str()));
        if *line == "-" {
            assert_eq!(problem.line, None, "{name}");
            continue;
        }
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/templates/src");
        let source = std::fs::read_to_string(format!("{source}/{folder}/{name}.java")).unwrap();
        let number = problem.line.unwrap_or_else(|| panic!("{name}: no line")) as usize;
        let reported = source.lines().nth(number - 1).unwrap();
        assert!(reported.contains(line), "{name}: line {number} is {reported:?}");
        assert!(
            problem
                .to_string()
                .starts_with(&format!("{name}.java:{number}: template {folder}.{name}.template (faulty.jar): "))
        );
    }
}

#[test]
fn all_faults_of_a_class_are_reported_at_once() {
    let problems = problems(&compiled("faulty/TwoFaults"));
    let templates: Vec<_> = problems.iter().map(|problem| problem.template.as_str()).collect();
    assert_eq!(templates, ["faulty.TwoFaults.none", "faulty.TwoFaults.early"]);
}

#[test]
fn a_class_that_cannot_be_read_is_reported() {
    let bytes = compiled("faulty/TwoFaults");
    let problems = problems(&bytes[..bytes.len() / 2]);
    assert!(problems[0].message.contains("cannot read the class file"), "{}", problems[0]);
}

/// A template that javac would not write.
fn assembled(body: impl FnOnce(&mut CodeBuilder<'_>)) -> Vec<u8> {
    let mut class = ClassBuilder::new("Assembled", 50);
    let mark = class.pool.utf8("Ljava/instr/Template;");
    let annotation = [&[0, 1][..], &mark.to_be_bytes(), &[0, 0]].concat();
    class.method_with(0x8, "template", "()V", &[("RuntimeInvisibleAnnotations", &annotation)], body);
    class.finish()
}

fn assembled_problem(body: impl FnOnce(&mut CodeBuilder<'_>)) -> String {
    problems(&assembled(body)).remove(0).to_string()
}

const TARGET: &str = "java/instr/Target";

#[test]
fn the_sentinel_needs_an_empty_stack() {
    let problem = assembled_problem(|code| {
        code.op(ICONST_0).invoke_static(TARGET, "proceed", "()V").bytes(&[POP, RETURN]);
    });
    assert!(problem.contains("nothing on the operand stack"), "{problem}");
}

#[test]
fn subroutines_are_refused() {
    let problem = assembled_problem(|code| {
        let subroutine = code.label();
        code.jump(JSR, subroutine).invoke_static(TARGET, "proceed", "()V").op(RETURN);
        code.place(subroutine).bytes(&[ASTORE_0, RET, 0]);
    });
    assert!(problem.contains("jsr and ret are not allowed"), "{problem}");
}

#[test]
fn a_value_that_the_target_class_does_not_have_is_refused() {
    let problem = assembled_problem(|code| {
        code.invoke_static(TARGET, "proceed", "()V").invoke_static(TARGET, "weather", "()V").op(RETURN);
    });
    assert!(problem.contains("java.instr.Target has no method weather"), "{problem}");
}

#[test]
fn an_exception_may_not_lead_back_before_the_target() {
    let problem = assembled_problem(|code| {
        let handler = code.label();
        let go = code.label();
        let throwable = Type::Object("java/lang/Throwable");
        code.jump(GOTO, go).place(handler).frame(&[], &[throwable]).op(POP).place(go).frame(&[], &[]);
        let start = code.here();
        code.invoke_static(TARGET, "proceed", "()V");
        let end = code.here();
        code.op(RETURN).row(start, end, handler, None);
    });
    assert!(problem.contains("catches what Target.proceed() throws before it"), "{problem}");
}

#[test]
fn a_bootstrap_method_of_a_foreign_class_is_refused() {
    let mut class = ClassBuilder::new("Assembled", 51);
    let mark = class.pool.utf8("Ljava/instr/Template;");
    let annotation = [&[0, 1][..], &mark.to_be_bytes(), &[0, 0]].concat();
    let call = class.pool.dynamic(Tag::InvokeDynamic, 0, "call", "()V");
    class.method_with(0x8, "template", "()V", &[("RuntimeInvisibleAnnotations", &annotation)], |code| {
        code.invoke_static(TARGET, "proceed", "()V").indexed(INVOKEDYNAMIC, call).bytes(&[0, 0, RETURN]);
    });
    let bootstrap = class.pool.member(Tag::Methodref, "com/acme/Boot", "strap", "()V");
    let handle = class.pool.method_handle(6, bootstrap);
    class.attribute("BootstrapMethods", &[&[0, 1][..], &handle.to_be_bytes(), &[0, 0]].concat());
    let problem = problems(&class.finish()).remove(0).to_string();
    assert!(problem.contains("uses com.acme.Boot"), "{problem}");
}

#[test]
fn a_template_is_found_by_name_and_level() {
    let library = library();
    let level_of = |level| library.get(library.find("bracket", level).unwrap()).unwrap().level;
    assert_eq!(level_of(Level::Time), Level::Time);
    assert_eq!(level_of(Level::Watch), Level::Watch);
    assert_eq!(level_of(Level::Full), Level::Time, "the most telling one below");
    assert_eq!(level_of(Level::Off), Level::Watch, "the cheapest above");
    assert!(library.find("unknown", Level::Time).is_none());
    assert_eq!(library.names().filter(|name| *name == "bracket").count(), 1);
}

/// Whoever states a level and gets another one learns it from a warning, and nobody else does.
#[test]
fn a_level_that_a_template_does_not_have_is_reported() {
    let text = "
        [[rule]]
        name = 'costly'
        class = 'a.B'
        template = ['bracket', 'clock']
        level = 'full'
        [[rule]]
        class = 'a.C'
        template = 'bracket'
        level = 'watch'
        [[rule]]
        class = 'a.D'
        template = 'straight'";
    let (config, _) = instrument_core::config::RuleFile::parse(text, "c.toml").unwrap();
    let rules = RuleSet::compile(config.tables(), &*library(), &[]).unwrap();
    let reported: Vec<String> = UnmetLevel::find(&rules, &library()).iter().map(ToString::to_string).collect();
    let expected = "warning: rule costly (c.toml:2) asks for level full, but its template `bracket` has neither a variant of this level nor \
                    one with `@Template(live = true)`, which would be for all: it is used at level time";
    assert_eq!(reported, [expected]);
}

#[test]
fn a_later_template_of_the_same_name_and_level_takes_the_place() {
    let mut own = TemplateLibrary::new();
    own.add_class(&compiled("templates/Shapes"), "built-in").unwrap();
    let first = own.find("clock", Level::Time).unwrap();
    own.add_class(&compiled("templates/Shapes"), "user.jar").unwrap();
    assert_eq!(own.find("clock", Level::Time), Some(first));
    assert_eq!(own.get(first).unwrap().origin, "user.jar");
    assert_eq!(own.get(first).unwrap().category, "test");
}
