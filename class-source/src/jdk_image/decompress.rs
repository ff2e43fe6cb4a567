//! Resources that `jlink --compress` packed: a stack of layers, each preceded by a header of 29 bytes.
//!
//! ```text
//! magic u32, packed size u64, unpacked size u64, name of the plug-in u32, its configuration u32, last layer u8
//! ```

use std::io::Read;

use super::LARGEST_RESOURCE;
use super::index::Index;
use super::shared_strings;
use crate::error::ErrorKind;

const MAGIC: u32 = 0xCAFE_FAFA;
const HEADER_SIZE: usize = 29;
/// jlink stacks at most two plug-ins; a chain longer than this is a damaged file.
const MOST_LAYERS: usize = 8;

/// Takes off layer after layer until the bytes do not start with a layer's header.
pub(super) fn unpack(packed: Vec<u8>, unpacked_size: u64, index: &Index) -> Result<Vec<u8>, ErrorKind> {
    let mut bytes = packed;
    for _ in 0..MOST_LAYERS {
        if !index.u32_at(&bytes, 0).is_ok_and(|magic| magic == MAGIC) {
            return if bytes.len() as u64 == unpacked_size {
                Ok(bytes)
            } else {
                Err(ErrorKind::Corrupt("a packed resource has not the size that the index says"))
            };
        }
        bytes = without_layer(&bytes, index)?;
    }
    Err(ErrorKind::Corrupt("a resource packed too many times"))
}

fn without_layer(bytes: &[u8], index: &Index) -> Result<Vec<u8>, ErrorKind> {
    let packed_size = index.u64_at(bytes, 4)?;
    let unpacked_size = index.u64_at(bytes, 12)?;
    let plugin = index.string(index.u32_at(bytes, 20)?)?;
    if unpacked_size > LARGEST_RESOURCE {
        return Err(ErrorKind::Corrupt("a packed resource of an absurd size"));
    }
    let end = usize::try_from(packed_size).ok().and_then(|size| size.checked_add(HEADER_SIZE));
    let content = end
        .and_then(|end| bytes.get(HEADER_SIZE..end))
        .ok_or(ErrorKind::Corrupt("a packed resource that is cut off"))?;
    match plugin {
        b"zip" => inflate(content, unpacked_size),
        b"compact-cp" => shared_strings::unpack(content, unpacked_size as usize, index),
        other => Err(ErrorKind::UnsupportedCompression(String::from_utf8_lossy(other).into_owned())),
    }
}

fn inflate(content: &[u8], unpacked_size: u64) -> Result<Vec<u8>, ErrorKind> {
    let mut bytes = Vec::with_capacity(unpacked_size as usize);
    flate2::read::ZlibDecoder::new(content).take(unpacked_size).read_to_end(&mut bytes).map_err(ErrorKind::Io)?;
    Ok(bytes)
}
