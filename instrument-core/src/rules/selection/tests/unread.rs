//! Super types are read only where that can change the decision.

use std::cell::RefCell;
use std::sync::Arc;

use classfile::{ClassFile, HeadMemory};

use super::{Types, rules};
use crate::rules::selection::class_builder::{CALLS, ClassBuilder};
use crate::rules::selection::{AskedTypes, Hierarchy, Supertypes};

/// Some types are known, others stand in files; what is read and marked is noted.
struct Loader {
    known: Types,
    files: Types,
    asked: AskedTypes,
    /// Whether classes wait for what is not known.
    may_wait: bool,
    read: RefCell<Vec<String>>,
    marked: RefCell<Vec<String>>,
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

impl Hierarchy for Loader {
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        self.read.borrow_mut().push(text(internal_name));
        self.files.supertypes(internal_name)
    }

    fn known_supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        self.known.supertypes(internal_name)
    }

    fn asked_types(&self) -> AskedTypes {
        self.asked
    }

    fn postpone(&self, _: &[u8]) -> bool {
        self.may_wait
    }

    fn note_unasked(&self, internal_name: &[u8]) {
        self.marked.borrow_mut().push(text(internal_name));
    }
}

fn loader(asked: AskedTypes) -> Loader {
    Loader {
        known: Types::new(&["a/Known: a/Base, a/Listed", "a/Listed: java/lang/Object, a/Deep"]),
        files: Types::new(&[
            "a/Base: a/Root, a/Marker",
            "a/Root: java/lang/Object, a/Far",
            "a/Marker: java/lang/Object, a/Wanted",
            "a/Deep: java/lang/Object, a/Wanted",
            "a/Far: java/lang/Object",
        ]),
        asked,
        may_wait: false,
        read: RefCell::default(),
        marked: RefCell::default(),
    }
}

/// Whether a class with these super types may be taken and is, by a rule that asks for this type.
fn takes(loader: &Loader, wanted: &str, super_class: &str, interfaces: &[&str]) -> bool {
    let rules = rules(&format!("[[rule]]\nlevel = 'time'\nextends = '{wanted}'"));
    let class = ClassBuilder::new("a/C", super_class).method("run", "()V", CALLS);
    let bytes = interfaces.iter().fold(class, |class, name| class.interface(name)).build();
    let class = ClassFile::parse(&bytes).unwrap();
    let mut memory = HeadMemory::default();
    let may_take = rules.may_take(&rules.first_look(&bytes, &mut memory).unwrap(), &super::context(loader));
    let read = loader.read.borrow().clone();
    let decision = rules.decide(&class, &super::context(loader));
    assert!(decision.unresolved.is_empty(), "what cannot matter is not waited for");
    let is_taken = decision.chosen().next().is_some();
    assert_eq!(may_take, is_taken);
    *loader.read.borrow_mut() = read;
    is_taken
}

#[test]
fn all_is_read_where_an_interface_may_be_found() {
    let loader = loader(AskedTypes::Any);
    assert!(takes(&loader, "a.Wanted", "a/Known", &[]));
    assert_eq!(*loader.read.borrow(), ["a/Base", "a/Root", "a/Marker", "a/Deep", "a/Far", "a/Wanted"]);
}

#[test]
fn only_super_classes_are_read_for_a_class() {
    let one = loader(AskedTypes::Classes);
    assert!(takes(&one, "a.Root", "a/Known", &["a/Deep"]));
    assert_eq!(*one.read.borrow(), ["a/Base", "a/Root"], "above a class that is known, too");
    let other = loader(AskedTypes::Classes);
    assert!(!takes(&other, "a.Other", "java/lang/Object", &["a/Deep", "a/Listed"]));
    assert!(other.read.borrow().is_empty());
}

#[test]
fn nothing_is_read_for_types_that_are_nowhere_but_one_named_by_the_class_is_found() {
    let one = loader(AskedTypes::Nowhere);
    assert!(!takes(&one, "a.Other", "a/Known", &["a/Deep"]));
    assert!(one.read.borrow().is_empty());
    assert!(takes(&loader(AskedTypes::Nowhere), "a.Deep", "java/lang/Object", &["a/Deep"]));
}

#[test]
fn known_parts_are_marked_whatever_was_not_read() {
    let partly = loader(AskedTypes::Classes);
    assert!(!takes(&partly, "a.Other", "a/Known", &[]));
    assert_eq!(*partly.read.borrow(), ["a/Base", "a/Root"]);
    let marked = partly.marked.borrow();
    assert!(["a/Known", "a/Listed"].into_iter().all(|name| marked.iter().any(|marked| marked == name)), "{marked:?}");
    let wanted = loader(AskedTypes::Classes);
    assert!(takes(&wanted, "a.Root", "a/Known", &[]));
    assert!(wanted.marked.borrow().is_empty());
}

#[test]
fn a_class_that_waits_reads_nothing_and_nothing_is_said_of_its_super_types() {
    let waiting = Loader { may_wait: true, ..loader(AskedTypes::Any) };
    assert!(!takes(&waiting, "a.Wanted", "a/Known", &[]));
    assert!(waiting.read.borrow().is_empty() && waiting.marked.borrow().is_empty());
    assert!(takes(&waiting, "a.Listed", "a/Known", &[]), "what is known counts");
    assert!(waiting.read.borrow().is_empty());
}

#[test]
fn nothing_is_read_if_the_only_asked_type_is_beside_what_is_unknown() {
    let one = loader(AskedTypes::Any);
    assert!(takes(&one, "a.Wanted", "a/Known", &["a/Wanted"]));
    assert!(one.read.borrow().is_empty());
}
