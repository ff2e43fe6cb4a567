//! What HotSpot says of its own structures. `libjvm.so` exports a table for the serviceability tools: type, field, offset or
//! address. Everything found here can be absent (another JVM), and then what depends on it is.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{NonNull, read_unaligned};

/// More entries than any HotSpot has; the table ends with an entry without names.
const MOST_ENTRIES: usize = 20_000;

/// The table of this JVM.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VmStructs {
    first: NonNull<u8>,
    stride: usize,
    type_name: usize,
    field_name: usize,
    offset: usize,
    address: usize,
}

impl VmStructs {
    /// Finds the table.
    pub(crate) fn find() -> Option<VmStructs> {
        let first = exported_word(c"gHotSpotVMStructs")?;
        let structs = VmStructs {
            first: NonNull::new(first as *mut u8)?,
            stride: exported_word(c"gHotSpotVMStructEntryArrayStride")?,
            type_name: exported_word(c"gHotSpotVMStructEntryTypeNameOffset")?,
            field_name: exported_word(c"gHotSpotVMStructEntryFieldNameOffset")?,
            offset: exported_word(c"gHotSpotVMStructEntryOffsetOffset")?,
            address: exported_word(c"gHotSpotVMStructEntryAddressOffset")?,
        };
        // Anything else would not be the table that this code knows how to walk.
        let largest = structs.type_name.max(structs.field_name).max(structs.offset).max(structs.address);
        (structs.stride <= 256 && largest + size_of::<usize>() <= structs.stride).then_some(structs)
    }

    /// Offset of a field within an object of this type.
    pub(crate) fn field_offset(self, type_name: &CStr, field: &CStr) -> Option<usize> {
        let entry = self.entry(type_name, field)?;
        // SAFETY: `entry` is an entry of the table, `offset` the place of this word within it.
        Some(unsafe { read_unaligned(entry.add(self.offset).cast::<usize>()) })
    }

    /// Value of a static field of pointer size.
    pub(crate) fn static_word(self, type_name: &CStr, field: &CStr) -> Option<usize> {
        let entry = self.entry(type_name, field)?;
        // SAFETY: `entry` is an entry of the table, `address` the place of this word within it.
        let address = unsafe { read_unaligned(entry.add(self.address).cast::<*const usize>()) };
        // SAFETY: the address of a static variable of the JVM, which lives as long as the process; null for other fields.
        (!address.is_null()).then(|| unsafe { address.read_volatile() })
    }

    fn entry(self, type_name: &CStr, field: &CStr) -> Option<*const u8> {
        for number in 0..MOST_ENTRIES {
            // SAFETY: the loop ends at the last entry of the table, which has no names.
            let entry = unsafe { self.first.as_ptr().add(number * self.stride) };
            // SAFETY: both places lie within the entry; the names are null or NUL-terminated strings of the JVM.
            let names = unsafe { (name(entry, self.type_name), name(entry, self.field_name)) };
            match names {
                (None, _) => return None,
                (Some(found), Some(found_field)) if found == type_name && found_field == field => return Some(entry),
                _ => {}
            }
        }
        None
    }
}

/// # Safety
/// At `offset` of the entry there must be null or a pointer to a NUL-terminated string that lives as long as the process.
unsafe fn name(entry: *const u8, offset: usize) -> Option<&'static CStr> {
    // SAFETY: the caller says what is there.
    let text = unsafe { read_unaligned(entry.add(offset).cast::<*const c_char>()) };
    // SAFETY: as above.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// A variable of 64 bits that some library of the process exports.
fn exported_word(name: &CStr) -> Option<usize> {
    // SAFETY: NUL-terminated name; RTLD_DEFAULT looks in all libraries of the process.
    let variable = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: HotSpot declares these variables as 64-bit words; they live as long as the process.
    NonNull::<c_void>::new(variable).map(|variable| unsafe { variable.cast::<usize>().read() })
}

