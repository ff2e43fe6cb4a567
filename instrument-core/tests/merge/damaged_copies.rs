//! Does an index beyond the constant pool stay invalid in parts that are only copied? Appended constants must not give it a meaning.

use classfile::ClassFile;
use classfile::access::STATIC;
use classfile::opcode::*;
use instrument_core::{MethodPlan, Outcome, Rewritten};

use crate::assembler::{ClassBuilder, CodeBuilder, PUBLIC_STATIC};
use crate::fixtures::{instrument, plan, template};

/// A class whose first method is instrumented, and whatever else `more` adds.
fn class(major: u16, more: impl FnOnce(&mut ClassBuilder)) -> Vec<u8> {
    let mut class = ClassBuilder::new("Copied", major);
    class.method(PUBLIC_STATIC, "m", "()V", |code| {
        code.limits(0, 0).op(RETURN);
    });
    more(&mut class);
    class.finish()
}

fn count(class: &[u8]) -> u16 {
    ClassFile::parse(class).unwrap().constant_pool().count()
}

#[track_caller]
fn taken(class: &[u8], plan: MethodPlan) -> Rewritten {
    match instrument(class, &[plan]) {
        Outcome::Rewritten(output) => output,
        Outcome::Unchanged { refused } => panic!("refused: {}", refused[0].reason),
    }
}

#[track_caller]
fn left_alone(class: &[u8], plan: MethodPlan) {
    match instrument(class, &[plan]) {
        Outcome::Rewritten(_) => panic!("healed"),
        Outcome::Unchanged { refused } => assert_eq!(refused[0].reason.key(), "malformed", "{}", refused[0].reason),
    }
}

/// The class must be taken with a constant that it has, and left alone with the first and with the last that is appended.
#[track_caller]
fn stays_damaged(make: impl Fn(u16) -> Vec<u8>) {
    let own = count(&make(1));
    let output = taken(&make(own - 1), plan(0, &["bracket"]));
    for index in [own, count(&output.bytes) - 1] {
        left_alone(&make(index), plan(0, &["bracket"]));
    }
}

