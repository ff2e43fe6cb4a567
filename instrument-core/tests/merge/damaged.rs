//! Is a class that the JVM refuses left as it is? Appended constants, added locals and tables written anew must not heal it.

use classfile::opcode::*;
use classfile::{Error, ErrorKind, Tag};
use instrument_core::{Outcome, Refusal};

use crate::assembler::{ClassBuilder, CodeBuilder, PUBLIC_STATIC, Type, class_with};
use crate::fixtures::{instrument, merged, plan, refusal};
use crate::inspect::body;

#[track_caller]
fn refused_as(class: &[u8], kind: ErrorKind) {
    match refusal(class, "bracket") {
        Refusal::Malformed(Error { kind: found, .. }) => assert_eq!(found, kind),
        other => panic!("{other:?}"),
    }
}

fn with_code(descriptor: &str, body: impl FnOnce(&mut CodeBuilder<'_>)) -> Vec<u8> {
    class_with("Damaged", 50, descriptor, body)
}

#[test]
fn a_constant_beyond_the_pool_stays_there() {
    let class = |index: u16| {
        with_code("()V", |code| {
            code.limits(1, 0).bytes(&[LDC_W]).bytes(&index.to_be_bytes()).op(POP).op(RETURN);
        })
    };
    // The last constant of the class, and what would be the probe's number.
    let count = classfile::ClassFile::parse(&class(1)).unwrap().constant_pool().count();
    merged(&class(count - 1), &["bracket"]);
    refused_as(&class(count), ErrorKind::BadConstantIndex(count));
}

#[test]
fn a_class_beyond_the_pool_in_a_frame_stays_there() {
    let class = |index: u16| {
        with_code("(I)V", |code| {
            let [high, low] = index.to_be_bytes();
            // One frame at the return: a local of the class has come.
            let frame = [0, 1, 252, 0, 4, 7, high, low];
            code.limits(1, 2).op(ILOAD_0).bytes(&[IFEQ, 0, 3]).op(RETURN).attribute("StackMapTable", &frame);
        })
    };
    let count = classfile::ClassFile::parse(&class(1)).unwrap().constant_pool().count();
    for template in ["bracket", "clock"] {
        let sound = instrument(&class(count - 1), &[plan(0, &[template])]);
        assert!(matches!(sound, Outcome::Rewritten(_)), "{template}");
        let damaged = instrument(&class(count), &[plan(0, &[template])]);
        let Outcome::Unchanged { refused } = damaged else { panic!("{template}: healed") };
        assert!(refused.iter().all(|method| method.reason.key() == "malformed"), "{template}: {refused:?}");
    }
}

#[test]
fn a_class_with_such_a_constant_gets_no_constants_at_all() {
    let mut class = ClassBuilder::new("Dangling", 50);
    for name in ["one", "two"] {
        class.method(PUBLIC_STATIC, name, "()V", |code| {
            code.limits(0, 0).op(RETURN);
        });
    }
    let far = class.pool.count() + 40;
    class.pool.pair(Tag::NameAndType, 1, far);
    let Outcome::Unchanged { refused } = instrument(&class.finish(), &[plan(0, &["bracket"]), plan(1, &["bracket"])])
    else {
        panic!("rewritten")
    };
    assert_eq!(refused.len(), 2);
    assert!(refused.iter().all(|method| method.reason.key() == "malformed"));
}

#[test]
fn arguments_and_variables_need_room() {
    let class = |max_locals| {
        with_code("(IJ)V", |code| {
            code.limits(2, max_locals).op(RETURN);
        })
    };
    merged(&class(3), &["bracket"]);
    refused_as(&class(2), ErrorKind::BadValue);

    let storing = |max_locals| {
        with_code("()V", |code| {
            code.limits(2, max_locals).op(LCONST_0).op(LSTORE_1).op(RETURN);
        })
    };
    merged(&storing(3), &["bracket"]);
    refused_as(&storing(2), ErrorKind::BadValue);
}

#[test]
fn tables_must_lie_inside_the_code() {
    let class = |name: &'static str, content: &'static [u8]| {
        with_code("()V", |code| {
            code.limits(1, 1).attribute(name, content).op(NOP).op(RETURN);
        })
    };
    merged(&class("LineNumberTable", &[0, 1, 0, 1, 0, 9]), &["bracket"]);
    refused_as(&class("LineNumberTable", &[0, 1, 0, 2, 0, 9]), ErrorKind::BadValue);
    merged(&class("LocalVariableTable", &[0, 1, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0]), &["bracket"]);
    refused_as(&class("LocalVariableTable", &[0, 1, 0, 0, 0, 3, 0, 1, 0, 1, 0, 0]), ErrorKind::BadValue);
    refused_as(&class("LocalVariableTable", &[0, 1, 0, 0, 0, 2, 0, 1, 0, 1, 0, 1]), ErrorKind::BadValue);
}

#[test]
fn names_beyond_the_pool_in_tables_stay_there() {
    let class = |name: &'static str, before: &[u8], index: u16, after: &[u8]| {
        with_code("()V", |code| {
            let content = [before, &index.to_be_bytes(), after].concat();
            code.limits(1, 1).attribute(name, &content).op(NOP).op(RETURN);
        })
    };
    let annotation = [0, 1, 0x44, 0, 0, 0];
    for (name, before, after) in [
        ("LocalVariableTable", &[0, 1, 0, 0, 0, 2][..], &[0, 1, 0, 0][..]),
        ("LocalVariableTypeTable", &[0, 1, 0, 0, 0, 2, 0, 1], &[0, 0]),
        ("RuntimeVisibleTypeAnnotations", &annotation, &[0, 0]),
    ] {
        let count = classfile::ClassFile::parse(&class(name, before, 1, after)).unwrap().constant_pool().count();
        merged(&class(name, before, count - 1, after), &["bracket"]);
        refused_as(&class(name, before, count, after), ErrorKind::BadConstantIndex(count));
    }
}

