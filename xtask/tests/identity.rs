//! Do we read and write everything? Every class of every JDK of this machine, decoded down to single instructions and
//! annotation values and encoded again, is the same byte for byte; every stack map frame survives expansion.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use class_source::{ImageClass, JavaHome, JdkImage};
use classfile::descriptor::MethodDescriptor;
use classfile::stack_map::{FrameDecoder, FrameEncoder, VerificationType, implied_locals};
use classfile::{ByteReader, ByteWriter, ClassFile, Error, Member, access, class_writer};

#[test]
fn every_class_of_every_jdk_is_written_back_byte_for_byte() {
    let written = for_every_class(|name, bytes| {
        let class = ClassFile::parse(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut out = ByteWriter::new();
        let copied = class_writer::write(&class, &mut out).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(out.as_slice() == bytes, "{name} differs");
        assert_eq!(copied, 0, "{name} has attributes that were not decoded");
        1
    });
    println!("{written} classes of all JDKs are identical");
}

#[test]
fn every_frame_of_every_jdk_survives_expansion() {
    let frames = for_every_class(|name, bytes| {
        let class = ClassFile::parse(bytes).unwrap();
        let frames = |method| expand_and_encode(&class, method).unwrap_or_else(|error| panic!("{name}: {error}"));
        class.methods().iter().map(frames).sum()
    });
    assert!(frames > 500_000, "only {frames} frames seen");
    println!("{frames} frames mean the same");
}

/// Locals and stack at a code offset.
type Frame = (u32, Vec<VerificationType>, Vec<VerificationType>);

fn expand_and_encode(class: &ClassFile<'_>, method: &Member<'_>) -> Result<usize, Error> {
    let Some(code) = method.code(class)? else { return Ok(0) };
    let Some(table) = code.attributes(class).find(b"StackMapTable")? else { return Ok(0) };
    let implied = locals_at_entry(method)?;
    let frames = expand(table.reader("StackMapTable"), &implied)?;
    let mut encoder = FrameEncoder::new();
    encoder.begin(Some(&implied));
    for (offset, locals, stack) in &frames {
        assert!(encoder.frame(*offset, locals, stack), "frames out of order");
    }
    let encoded = encoder.finish();
    assert_eq!(expand(ByteReader::new(encoded, 0, "StackMapTable"), &implied)?, frames);
    assert!(encoded.len() <= table.content.len(), "javac found a shorter form in {}", method.name);
    Ok(frames.len())
}

fn locals_at_entry(method: &Member<'_>) -> Result<Vec<VerificationType>, Error> {
    let receiver = (!method.has(access::STATIC)).then_some(VerificationType::Object(0));
    let mut locals = Vec::new();
    // Which class does not matter here: the same for both ways.
    let descriptor = MethodDescriptor::parse(method.descriptor.as_bytes())?;
    implied_locals(receiver, &descriptor, &mut locals, |_| Ok::<_, Error>(0))?;
    Ok(locals)
}

fn expand(table: ByteReader<'_>, implied: &[VerificationType]) -> Result<Vec<Frame>, Error> {
    let (mut locals, mut stack, mut frames) = (implied.to_vec(), Vec::new(), Vec::new());
    let mut decoder = FrameDecoder::new(table, &mut locals, &mut stack)?;
    while let Some(offset) = decoder.advance()? {
        // Tops at the end say nothing, and the encoder leaves them out.
        let used =
            decoder.locals().iter().rposition(|&local| local != VerificationType::Top).map_or(0, |last| last + 1);
        frames.push((offset, decoder.locals()[..used].to_vec(), decoder.stack().to_vec()));
    }
    Ok(frames)
}

/// Gives every class of every JDK to `look` (on all processors) and sums what it says.
fn for_every_class(look: impl Fn(&str, &[u8]) -> usize + Sync) -> usize {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/jdks");
    let homes = JavaHome::installed(&[own]);
    assert!(homes.iter().any(|home| home.feature() >= 17), "the tests need a JDK of version 17 or later");
    homes.iter().map(|home| for_every_class_of(home, &look)).sum()
}

fn for_every_class_of(home: &JavaHome, look: &(impl Fn(&str, &[u8]) -> usize + Sync)) -> usize {
    let image = JdkImage::open(home.path()).unwrap();
    let classes: Vec<ImageClass<'_>> = image.classes().collect::<Result<_, _>>().unwrap();
    let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(class) = classes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let said = look(class.name(), &image.read(class).unwrap());
                    sum.fetch_add(said, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(classes.len() > 5_000, "{}: only {} classes", home.path().display(), classes.len());
    println!("JDK {}: {} classes", home.version(), classes.len());
    sum.into_inner()
}
