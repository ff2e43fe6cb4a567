//! The constant pools of a chunk.

use rustc_hash::FxHashMap;

use super::ReadError;
use super::cursor::{Cursor, Text};
use super::metadata::Types;
use super::plan::{Plan, Values, Wanted};
use super::stacks::{StackTrace, read_stack};

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thread {
    /// Java id, or that of the operating system for a thread that is not Java's.
    pub id: u64,
    /// Name; virtual threads usually have none.
    pub name: String,
    /// Whether it is a virtual thread.
    pub is_virtual: bool,
}

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method<'c> {
    /// Internal name of the class: `a/b/C`.
    pub class: &'c str,
    /// Name of its module; empty if it is not known.
    pub module: &'c str,
    /// Name of the method.
    pub name: &'c str,
    /// Descriptor of the method.
    pub descriptor: &'c str,
}

impl<'c> Method<'c> {
    /// A method without a name, of a class in no known module.
    #[must_use]
    pub fn of_class(class: &'c str) -> Method<'c> {
        Method { class, module: "", name: "", descriptor: "" }
    }
}

#[derive(Debug)]
struct ClassKeys {
    name: u64,
    package: u64,
}

#[derive(Debug)]
struct MethodKeys {
    class: u64,
    name: u64,
    descriptor: u64,
}

type Pool<T> = FxHashMap<u64, T>;

/// The constants of a chunk that reports need.
#[derive(Debug, Default)]
pub(super) struct Constants {
    threads: Pool<Thread>,
    methods: Pool<MethodKeys>,
    classes: Pool<ClassKeys>,
    /// Keys of their modules.
    packages: Pool<u64>,
    /// Keys of their names.
    modules: Pool<u64>,
    symbols: Pool<Box<str>>,
    templates: Pool<Box<str>>,
    strings: Pool<Box<str>>,
    stacks: Pool<StackTrace>,
}

const THREAD: Wanted = Wanted { numbers: &["osThreadId", "javaThreadId", "virtual"], texts: &["osName", "javaName"] };
const METHOD: Wanted = Wanted { numbers: &["type", "name", "descriptor"], texts: &[] };
const CLASS: Wanted = Wanted { numbers: &["name", "package"], texts: &[] };
const PACKAGE: Wanted = Wanted { numbers: &["module"], texts: &[] };
const MODULE: Wanted = Wanted { numbers: &["name"], texts: &[] };
const SYMBOL: Wanted = Wanted { numbers: &[], texts: &["string"] };
const TEMPLATE: Wanted = Wanted { numbers: &[], texts: &["name"] };
const STRING: Wanted = Wanted { numbers: &[], texts: &[""] };
const NOTHING: Wanted = Wanted { numbers: &[], texts: &[] };

impl Constants {
    /// Reads the checkpoints of a chunk, from the last one (at `offset`) back to the first.
    pub(super) fn read(chunk: &[u8], types: &Types, offset: usize) -> Result<Constants, ReadError> {
        let mut constants = Constants::default();
        let mut at = offset;
        loop {
            let mut cursor = Cursor::new(chunk, at);
            let _size = cursor.varint()?;
            if cursor.varint()? != 1 {
                return Err(cursor.error("there is no checkpoint where the chunk says"));
            }
            let _start = cursor.varint()?;
            let _duration = cursor.varint()?;
            let to_previous = cursor.varint()? as i64;
            let _kind = cursor.byte()?;
            for _ in 0..cursor.count()? {
                constants.read_pool(&mut cursor, types)?;
            }
            if to_previous == 0 {
                return Ok(constants);
            }
            // Checkpoints follow each other in the file, so this always ends.
            match isize::try_from(to_previous).ok().and_then(|delta| at.checked_add_signed(delta)) {
                Some(previous) if previous < at => at = previous,
                _ => return Err(cursor.error("the previous checkpoint lies outside the chunk")),
            }
        }
    }