fn with_code(body: impl Fn(&mut CodeBuilder<'_>)) -> Vec<u8> {
    class(52, |class| class.method(PUBLIC_STATIC, "other", "()V", body))
}

#[test]
fn in_the_code_of_other_methods() {
    stays_damaged(|index| {
        with_code(|code| {
            code.limits(1, 0).bytes(&[LDC, index as u8, POP, RETURN]);
        })
    });
    for opcode in [LDC_W, LDC2_W, GETSTATIC, INVOKESTATIC, NEW, ANEWARRAY] {
        stays_damaged(|index| {
            with_code(|code| {
                code.limits(2, 0).indexed(opcode, index).op(RETURN);
            })
        });
    }
    stays_damaged(|index| {
        with_code(|code| {
            // Behind a switch, where it takes more to find the next instruction.
            let end = code.label();
            code.limits(2, 0).op(ICONST_0).table_switch(0, end, &[end]).place(end);
            code.op(ICONST_0).indexed(MULTIANEWARRAY, index).bytes(&[1, POP, RETURN]);
        })
    });
}

#[test]
fn beside_the_code_of_other_methods() {
    for (name, before, after) in [
        ("LocalVariableTable", &[0, 1, 0, 0, 0, 1][..], &[0, 1, 0, 0][..]),
        ("LocalVariableTable", &[0, 1, 0, 0, 0, 1, 0, 1], &[0, 0]),
        ("StackMapTable", &[0, 1, 252, 0, 0, 7], &[]),
    ] {
        stays_damaged(|index| {
            with_code(|code| {
                let content = [before, &index.to_be_bytes(), after].concat();
                code.limits(0, 1).attribute(name, &content).op(RETURN);
            })
        });
    }
    stays_damaged(|index| {
        class(52, |class| {
            let code = class.pool.utf8("Code");
            let handler = [[0, 0], [0, 1], [0, 1], index.to_be_bytes()].concat();
            let content = [&[0, 1, 0, 0, 0, 0, 0, 2, NOP, RETURN, 0, 1][..], &handler, &[0, 0]].concat();
            class.raw_method(PUBLIC_STATIC, "other", "()V", &[(code, content)]);
        })
    });
}

#[test]
fn in_the_original_of_a_wrapper() {
    let make = |index: u16| {
        class(52, |class| {
            class.method(PUBLIC_STATIC, "other", "()V", |code| {
                code.limits(1, 0).indexed(LDC_W, index).op(POP).op(RETURN);
            });
        })
    };
    let wrapper = || MethodPlan::wrapper(1, vec![template("bracket")]);
    let own = count(&make(1));
    taken(&make(own - 1), wrapper());
    left_alone(&make(own), wrapper());
}

#[test]
fn in_names_of_attributes() {
    let names: [fn(&mut ClassBuilder, u16); 3] = [
        |class, name| class.raw_attribute(name, &[]),
        |class, name| class.field(STATIC, "field", "I", &[(name, Vec::new())]),
        |class, name| class.raw_method(STATIC, "other", "()V", &[(name, Vec::new())]),
    ];
    for add in names {
        let make = |name: u16| class(52, |class| add(class, name));
        // Any text will do as a name.
        let own = count(&make(1));
        taken(&make(1), plan(0, &["bracket"]));
        left_alone(&make(own), plan(0, &["bracket"]));
        left_alone(&make(own + 1), plan(0, &["bracket"]));
    }
}

/// Attributes with one index each between the bytes before and after it.
const OF_CLASSES: [(&str, &[u8], &[u8]); 8] = [
    ("SourceFile", &[], &[]),
    ("Signature", &[], &[]),
    ("InnerClasses", &[0, 1, 0, 1, 0, 0], &[0, 9]),
    ("EnclosingMethod", &[0, 1], &[]),
    ("NestMembers", &[0, 2, 0, 1], &[]),
    ("BootstrapMethods", &[0, 1, 0, 1, 0, 1], &[]),
    ("RuntimeVisibleAnnotations", &[0, 1, 0, 1, 0, 1, 0, 1, b'[', 0, 1, b's'], &[]),
    ("RuntimeInvisibleTypeAnnotations", &[0, 1, 0x10, 0, 0, 0], &[0, 0]),
];

#[test]
fn in_attributes_of_the_class() {
    for (name, before, after) in OF_CLASSES {
        stays_damaged(|index| {
            class(61, |class| class.attribute(name, &[before, &index.to_be_bytes(), after].concat()))
        });
    }
    stays_damaged(|index| {
        class(61, |class| {
            // A component with a signature.
            let [high, low] = class.pool.utf8("Signature").to_be_bytes();
            let signature = [high, low, 0, 0, 0, 2];
            let content = [&[0, 1, 0, 1, 0, 1, 0, 1][..], &signature, &index.to_be_bytes()].concat();
            class.attribute("Record", &content);
        })
    });
}

#[test]
fn in_attributes_of_fields_and_methods() {
    stays_damaged(|index| {
        class(61, |class| {
            let name = class.pool.utf8("ConstantValue");
            class.field(STATIC, "field", "I", &[(name, index.to_be_bytes().to_vec())]);
        })
    });
    // Of the very method that is instrumented, too.
    for (name, before, after) in
        [("Exceptions", &[0, 1][..], &[][..]), ("MethodParameters", &[1], &[0, 0]), ("AnnotationDefault", b"c", &[])]
    {
        stays_damaged(|index| {
            let mut class = ClassBuilder::new("Copied", 61);
            let content = [before, &index.to_be_bytes(), after].concat();
            class.method_with(PUBLIC_STATIC, "m", "()V", &[(name, &content)], |code| {
                code.limits(0, 0).op(RETURN);
            });
            class.finish()
        });
    }
}

#[test]
fn what_only_looks_like_such_an_index_is_none() {
    let plain = class(61, |_| {});
    let own = count(&plain) + 3;
    let numbers: Vec<u8> = (own..own + 40).flat_map(u16::to_be_bytes).collect();
    let class = class(61, |class| {
        // Flags, and bytes that nobody knows.
        let flags = [[0, 1, 0, 1, 0, 0, 0, 0], own.to_be_bytes().repeat(4).try_into().unwrap()].concat();
        class.attribute("InnerClasses", &flags[..10]);
        class.attribute("acme.Unknown", &numbers);
    });
    assert_eq!(count(&class), own - 1);
    taken(&class, plan(0, &["bracket"]));
}

#[test]
fn rows_are_appended_to_sound_bootstrap_methods_only() {
    let with = |tables: usize, length: usize, row: Option<u16>| {
        class(61, |class| {
            let handle = class.pool.member(classfile::Tag::Methodref, "acme/Linker", "link", "()V");
            let [high, low] = class.pool.method_handle(6, handle).to_be_bytes();
            let content = [0, 1, high, low, 0, 0, 0, 0];
            (0..tables).for_each(|_| class.attribute("BootstrapMethods", &content[..length]));
            if let Some(row) = row {
                class.pool.dynamic(classfile::Tag::InvokeDynamic, row, "call", "()V");
            }
        })
    };
    let concatenation = || plan(0, &["concatenation"]);
    taken(&with(1, 6, Some(0)), concatenation());
    taken(&with(0, 6, None), concatenation());
    left_alone(&with(2, 6, Some(0)), concatenation());
    left_alone(&with(1, 8, Some(0)), concatenation());
    left_alone(&with(1, 5, Some(0)), concatenation());
    left_alone(&with(1, 6, Some(1)), concatenation());
    left_alone(&with(0, 6, Some(0)), concatenation());
    // Without rows of its own the template heals nothing.
    taken(&with(2, 6, Some(5)), plan(0, &["bracket"]));
}
