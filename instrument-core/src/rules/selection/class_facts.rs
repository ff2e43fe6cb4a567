//! What rules ask about a class, found out when the first rule asks.

use std::cell::OnceCell;
use std::sync::Arc;

use classfile::ClassFile;

use super::annotations::collect_annotation_types;
use super::class_context::ClassContext;
use super::conditions::origin::OriginFacts;
use super::hierarchy::{Hierarchy, SupertypeFacts, Supertypes, WantedTypes};

/// One class with what is known about it.
pub(super) struct ClassFacts<'f, 'a> {
    pub(super) class: &'f ClassFile<'a>,
    hierarchy: &'f dyn Hierarchy,
    wanted: &'f WantedTypes,
    supertypes: OnceCell<SupertypeFacts>,
    annotations: OnceCell<Vec<&'a [u8]>>,
    origin: OriginFacts<'f>,
}

impl<'f, 'a> ClassFacts<'f, 'a> {
    pub(super) fn new(
        class: &'f ClassFile<'a>,
        context: &ClassContext<'f>,
        wanted: &'f WantedTypes,
    ) -> ClassFacts<'f, 'a> {
        let origin = OriginFacts::new(context.origin);
        let (supertypes, annotations) = (OnceCell::new(), OnceCell::new());
        ClassFacts { class, hierarchy: context.hierarchy, wanted, supertypes, annotations, origin }
    }

    pub(super) fn origin(&self) -> &OriginFacts<'f> {
        &self.origin
    }

    pub(super) fn name(&self) -> &'a [u8] {
        self.class.this_class().0
    }

    pub(super) fn supertypes(&self) -> &SupertypeFacts {
        self.supertypes.get_or_init(|| {
            let direct = Arc::new(Supertypes::of(self.class));
            SupertypeFacts::walk(self.name(), direct, self.hierarchy, self.wanted)
        })
    }

    /// Descriptors of the annotations on the class.
    pub(super) fn annotations(&self) -> &[&'a [u8]] {
        self.annotations.get_or_init(|| {
            let mut types = Vec::new();
            collect_annotation_types(self.class.attributes(), self.class.constant_pool(), &mut types);
            types
        })
    }
}
