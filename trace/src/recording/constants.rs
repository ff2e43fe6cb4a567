//! The constants of a recording other than threads: methods with their classes, packages and names, templates, texts.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::payload::{push_flag, push_text};
use super::pool::{Interned, Pool, Texts};
use crate::modified_utf8::text_of_modified_utf8;
use crate::schema::id;
use crate::varint;

/// Fewer names are not worth the trouble of looking who needs them.
const MANY: usize = if cfg!(test) { 1_000 } else { 100_000 };

/// A method by the keys of its parts; equal parts are the same method, whatever loader its class has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct MethodParts {
    pub(super) class: u32,
    pub(super) name: u32,
    pub(super) descriptor: u32,
    access_flags: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ClassParts {
    pub(super) name: u32,
    pub(super) package: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PackageParts {
    pub(super) name: u32,
    /// 0: not known.
    pub(super) module: u32,
}

/// Tells the module of a class by its internal name; is asked once a class.
pub type ModuleOfClass = Box<dyn Fn(&str) -> Option<String> + Send>;

struct ModuleSource(ModuleOfClass);

impl std::fmt::Debug for ModuleSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ModuleSource")
    }
}

/// All constants of the file, and the pools of the chunk under construction.
#[derive(Debug)]
pub(super) struct Constants {
    /// Number of the chunk under construction, from 1.
    chunk: u32,
    pub(super) symbols: Interned<Arc<str>>,
    module_source: Option<ModuleSource>,
    pub(super) modules: Interned<u32>,
    pub(super) packages: Interned<PackageParts>,
    /// Keys of classes by the key of their name, so that each is looked at once.
    pub(super) classes_by_name: FxHashMap<u32, u32>,
    pub(super) classes: Interned<ClassParts>,
    pub(super) methods: Interned<MethodParts>,
    /// Of the methods, those whose keys others keep.
    pub(super) sampled: FxHashSet<u32>,
    /// So many symbols are many.
    many: usize,
    templates: Interned<Arc<str>>,
    texts: Texts,
    symbol_pool: Pool,
    module_pool: Pool,
    package_pool: Pool,
    class_pool: Pool,
    method_pool: Pool,
    template_pool: Pool,
    text_pool: Pool,
}

impl Constants {
    pub(super) fn new() -> Constants {
        Constants {
            chunk: 1,
            symbols: Interned::default(),
            module_source: None,
            modules: Interned::default(),
            packages: Interned::default(),
            classes_by_name: FxHashMap::default(),
            classes: Interned::default(),
            methods: Interned::default(),
            sampled: FxHashSet::default(),
            many: MANY,
            templates: Interned::default(),
            texts: Texts::default(),
            symbol_pool: Pool::new(id::SYMBOL),
            module_pool: Pool::new(id::MODULE),
            package_pool: Pool::new(id::PACKAGE),
            class_pool: Pool::new(id::CLASS),
            method_pool: Pool::new(id::METHOD),
            template_pool: Pool::new(id::TEMPLATE),
            text_pool: Pool::new(id::STRING),
        }
    }

    /// The parts of a method, from names in modified UTF-8.
    pub(super) fn parts(&mut self, class: &[u8], name: &[u8], descriptor: &[u8], access_flags: u16) -> MethodParts {
        MethodParts {
            class: self.class(class),
            name: self.symbol(&text_of_modified_utf8(name)),
            descriptor: self.symbol(&text_of_modified_utf8(descriptor)),
            access_flags,
        }
    }

    /// The key of a class by its internal name in modified UTF-8; it is in the pools of this chunk afterwards.
    pub(super) fn use_class_named(&mut self, name: &[u8]) -> u32 {
        let class = self.class(name);
        self.use_class(class);
        class
    }

    /// The key of a class by its internal name in modified UTF-8.
    pub(super) fn class(&mut self, name: &[u8]) -> u32 {
        let class_name = text_of_modified_utf8(name);
        let name = self.symbol(&class_name);
        if let Some(known) = self.classes_by_name.get(&name) {
            return *known;
        }
        let package = class_name.rsplit_once('/').map_or("", |(package, _)| package);
        let package = self.symbol(package);
        let module = self.module_source.as_ref().and_then(|source| source.0(&class_name));
        let module = module.map_or(0, |module| {
            let name = self.symbol(&module);
            self.modules.key(name)
        });
        let package = self.packages.key(PackageParts { name: package, module });
        let class = self.classes.key(ClassParts { name, package });
        self.classes_by_name.insert(name, class);
        class
    }

    /// From now on, classes that come up for the first time are put into the module that `source` names.
    pub(super) fn take_modules_from(&mut self, source: ModuleOfClass) {
        self.module_source = Some(ModuleSource(source));
    }

