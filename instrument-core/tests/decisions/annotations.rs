//! Annotations count where they are written, and nowhere else.

use crate::{Case, case};

pub(crate) const CASES: &[Case] = &[
    case(
        "a class with the annotation",
        "notes/Annotated",
        "annotated = 'notes.Service'",
        &["run"],
        &[("class", "it is annotated with `@notes.Service`")],
    ),
    case(
        "its subclass, although the annotation is inherited",
        "notes/Heir",
        "annotated = 'notes.Audited'",
        &[],
        &[("class", "the class is not annotated with `@notes.Audited`")],
    ),
    case(
        "an annotation on an annotation",
        "notes/MetaAnnotated",
        "annotated = 'notes.Service'",
        &[],
        &[("class", "not annotated")],
    ),
    case(
        "the annotation that has it",
        "notes/MetaAnnotated",
        "annotated = ['notes.Service', 'notes.Stereotype']",
        &["run"],
        &[],
    ),
    case(
        "a method with the annotation",
        "notes/Jobs",
        "method-annotated = 'notes.Schedule'",
        &["once"],
        &[("twice", "the method is not annotated with `@notes.Schedule`")],
    ),
    case(
        "a repeated annotation is its container",
        "notes/Jobs",
        "method-annotated = ['notes.Schedule', 'notes.Schedules']",
        &["once", "twice"],
        &[],
    ),
    case(
        "the annotation of the method that is implemented",
        "notes/Annotated",
        "method-annotated = 'notes.Audited'",
        &[],
        &[("run", "not annotated")],
    ),
    case(
        "an annotated constructor is one all the same",
        "notes/Jobs",
        "method-annotated = 'notes.Audited'",
        &[],
        &[("<init>", "constructors are taken only")],
    ),
    case(
        "an annotated constructor by its name",
        "notes/Jobs",
        "method-annotated = 'notes.Audited'\nmethod = '<init>'",
        &["<init>"],
        &[],
    ),
    case(
        "an annotated small method at level watch",
        "notes/Jobs",
        "[[rule]]\nmethod-annotated = 'notes.Schedule'",
        &["once"],
        &[("once", "taken")],
    ),
];
