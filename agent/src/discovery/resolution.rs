//! Which method of the loaded classes an instruction means (JVMS 5.4.3), and which ones may run in its place.

use std::rc::Rc;

use instrument_core::facts::call_sites::MethodName;

/// A loaded class, by its place among all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ClassAt(pub(crate) usize);

/// A method by its class and its place among the methods of that.
pub(crate) type MethodAt = (ClassAt, usize);

pub(super) const ACC_PRIVATE: u16 = 0x0002;
const ACC_STATIC: u16 = 0x0008;
const ACC_FINAL: u16 = 0x0010;
pub(super) const ACC_NATIVE: u16 = 0x0100;
pub(super) const ACC_ABSTRACT: u16 = 0x0400;

const OBJECT: &[u8] = b"java/lang/Object";
/// Their native methods accept any arguments (JVMS 2.9.3).
const POLYMORPHIC: [&[u8]; 2] = [b"java/lang/invoke/MethodHandle", b"java/lang/invoke/VarHandle"];
const ANY_ARGUMENTS: &[u8] = b"([Ljava/lang/Object;)";

/// A declared method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) name: Box<[u8]>,
    pub(crate) descriptor: Box<[u8]>,
    pub(crate) flags: u16,
}

impl Declared {
    fn is(&self, name: &[u8], descriptor: &[u8]) -> bool {
        *self.name == *name && *self.descriptor == *descriptor
    }

    fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }
}

/// The loaded classes.
pub(crate) trait Types {
    /// The class of this name as another class sees it.
    fn find(&self, name: &[u8], from: ClassAt) -> Result<ClassAt, Unresolved>;

    /// Internal name.
    fn name(&self, class: ClassAt) -> &[u8];

    /// Whether it is linked: only then are its methods known.
    fn is_linked(&self, class: ClassAt) -> bool;

    /// The super class, then the direct interfaces.
    fn super_types(&self, class: ClassAt) -> (Option<ClassAt>, Rc<[ClassAt]>);

    /// Linked classes that extend or implement it, at any depth.
    fn subtypes(&self, class: ClassAt) -> Vec<ClassAt>;

    /// What it declares.
    fn methods(&self, class: ClassAt) -> Rc<[Declared]>;
}

/// Why no method was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Unresolved {
    /// No such class is loaded.
    NotLoaded,
    /// Several loaders have such a class, and it is unknown which one is meant.
    Ambiguous,
    /// The class has not been linked.
    NotLinked(ClassAt),
    /// No loaded class declares the method.
    NoMethod(ClassAt),
}

impl Unresolved {
    /// For programs and for people.
    pub(crate) fn texts(self) -> (&'static str, &'static str) {
        match self {
            Unresolved::NotLoaded => ("not-loaded", "its class is not loaded"),
            Unresolved::Ambiguous => {
                ("ambiguous", "several class loaders have its class, and the JVM does not say which is meant")
            }
            Unresolved::NotLinked(_) => ("not-linked", "its class is not linked yet"),
            Unresolved::NoMethod(_) => ("no-method", "no loaded class declares it"),
        }
    }
}

/// Returns the method that a class means by this name.
pub(crate) fn resolve(types: &dyn Types, method: &MethodName, from: ClassAt) -> Result<MethodAt, Unresolved> {
    // Arrays have the methods of Object.
    let owner = if method.owner.starts_with(b"[") { OBJECT } else { &*method.owner };
    let class = types.find(owner, from)?;
    if !types.is_linked(class) {
        return Err(Unresolved::NotLinked(class));
    }
    let found = in_super_classes(types, class, &method.name, &method.descriptor)
        .or_else(|| in_interfaces(types, class, &method.name, &method.descriptor))
        .or_else(|| {
            // For an interface, the methods of Object (JVMS 5.4.3.4).
            let object = types.find(OBJECT, class).ok()?;
            declared(types, object, &method.name, &method.descriptor)
        });
    found.ok_or(Unresolved::NoMethod(class))
}

/// Returns the methods that may run in the place of this one: of loaded classes that override or implement it, and those that such classes inherit.
/// Methods of `Object` have none: every class would have to be asked.
pub(crate) fn implementers(types: &dyn Types, (class, method): MethodAt) -> Vec<MethodAt> {
    let methods = types.methods(class);
    let Some(declared) = methods.get(method) else { return Vec::new() };
    if declared.has(ACC_PRIVATE | ACC_STATIC | ACC_FINAL) || *declared.name == *b"<init>" || types.name(class) == OBJECT
    {
        return Vec::new();
    }
    let mut found = Vec::new();
    for subtype in types.subtypes(class) {
        let in_chain = in_super_classes(types, subtype, &declared.name, &declared.descriptor);
        found.extend(in_chain.filter(|(at, _)| *at != class && types.name(*at) != OBJECT));
    }
    found.retain(|(class, method)| {
        types.methods(*class).get(*method).is_some_and(|of| !of.has(ACC_PRIVATE | ACC_STATIC | ACC_ABSTRACT))
    });
    found.sort_by(|(a, of_a), (b, of_b)| {
        // Those that can be instrumented first: hidden classes have a `+` in their name.
        let key = |class: ClassAt| (types.name(class).contains(&b'+'), types.name(class), class);
        key(*a).cmp(&key(*b)).then(of_a.cmp(of_b))
    });
    found.dedup();
    found
}

