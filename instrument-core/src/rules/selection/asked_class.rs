//! What rules ask about a class, found out when the first rule asks.

use std::cell::OnceCell;

use super::class_context::ClassContext;
use super::conditions::origin::OriginFacts;
use super::hierarchy::{Hierarchy, SupertypeFacts, WantedTypes};
use super::subject::Subject;

/// One class with what was asked about it.
pub(super) struct AskedClass<'f, 'a> {
    pub(super) subject: Subject<'f, 'a>,
    hierarchy: &'f dyn Hierarchy,
    wanted: &'f WantedTypes,
    supertypes: OnceCell<SupertypeFacts>,
    annotations: OnceCell<Vec<&'f [u8]>>,
    origin: OriginFacts<'f>,
}

impl<'f, 'a> AskedClass<'f, 'a> {
    pub(super) fn new(
        subject: Subject<'f, 'a>,
        context: &ClassContext<'f>,
        wanted: &'f WantedTypes,
    ) -> AskedClass<'f, 'a> {
        let origin = OriginFacts::new(context.origin);
        let (supertypes, annotations) = (OnceCell::new(), OnceCell::new());
        AskedClass { subject, hierarchy: context.hierarchy, wanted, supertypes, annotations, origin }
    }

    pub(super) fn origin(&self) -> &OriginFacts<'f> {
        &self.origin
    }

    pub(super) fn name(&self) -> &'f [u8] {
        self.subject.name()
    }

    pub(super) fn supertypes(&self) -> &SupertypeFacts {
        self.supertypes.get_or_init(|| {
            SupertypeFacts::find(self.name(), || self.subject.supertypes(), self.hierarchy, self.wanted)
        })
    }

    /// Whether one of the annotations on the class has this internal name.
    pub(super) fn is_annotated(&self, internal_name: &[u8]) -> bool {
        let annotations = self.annotations.get_or_init(|| self.subject.annotations());
        annotations.iter().any(|descriptor| names_type(descriptor, internal_name))
    }
}

/// Whether the descriptor of an annotation is that of the type of this internal name.
pub(super) fn names_type(descriptor: &[u8], internal_name: &[u8]) -> bool {
    matches!(descriptor, [b'L', name @ .., b';'] if name == internal_name)
}
