//! Saying no to a class from its head alone, before anything else of it is read: most classes of an application end here when the
//! rules ask for super types or annotations.

use std::cell::OnceCell;
use std::sync::Arc;

use classfile::{ClassHead, HeadMemory, Result};

use super::hierarchy::{Hierarchy, SupertypeFacts, Supertypes};
use super::jdk_packages::is_jdk_class;
use super::rule::CompiledRule;
use super::rule_set::{RuleSet, wants_class};

/// The annotations that rules ask for.
#[derive(Debug, Default)]
pub(super) struct AskedAnnotations {
    /// As descriptors: a class that carries one has it among its constants.
    descriptors: Vec<Box<[u8]>>,
    /// A bit for the length of each, the length counted modulo 64.
    lengths: u64,
}

/// Which annotations of [`AskedAnnotations`] stand among the constants of a class: one bit each; the last for all from the 64th on.
type Mentioned = u64;

impl AskedAnnotations {
    pub(super) fn of(rules: &[CompiledRule]) -> AskedAnnotations {
        let mut asked = AskedAnnotations::default();
        for name in rules.iter().flat_map(|rule| rule.annotated.iter().chain(&rule.method_annotated)) {
            let descriptor = [b"L", name.as_slice(), b";"].concat().into_boxed_slice();
            if !asked.descriptors.contains(&descriptor) {
                asked.lengths |= 1 << (descriptor.len() % 64);
                asked.descriptors.push(descriptor);
            }
        }
        asked
    }

    #[inline]
    fn look_for(&self, text: &[u8], mentioned: &mut Mentioned) {
        if self.lengths >> (text.len() % 64) & 1 != 0
            && let Some(at) = self.descriptors.iter().position(|descriptor| **descriptor == *text)
        {
            *mentioned |= 1 << at.min(63);
        }
    }

    fn mentions_one(&self, mentioned: Mentioned, names: &[Vec<u8>]) -> bool {
        let is_name = |descriptor: &[u8], name: &[u8]| matches!(descriptor, [b'L', text @ .., b';'] if text == name);
        let at = |name: &Vec<u8>| self.descriptors.iter().position(|descriptor| is_name(descriptor, name));
        names.iter().any(|name| at(name).is_none_or(|at| mentioned >> at.min(63) & 1 != 0))
    }
}

/// The head of a class, read for [`RuleSet::may_take`].
#[derive(Debug)]
pub struct FirstLook<'a, 'm> {
    head: ClassHead<'a, 'm>,
    mentioned: Mentioned,
}

impl<'a> FirstLook<'a, '_> {
    /// Internal name of the class.
    pub fn name(&self) -> &'a [u8] {
        self.head.this_class().0
    }

    /// True for interfaces, annotation types among them.
    pub fn is_interface(&self) -> bool {
        self.head.is_interface()
    }

    /// The direct super types, the super class first.
    pub fn super_types(&self) -> impl Iterator<Item = &'a [u8]> + Clone + '_ {
        self.head.super_class().into_iter().chain(self.head.interfaces()).map(|name| name.0)
    }
}

impl RuleSet {
    /// Reads the head of a class.
    pub fn first_look<'a, 'm>(&self, class: &'a [u8], memory: &'m mut HeadMemory) -> Result<FirstLook<'a, 'm>> {
        let mut mentioned = 0;
        let head = if self.annotations.descriptors.is_empty() {
            ClassHead::read(class, memory, |_| {})?
        } else {
            ClassHead::read(class, memory, |text| self.annotations.look_for(text, &mut mentioned))?
        };
        Ok(FirstLook { head, mentioned })
    }

    /// Returns false only if no rule can match a method of the class, whatever the rest of the class contains. True includes
    /// "perhaps", especially if `hierarchy` does not know all super types.
    pub fn may_take(&self, class: &FirstLook<'_, '_>, hierarchy: &dyn Hierarchy) -> bool {
        let name = class.name();
        if self.refuse_class(name).is_some() {
            return false;
        }
        let super_types = OnceCell::new();
        let may_take = |at: usize| {
            self.rules.get(at).is_some_and(|rule| {
                let mentions =
                    |names: &Vec<Vec<u8>>| names.is_empty() || self.annotations.mentions_one(class.mentioned, names);
                let found = || super_types.get_or_init(|| self.find_super_types(class, hierarchy));
                let extends = || match found() {
                    Some(found) => {
                        !found.unresolved.is_empty() || rule.extends.iter().any(|(_, number)| found.has(*number))
                    }
                    None => false,
                };
                wants_class(rule, name)
                    && mentions(&rule.annotated)
                    && mentions(&rule.method_annotated)
                    && (rule.extends.is_empty() || extends())
            })
        };
        let unnamed = !self.unnamed.is_empty() && !is_jdk_class(name) && self.unnamed.iter().any(|at| may_take(*at));
        unnamed || self.index.rules(name).any(may_take)
    }

    /// `None` if no rule asks for the class or one of its super types.
    fn find_super_types(&self, class: &FirstLook<'_, '_>, hierarchy: &dyn Hierarchy) -> Option<SupertypeFacts> {
        let is_unasked =
            |name: &[u8]| !self.wanted.contains(name) && (name == b"java/lang/Object" || hierarchy.is_unasked(name));
        let is_wanted = |name: &[u8]| self.wanted.contains(name);
        if !is_wanted(class.name()) {
            let is_plain = |name: &[u8]| name == b"java/lang/Object" && !is_wanted(name);
            if class.super_types().all(is_plain) {
                return None;
            }
            let can_matter = || match hierarchy.has_asked_types() {
                false => class.super_types().any(is_wanted),
                true => !class.super_types().all(is_unasked),
            };
            if !can_matter() {
                return None;
            }
        }
        let direct = Arc::new(Supertypes::named(class.super_types()));
        Some(SupertypeFacts::walk(class.name(), direct, hierarchy, &self.wanted))
    }
}