/// Whether a class has loaded subclasses, and each declares all methods of the class itself whose names begin like this.
pub(crate) fn subclasses_declare_all(types: &dyn Types, class: ClassAt, prefix: &[u8]) -> bool {
    let subclasses = types.subtypes(class);
    let is_declared_below = |method: &Declared| {
        subclasses.iter().all(|below| declared(types, *below, &method.name, &method.descriptor).is_some())
    };
    let methods = types.methods(class);
    !subclasses.is_empty() && methods.iter().filter(|of| of.name.starts_with(prefix)).all(is_declared_below)
}

fn declared(types: &dyn Types, class: ClassAt, name: &[u8], descriptor: &[u8]) -> Option<MethodAt> {
    let methods = types.methods(class);
    let is_polymorphic = || POLYMORPHIC.contains(&types.name(class));
    let takes_anything =
        |of: &Declared| *of.name == *name && of.has(ACC_NATIVE) && of.descriptor.starts_with(ANY_ARGUMENTS);
    let exact = methods.iter().position(|of| of.is(name, descriptor));
    let found = exact.or_else(|| methods.iter().position(takes_anything).filter(|_| is_polymorphic()))?;
    Some((class, found))
}

fn in_super_classes(types: &dyn Types, class: ClassAt, name: &[u8], descriptor: &[u8]) -> Option<MethodAt> {
    let mut next = Some(class);
    while let Some(class) = next {
        if let Some(found) = declared(types, class, name, descriptor) {
            return Some(found);
        }
        next = types.super_types(class).0;
    }
    None
}

