//! The decoded content of an attribute.

use super::{
    Annotation, AttributeTable, BootstrapMethod, CharacterRange, ElementValue, EnclosingMethod, FullFrame, InnerClass,
    LineNumber, LocalVariable, Marker, MethodParameter, Module, ModuleHashes, RecordComponent, StackMapFrame,
    Structure, Table, TypeAnnotation,
};
use crate::attribute_kind::{AttributeInfo, AttributeKind, Location};
use crate::{Attribute, ByteWriter, ClassFile, Code, ModifiedUtf8, Result};

macro_rules! contents {
    ($($(#[$about:meta])* $kind:ident: $type:ty,)*) => {
        /// The content of an attribute, by its kind. Numbers are constant-pool indexes unless said otherwise.
        #[derive(Clone, Copy, Debug)]
        pub enum AttributeContent<'a> {
            /// A method body. Its instructions and its own attributes are decoded on request.
            Code(Code<'a>),
            /// An attribute that a JVM ignores here: not known, in a class file too old for it, or out of place. Raw.
            Unknown(&'a [u8]),
            $($(#[$about])* $kind($type),)*
        }

        impl<'a> AttributeContent<'a> {
            fn read(info: &AttributeInfo, attribute: &Attribute<'a>) -> Result<AttributeContent<'a>> {
                let mut reader = attribute.reader(info.name);
                let content = match info.kind {
                    AttributeKind::Code => return read_code(attribute).map(AttributeContent::Code),
                    $(AttributeKind::$kind => AttributeContent::$kind(<$type>::read(&mut reader, 0)?),)*
                };
                reader.expect_end()?;
                Ok(content)
            }

            /// Writes the content, encoded anew. The attributes inside `Code` and `Record` are copied as they are;
            /// [`crate::class_writer`] decodes them too.
            pub fn write(&self, out: &mut ByteWriter) {
                match self {
                    AttributeContent::Code(code) => out.bytes(code.attribute().content),
                    AttributeContent::Unknown(bytes) => out.bytes(bytes),
                    $(AttributeContent::$kind(content) => content.write(out),)*
                }
            }
        }
    };
}

contents! {
    /// Default value of an element of an annotation interface.
    AnnotationDefault: ElementValue<'a>,
    /// How `invokedynamic` and dynamic constants are linked.
    BootstrapMethods: Table<'a, BootstrapMethod<'a>>,
    /// Character ranges of expressions and statements.
    CharacterRangeTable: Table<'a, CharacterRange>,
    /// Utf8: time of the compilation.
    CompilationID: u16,
    /// Value of a static field: a constant of its type.
    ConstantValue: u16,
    /// Declared deprecated (the older, comment form included).
    Deprecated: Marker,
    /// Where a local class is declared.
    EnclosingMethod: EnclosingMethod,
    /// Class: the `throws` clause.
    Exceptions: Table<'a, u16>,
    /// Member, local and anonymous classes that the class mentions.
    InnerClasses: Table<'a, InnerClass>,
    /// Source lines.
    LineNumberTable: Table<'a, LineNumber>,
    /// Names and descriptors of local variables.
    LocalVariableTable: Table<'a, LocalVariable>,
    /// Signatures of local variables of generic type.
    LocalVariableTypeTable: Table<'a, LocalVariable>,
    /// Names of parameters.
    MethodParameters: Table<'a, MethodParameter, u8>,
    /// A module descriptor.
    Module: Module<'a>,
    /// Modules tied to this one.
    ModuleHashes: ModuleHashes<'a>,
    /// Class: the main class of a module.
    ModuleMainClass: u16,
    /// Package: all packages of a module.
    ModulePackages: Table<'a, u16>,
    /// Flags (no index): do not resolve by default, warn of use.
    ModuleResolution: u16,
    /// Utf8: the platform the module was made for.
    ModuleTarget: u16,
    /// Class: the host of the nest.
    NestHost: u16,
    /// Class: the members of the nest.
    NestMembers: Table<'a, u16>,
    /// Class: the only classes that may extend this one.
    PermittedSubclasses: Table<'a, u16>,
    /// Components of a record class.
    Record: Table<'a, RecordComponent<'a>>,
    /// Annotations that reflection does not show.
    RuntimeInvisibleAnnotations: Table<'a, Annotation<'a>>,
    /// The same for each parameter.
    RuntimeInvisibleParameterAnnotations: Table<'a, Table<'a, Annotation<'a>>, u8>,
    /// The same for types.
    RuntimeInvisibleTypeAnnotations: Table<'a, TypeAnnotation<'a>>,
    /// Annotations.
    RuntimeVisibleAnnotations: Table<'a, Annotation<'a>>,
    /// The same for each parameter.
    RuntimeVisibleParameterAnnotations: Table<'a, Table<'a, Annotation<'a>>, u8>,
    /// The same for types.
    RuntimeVisibleTypeAnnotations: Table<'a, TypeAnnotation<'a>>,
    /// Utf8: the generic declaration.
    Signature: u16,
    /// Text for debuggers (JSR 45), no index.
    SourceDebugExtension: ModifiedUtf8<'a>,
    /// Utf8: file name without directory.
    SourceFile: u16,
    /// Utf8: identifies the state of the source.
    SourceID: u16,
    /// Frames of CLDC; `delta` is the code offset.
    StackMap: Table<'a, FullFrame<'a>>,
    /// Frames for the verifier.
    StackMapTable: Table<'a, StackMapFrame<'a>>,
    /// Not in the source.
    Synthetic: Marker,
}

/// [`Code::parse`] leaves the attributes at the end alone; here they must fill the rest exactly.
fn read_code<'a>(attribute: &Attribute<'a>) -> Result<Code<'a>> {
    let code = Code::parse(*attribute)?;
    let mut reader = attribute.reader("Code");
    reader.skip(8 + code.bytecode.len() + 2 + 8 * code.exception_table.len())?;
    AttributeTable::read(&mut reader, 0)?;
    reader.expect_end()?;
    Ok(code)
}

impl<'a> AttributeContent<'a> {
    /// Decodes an attribute found at `location` of `class`. What a JVM would ignore there is
    /// [`AttributeContent::Unknown`], whatever it holds.
    pub fn parse(attribute: &Attribute<'a>, location: Location, class: &ClassFile<'a>) -> Result<AttributeContent<'a>> {
        match AttributeKind::recognise(attribute, class.major_version(), location) {
            Some(info) => AttributeContent::read(info, attribute),
            None => Ok(AttributeContent::Unknown(attribute.content)),
        }
    }
}