    fn read_pool(&mut self, cursor: &mut Cursor<'_>, types: &Types) -> Result<(), ReadError> {
        let type_id = cursor.varint()?;
        let name = types.get(&type_id).map(|declared| declared.name.as_str()).unwrap_or_default();
        if name == "jdk.types.StackTrace" {
            return self.read_stacks(cursor, types, type_id);
        }
        let wanted = match name {
            "java.lang.Thread" => THREAD,
            "jdk.types.Method" => METHOD,
            "java.lang.Class" => CLASS,
            "jdk.types.Package" => PACKAGE,
            "jdk.types.Module" => MODULE,
            "jdk.types.Symbol" => SYMBOL,
            "instr.types.Template" => TEMPLATE,
            "java.lang.String" => STRING,
            _ => NOTHING,
        };
        let Some(plan) = Plan::new(types, type_id, wanted) else {
            return Err(cursor.error("a constant pool has a type that is not declared"));
        };
        for _ in 0..cursor.count()? {
            let key = cursor.varint()?;
            let values = plan.read(cursor, types)?;
            self.keep(name, key, values);
        }
        Ok(())
    }

    fn read_stacks(&mut self, cursor: &mut Cursor<'_>, types: &Types, type_id: u64) -> Result<(), ReadError> {
        let Some(declared) = types.get(&type_id) else { return Ok(()) };
        for _ in 0..cursor.count()? {
            let key = cursor.varint()?;
            let stack = read_stack(cursor, types, declared)?;
            self.stacks.insert(key, stack);
        }
        Ok(())
    }

    fn keep(&mut self, type_name: &str, key: u64, values: Values<'_>) {
        let Values { numbers: [first, second, third, ..], texts: [text, second_text, ..] } = values;
        match type_name {
            "java.lang.Thread" => {
                self.threads.insert(key, thread([first, second, third], text, second_text));
            }
            "jdk.types.Method" => {
                self.methods.insert(key, MethodKeys { class: first, name: second, descriptor: third });
            }
            "java.lang.Class" => {
                self.classes.insert(key, ClassKeys { name: first, package: second });
            }
            "jdk.types.Package" => {
                self.packages.insert(key, first);
            }
            "jdk.types.Module" => {
                self.modules.insert(key, first);
            }
            "jdk.types.Symbol" => {
                self.symbols.insert(key, owned(text));
            }
            "instr.types.Template" => {
                self.templates.insert(key, owned(text));
            }
            "java.lang.String" => {
                self.strings.insert(key, owned(text));
            }
            _ => {}
        }
    }

    pub(super) fn thread(&self, key: u64) -> Option<&Thread> {
        self.threads.get(&key)
    }

    pub(super) fn method(&self, key: u64) -> Option<Method<'_>> {
        let keys = self.methods.get(&key)?;
        let symbol = |key| self.symbols.get(key).map_or("", |text| &**text);
        let class = self.classes.get(&keys.class);
        let module = class.and_then(|class| self.modules.get(self.packages.get(&class.package)?));
        Some(Method {
            class: class.map_or("", |class| symbol(&class.name)),
            module: module.map_or("", symbol),
            name: symbol(&keys.name),
            descriptor: symbol(&keys.descriptor),
        })
    }

    pub(super) fn class(&self, key: u64) -> Option<&str> {
        self.symbols.get(&self.classes.get(&key)?.name).map(|name| &**name)
    }

    pub(super) fn stack(&self, key: u64) -> Option<&StackTrace> {
        self.stacks.get(&key)
    }

    pub(super) fn template(&self, key: u64) -> Option<&str> {
        self.templates.get(&key).map(|name| &**name)
    }

    pub(super) fn string(&self, key: u64) -> Option<&str> {
        self.strings.get(&key).map(|text| &**text)
    }
}

fn owned(text: Text<'_>) -> Box<str> {
    match text {
        Text::Inline(text) => text.into(),
        Text::Null | Text::Pooled(_) => "".into(),
    }
}

fn thread([os_id, java_id, is_virtual]: [u64; 3], os_name: Text<'_>, java_name: Text<'_>) -> Thread {
    let (os_name, java_name) = (owned(os_name), owned(java_name));
    let is_java = java_id as i64 > 0;
    Thread {
        id: if is_java { java_id } else { os_id },
        name: if is_java { java_name } else { os_name }.into_string(),
        is_virtual: is_virtual != 0,
    }
}
