//! The loaded classes of the JVM at one moment, asked only for what is needed.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::resolution::{ClassAt, Declared, Types, Unresolved};
use crate::classes::hierarchy::{BOOT, ClassId, LoaderId};
use crate::jvm::{Jni, Jvmti, LoadedClass, MethodId, methods_with_ids, parent_loaders};

/// The super class and the direct interfaces.
type SuperTypes = (Option<ClassAt>, Rc<[ClassAt]>);
/// What a class declares, with the JVM's ids.
type Methods = (Rc<[Declared]>, Rc<[MethodId]>);

/// All loaded classes.
pub(crate) struct LoadedTypes<'a> {
    jvmti: Jvmti,
    jni: &'a Jni<'a>,
    classes: Vec<(LoadedClass<'a>, ClassId)>,
    by_name: FxHashMap<Box<[u8]>, Vec<ClassAt>>,
    super_types: RefCell<FxHashMap<ClassAt, SuperTypes>>,
    /// Direct subtypes, once somebody asks for those of any class.
    subtypes: OnceCell<FxHashMap<ClassAt, Vec<ClassAt>>>,
    methods: RefCell<FxHashMap<ClassAt, Methods>>,
    parents: RefCell<FxHashMap<LoaderId, Rc<[LoaderId]>>>,
}