/// bcel's `TestReturn01` leaves `<init>` by `areturn`.
#[test]
fn returns_fit_the_descriptor() {
    let returning = |descriptor: &str, returns: u8| {
        with_code(descriptor, |code| {
            code.limits(2, 0).op(LCONST_0).op(returns);
        })
    };
    merged(&returning("()J", LRETURN), &["bracket"]);
    for (descriptor, returns) in
        [("()J", RETURN), ("()J", DRETURN), ("()V", LRETURN), ("()V", ARETURN), ("()D", IRETURN)]
    {
        refused_as(&returning(descriptor, returns), ErrorKind::BadValue);
    }
    let constructor = |returns: u8| {
        let mut class = ClassBuilder::new("TestReturn01", 52);
        class.method(classfile::access::PUBLIC, "<init>", "()V", |code| {
            code.limits(1, 1).aload(0).invoke_special("java/lang/Object", "<init>", "()V").aload(0).op(returns);
        });
        class.finish()
    };
    merged(&constructor(RETURN), &["bracket"]);
    refused_as(&constructor(ARETURN), ErrorKind::BadValue);
}

#[test]
fn the_stack_must_be_as_deep_as_the_code_needs() {
    type Body = fn(&mut CodeBuilder<'_>);
    let bodies: [(&str, u16, Body); 5] = [
        ("()V", 2, |code| {
            code.bytes(&[ICONST_0, ICONST_0, POP2, RETURN]);
        }),
        ("()V", 2, |code| {
            code.invoke_static("acme/Maker", "make", "()J").bytes(&[POP2, RETURN]);
        }),
        ("()V", 3, |code| {
            code.bytes(&[ICONST_0, ICONST_0, DUP_X1, POP2, POP, RETURN]);
        }),
        ("()V", 1, |code| {
            let (start, end, handler) = (code.here(), code.label(), code.label());
            code.op(NOP).place(end).op(RETURN).place(handler).frame(&[], &[Type::Object("java/lang/Throwable")]);
            code.op(ATHROW).row(start, end, handler, None);
        }),
        ("(I)V", 2, |code| {
            let end = code.label();
            code.iload(0).iload(0).jump(IF_ICMPEQ, end).place(end).frame(&[Type::Int], &[]).op(RETURN);
        }),
    ];
    for (descriptor, deepest, body) in bodies {
        for major in [49, 50, 52] {
            let class = |max_stack| {
                class_with("Deep", major, descriptor, |code| {
                    code.limits(max_stack, 1);
                    body(code);
                })
            };
            merged(&class(deepest), &["bracket"]);
            refused_as(&class(deepest - 1), ErrorKind::BadValue);
        }
    }
}

#[test]
fn nothing_follows_the_frames() {
    let class = |major: u16, frames: &'static [u8]| {
        class_with("Frames", major, "()V", |code| {
            code.limits(0, 0).attribute("StackMapTable", frames).op(NOP).op(RETURN);
        })
    };
    for (frames, after) in [(&[0, 0][..], &[0, 0, 0][..]), (&[0, 1, 0], &[0, 1, 0, 0])] {
        for major in [50, 52] {
            merged(&class(major, frames), &["bracket"]);
            refused_as(&class(major, after), ErrorKind::TrailingBytes);
        }
        merged(&class(49, after), &["bracket"]);
    }
    // An offset after the end of the code.
    refused_as(&class(52, &[0, 1, 2]), ErrorKind::BadCodeOffset(2));
    refused_as(&class(52, &[0, 1, 40]), ErrorKind::BadCodeOffset(40));
    // In version 50 the JVM does without frames that are wrong, but not without those that it cannot read.
    merged(&class(50, &[0, 1, 40]), &["bracket"]);
    refused_as(&class(50, &[0, 1, 200]), ErrorKind::BadFrame);
}

