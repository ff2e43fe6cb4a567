//! Changes to class files that leave many of them readable: libFuzzer's own changes mostly end at the first length that is wrong.

use classfile::ClassFile;

/// A small generator (splitmix64), so that a failure can be had again by its seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Opcodes that the lift looks at, as bytes to write somewhere.
const FLOW: [u8; 19] =
    [0x99, 0xA6, 0xA7, 0xA8, 0xA9, 0xAA, 0xAB, 0xAC, 0xAD, 0xB0, 0xB1, 0xBF, 0xC4, 0xC6, 0xC8, 0xC9, 0xB7, 0xBB, 0x00];

/// Changes a few bytes in place, mostly inside one method.
pub fn in_place(bytes: &mut [u8], random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let whole = 0..bytes.len();
    let range = if random.below(5) == 0 { whole } else { method_range(bytes, random).unwrap_or(whole) };
    for _ in 0..1 + random.below(4) {
        let at = range.start + random.below(range.len());
        let from = range.start + random.below(range.len());
        let source = [bytes[from], bytes.get(from + 1).copied().unwrap_or(0)];
        let place = &mut bytes[at..];
        match random.below(8) {
            0 => place[0] = random.next() as u8,
            1 => place[0] ^= 1 << random.below(8),
            2 => place[0] = [0, 0xFF, 0x7F, 0x80][random.below(4)],
            3 => place[0] = FLOW[random.below(FLOW.len())],
            4 => place[0] = source[0],
            5 => place[0] = place[0].wrapping_add(1),
            6 => place[0] = place[0].wrapping_sub(1),
            _ => place.iter_mut().zip(source).for_each(|(byte, other)| *byte = other),
        }
    }
}

/// Like [`in_place`], and sometimes takes a byte out or puts one in.
pub fn any(bytes: &mut Vec<u8>, random: &mut Random) {
    if !bytes.is_empty() && random.below(4) == 0 {
        let at = random.below(bytes.len());
        if random.below(2) == 0 {
            bytes.remove(at);
        } else {
            bytes.insert(at, random.next() as u8);
        }
    } else {
        in_place(bytes, random);
    }
}

fn method_range(bytes: &[u8], random: &mut Random) -> Option<std::ops::Range<usize>> {
    let class = ClassFile::parse(bytes).ok()?;
    let method = class.methods().get(random.below(class.methods().len()))?;
    // Behind the first attribute's header, which in most methods is that of the code.
    let start = (method.attributes_offset + 8).min(method.end);
    (start < method.end).then_some(start..method.end)
}