/// Where a platform thread's own structure holds what the thread has allocated, as offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AllocationFields {
    /// Bytes of all allocation buffers before the present one, and of objects too large for a buffer.
    pub(crate) allocated_bytes: usize,
    /// Where the present buffer begins.
    pub(crate) buffer_start: usize,
    /// How far it is used.
    pub(crate) buffer_top: usize,
}

impl AllocationFields {
    /// Finds the fields.
    pub(crate) fn find(structs: VmStructs) -> Option<AllocationFields> {
        let buffer = structs.field_offset(c"Thread", c"_tlab")?;
        Some(AllocationFields {
            allocated_bytes: structs.field_offset(c"Thread", c"_allocated_bytes")?,
            buffer_start: buffer + structs.field_offset(c"ThreadLocalAllocBuffer", c"_start")?,
            buffer_top: buffer + structs.field_offset(c"ThreadLocalAllocBuffer", c"_top")?,
        })
    }
}

/// Where HotSpot keeps code that it has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeRegions {
    /// The code cache: compiled methods, the interpreter, stubs. First address, and the one behind the last.
    cache: (u64, u64),
    /// The interpreter, in the code cache.
    interpreter: (u64, u64),
}

/// What an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeRegion {
    /// Compiled methods and stubs.
    Compiled,
    /// The interpreter.
    Interpreter,
    /// Libraries, such as the JVM's own.
    Library,
}

impl CodeRegions {
    /// Finds the regions.
    pub(crate) fn find(structs: VmStructs) -> Option<CodeRegions> {
        let word = |type_name: &CStr, field: &CStr| structs.static_word(type_name, field).map(|word| word as u64);
        let cache = (word(c"CodeCache", c"_low_bound")?, word(c"CodeCache", c"_high_bound")?);
        let queue = structs.static_word(c"AbstractInterpreter", c"_code").filter(|queue| *queue != 0)? as *const u8;
        let [buffer, limit] =
            [c"_stub_buffer", c"_buffer_limit"].map(|field| structs.field_offset(c"StubQueue", field));
        let (buffer, limit) = (buffer?, limit?);
        // SAFETY: the queue of the interpreter's code lives as long as the process and does not change; the fields are where the JVM says.
        let (begin, length) = unsafe {
            (queue.add(buffer).cast::<u64>().read_unaligned(), queue.add(limit).cast::<i32>().read_unaligned())
        };
        let end = begin.checked_add(u64::try_from(length).ok()?)?;
        let regions = CodeRegions { cache, interpreter: (begin, end) };
        (cache.0 <= begin && begin < end && end <= cache.1).then_some(regions)
    }

    /// Without an interpreter.
    #[cfg(test)]
    pub(in crate::jvm) fn for_tests(cache: (u64, u64)) -> CodeRegions {
        CodeRegions { cache, interpreter: (0, 0) }
    }

    /// What this address belongs to. May be asked in signal handlers.
    pub(crate) fn region(self, address: u64) -> CodeRegion {
        let is_in = |(begin, end): (u64, u64)| (begin..end).contains(&address);
        if is_in(self.interpreter) {
            CodeRegion::Interpreter
        } else if is_in(self.cache) {
            CodeRegion::Compiled
        } else {
            CodeRegion::Library
        }
    }
}

/// A copy of the memory in which HotSpot keeps its performance counters (what `jstat` reads); `None` with `-XX:-UsePerfData`.
pub(crate) fn perf_memory(structs: VmStructs) -> Option<Vec<u8>> {
    let start = structs.static_word(c"PerfMemory", c"_start")?;
    let capacity = structs.static_word(c"PerfMemory", c"_capacity")?;
    if start == 0 || !start.is_multiple_of(8) || capacity > 1 << 24 {
        return None;
    }
    let words = start as *const u64;
    let mut copy = Vec::with_capacity(capacity);
    for word in 0..capacity / 8 {
        // SAFETY: the JVM allocated `capacity` bytes at `start` and does not free them while it lives. It writes counters with
        // single stores of 8 bytes, so a volatile reading gives the old or the new value.
        copy.extend(unsafe { words.add(word).read_volatile() }.to_ne_bytes());
    }
    Some(copy)
}
