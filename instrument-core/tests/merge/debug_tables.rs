//! Do debug tables and type annotations still speak of the same instructions?

use classfile::opcode::*;

use crate::assembler::{CodeBuilder, Type, class_with};
use crate::fixtures::{compiled, merged, merged_at};
use crate::inspect::{Body, body};

fn u2s(content: &[u8]) -> Vec<u16> {
    content.as_chunks::<2>().0.iter().map(|&pair| u16::from_be_bytes(pair)).collect()
}

/// The line of an instruction: that of the last row at or before it.
fn line_at(table: &[u8], offset: u32) -> Option<u16> {
    let rows = u2s(&table[2..]);
    let rows = rows.as_chunks::<2>().0.iter().filter(|[start, _]| u32::from(*start) <= offset);
    rows.max_by_key(|[start, _]| *start).map(|[_, line]| *line)
}

#[test]
fn every_instruction_keeps_its_line() {
    let original = compiled("targets/Behaviour");
    let count = classfile::ClassFile::parse(&original).unwrap().methods().len();
    for index in 0..count {
        let output = merged_at(&original, index, &["catches"]);
        let (before, after) = (body(&original, index), body(&output.bytes, index));
        let [old, new] = [&before, &after].map(|body| body.attribute("LineNumberTable").unwrap());
        for step in before.steps.iter().filter(|step| step.opcode != RETURN) {
            let moved = output.methods[0].offset_map.to_new(step.offset).unwrap();
            assert_eq!(line_at(new, moved), line_at(old, step.offset), "method {index}, offset {}", step.offset);
        }
        // The prolog has the line at which the method begins, so a breakpoint there stops at its start.
        assert_eq!(line_at(new, 0), line_at(old, 0));
    }
}

fn with_tables(extra: impl FnOnce(&mut CodeBuilder<'_>)) -> Vec<u8> {
    class_with("Tables", 52, "(I)I", |code| {
        let (other, start) = (code.limits(1, 2).label(), code.label());
        let begin = code.here();
        code.iload(0).jump(IFEQ, other).bytes(&[ICONST_0, ISTORE_1]).place(start).bytes(&[ILOAD_1, IRETURN]);
        code.place(other).frame(&[Type::Int], &[]).bytes(&[ICONST_2, IRETURN]);
        let end = code.here();
        code.local_variable(begin, end, "argument", 0).local_variable(start, other, "local", 1);
        extra(code);
    })
}

#[test]
fn local_variables_keep_their_ranges() {
    let class = with_tables(|_| {});
    let output = merged(&class, &["bracket"]);
    let (map, merged) = (&output.methods[0].offset_map, body(&output.bytes, 0));
    let epilog = merged.rows[0].end;
    let rows = u2s(&merged.attribute("LocalVariableTable").unwrap()[2..]);
    let [argument, local] = rows.as_chunks::<5>().0 else { panic!("two rows") };
    assert_eq!((argument[0], argument[1]), (0, epilog), "a parameter is there from the start of the prolog");
    let new = |offset| map.to_new(offset).unwrap() as u16;
    assert_eq!((local[0], local[0] + local[1]), (new(7), new(9)));
    assert_eq!((argument[4], local[4]), (0, 1), "slots do not move");
}

#[test]
fn tables_with_offsets_that_are_not_kept_up_are_dropped_and_others_kept() {
    let class = with_tables(|code| {
        code.attribute("CharacterRangeTable", &[0, 0]).attribute("com.acme.Unknown", &[1, 2, 3]);
        code.attribute("StackMap", &[0, 0]);
    });
    let merged = body(&merged(&class, &["bracket"]).bytes, 0);
    assert_eq!(merged.attribute("CharacterRangeTable"), None);
    assert_eq!(merged.attribute("StackMap"), None);
    assert_eq!(merged.attribute("com.acme.Unknown"), Some(&[1, 2, 3][..]));
    let names: Vec<_> = merged.attributes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["LocalVariableTable", "com.acme.Unknown", "StackMapTable"]);
}

/// One annotation per kind of place: local variable, resource, catch, instanceof, new, reference, cast and its argument.
fn type_annotations(mark: u16) -> Vec<u8> {
    let [high, low] = mark.to_be_bytes();
    let mut content = vec![0, 5];
    let tail = |content: &mut Vec<u8>, path: &[u8], values: &[u8]| {
        content.push((path.len() / 2) as u8);
        content.extend(path);
        content.extend([high, low]);
        content.extend(values);
    };
    content.extend([0x40, 0, 2, 0, 0, 0, 11, 0, 0, 0, 7, 0, 2, 0, 1]);
    tail(&mut content, &[0, 0, 3, 1], &[0, 1, high, low, b'[', 0, 2, b'I', 0, 9, b'@', high, low, 0, 0]);
    content.extend([0x42, 0, 0]);
    tail(&mut content, &[], &[0, 1, high, low, b'e', high, low, high, low]);
    content.extend([0x43, 0, 7]);
    tail(&mut content, &[], &[0, 0]);
    content.extend([0x46, 0, 9]);
    tail(&mut content, &[], &[0, 0]);
    content.extend([0x47, 0, 9, 1]);
    tail(&mut content, &[], &[0, 0]);
    content
}

