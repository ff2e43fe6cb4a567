//! Which annotations a class or method carries: only their types, values are skipped.

use classfile::attributes::{Annotation, Structure, Table};
use classfile::{Attributes, ConstantPool};

/// Puts the types of all annotations, visible at run time or not, into `types`, as descriptors (`Lcom/acme/Mark;`).
/// A damaged attribute only means that no rule can ask for what it holds; the JVM ignores it as well.
pub(crate) fn collect_annotation_types<'a>(
    attributes: Attributes<'_, 'a>,
    pool: &ConstantPool<'a>,
    types: &mut Vec<&'a [u8]>,
) {
    for attribute in attributes.map_while(Result::ok) {
        if matches!(attribute.name.0, b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations")
            && let Ok(table) = Table::<Annotation<'a>>::read(&mut attribute.reader("annotations"), 0)
        {
            types.extend(table.iter().filter_map(|annotation| Some(pool.utf8(annotation.descriptor).ok()?.0)));
        }
    }
}

/// True if `types` holds the annotation with this internal name.
pub(super) fn carries(types: &[&[u8]], internal_name: &[u8]) -> bool {
    types.iter().any(|descriptor| matches!(descriptor, [b'L', name @ .., b';'] if name == internal_name))
}
