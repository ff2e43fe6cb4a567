//! The direct super types of a class.

use classfile::ClassFile;

/// The direct super types of one type, as internal names: the super class first. None for `java/lang/Object`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supertypes {
    /// All names in one allocation, because there is one of these for each class. Each name is followed by a zero byte, which no name contains.
    names: Box<[u8]>,
}

impl Supertypes {
    /// Super types of these names, the super class first.
    pub fn named<'n>(names: impl IntoIterator<Item = &'n [u8], IntoIter: Clone>) -> Supertypes {
        let names = names.into_iter();
        let mut text = Vec::with_capacity(names.clone().map(|name| name.len() + 1).sum());
        for name in names {
            text.extend_from_slice(name);
            text.push(0);
        }
        Supertypes { names: text.into() }
    }

    /// Those of a parsed class.
    pub fn of(class: &ClassFile<'_>) -> Supertypes {
        Supertypes::named(class.super_class().into_iter().chain(class.interfaces()).map(|name| name.0))
    }

    /// Whether these are the names, in this order.
    pub fn are<'n>(&self, names: impl IntoIterator<Item = &'n [u8]>) -> bool {
        self.names().eq(names)
    }

    /// The names, the super class first.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> + Clone {
        self.names.split_inclusive(|byte| *byte == 0).filter_map(<[u8]>::split_last).map(|(_, name)| name)
    }

    pub(crate) fn name_at(&self, position: usize) -> Option<&[u8]> {
        self.names().nth(position)
    }
}
