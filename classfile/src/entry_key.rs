//! Keys of constant-pool entries: to find an entry by its content, the keys of all are compared, many at a time, and only where
//! they agree the entries themselves. For pools as they are this costs less than building a hash table for each class.

/// The key of an entry by its tag and the bytes after the tag (for Utf8: after its length).
#[inline]
pub(crate) fn of_content(tag: u8, content: &[u8]) -> u32 {
    let end = match content.last_chunk::<4>() {
        Some(last) => u32::from_be_bytes(*last),
        None => content.iter().fold(0, |end, &byte| end << 8 | u32::from(byte)),
    };
    mixed(tag, content.len(), end)
}

/// The key of an entry by its tag, the length of its content, and the last four bytes of it or, if it is shorter, of what the
/// file has there.
#[inline]
pub(crate) fn of_entry(tag: u8, length: usize, last: u32) -> u32 {
    const OF_CONTENT: [u32; 5] = [0, 0xFF, 0xFFFF, 0x00FF_FFFF, 0xFFFF_FFFF];
    mixed(tag, length, last & OF_CONTENT.get(length.min(4)).copied().unwrap_or(0))
}

#[inline]
fn mixed(tag: u8, length: usize, end: u32) -> u32 {
    let state = (length as u64) << 40 | u64::from(tag) << 32 | u64::from(end);
    (state.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// The places of `key`, in order.
#[inline]
pub(crate) fn places(keys: &[u32], key: u32) -> impl Iterator<Item = usize> {
    const TOGETHER: usize = 16;
    let (chunks, rest) = keys.as_chunks::<TOGETHER>();
    let has = move |keys: &[u32; TOGETHER]| keys.iter().fold(false, |has, other| has | (*other == key));
    let chunks_with = chunks.iter().enumerate().filter(move |(_, chunk)| has(chunk));
    let in_chunks = chunks_with.map(|(number, chunk)| (number * TOGETHER, chunk.as_slice()));
    in_chunks.chain(std::iter::once((chunks.len() * TOGETHER, rest))).flat_map(move |(first, keys)| {
        let here = keys.iter().enumerate().filter(move |(_, other)| **other == key);
        here.map(move |(number, _)| first + number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_contents_have_the_key_that_their_entry_has() {
        for length in 0..9 {
            let file = [9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8];
            let (content, last) = (&file[4..4 + length], &file[length..4 + length]);
            let last = u32::from_be_bytes(last.try_into().unwrap());
            assert_eq!(of_entry(1, length, last), of_content(1, content), "{length}");
        }
    }

    #[test]
    fn finds_every_place() {
        let keys: Vec<u32> = (0..50).map(|number| number % 20).collect();
        assert_eq!(places(&keys, 7).collect::<Vec<_>>(), [7, 27, 47]);
        assert_eq!(places(&keys, 20).count(), 0);
    }
}
