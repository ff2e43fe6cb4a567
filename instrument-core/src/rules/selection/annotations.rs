//! Which annotations a class or method carries: only their types, values are skipped.

use classfile::attributes::annotations;
use classfile::{Attributes, ConstantPool};

/// Puts the types of all annotations, visible at run time or not, into `types`, as descriptors (`Lcom/acme/Mark;`).
pub(super) fn collect_annotation_types<'a>(
    attributes: Attributes<'_, 'a>,
    pool: &ConstantPool<'a>,
    types: &mut Vec<&'a [u8]>,
) {
    types.extend(annotations(attributes).filter_map(|annotation| Some(pool.utf8(annotation.descriptor).ok()?.0)));
}

/// True if `types` holds the annotation with this internal name.
pub(super) fn carries(types: &[&[u8]], internal_name: &[u8]) -> bool {
    types.iter().any(|descriptor| matches!(descriptor, [b'L', name @ .., b';'] if name == internal_name))
}
