//! The variable-length integers of JFR: little end first, seven bits per byte, at most nine bytes of which the ninth
//! holds eight bits.

/// Values below this limit can be written by [`pack`]: they need at most eight bytes.
pub(crate) const PACKED_LIMIT: u64 = 1 << 56;

/// An encoded integer of up to eight bytes in a register: its bytes in little-endian order, zero above `length`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Packed {
    pub(crate) bytes: u64,
    pub(crate) length: usize,
}

/// Encodes a value below [`PACKED_LIMIT`] without a loop or a branch: the 7-bit groups are moved to their bytes in
/// three halving steps. A larger value loses its upper bits, so callers check first.
#[inline(always)]
pub(crate) fn pack(value: u64) -> Packed {
    let bits = 64 - (value | 1).leading_zeros();
    let length = ((bits * 9 + 64) >> 6) as usize;
    let halves = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
    let quarters = (halves & 0x0000_3fff_0000_3fff) | ((halves & 0x0fff_c000_0fff_c000) << 2);
    let groups = (quarters & 0x007f_007f_007f_007f) | ((quarters & 0x3f80_3f80_3f80_3f80) << 1);
    let continuation = 0x8080_8080_8080_8080 & (1u64.wrapping_shl(8 * (length as u32).wrapping_sub(1)).wrapping_sub(1));
    Packed { bytes: groups | continuation, length }
}

/// Appends any value.
pub(crate) fn push(out: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    for _ in 0..8 {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The length of an event as a 4-byte integer with filling continuation bits, the way the JVM itself writes sizes
/// that are known only afterwards. Holds up to 2^28 - 1.
pub(crate) fn padded(value: u32) -> [u8; 4] {
    [value as u8 | 0x80, (value >> 7) as u8 | 0x80, (value >> 14) as u8 | 0x80, (value >> 21) as u8 & 0x7f]
}

/// Decodes the integer at the start of `bytes`: its value and its length.
#[inline]
pub(crate) fn decode(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    if let Some(word) = bytes.first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let ends = !word & 0x8080_8080_8080_8080;
        if ends != 0 {
            return Some((unpack(word & (ends ^ (ends - 1))), ends.trailing_zeros() as usize / 8 + 1));
        }
    }
    decode_bytewise(bytes, first)
}

/// The inverse of [`pack`]: joins the 7-bit groups of eight bytes in three doubling steps.
#[inline(always)]
fn unpack(bytes: u64) -> u64 {
    let groups = (bytes & 0x007f_007f_007f_007f) | ((bytes & 0x7f00_7f00_7f00_7f00) >> 1);
    let quarters = (groups & 0x0000_3fff_0000_3fff) | ((groups & 0x3fff_0000_3fff_0000) >> 2);
    (quarters & 0x0fff_ffff) | ((quarters & 0x0fff_ffff_0000_0000) >> 4)
}

/// An integer of nine bytes, or one at the very end of its chunk.
#[cold]
fn decode_bytewise(bytes: &[u8], first: u8) -> Option<(u64, usize)> {
    let mut value = u64::from(first & 0x7f);
    for index in 1..8 {
        let byte = *bytes.get(index)?;
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    let last = *bytes.get(8)?;
    Some((value | u64::from(last) << 56, 9))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(value: u64) -> usize {
        let bits = 64 - (value | 1).leading_zeros() as usize;
        bits.div_ceil(7).min(9)
    }

    fn edges() -> impl Iterator<Item = u64> {
        (0..64).flat_map(|bit| {
            let power = 1u64 << bit;
            [power - 1, power, power + 1]
        })
    }

    #[test]
    fn every_edge_value_is_read_as_written() {
        for value in edges().chain([u64::MAX, u64::MAX - 1]) {
            let mut bytes = Vec::new();
            push(&mut bytes, value);
            assert_eq!(bytes.len(), length(value), "length of {value:#x}");
            bytes.push(0xff);
            assert_eq!(decode(&bytes), Some((value, length(value))), "{value:#x}");
            for following in [0, 0x7f, 0x80, 0xff] {
                let mut longer = bytes[..length(value)].to_vec();
                longer.extend([following; 9]);
                assert_eq!(decode(&longer), Some((value, length(value))), "{value:#x} before {following:#x}");
            }
        }
    }

    #[test]
    fn the_branchless_form_equals_the_loop() {
        for value in edges().filter(|value| *value < PACKED_LIMIT) {
            let mut expected = Vec::new();
            push(&mut expected, value);
            let packed = pack(value);
            assert_eq!(&packed.bytes.to_le_bytes()[..packed.length], expected, "{value:#x}");
            assert_eq!(packed.bytes.to_le_bytes()[packed.length..], vec![0; 8 - packed.length], "{value:#x}");
        }
    }

    #[test]
    fn padded_lengths_decode_as_ordinary_integers() {
        for value in [0, 1, 127, 128, 16_383, 16_384, (1 << 28) - 1] {
            assert_eq!(decode(&padded(value)), Some((u64::from(value), 4)));
        }
    }

    #[test]
    fn a_cut_integer_is_refused() {
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xff; 8]), None);
    }
}
