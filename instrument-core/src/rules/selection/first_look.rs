//! Saying no to a class from its head alone, before anything else of it is read: most classes of an application end here when the
//! rules ask for super types or annotations.

use std::cell::OnceCell;
use std::sync::Arc;

use classfile::{ClassHead, HeadMemory, Result};

use super::class_context::ClassContext;
use super::class_match::ClassMatch;
use super::conditions::origin::OriginFacts;
use super::hierarchy::{Hierarchy, SupertypeFacts};
use super::rule::CompiledRule;
use super::rule_reach::Stage;
use super::rule_set::{RuleSet, wants_class};
use crate::facts::Supertypes;

/// The annotations that rules ask for.
#[derive(Debug, Default)]
pub(super) struct AskedAnnotations {
    /// As descriptors: a class that carries one has it among its constants.
    descriptors: Vec<Box<[u8]>>,
    /// A bit for the length of each, the length counted modulo 64.
    lengths: u64,
}

/// Which annotations of [`AskedAnnotations`] are among the constants of a class: one bit each; the last for all from the 64th on.
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
    pub fn may_take(&self, class: &FirstLook<'_, '_>, context: &ClassContext<'_>) -> bool {
        let name = class.name();
        if self.refuse_class(name).is_some() {
            return false;
        }
        let looking = Looking { rules: self, class, context, super_types: OnceCell::new(), origin: OnceCell::new() };
        let may_take = |at: usize| match self.rules.get(at).filter(|rule| wants_class(rule, name)) {
            None => false,
            Some(rule) => match looking.failing(rule) {
                None => true,
                Some(stage) => {
                    context.reach.inspect(|reach| reach.note(at, stage));
                    false
                }
            },
        };
        self.unnamed_for(name).iter().any(|at| may_take(*at)) || self.index.rules(name).any(may_take)
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
        let direct = || Arc::new(Supertypes::named(class.super_types()));
        Some(SupertypeFacts::find(class.name(), direct, hierarchy, &self.wanted))
    }
}

/// The questions of all rules about the head of one class.
struct Looking<'l, 'a, 'm, 'c> {
    rules: &'l RuleSet,
    class: &'l FirstLook<'a, 'm>,
    context: &'l ClassContext<'c>,
    super_types: OnceCell<Option<SupertypeFacts>>,
    origin: OnceCell<OriginFacts<'c>>,
}

impl Looking<'_, '_, '_, '_> {
    /// The first condition of the rule that cannot hold.
    fn failing(&self, rule: &CompiledRule) -> Option<Stage> {
        let mentions =
            |names: &Vec<Vec<u8>>| names.is_empty() || self.rules.annotations.mentions_one(self.class.mentioned, names);
        if !mentions(&rule.annotated) {
            return Some(Stage::ClassNotAnnotated);
        }
        if !mentions(&rule.method_annotated) {
            return Some(Stage::NoAnnotatedMethod);
        }
        if !rule.extends.is_empty() && !self.may_extend(rule) {
            return Some(Stage::DoesNotExtend);
        }
        if !rule.asks_for_origin() {
            return None;
        }
        let origin = self.origin.get_or_init(|| OriginFacts::new(self.context.origin));
        origin.failing(rule).and_then(|key| Stage::of_class(ClassMatch::OtherOrigin(key)))
    }

    fn may_extend(&self, rule: &CompiledRule) -> bool {
        let found = || self.rules.find_super_types(self.class, self.context.hierarchy);
        self.super_types.get_or_init(found).as_ref().is_some_and(|found| {
            !found.unresolved.is_empty() || rule.extends.iter().any(|(_, number)| found.has(*number))
        })
    }
}
