//! Configuration -> rule set: templates and presets.

use super::{CATALOG, compile};
use crate::level::Level;
use crate::rules::config::RuleFile;
use crate::rules::selection::RuleSet;

const PRESETS: &[(&str, &str)] = &[
    ("two", "[[rule]]\nname = 'one'\nclass = 'p.*'\nlevel = 'time'\n[[rule]]\nclass = 'q.*'\ntemplate = 'logged'"),
    ("nested", "[[rule]]\npreset = 'two'"),
    ("broken", "[[rule]]\nclas = 'p.*'"),
];

fn with_presets(text: &str) -> Result<RuleSet, String> {
    let (config, _) = RuleFile::parse(text, "test.toml").map_err(|problems| problems[0].to_string())?;
    RuleSet::compile(config.tables(), &CATALOG, PRESETS).map_err(|problems| problems[0].to_string())
}

#[test]
fn a_preset_takes_the_place_of_its_rule() {
    let rules = with_presets("[[rule]]\nclass = 'a.A'\n[[rule]]\npreset = 'two'\n[[rule]]\nclass = 'z.Z'").unwrap();
    let shown: Vec<String> =
        rules.rules().iter().map(|rule| format!("{} {} {}", rule.name(), rule.origin(), rule.level())).collect();
    assert_eq!(
        shown,
        [
            "rule-1 test.toml:1 watch",
            "two/one preset two:1 time",
            "two/2 preset two:5 watch",
            "rule-3 test.toml:5 watch"
        ]
    );
}

#[test]
fn a_preset_can_be_renamed_and_its_level_set() {
    let rules = with_presets("[[rule]]\nname = 'mine'\npreset = 'two'\nlevel = 'full'").unwrap();
    let shown: Vec<_> = rules.rules().iter().map(|rule| (rule.name(), rule.level())).collect();
    assert_eq!(shown, [("mine/one", Level::Full), ("mine/2", Level::Full)]);
}

#[test]
fn presets_that_cannot_be_used() {
    let unknown = with_presets("[[rule]]\npreset = 'tow'").unwrap_err();
    assert!(unknown.contains("unknown preset `tow`") && unknown.contains("did you mean `two`?"), "{unknown}");
    assert!(with_presets("[[rule]]\npreset = 'nested'").unwrap_err().contains("a preset cannot name another"));
    assert!(with_presets("[[rule]]\npreset = 'broken'").unwrap_err().contains("preset broken:2:1"));
}

#[test]
fn a_category_falls_back_to_the_one_it_refines() {
    let rules =
        compile("[[rule]]\ntemplate = ['category:log/audit/daily', 'timed']\n[[rule]]\ntemplate = 'category:log'")
            .unwrap();
    let names: Vec<_> = rules.rules().iter().map(|rule| rule.template_names().join(" ")).collect();
    assert_eq!(names, ["logged timed", "logged"]);
    let unknown = with_presets("[[rule]]\ntemplate = 'category:lg/audit'\narguments = 'all'").unwrap_err();
    assert!(unknown.contains("no template has the category `lg/audit`, nor one that it refines"), "{unknown}");
}

#[test]
fn all_missing_templates_are_reported() {
    let problems =
        compile("[[rule]]\ntemplate = ['tmed', 'logged', 'nope']\n[[rule]]\ntemplate = 'no-full'\nlevel = 'full'");
    let messages: Vec<String> = problems.unwrap_err().into_iter().map(|problem| problem.message).collect();
    assert_eq!(
        messages,
        ["unknown template `tmed`", "unknown template `nope`", "template `no-full` has no variant for level `full`"]
    );
}

#[test]
fn hundreds_of_rules_and_templates_keep_their_order() {
    let text: String = (0..300).map(|n| format!("[[rule]]\nname = 'r{n}'\nclass = ['a.b{n}.**', 'a.**']\n")).collect();
    let rules = compile(&text).unwrap();
    let class = crate::rules::selection::class_builder::ClassBuilder::new("a/b7/X", "java/lang/Object")
        .method("f", "()V", crate::rules::selection::class_builder::CALLS)
        .build();
    assert_eq!(super::decide(&rules, &class, &super::Types::default()), ["f 0"]);
}

#[test]
fn rules_that_only_have_another_name_are_found() {
    let before =
        compile("[[rule]]\nclass = 'a.A'\n[[rule]]\nclass = 'b.B'\n[[rule]]\nname = 'c'\nclass = 'c.C'").unwrap();
    let now = "[[rule]]\nname = 'b'\nclass = 'b.B'\n[[rule]]\nclass = 'a.A'\n[[rule]]\nname = 'c'\nclass = 'c.C'\n[[rule]]\nclass = 'c.C'";
    let renamed: Vec<(String, String)> = compile(now).unwrap().renamed_since(&before).into_iter().collect();
    let pair = |was: &str, is: &str| (was.to_owned(), is.to_owned());
    assert_eq!(renamed, [pair("rule-1", "rule-2"), pair("rule-2", "b")]);
}
