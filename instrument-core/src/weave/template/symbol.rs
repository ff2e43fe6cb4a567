//! Constants of a template, free of its constant pool, so that they can be put into any class's pool.

use classfile::{ByteReader, ConstantPool, ConstantPoolWriter, ModifiedUtf8, PoolFull, Tag};

/// A constant by content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// `CONSTANT_Integer` or `CONSTANT_Float` by its bits.
    Word(WordKind, u32),
    /// `CONSTANT_Long` or `CONSTANT_Double` by its bits.
    DoubleWord(WordKind, u64),
    /// `CONSTANT_String`
    String(Vec<u8>),
    /// `CONSTANT_Class`
    Class(Vec<u8>),
    /// `CONSTANT_MethodType`
    MethodType(Vec<u8>),
    /// `CONSTANT_Fieldref`, `CONSTANT_Methodref` or `CONSTANT_InterfaceMethodref`
    Member(MemberSymbol),
    /// `CONSTANT_MethodHandle`: kind and member.
    MethodHandle(u8, MemberSymbol),
    /// `CONSTANT_Dynamic` (`true`) or `CONSTANT_InvokeDynamic`: bootstrap method, arguments, name, descriptor.
    Dynamic(Box<DynamicSymbol>),
}

/// Integral or floating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordKind {
    /// int, long
    Integral,
    /// float, double
    Floating,
}

/// A field or method by content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemberSymbol {
    /// `Tag::Fieldref as u8` and so on.
    pub tag: u8,
    /// Internal name.
    pub owner: Vec<u8>,
    /// Simple name.
    pub name: Vec<u8>,
    /// Descriptor.
    pub descriptor: Vec<u8>,
}

/// A dynamically computed constant or call site by content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DynamicSymbol {
    /// True for a constant, false for a call site.
    pub is_constant: bool,
    /// Kind and member of the bootstrap method handle.
    pub bootstrap: (u8, MemberSymbol),
    /// Static arguments.
    pub arguments: Vec<Symbol>,
    /// Name given to the bootstrap method.
    pub name: Vec<u8>,
    /// Descriptor given to the bootstrap method.
    pub descriptor: Vec<u8>,
}

/// One row of `BootstrapMethods` (JVMS 4.7.23) by pool indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapRow {
    /// Method handle.
    pub handle: u16,
    /// Static arguments.
    pub arguments: Vec<u16>,
}

/// The `BootstrapMethods` rows that are appended to a class.
#[derive(Debug, Default)]
pub struct BootstrapRows {
    /// Rows the class has already.
    pub existing: u16,
    /// Their bytes.
    existing_rows: Vec<u8>,
    /// New rows, in order.
    pub appended: Vec<BootstrapRow>,
}

impl BootstrapRows {
    /// Starts a new class: rows are appended after those of its attribute, whose content is given; empty if it has none.
    pub fn begin(&mut self, content: &[u8]) {
        let (count, rows) = content.split_first_chunk::<2>().unwrap_or((&[0, 0], &[]));
        self.existing = u16::from_be_bytes(*count);
        self.existing_rows.clear();
        self.existing_rows.extend_from_slice(rows);
        self.appended.clear();
    }

    fn intern(&mut self, row: BootstrapRow) -> Result<u16, PoolFull> {
        if let Some(known) = self.find_existing(&row) {
            return Ok(known);
        }
        let place = self.appended.iter().position(|known| *known == row);
        let place = place.unwrap_or(self.appended.len()) + usize::from(self.existing);
        // The number of rows must fit as well, not only the index.
        let index = u16::try_from(place).ok().filter(|index| *index < u16::MAX).ok_or(PoolFull)?;
        if place == self.appended.len() + usize::from(self.existing) {
            self.appended.push(row);
        }
        Ok(index)
    }

    fn find_existing(&self, wanted: &BootstrapRow) -> Option<u16> {
        let mut reader = ByteReader::new(&self.existing_rows, 0, "BootstrapMethods");
        for index in 0..self.existing {
            let handle = reader.u2().ok()?;
            let count = reader.u2().ok()?;
            let arguments = reader.take(usize::from(count) * 2).ok()?.as_chunks::<2>().0;
            let same =
                || arguments.iter().map(|argument| u16::from_be_bytes(*argument)).eq(wanted.arguments.iter().copied());
            if handle == wanted.handle && same() {
                return Some(index);
            }
        }
        None
    }
}