#[test]
fn handlers_cover_something() {
    let class = |length: usize| {
        with_code("()V", |code| {
            let (start, end, handler) = (code.limits(1, 0).here(), code.label(), code.label());
            code.repeat(NOP, length).place(end).op(RETURN).place(handler).op(ATHROW);
            code.row(start, end, handler, None);
        })
    };
    merged(&class(1), &["bracket"]);
    refused_as(&class(0), ErrorKind::BadValue);
}

#[test]
fn code_does_not_run_off_its_end() {
    let class = |last: u8| {
        with_code("()V", |code| {
            code.limits(1, 0).op(RETURN).op(NOP).op(last);
        })
    };
    merged(&class(RETURN), &["bracket"]);
    refused_as(&class(NOP), ErrorKind::BadValue);
}

#[test]
fn nothing_may_follow_the_attributes_of_the_code() {
    let good = with_code("()V", |code| {
        code.limits(0, 0).attribute("Deprecated", &[]).op(RETURN);
    });
    let mut class = good.clone();
    // attributes_count of the code: the attribute becomes bytes that nobody reads.
    let class_file = classfile::ClassFile::parse(&good).unwrap();
    let count = class_file.methods()[0].end - 8;
    assert_eq!(class[count..count + 2], [0, 1]);
    class[count + 1] = 0;
    merged(&good, &["bracket"]);
    refused_as(&class, ErrorKind::TrailingBytes);
}

/// As HotSpot up to 17 shows its own classes when they are retransformed: it neither verifies them nor keeps their frames.
#[test]
fn code_that_the_jvm_keeps_without_frames_gets_none() {
    let jumping = class_with("Stripped", 61, "(I)I", |code| {
        let (other, end) = (code.limits(1, 1).label(), code.label());
        code.iload(0).jump(IFEQ, other).op(ICONST_1).op(IRETURN).place(other).op(ICONST_0).place(end).op(IRETURN);
    });
    for templates in [&["bracket"][..], &["catches"], &["catches", "bracket"]] {
        let output = merged(&jumping, templates);
        assert!(body(&output.bytes, 0).attribute("StackMapTable").is_none(), "{templates:?}");
    }
    let straight = class_with("Straight", 61, "()I", |code| {
        code.limits(1, 0).op(ICONST_1).op(IRETURN);
    });
    assert!(body(&merged(&straight, &["catches"]).bytes, 0).attribute("StackMapTable").is_some());
}
