//! Do we ever panic, loop or write rubbish? Truncated and mutated classes give an error or are written unchanged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::panic::catch_unwind;

use classfile::descriptor::MethodDescriptor;
use classfile::stack_map::{FrameDecoder, implied_locals};
use classfile::{ByteWriter, ClassFile, Error, ErrorKind, Member, class_writer};

mod sample;

fn rewrite(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let class = ClassFile::parse(bytes)?;
    for member in class.methods() {
        // Errors are fine here, panics are not.
        let _ = expand_frames(&class, member);
    }
    let mut out = ByteWriter::new();
    class_writer::write(&class, &mut out)?;
    Ok(out.into_vec())
}

fn expand_frames(class: &ClassFile<'_>, method: &Member<'_>) -> Result<usize, Error> {
    let _ = format!("{} {}", method.name, method.descriptor);
    let descriptor = MethodDescriptor::parse(method.descriptor.as_bytes())?;
    let Some(code) = method.code(class)? else { return Ok(0) };
    let Some(table) = code.attributes(class).find(b"StackMapTable")? else { return Ok(0) };
    let (mut locals, mut stack, mut frames) = (Vec::new(), Vec::new(), 0);
    implied_locals(None, &descriptor, &mut locals, |_| Ok::<_, Error>(1))?;
    let mut decoder = FrameDecoder::new(table.reader("StackMapTable"), &mut locals, &mut stack)?;
    while decoder.advance()?.is_some() {
        frames += 1;
    }
    Ok(frames)
}

#[test]
fn every_truncation_is_an_error() {
    for (name, bytes) in sample::classes() {
        for length in 0..bytes.len() {
            let error = ClassFile::parse(&bytes[..length]).expect_err(&name);
            assert!(error.offset <= length, "{name} cut at {length}: {error}");
        }
    }
}

#[test]
fn bytes_after_a_class_are_an_error() {
    for (name, mut bytes) in sample::classes() {
        bytes.push(0);
        assert!(ClassFile::parse(&bytes).is_err(), "{name}");
    }
}

/// A long takes two places; one in the last place would move every entry appended after it.
#[test]
fn a_pool_that_does_not_end_at_its_count_is_an_error() {
    for pool in [&[0, 0][..], &[0, 2, 5, 0, 0, 0, 0, 0, 0, 0, 0]] {
        let bytes = [&[0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 52], pool].concat();
        let error = ClassFile::parse(&bytes).unwrap_err();
        assert_eq!((error.kind, error.offset), (ErrorKind::BadValue, bytes.len()));
    }
}

/// A damaged class may still be readable; then nothing of it may be lost, or an instrumenter would change it silently.
#[test]
fn damaged_classes_give_an_error_or_come_back_as_they_are() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut outcomes = [0; 2];
    for (name, original) in sample::classes() {
        for round in 0..3000 {
            let mut bytes = original.clone();
            for _ in 0..=random.below(3) {
                damage(&mut bytes, &mut random);
            }
            let rewritten = catch_unwind(|| rewrite(&bytes)).unwrap_or_else(|_| panic!("{name}, round {round}"));
            outcomes[usize::from(rewritten.is_ok())] += 1;
            if let Ok(rewritten) = rewritten {
                assert!(rewritten == bytes, "{name}, round {round}: differs");
            }
        }
    }
    assert!(outcomes.iter().all(|&count| count > 3000), "one-sided damage proves little: {outcomes:?}");
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = bytes[at].wrapping_add(1),
        2 => bytes[at] = 0,
        3 => bytes[at] = 0xFF,
        4 => bytes[at] = bytes[random.below(bytes.len())],
        _ => {
            bytes.remove(at);
            bytes.insert(random.below(bytes.len()), random.below(256) as u8);
        }
    }
}

/// xorshift: the same damage in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
