//! The parts of a method in the class file, located with as few looks at names as possible.

use classfile::{ByteReader, ClassFile, ConstantPool, Member};
use smallvec::SmallVec;

use super::Bailout;
use crate::weave::body::input::TableKind;

/// What the name of an attribute says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Code,
    Table(TableKind),
}

/// Names of attributes, looked at once a class.
#[derive(Debug, Default)]
pub(crate) struct AttributeNames {
    /// By constant.
    names: Vec<Option<Name>>,
}

impl AttributeNames {
    /// Forgets the last class.
    pub(crate) fn begin(&mut self, pool: &ConstantPool<'_>) {
        self.names.clear();
        self.names.resize(usize::from(pool.count()), None);
    }

    #[inline]
    fn of(&mut self, index: u16, pool: &ConstantPool<'_>) -> Result<Name, Bailout> {
        let place = self.names.get_mut(usize::from(index)).ok_or(Bailout)?;
        if let Some(known) = place {
            return Ok(*known);
        }
        let name = match pool.utf8(index)?.as_bytes() {
            b"Code" => Name::Code,
            other => Name::Table(TableKind::of(other)),
        };
        *place = Some(name);
        Ok(name)
    }
}

/// A table of the code.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeTable<'a> {
    pub(super) kind: TableKind,
    pub(super) name_index: u16,
    pub(super) content: &'a [u8],
}

/// The parts of a method that has code.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// The method's `attributes_count` and all up to the length of `Code`.
    pub(super) before: &'a [u8],
    /// What follows the content of `Code`.
    pub(super) after: &'a [u8],
    pub(super) max_stack: u16,
    pub(super) max_locals: u16,
    pub(super) bytecode: &'a [u8],
    /// The code and what follows it.
    pub(super) window: &'a [u8],
    pub(super) rows: &'a [[u8; 8]],
    /// The one `StackMapTable`.
    pub(super) frames: Option<CodeTable<'a>>,
    /// The other tables that the merged method keeps.
    pub(super) tables: SmallVec<[CodeTable<'a>; 6]>,
}

impl<'a> Parts<'a> {
    pub(super) fn read(
        class: &ClassFile<'a>,
        method: &Member<'_>,
        names: &mut AttributeNames,
    ) -> Result<Parts<'a>, Bailout> {
        let file = class.bytes().get(method.attributes_offset..method.end).ok_or(Bailout)?;
        let mut reader = ByteReader::new(file, 0, "method_info");
        let mut content = None;
        for _ in 0..reader.u2()? {
            let name = names.of(reader.u2()?, class.constant_pool())?;
            let at = reader.position();
            let length = reader.u4()? as usize;
            let attribute = reader.take(length)?;
            if name == Name::Code && content.replace((at, attribute)).is_some() {
                return Err(Bailout);
            }
        }
        let (at, content) = content.ok_or(Bailout)?;
        let before = file.get(..at).ok_or(Bailout)?;
        let after = file.get(at + 4 + content.len()..).ok_or(Bailout)?;
        Parts::of_code(before, content, after, class.constant_pool(), names)
    }

    fn of_code(
        before: &'a [u8],
        content: &'a [u8],
        after: &'a [u8],
        pool: &ConstantPool<'a>,
        names: &mut AttributeNames,
    ) -> Result<Parts<'a>, Bailout> {
        let mut reader = ByteReader::new(content, 0, "Code");
        let (max_stack, max_locals) = (reader.u2()?, reader.u2()?);
        let length = reader.u4()? as usize;
        if length == 0 || length > usize::from(u16::MAX) {
            return Err(Bailout);
        }
        let window = content.get(reader.position()..).unwrap_or_default();
        let bytecode = reader.take(length)?;
        let rows = usize::from(reader.u2()?);
        let (rows, _) = reader.take(rows * 8)?.as_chunks::<8>();
        let mut parts = Parts {
            before,
            after,
            max_stack,
            max_locals,
            bytecode,
            window,
            rows,
            frames: None,
            tables: SmallVec::new(),
        };
        for _ in 0..reader.u2()? {
            let name_index = reader.u2()?;
            let Name::Table(kind) = names.of(name_index, pool)? else { return Err(Bailout) };
            let length = reader.u4()? as usize;
            let content = reader.take(length)?;
            let table = CodeTable { kind, name_index, content };
            match kind {
                TableKind::StackMap if parts.frames.is_none() => parts.frames = Some(table),
                TableKind::StackMap | TableKind::TypeAnnotations => return Err(Bailout),
                TableKind::Dropped => {}
                TableKind::LineNumbers | TableKind::LocalVariables | TableKind::Other => parts.tables.push(table),
            }
        }
        reader.expect_end()?;
        Ok(parts)
    }
}