/// Where constants of a template go: the pool of the class that is rewritten.
#[derive(Debug)]
pub struct SymbolSink<'s, 'a> {
    /// The class's own pool.
    pub pool: &'s ConstantPool<'a>,
    /// What is appended to it.
    pub writer: &'s mut ConstantPoolWriter,
    /// Bootstrap methods appended to the class.
    pub bootstrap: &'s mut BootstrapRows,
    /// Where the constants of the template at hand have been put already.
    pub placed: &'s mut PlacedSymbols,
}

/// Indexes that the constants of one template have in the pool of one class; every method of the class needs them again.
#[derive(Debug, Default)]
pub struct PlacedSymbols {
    indexes: Vec<u16>,
}

impl PlacedSymbols {
    /// Forgets the class.
    pub fn clear(&mut self) {
        self.indexes.clear();
    }

    fn get(&self, symbol: usize) -> Option<u16> {
        self.indexes.get(symbol).copied().filter(|index| *index != 0)
    }

    fn put(&mut self, symbol: usize, index: u16) {
        if self.indexes.len() <= symbol {
            self.indexes.resize(symbol + 1, 0);
        }
        if let Some(place) = self.indexes.get_mut(symbol) {
            *place = index;
        }
    }
}

impl SymbolSink<'_, '_> {
    /// Places all of the template's constants, in order, and passes the descriptors of those that were not placed before to `note`.
    pub(crate) fn place_all(
        &mut self,
        symbols: &[Symbol],
        mut note: impl FnMut(u16, ModifiedUtf8<'_>),
    ) -> Result<(), PoolFull> {
        // They are placed together: if the last one is placed, all are.
        if symbols.len().checked_sub(1).is_none_or(|last| self.placed.get(last).is_some()) {
            return Ok(());
        }
        for (number, symbol) in symbols.iter().enumerate() {
            if let (Some((index, true)), Some(descriptor)) = (self.symbol(symbols, number)?, symbol.descriptor()) {
                note(index, ModifiedUtf8(descriptor));
            }
        }
        Ok(())
    }

    /// Index of one of the template's constants, and whether it was placed only now; `None` if there is no such constant.
    #[inline]
    pub(crate) fn symbol(&mut self, symbols: &[Symbol], number: usize) -> Result<Option<(u16, bool)>, PoolFull> {
        if let Some(index) = self.placed.get(number) {
            return Ok(Some((index, false)));
        }
        let Some(symbol) = symbols.get(number) else { return Ok(None) };
        let index = symbol.place(self)?;
        self.placed.put(number, index);
        Ok(Some((index, true)))
    }
}

impl Symbol {
    /// Index of the constant in the class's pool, appended if the class does not have it.
    pub fn place(&self, sink: &mut SymbolSink<'_, '_>) -> Result<u16, PoolFull> {
        let (pool, writer) = (sink.pool, &mut *sink.writer);
        match self {
            Symbol::Word(WordKind::Integral, bits) => writer.word(pool, Tag::Integer, *bits),
            Symbol::Word(WordKind::Floating, bits) => writer.word(pool, Tag::Float, *bits),
            Symbol::DoubleWord(WordKind::Integral, bits) => writer.double_word(pool, Tag::Long, *bits),
            Symbol::DoubleWord(WordKind::Floating, bits) => writer.double_word(pool, Tag::Double, *bits),
            Symbol::String(text) => writer.string(pool, ModifiedUtf8(text)),
            Symbol::Class(name) => writer.class(pool, ModifiedUtf8(name)),
            Symbol::MethodType(descriptor) => writer.method_type(pool, ModifiedUtf8(descriptor)),
            Symbol::Member(member) => member.place(sink),
            Symbol::MethodHandle(kind, member) => place_handle(*kind, member, sink),
            Symbol::Dynamic(dynamic) => dynamic.place(sink),
        }
    }
}

impl Symbol {
    /// Descriptor of a field, method or dynamic call site.
    pub(crate) fn descriptor(&self) -> Option<&[u8]> {
        match self {
            Symbol::Member(member) => Some(&member.descriptor),
            Symbol::Dynamic(dynamic) => Some(&dynamic.descriptor),
            _ => None,
        }
    }
}

fn place_handle(kind: u8, member: &MemberSymbol, sink: &mut SymbolSink<'_, '_>) -> Result<u16, PoolFull> {
    let member = member.place(sink)?;
    sink.writer.method_handle(sink.pool, kind, member)
}

impl MemberSymbol {
    fn place(&self, sink: &mut SymbolSink<'_, '_>) -> Result<u16, PoolFull> {
        let tag = match self.tag {
            tag if tag == Tag::Fieldref as u8 => Tag::Fieldref,
            tag if tag == Tag::InterfaceMethodref as u8 => Tag::InterfaceMethodref,
            _ => Tag::Methodref,
        };
        let [owner, name, descriptor] = [&self.owner, &self.name, &self.descriptor].map(|part| ModifiedUtf8(part));
        sink.writer.member(sink.pool, tag, owner, name, descriptor)
    }
}

impl DynamicSymbol {
    fn place(&self, sink: &mut SymbolSink<'_, '_>) -> Result<u16, PoolFull> {
        let handle = place_handle(self.bootstrap.0, &self.bootstrap.1, sink)?;
        let arguments = self.arguments.iter().map(|argument| argument.place(sink)).collect::<Result<_, _>>()?;
        let row = sink.bootstrap.intern(BootstrapRow { handle, arguments })?;
        let (name, descriptor) = (ModifiedUtf8(&self.name), ModifiedUtf8(&self.descriptor));
        let name_and_type = sink.writer.name_and_type(sink.pool, name, descriptor)?;
        let tag = if self.is_constant { Tag::Dynamic } else { Tag::InvokeDynamic };
        sink.writer.pair(sink.pool, tag, row, name_and_type)
    }
}

/// Reads constants out of a template class.
pub(super) struct SymbolReader<'p, 'a> {
    pub(super) pool: &'p ConstantPool<'a>,
    /// Rows of the class's `BootstrapMethods`: handle and arguments.
    pub(super) bootstrap: Vec<BootstrapRow>,
}

impl SymbolReader<'_, '_> {
    /// The constant at `index`; nested dynamic constants are followed at most `depth` levels.
    pub(super) fn read(&self, index: u16, depth: u8) -> classfile::Result<Symbol> {
        let pool = self.pool;
        let owned = |text: ModifiedUtf8<'_>| text.as_bytes().to_vec();
        Ok(match pool.tag(index)? {
            Tag::Integer => Symbol::Word(WordKind::Integral, pool.integer(index)? as u32),
            Tag::Float => Symbol::Word(WordKind::Floating, pool.float_bits(index)?),
            Tag::Long => Symbol::DoubleWord(WordKind::Integral, pool.long(index)? as u64),
            Tag::Double => Symbol::DoubleWord(WordKind::Floating, pool.double_bits(index)?),
            Tag::String => Symbol::String(owned(pool.string(index)?)),
            Tag::Class => Symbol::Class(owned(pool.class_name(index)?)),
            Tag::MethodType => Symbol::MethodType(owned(pool.method_type(index)?)),
            Tag::Fieldref | Tag::Methodref | Tag::InterfaceMethodref => Symbol::Member(self.member(index)?),
            Tag::MethodHandle => {
                let (kind, member) = self.handle(index)?;
                Symbol::MethodHandle(kind, member)
            }
            Tag::Dynamic | Tag::InvokeDynamic if depth > 0 => Symbol::Dynamic(Box::new(self.dynamic(index, depth)?)),
            _ => return Err(wrong_kind(index)),
        })
    }

