//! A value for each of some classes, by name and loader.

use rustc_hash::{FxHashMap, FxHashSet};

use super::hierarchy::LoaderId;

/// Values by class.
#[derive(Debug)]
pub(crate) struct ClassTable<T> {
    by_name: FxHashMap<Box<[u8]>, Vec<(LoaderId, T)>>,
}

impl<T> Default for ClassTable<T> {
    fn default() -> ClassTable<T> {
        ClassTable { by_name: FxHashMap::default() }
    }
}

impl<T> ClassTable<T> {
    /// Returns the value of a class.
    pub(crate) fn get(&self, name: &[u8], loader: LoaderId) -> Option<&T> {
        self.by_name.get(name)?.iter().find(|(of, _)| *of == loader).map(|(_, value)| value)
    }

    /// Returns the value of a class, to be changed.
    pub(crate) fn get_mut(&mut self, name: &[u8], loader: LoaderId) -> Option<&mut T> {
        self.by_name.get_mut(name)?.iter_mut().find(|(of, _)| *of == loader).map(|(_, value)| value)
    }

    /// Sets the value of a class.
    pub(crate) fn insert(&mut self, name: &[u8], loader: LoaderId, value: T) {
        match (self.get_mut(name, loader), value) {
            (Some(known), value) => *known = value,
            (None, value) => match self.by_name.get_mut(name) {
                Some(classes) => classes.push((loader, value)),
                None => _ = self.by_name.insert(name.into(), vec![(loader, value)]),
            },
        }
    }

    /// Removes a class, and returns its value.
    pub(crate) fn remove(&mut self, name: &[u8], loader: LoaderId) -> Option<T> {
        let classes = self.by_name.get_mut(name)?;
        let at = classes.iter().position(|(of, _)| *of == loader)?;
        let (_, value) = classes.swap_remove(at);
        if classes.is_empty() {
            self.by_name.remove(name);
        }
        Some(value)
    }

    /// Returns the loaders and values of the classes of a name.
    pub(crate) fn of_name(&self, name: &[u8]) -> impl Iterator<Item = &(LoaderId, T)> {
        self.by_name.get(name).into_iter().flatten()
    }

    /// Returns the values of all classes.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.by_name.values().flatten().map(|(_, value)| value)
    }

    /// Whether there is a class of this name.
    pub(crate) fn has_name(&self, name: &[u8]) -> bool {
        self.by_name.contains_key(name)
    }

    /// Returns how many names the classes have.
    pub(crate) fn names(&self) -> usize {
        self.by_name.len()
    }

    /// Returns how many classes there are.
    pub(crate) fn classes(&self) -> usize {
        self.by_name.values().map(Vec::len).sum()
    }

    /// Removes the classes of loaders that are gone.
    pub(crate) fn forget(&mut self, gone: &FxHashSet<LoaderId>) {
        self.by_name.retain(|_, classes| {
            classes.retain(|(loader, _)| !gone.contains(loader));
            !classes.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loader_has_its_own_value_and_a_name_is_kept_as_long_as_one_of_its_classes() {
        let mut table = ClassTable::default();
        [(b"a/C", 1, "first"), (b"a/C", 2, "other"), (b"a/D", 1, "more"), (b"a/C", 1, "second")]
            .into_iter()
            .for_each(|(name, loader, value)| table.insert(name, loader, value));
        assert_eq!(
            (table.get(b"a/C", 1), table.get(b"a/C", 2), table.get(b"a/C", 3)),
            (Some(&"second"), Some(&"other"), None)
        );
        assert_eq!((table.names(), table.classes(), table.of_name(b"a/C").count()), (2, 3, 2));
        assert_eq!(
            (table.remove(b"a/D", 2), table.remove(b"a/D", 1), table.has_name(b"a/D")),
            (None, Some("more"), false)
        );
        table.forget(&FxHashSet::from_iter([1, 3]));
        assert_eq!((table.get(b"a/C", 1), table.get(b"a/C", 2)), (None, Some(&"other")));
        table.forget(&FxHashSet::from_iter([2]));
        assert_eq!((table.names(), table.classes()), (0, 0));
    }
}
