//! Writes an instrumented copy of a jar; libraries inside the jar are instrumented as well.

use std::io::{Cursor, Read, Seek, Write};

use anyhow::{Context, Result};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::file_origin::FileOrigin;
use crate::instrumentation::Instrumentation;

/// What became of a jar.
#[derive(Debug, Default)]
pub(crate) struct RewrittenJar {
    /// The new jar; `None` if nothing in it is to be changed.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Signature files that were left out, because they do not fit the new content.
    pub(crate) dropped_signatures: Vec<String>,
}

/// Entries whose content is replaced.
struct Replacement {
    entry: usize,
    bytes: Vec<u8>,
}

/// Instruments every class in the jar of this name.
pub(crate) fn rewrite(
    name: &str,
    input: impl Read + Seek,
    instrumentation: &mut Instrumentation<'_>,
) -> Result<RewrittenJar> {
    let mut jar = ZipArchive::new(input).context("not a readable jar")?;
    let mut dropped_signatures = Vec::new();
    let mut replacements = libraries(&mut jar, instrumentation, &mut dropped_signatures)?;
    let descriptors = contents(&mut jar, |name| name.ends_with("module-info.class"))?;
    instrumentation.origin =
        FileOrigin::of_container(name, descriptors.first().map(|(_, descriptor)| descriptor.as_slice()));
    replacements.extend(classes(&mut jar, instrumentation)?);
    if replacements.is_empty() {
        return Ok(RewrittenJar::default());
    }
    replacements.sort_by_key(|replacement| replacement.entry);
    let bytes = written(&mut jar, replacements, &mut dropped_signatures)?;
    Ok(RewrittenJar { bytes: Some(bytes), dropped_signatures })
}

fn classes(
    jar: &mut ZipArchive<impl Read + Seek>,
    instrumentation: &mut Instrumentation<'_>,
) -> Result<Vec<Replacement>> {
    let originals = contents(jar, |name| name.ends_with(".class") && !name.ends_with("module-info.class"))?;
    let rewritten = instrumentation.rewrite_all(originals.iter().map(|(_, bytes)| bytes.as_slice()));
    let entries = originals.iter().map(|(entry, _)| *entry);
    Ok(entries.zip(rewritten).filter_map(|(entry, bytes)| bytes.map(|bytes| Replacement { entry, bytes })).collect())
}

fn libraries(
    jar: &mut ZipArchive<impl Read + Seek>,
    instrumentation: &mut Instrumentation<'_>,
    dropped_signatures: &mut Vec<String>,
) -> Result<Vec<Replacement>> {
    let mut replacements = Vec::new();
    for (entry, bytes) in contents(jar, is_library)? {
        let name = jar.name_for_index(entry).and_then(Result::ok).unwrap_or_default().into_owned();
        let library = rewrite(&name, Cursor::new(bytes), instrumentation)?;
        dropped_signatures.extend(library.dropped_signatures);
        replacements.extend(library.bytes.map(|bytes| Replacement { entry, bytes }));
    }
    Ok(replacements)
}

fn is_library(name: &str) -> bool {
    name.ends_with(".jar") && ["BOOT-INF/lib/", "WEB-INF/lib/"].iter().any(|directory| name.starts_with(directory))
}

fn contents(jar: &mut ZipArchive<impl Read + Seek>, wanted: impl Fn(&str) -> bool) -> Result<Vec<(usize, Vec<u8>)>> {
    let mut contents = Vec::new();
    for entry in 0..jar.len() {
        if jar.name_for_index(entry).and_then(Result::ok).is_some_and(|name| wanted(&name)) {
            let mut file = jar.by_index(entry)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).with_context(|| "reading an entry of the jar")?;
            contents.push((entry, bytes));
        }
    }
    Ok(contents)
}

fn written(
    jar: &mut ZipArchive<impl Read + Seek>,
    replacements: Vec<Replacement>,
    dropped_signatures: &mut Vec<String>,
) -> Result<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let mut replacements = replacements.into_iter().peekable();
    for entry in 0..jar.len() {
        let file = jar.by_index_raw(entry)?;
        if let Some(replacement) = replacements.next_if(|replacement| replacement.entry == entry) {
            // Loaders of executable jars want the libraries in them stored, not compressed.
            let method = if file.compression() == CompressionMethod::Stored {
                CompressionMethod::Stored
            } else {
                CompressionMethod::Deflated
            };
            let mut options = SimpleFileOptions::default().compression_method(method);
            if let Some(time) = file.last_modified() {
                options = options.last_modified_time(time);
            }
            writer.start_file(file.name()?, options)?;
            writer.write_all(&replacement.bytes)?;
        } else if is_signature(&file.name()?) {
            dropped_signatures.push(file.name()?.into_owned());
        } else {
            writer.raw_copy_file(file)?;
        }
    }
    Ok(writer.finish()?.into_inner())
}

/// `META-INF/X.SF` and the block files beside it; without them the digests in the manifest mean nothing.
fn is_signature(name: &str) -> bool {
    let Some(file) = name.strip_prefix("META-INF/") else { return false };
    let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_ascii_uppercase());
    !file.contains('/') && ending.is_some_and(|ending| matches!(ending.as_str(), "SF" | "RSA" | "DSA" | "EC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_files_are_known_by_name() {
        assert!(is_signature("META-INF/SIGNER.SF") && is_signature("META-INF/signer.rsa"));
        assert!(!is_signature("META-INF/MANIFEST.MF") && !is_signature("META-INF/x/A.SF") && !is_signature("A.SF"));
    }
}
