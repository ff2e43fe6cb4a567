//! The constants that attributes name, whatever their form.

use super::{Annotation, AttributeContent, ElementValue, StackMapFrame, Table, TypeAnnotation};
use crate::stack_map::VerificationType;

impl AttributeContent<'_> {
    /// Calls `visit` with each index into the constant pool; 0 where there may be none and there is none. Left out: what is inside
    /// `Code` and the attributes of record components, which are attributes of their own, and module descriptors, which have no
    /// methods beside them.
    pub fn visit_constants(&self, visit: &mut impl FnMut(u16)) {
        match self {
            AttributeContent::CompilationID(index)
            | AttributeContent::ConstantValue(index)
            | AttributeContent::NestHost(index)
            | AttributeContent::Signature(index)
            | AttributeContent::SourceFile(index)
            | AttributeContent::SourceID(index) => visit(*index),
            AttributeContent::Exceptions(classes)
            | AttributeContent::NestMembers(classes)
            | AttributeContent::PermittedSubclasses(classes) => classes.iter().for_each(visit),
            AttributeContent::BootstrapMethods(rows) => rows.iter().for_each(|row| {
                visit(row.method);
                row.arguments.iter().for_each(&mut *visit);
            }),
            AttributeContent::EnclosingMethod(place) => [place.class, place.method].into_iter().for_each(visit),
            AttributeContent::InnerClasses(rows) => {
                rows.iter().flat_map(|row| [row.inner, row.outer, row.name]).for_each(visit);
            }
            AttributeContent::LocalVariableTable(rows) | AttributeContent::LocalVariableTypeTable(rows) => {
                rows.iter().flat_map(|row| [row.name, row.descriptor]).for_each(visit);
            }
            AttributeContent::MethodParameters(rows) => rows.iter().for_each(|row| visit(row.name)),
            AttributeContent::Record(rows) => {
                rows.iter().flat_map(|row| [row.name, row.descriptor]).for_each(visit);
            }
            AttributeContent::StackMapTable(frames) => frames.iter().for_each(|frame| of_frame(&frame, visit)),
            AttributeContent::AnnotationDefault(value) => of_value(value, visit),
            AttributeContent::RuntimeVisibleAnnotations(rows) | AttributeContent::RuntimeInvisibleAnnotations(rows) => {
                of_annotations(rows, visit);
            }
            AttributeContent::RuntimeVisibleParameterAnnotations(parameters)
            | AttributeContent::RuntimeInvisibleParameterAnnotations(parameters) => {
                parameters.iter().for_each(|rows| of_annotations(&rows, visit));
            }
            AttributeContent::RuntimeVisibleTypeAnnotations(rows)
            | AttributeContent::RuntimeInvisibleTypeAnnotations(rows) => of_type_annotations(rows, visit),
            AttributeContent::CharacterRangeTable(_)
            | AttributeContent::Code(_)
            | AttributeContent::Deprecated(_)
            | AttributeContent::LineNumberTable(_)
            | AttributeContent::Module(_)
            | AttributeContent::ModuleHashes(_)
            | AttributeContent::ModuleMainClass(_)
            | AttributeContent::ModulePackages(_)
            | AttributeContent::ModuleResolution(_)
            | AttributeContent::ModuleTarget(_)
            | AttributeContent::SourceDebugExtension(_)
            | AttributeContent::StackMap(_)
            | AttributeContent::Synthetic(_)
            | AttributeContent::Unknown(_) => {}
        }
    }
}

fn of_annotations(rows: &Table<'_, Annotation<'_>>, visit: &mut impl FnMut(u16)) {
    rows.iter().for_each(|annotation| of_annotation(&annotation, visit));
}

fn of_type_annotations(rows: &Table<'_, TypeAnnotation<'_>>, visit: &mut impl FnMut(u16)) {
    rows.iter().for_each(|row| of_annotation(&row.annotation, visit));
}

fn of_annotation(annotation: &Annotation<'_>, visit: &mut impl FnMut(u16)) {
    visit(annotation.descriptor);
    for element in annotation.elements.iter() {
        visit(element.name);
        of_value(&element.value, visit);
    }
}

fn of_value(value: &ElementValue<'_>, visit: &mut impl FnMut(u16)) {
    match value {
        ElementValue::Constant { value, .. } => visit(*value),
        ElementValue::Enum { descriptor, name } => {
            visit(*descriptor);
            visit(*name);
        }
        ElementValue::Class(descriptor) => visit(*descriptor),
        ElementValue::Annotation(annotation) => of_annotation(annotation, visit),
        ElementValue::Array(values) => values.iter().for_each(|value| of_value(&value, visit)),
    }
}

fn of_frame(frame: &StackMapFrame<'_>, visit: &mut impl FnMut(u16)) {
    let mut of_type = |entry: VerificationType| {
        if let VerificationType::Object(class) = entry {
            visit(class);
        }
    };
    match frame {
        StackMapFrame::SameLocalsOneStackItem { item, .. }
        | StackMapFrame::SameLocalsOneStackItemExtended { item, .. } => of_type(*item),
        StackMapFrame::Append { locals, .. } => locals.iter().for_each(of_type),
        StackMapFrame::Full(full) => full.locals.iter().chain(full.stack.iter()).for_each(of_type),
        StackMapFrame::Same { .. } | StackMapFrame::Chop { .. } | StackMapFrame::SameExtended { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::attribute_kind::Location;
    use crate::{Attributes, ClassFile};

    use super::AttributeContent;

    fn collect(attributes: Attributes<'_, '_>, location: Location, class: &ClassFile<'_>, named: &mut BTreeSet<u16>) {
        for attribute in attributes {
            let attribute = attribute.unwrap();
            named.insert(attribute.name_index);
            let content = AttributeContent::parse(&attribute, location, class).unwrap();
            content.visit_constants(&mut |index| {
                named.insert(index);
            });
            match content {
                AttributeContent::Code(code) => collect(code.attributes(class), Location::Code, class, named),
                AttributeContent::Record(rows) => rows.iter().for_each(|row| {
                    let inner = row.attributes.iter(class.constant_pool());
                    collect(inner, Location::RecordComponent, class, named);
                }),
                _ => {}
            }
        }
    }

    /// Compilers write no text that nothing names.
    #[test]
    fn no_text_of_a_compiled_class_is_missed() {
        let everything = include_bytes!("../../tests/classes/Everything.class");
        let marks = include_bytes!("../../tests/classes/Marks.class");
        for bytes in [&everything[..], marks] {
            let class = ClassFile::parse(bytes).unwrap();
            let pool = class.constant_pool();
            let mut named = BTreeSet::new();
            collect(class.attributes(), Location::Class, &class, &mut named);
            let mut names = BTreeSet::new();
            for (members, location) in [(class.fields(), Location::Field), (class.methods(), Location::Method)] {
                members.iter().for_each(|member| collect(member.attributes(&class), location, &class, &mut named));
                names.extend(members.iter().flat_map(|member| [member.name, member.descriptor]));
            }
            pool.visit_contents(|_, tag, content| {
                let pairs = content.windows(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
                match tag {
                    7 | 8 | 16 => named.extend(pairs),
                    12 => named.extend(pairs.step_by(2)),
                    _ => {}
                }
            });
            let missed = |index: &u16| !named.contains(index) && pool.utf8(*index).is_ok_and(|it| !names.contains(&it));
            let missed: Vec<_> = (1..pool.count()).filter(missed).map(|index| pool.utf8(index)).collect();
            assert!(missed.is_empty(), "{missed:?}");
        }
    }
}