#[test]
fn type_annotations_move_with_their_instructions() {
    let mut expected = Vec::new();
    let class = with_tables(|code| {
        let mark = code.pool.utf8("Lcom/acme/Mark;");
        expected = type_annotations(mark);
        code.attribute("RuntimeVisibleTypeAnnotations", &expected);
    });
    let output = merged(&class, &["bracket"]);
    let merged = body(&output.bytes, 0);
    let new = |offset: u32| output.methods[0].offset_map.to_new(offset).unwrap() as u16;
    let found = merged.attribute("RuntimeVisibleTypeAnnotations").unwrap();
    let mut patch = |at: usize, value: u16| expected[at..at + 2].copy_from_slice(&value.to_be_bytes());
    patch(5, 0);
    patch(7, merged.rows[0].end);
    patch(11, new(7));
    patch(13, new(9) - new(7));
    let instructions: Vec<_> = [(0x43, 7), (0x46, 9), (0x47, 9)].into();
    for (kind, offset) in instructions {
        let at = expected.windows(3).position(|window| window == [kind, 0, offset]).unwrap();
        expected[at + 1..at + 3].copy_from_slice(&new(u32::from(offset)).to_be_bytes());
    }
    assert_eq!(found, expected);
}

#[test]
fn a_table_of_variable_types_moves_like_that_of_variables() {
    let class = with_tables(|code| {
        let (name, signature) = (code.pool.utf8("local"), code.pool.utf8("TT;"));
        let content: Vec<u8> = [1, 7, 2, name, signature, 1].iter().flat_map(|value| value.to_be_bytes()).collect();
        code.attribute("LocalVariableTypeTable", &content);
    });
    let output = merged(&class, &["bracket"]);
    let new = |offset: u32| output.methods[0].offset_map.to_new(offset).unwrap() as u16;
    let rows = u2s(body(&output.bytes, 0).attribute("LocalVariableTypeTable").unwrap());
    assert_eq!((rows[1], rows[1] + rows[2], rows[5]), (new(7), new(9), 1));
}

/// Every kind of place that an annotation in code can speak of, alone: a variable, a resource, and all with an offset.
#[test]
fn annotations_of_every_kind_move() {
    for kind in 0x40..=0x4B_u8 {
        let place: &[u8] = match kind {
            0x40 | 0x41 => &[0, 1, 0, 7, 0, 2, 0, 1],
            0x42 => &[0, 0],
            0x43..=0x46 => &[0, 7],
            _ => &[0, 7, 3],
        };
        let class = with_tables(|code| {
            let mark = code.pool.utf8("Lcom/acme/Mark;").to_be_bytes();
            let content = [&[0, 1, kind][..], place, &[0], &mark, &[0, 0]].concat();
            code.attribute("RuntimeInvisibleTypeAnnotations", &content);
        });
        let output = merged(&class, &["bracket"]);
        let new = |offset: u32| output.methods[0].offset_map.to_new(offset).unwrap() as u16;
        let merged = body(&output.bytes, 0);
        let found = merged.attribute("RuntimeInvisibleTypeAnnotations").unwrap();
        let at = |place: usize| u16::from_be_bytes([found[place], found[place + 1]]);
        match kind {
            0x40 | 0x41 => assert_eq!((at(5), at(5) + at(7), at(9)), (new(7), new(9), 1), "{kind:x}"),
            0x42 => assert_eq!(at(3), 0, "{kind:x}"),
            _ => assert_eq!(at(3), new(7), "{kind:x}"),
        }
        assert_eq!(found.len(), 3 + place.len() + 5, "{kind:x}");
    }
}

#[test]
fn an_annotated_catch_keeps_its_row() {
    // The first row covers nothing but a return, of which nothing is left; the annotation speaks of the second.
    let class = class_with("Catch", 52, "()V", |code| {
        let throwable = Type::Object("java/lang/Throwable");
        let (start, middle, handler) = (code.limits(1, 0).here(), code.label(), code.label());
        code.invoke_static("Catch", "own", "()V").jump(GOTO, middle);
        code.place(handler).frame(&[], &[throwable]).op(ATHROW);
        code.place(middle).frame(&[], &[]);
        let last = code.here();
        code.op(RETURN);
        let end = code.here();
        code.row(last, end, handler, Some("java/lang/Error")).row(start, handler, handler, None);
        let mark = code.pool.utf8("Lcom/acme/Mark;").to_be_bytes();
        code.attribute("RuntimeInvisibleTypeAnnotations", &[&[0, 1, 0x42, 0, 1, 0][..], &mark, &[0, 0]].concat());
    });
    let merged: Body = body(&merged(&class, &["bracket"]).bytes, 0);
    let content = merged.attribute("RuntimeInvisibleTypeAnnotations").unwrap();
    let row = merged.rows[usize::from(u16::from_be_bytes([content[3], content[4]]))];
    assert_eq!(row.catch_type, 0, "the row of the annotated catch");
    assert_eq!(u32::from(row.handler), merged.steps.iter().find(|step| step.opcode == ATHROW).unwrap().offset);
}