impl<'a> LoadedTypes<'a> {
    /// These classes; hidden ones with a `+` in their names.
    pub(crate) fn of(jvmti: Jvmti, jni: &'a Jni<'a>, loaded: &[LoadedClass<'a>]) -> LoadedTypes<'a> {
        let with_id = |class: &LoadedClass<'a>| {
            let name = class.any_internal_name(jvmti)?;
            let loader = class.with_loader(jvmti, jni, |loader| jvmti.loader_id(loader));
            Some((*class, (name.into_boxed_slice(), loader)))
        };
        let classes: Vec<(LoadedClass<'a>, ClassId)> = loaded.iter().filter_map(with_id).collect();
        let mut by_name: FxHashMap<Box<[u8]>, Vec<ClassAt>> = FxHashMap::default();
        for (at, (_, (name, _))) in classes.iter().enumerate() {
            by_name.entry(name.clone()).or_default().push(ClassAt(at));
        }
        LoadedTypes {
            jvmti,
            jni,
            classes,
            by_name,
            super_types: RefCell::default(),
            subtypes: OnceCell::new(),
            methods: RefCell::default(),
            parents: RefCell::default(),
        }
    }

    /// All classes.
    pub(crate) fn all(&self) -> impl Iterator<Item = (ClassAt, &ClassId)> {
        self.classes.iter().enumerate().map(|(at, (_, id))| (ClassAt(at), id))
    }

    /// A class and its identity.
    pub(crate) fn class(&self, at: ClassAt) -> Option<(LoadedClass<'a>, &ClassId)> {
        self.classes.get(at.0).map(|(class, id)| (*class, id))
    }

    /// The JVM's id of a method.
    pub(super) fn method_id(&self, (class, method): (ClassAt, usize)) -> Option<MethodId> {
        self.methods_of(class).1.get(method).copied()
    }

    fn methods_of(&self, class: ClassAt) -> Methods {
        if let Some(known) = self.methods.borrow().get(&class) {
            return known.clone();
        }
        let of_jvm = self.class(class).map(|(class, _)| methods_with_ids(self.jvmti, class)).unwrap_or_default();
        let ids = of_jvm.iter().map(|(id, _)| *id).collect();
        let declared = of_jvm.into_iter().map(|(_, names)| Declared {
            name: names.name.into(),
            descriptor: names.descriptor.into(),
            flags: names.access_flags,
        });
        let methods: Methods = (declared.collect(), ids);
        self.methods.borrow_mut().insert(class, methods.clone());
        methods
    }

    fn place_of(&self, class: LoadedClass<'_>) -> Option<ClassAt> {
        let name = class.any_internal_name(self.jvmti)?;
        let of_name = self.by_name.get(name.as_slice())?;
        if let [only] = of_name.as_slice() {
            return Some(*only);
        }
        let loader = class.with_loader(self.jvmti, self.jni, |loader| self.jvmti.loader_id(loader));
        self.of_loader(of_name, loader)
    }

    fn loader(&self, class: ClassAt) -> LoaderId {
        self.classes.get(class.0).map_or(BOOT, |(_, (_, loader))| *loader)
    }

    fn of_loader(&self, among: &[ClassAt], loader: LoaderId) -> Option<ClassAt> {
        among.iter().copied().find(|class| self.loader(*class) == loader)
    }

    /// The parents of the loader of a class.
    fn parents(&self, class: ClassAt) -> Rc<[LoaderId]> {
        let loader = self.loader(class);
        if let Some(known) = self.parents.borrow().get(&loader) {
            return Rc::clone(known);
        }
        let parents: Rc<[LoaderId]> = self
            .class(class)
            .map_or_else(Vec::new, |(class, _)| {
                class.with_loader(self.jvmti, self.jni, |loader| {
                    loader.map(|loader| parent_loaders(self.jvmti, self.jni, loader)).unwrap_or_default()
                })
            })
            .into();
        self.parents.borrow_mut().insert(loader, Rc::clone(&parents));
        parents
    }

    fn direct_subtypes(&self) -> &FxHashMap<ClassAt, Vec<ClassAt>> {
        self.subtypes.get_or_init(|| {
            let mut subtypes: FxHashMap<ClassAt, Vec<ClassAt>> = FxHashMap::default();
            for at in (0..self.classes.len()).map(ClassAt) {
                let (super_class, interfaces) = self.super_types(at);
                // Every class is below Object, and nobody asks for these.
                let super_class = super_class.filter(|class| self.super_types(*class).0.is_some());
                super_class
                    .iter()
                    .chain(interfaces.iter())
                    .for_each(|above| subtypes.entry(*above).or_default().push(at));
            }
            subtypes
        })
    }
}

impl Types for LoadedTypes<'_> {
    fn find(&self, name: &[u8], from: ClassAt) -> Result<ClassAt, Unresolved> {
        let of_name = self.by_name.get(name).ok_or(Unresolved::NotLoaded)?;
        let own = self.of_loader(of_name, self.loader(from));
        // Loaders that do not ask their parents first have defined the class themselves, or ask somebody who is unknown.
        let of_parents = || self.parents(from).iter().find_map(|loader| self.of_loader(of_name, *loader));
        let found = own.or_else(of_parents).or_else(|| self.of_loader(of_name, BOOT));
        found
            .or_else(|| matches!(of_name.as_slice(), [_]).then(|| of_name.first().copied()).flatten())
            .ok_or(Unresolved::Ambiguous)
    }

    fn name(&self, class: ClassAt) -> &[u8] {
        self.classes.get(class.0).map_or(&[], |(_, (name, _))| name)
    }

    fn is_linked(&self, class: ClassAt) -> bool {
        self.class(class).is_some_and(|(class, _)| class.is_prepared(self.jvmti))
    }

    fn super_types(&self, class: ClassAt) -> SuperTypes {
        if let Some(known) = self.super_types.borrow().get(&class) {
            return known.clone();
        }
        let found = self.class(class).map_or_else(
            || (None, Rc::default()),
            |(class, _)| {
                class.with_super_types(self.jvmti, self.jni, |super_class, interfaces| {
                    let interfaces = interfaces.iter().filter_map(|class| self.place_of(*class)).collect();
                    (super_class.and_then(|class| self.place_of(class)), interfaces)
                })
            },
        );
        self.super_types.borrow_mut().insert(class, found.clone());
        found
    }

    fn subtypes(&self, class: ClassAt) -> Vec<ClassAt> {
        let direct = self.direct_subtypes();
        let (mut found, mut seen, mut next) = (Vec::new(), FxHashSet::default(), 0);
        let mut add = |found: &mut Vec<ClassAt>, class: ClassAt| {
            let below = direct.get(&class).into_iter().flatten();
            found.extend(below.copied().filter(|class| seen.insert(*class)));
        };
        add(&mut found, class);
        while let Some(class) = found.get(next).copied() {
            add(&mut found, class);
            next += 1;
        }
        found
    }

    fn methods(&self, class: ClassAt) -> Rc<[Declared]> {
        self.methods_of(class).0
    }
}
