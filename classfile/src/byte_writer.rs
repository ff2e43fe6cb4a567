//! Big-endian output with patching of values that are known late.

/// Appends big-endian values to a growing buffer.
#[derive(Debug, Default, Clone)]
pub struct ByteWriter {
    bytes: Vec<u8>,
}

impl ByteWriter {
    /// An empty writer.
    pub fn new() -> ByteWriter {
        ByteWriter::default()
    }

    /// A writer that appends to `bytes`, so that a buffer can be used again.
    pub fn from_vec(bytes: Vec<u8>) -> ByteWriter {
        ByteWriter { bytes }
    }

    /// The bytes written.
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    /// The bytes written so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// What was written from `position` on, to be overwritten.
    pub fn written_from(&mut self, position: usize) -> &mut [u8] {
        self.bytes.get_mut(position..).unwrap_or_default()
    }

    /// Number of bytes written.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Makes room for `additional` bytes.
    pub fn reserve(&mut self, additional: usize) {
        self.bytes.reserve(additional);
    }

    /// Cuts the output back to `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
    }

    /// Appends a byte.
    #[inline]
    pub fn u1(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends a 16-bit value.
    #[inline]
    pub fn u2(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Appends a 32-bit value.
    #[inline]
    pub fn u4(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Appends a signed 32-bit value.
    #[inline]
    pub fn i4(&mut self, value: i32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    /// Appends bytes as they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the first `length` of a few bytes: cheaper than a slice of that length.
    #[inline]
    pub fn first_of<const N: usize>(&mut self, bytes: [u8; N], length: usize) {
        let end = self.bytes.len() + length;
        self.bytes.extend_from_slice(&bytes);
        self.bytes.truncate(end);
    }

    /// Overwrites the 16-bit value at `position`; nothing happens if it was not written yet.
    pub fn patch_u2(&mut self, position: usize, value: u16) {
        if let Some(place) = self.bytes.get_mut(position..position.saturating_add(2)) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }

    /// Overwrites the 32-bit value at `position`; nothing happens if it was not written yet.
    pub fn patch_u4(&mut self, position: usize, value: u32) {
        if let Some(place) = self.bytes.get_mut(position..position.saturating_add(4)) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}