/// Looks in all interfaces above a class: a method with a body is preferred.
fn in_interfaces(types: &dyn Types, class: ClassAt, name: &[u8], descriptor: &[u8]) -> Option<MethodAt> {
    let mut pending = vec![class];
    let mut seen = Vec::new();
    let mut found: Option<MethodAt> = None;
    while let Some(class) = pending.pop() {
        if seen.contains(&class) {
            continue;
        }
        seen.push(class);
        let (super_class, interfaces) = types.super_types(class);
        pending.extend(super_class);
        for interface in interfaces.iter() {
            pending.push(*interface);
            let Some(declared) = declared(types, *interface, name, descriptor) else { continue };
            let is_abstract = types.methods(declared.0).get(declared.1).is_some_and(|of| of.has(ACC_ABSTRACT));
            if !is_abstract {
                return Some(declared);
            }
            found.get_or_insert(declared);
        }
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A class with its super class, interfaces, loader and methods by name and flags, all `()V`.
    pub(in crate::discovery) struct MadeUp {
        pub(in crate::discovery) name: &'static str,
        pub(in crate::discovery) super_class: Option<usize>,
        pub(in crate::discovery) interfaces: &'static [usize],
        pub(in crate::discovery) methods: &'static [(&'static str, u16)],
    }

    impl Types for &[MadeUp] {
        fn find(&self, name: &[u8], _: ClassAt) -> Result<ClassAt, Unresolved> {
            let mut places = (0..self.len()).filter(|at| self[*at].name.as_bytes() == name);
            match (places.next(), places.next()) {
                (None, _) => Err(Unresolved::NotLoaded),
                (Some(at), None) => Ok(ClassAt(at)),
                _ => Err(Unresolved::Ambiguous),
            }
        }

        fn name(&self, class: ClassAt) -> &[u8] {
            self[class.0].name.as_bytes()
        }

        fn is_linked(&self, class: ClassAt) -> bool {
            !self[class.0].name.ends_with("Unlinked")
        }

        fn super_types(&self, class: ClassAt) -> (Option<ClassAt>, Rc<[ClassAt]>) {
            let of = &self[class.0];
            (of.super_class.map(ClassAt), of.interfaces.iter().map(|at| ClassAt(*at)).collect())
        }

        fn subtypes(&self, class: ClassAt) -> Vec<ClassAt> {
            let is_direct = |at: &usize| {
                let (super_class, interfaces) = self.super_types(ClassAt(*at));
                super_class == Some(class) || interfaces.contains(&class)
            };
            let direct: Vec<ClassAt> = (0..self.len()).filter(is_direct).map(ClassAt).collect();
            let below: Vec<ClassAt> = direct.iter().flat_map(|class| self.subtypes(*class)).collect();
            [direct, below].concat()
        }

        fn methods(&self, class: ClassAt) -> Rc<[Declared]> {
            let declared = |(name, flags): &(&str, u16)| Declared {
                name: name.as_bytes().into(),
                descriptor: b"()V"[..].into(),
                flags: *flags,
            };
            self[class.0].methods.iter().map(declared).collect()
        }
    }

    pub(in crate::discovery) const PUBLIC: u16 = 1;

    const CLASSES: [MadeUp; 9] = [
        MadeUp {
            name: "java/lang/Object",
            super_class: None,
            interfaces: &[],
            methods: &[("hash", PUBLIC | ACC_NATIVE)],
        },
        MadeUp {
            name: "a/Shape",
            super_class: Some(0),
            interfaces: &[],
            methods: &[("area", ACC_ABSTRACT), ("name", PUBLIC)],
        },
        MadeUp {
            name: "a/Base",
            super_class: Some(0),
            interfaces: &[],
            methods: &[("area", PUBLIC), ("own", ACC_PRIVATE)],
        },
        MadeUp { name: "a/Square", super_class: Some(2), interfaces: &[1], methods: &[("name", PUBLIC)] },
        MadeUp {
            name: "a/Circle",
            super_class: Some(0),
            interfaces: &[1],
            methods: &[("area", PUBLIC), ("hash", PUBLIC)],
        },
        MadeUp { name: "a/Shape$$Lambda+0x1", super_class: Some(0), interfaces: &[1], methods: &[("area", PUBLIC)] },
        MadeUp { name: "a/Ambiguous", super_class: Some(0), interfaces: &[], methods: &[] },
        MadeUp { name: "a/Ambiguous", super_class: Some(0), interfaces: &[], methods: &[] },
        MadeUp { name: "a/Unlinked", super_class: Some(0), interfaces: &[], methods: &[] },
    ];

    fn resolved(owner: &str, name: &str) -> Result<String, Unresolved> {
        let method =
            MethodName { owner: owner.as_bytes().into(), name: name.as_bytes().into(), descriptor: b"()V"[..].into() };
        let classes: &[MadeUp] = &CLASSES;
        resolve(&classes, &method, ClassAt(4)).map(|(class, method)| text(class, method))
    }

    fn text(class: ClassAt, method: usize) -> String {
        format!("{}.{}", CLASSES[class.0].name, CLASSES[class.0].methods[method].0)
    }

    #[test]
    fn a_method_is_found_where_it_is_declared() {
        assert_eq!(resolved("a/Square", "area").unwrap(), "a/Base.area", "super classes before interfaces");
        assert_eq!(resolved("a/Circle", "name").unwrap(), "a/Shape.name", "a default method");
        assert_eq!(resolved("a/Shape", "hash").unwrap(), "java/lang/Object.hash");
        assert_eq!(resolved("[La/Circle;", "hash").unwrap(), "java/lang/Object.hash", "arrays are objects");
        assert_eq!(resolved("a/Gone", "area"), Err(Unresolved::NotLoaded));
        assert_eq!(resolved("a/Ambiguous", "area"), Err(Unresolved::Ambiguous));
        assert_eq!(resolved("a/Unlinked", "area"), Err(Unresolved::NotLinked(ClassAt(8))));
        assert_eq!(resolved("a/Square", "gone"), Err(Unresolved::NoMethod(ClassAt(3))));
    }

    #[test]
    fn subclasses_declare_all_if_none_of_them_inherits_one() {
        let class = |name, super_class, methods| MadeUp { name, super_class, interfaces: &[], methods };
        let pooled = class("a/Pooled", None, &[("prepare", PUBLIC), ("close", PUBLIC)]);
        let proxy = class("a/Proxy", Some(0), &[("prepare", PUBLIC)]);
        let below_proxy = class("a/Tracing", Some(1), &[("close", PUBLIC)]);
        let classes: &[MadeUp] = &[pooled, proxy, below_proxy];
        let declare = |of: usize, prefix: &[u8]| subclasses_declare_all(&&classes[..of], ClassAt(0), prefix);
        assert!(declare(2, b"prep") && !declare(2, b"cl"), "a/Proxy inherits `close`");
        assert!(!declare(3, b"prep"), "a/Tracing inherits `prepare`");
        assert!(!declare(1, b"prep"), "nothing is below");
    }

    #[test]
    fn implementers_override_the_method_or_inherit_what_implements_it() {
        let classes: &[MadeUp] = &CLASSES;
        let of = |class: usize, method: usize| -> Vec<String> {
            let found = implementers(&classes, (ClassAt(class), method));
            found.into_iter().map(|(class, method)| text(class, method)).collect()
        };
        assert_eq!(of(1, 0), ["a/Base.area", "a/Circle.area", "a/Shape$$Lambda+0x1.area"], "hidden classes last");
        assert_eq!(of(1, 1), ["a/Square.name"]);
        assert!(of(2, 1).is_empty(), "private");
        assert!(of(0, 0).is_empty(), "of Object");
    }
}