    fn member(&self, index: u16) -> classfile::Result<MemberSymbol> {
        let tag = self.pool.tag(index)? as u8;
        let member = self.pool.member_ref(index)?;
        let [owner, name, descriptor] =
            [member.owner, member.name, member.descriptor].map(|part| part.as_bytes().to_vec());
        Ok(MemberSymbol { tag, owner, name, descriptor })
    }

    fn handle(&self, index: u16) -> classfile::Result<(u8, MemberSymbol)> {
        let (kind, member) = self.pool.method_handle(index)?;
        Ok((kind, self.member(member)?))
    }

    fn dynamic(&self, index: u16, depth: u8) -> classfile::Result<DynamicSymbol> {
        let (row, name, descriptor) = self.pool.dynamic(index)?;
        let row = self.bootstrap.get(usize::from(row)).ok_or(wrong_kind(index))?;
        Ok(DynamicSymbol {
            is_constant: self.pool.tag(index)? == Tag::Dynamic,
            bootstrap: self.handle(row.handle)?,
            arguments: row
                .arguments
                .iter()
                .map(|&argument| self.read(argument, depth - 1))
                .collect::<classfile::Result<_>>()?,
            name: name.as_bytes().to_vec(),
            descriptor: descriptor.as_bytes().to_vec(),
        })
    }
}

fn wrong_kind(index: u16) -> classfile::Error {
    classfile::Error::new(classfile::ErrorKind::WrongConstantKind(index), 0, "template constant")
}