    fn symbol(&mut self, text: &str) -> u32 {
        self.symbols.key(Arc::from(text))
    }

    /// The key of a method. Keys count up in the order of the first calls, so methods in use have short ones.
    pub(super) fn method_key(&mut self, parts: MethodParts) -> u32 {
        self.methods.key(parts)
    }

    /// The key of a method that is never forgotten, because others keep it.
    pub(super) fn sampled_key(&mut self, parts: MethodParts) -> u32 {
        let key = self.methods.key(parts);
        self.sampled.insert(key);
        key
    }

    /// Whether it is worth to look for constants that nobody needs.
    pub(super) fn are_many(&self) -> bool {
        self.symbols.len() > self.many
    }

    /// All that is left is needed: twice as many are many then.
    pub(super) fn note_forgotten(&mut self) {
        self.many = MANY.max(2 * self.symbols.len());
    }

    /// The key of a template's name.
    pub(super) fn template_key(&mut self, name: &str) -> u32 {
        self.templates.key(Arc::from(name))
    }

    /// Puts a method and all that it refers to into the pools of this chunk.
    pub(super) fn use_method(&mut self, key: u32) {
        let Some(method) = self.methods.first_use(key, self.chunk) else { return };
        self.use_class(method.class);
        self.use_symbol(method.name);
        self.use_symbol(method.descriptor);
        self.method_pool.add(u64::from(key), |fields| {
            for part in [method.class, method.name, method.descriptor, u32::from(method.access_flags)] {
                varint::push(fields, u64::from(part));
            }
            push_flag(fields, false);
        });
    }

    /// Puts a class and all that it refers to into the pools of this chunk.
    pub(super) fn use_class(&mut self, key: u32) {
        let Some(class) = self.classes.first_use(key, self.chunk) else { return };
        self.use_symbol(class.name);
        self.use_package(class.package);
        self.class_pool.add(u64::from(key), |fields| {
            let no_loader = 0;
            let no_modifiers = 0;
            for part in [no_loader, class.name, class.package, no_modifiers] {
                varint::push(fields, u64::from(part));
            }
            push_flag(fields, false);
        });
    }

    fn use_package(&mut self, key: u32) {
        let Some(package) = self.packages.first_use(key, self.chunk) else { return };
        self.use_symbol(package.name);
        self.use_module(package.module);
        self.package_pool.add(u64::from(key), |fields| {
            varint::push(fields, u64::from(package.name));
            varint::push(fields, u64::from(package.module));
            push_flag(fields, true);
        });
    }

    fn use_module(&mut self, key: u32) {
        let Some(name) = self.modules.first_use(key, self.chunk) else { return };
        self.use_symbol(name);
        self.module_pool.add(u64::from(key), |fields| {
            let [no_version, no_location, no_loader] = [0, 0, 0];
            for part in [name, no_version, no_location, no_loader] {
                varint::push(fields, u64::from(part));
            }
        });
    }

    fn use_symbol(&mut self, key: u32) {
        if let Some(text) = self.symbols.first_use(key, self.chunk) {
            self.symbol_pool.add(u64::from(key), |fields| push_text(fields, &text));
        }
    }

    /// Puts the name of a template into the pool of this chunk.
    pub(super) fn use_template(&mut self, key: u32) {
        if let Some(name) = self.templates.first_use(key, self.chunk) {
            self.template_pool.add(u64::from(key), |fields| push_text(fields, &name));
        }
    }

    /// The key of a text, which is in the pool of this chunk from now on.
    pub(super) fn use_text(&mut self, text: &str) -> u64 {
        self.texts.use_in(text, self.chunk, &mut self.text_pool)
    }

    pub(super) fn chunk(&self) -> u32 {
        self.chunk
    }

    /// The pools of the chunk, in the order of the file.
    pub(super) fn pools(&self) -> [&Pool; 7] {
        [
            &self.symbol_pool,
            &self.module_pool,
            &self.package_pool,
            &self.class_pool,
            &self.method_pool,
            &self.template_pool,
            &self.text_pool,
        ]
    }

    /// Starts the next chunk: keys stay, nothing is in use.
    pub(super) fn next_chunk(&mut self) {
        self.chunk = self.chunk.wrapping_add(1).max(1);
        self.texts.forget_if_many();
        for pool in [
            &mut self.symbol_pool,
            &mut self.module_pool,
            &mut self.package_pool,
            &mut self.class_pool,
            &mut self.method_pool,
            &mut self.template_pool,
            &mut self.text_pool,
        ] {
            pool.clear();
        }
    }
}
