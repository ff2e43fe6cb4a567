//! Names of the functions in a native library, from the symbol tables of its file.

use std::fs::File;
use std::path::Path;

use object::elf::{PT_LOAD, STT_FUNC};
use object::read::elf::{ElfFile64, ElfSymbol64, FileHeader, ProgramHeader, Sym};
use object::{Endianness, Object, ObjectSymbol, ReadCache, ReadRef};

/// The functions of a library that has symbols.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    /// By where they begin, counted from where the library begins.
    functions: Vec<Function>,
}

#[derive(Debug)]
struct Function {
    begin: u64,
    end: u64,
    name: Box<str>,
}

impl Symbols {
    /// Reads a file; without symbols if it is gone or something else than a library.
    pub(crate) fn of_file(path: &Path) -> Symbols {
        let Ok(file) = File::open(path) else { return Symbols::default() };
        Symbols::read(&ReadCache::new(file)).unwrap_or_default()
    }

    /// Reads a library that is no file.
    pub(crate) fn of_image(bytes: &[u8]) -> Symbols {
        Symbols::read(bytes).unwrap_or_default()
    }

    fn read<'data>(data: impl ReadRef<'data>) -> Option<Symbols> {
        let file = ElfFile64::<Endianness, _>::parse(data).ok()?;
        let endian = file.endian();
        let headers = file.elf_header().program_headers(endian, data).ok()?;
        let first = headers.iter().find(|header| header.p_type(endian) == PT_LOAD && header.p_offset(endian) == 0)?;
        let first = first.p_vaddr(endian);
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let mut functions: Vec<Function> = symbols.filter_map(|symbol| function(&symbol, endian, first)).collect();
        // Of several names for the same function the plainest: `memcpy` rather than `__memcpy_chk`.
        functions.sort_by(|of, other| {
            let key = |function: &Function| (function.begin, function.name.starts_with('_'), function.name.len());
            key(of).cmp(&key(other)).then_with(|| of.name.cmp(&other.name))
        });
        functions.dedup_by_key(|function| function.begin);
        Some(Symbols { functions })
    }

    /// The function in which an address lies, counted from where the library begins. A stripped library names few of its functions, so what lies after the end of
    /// one has no name.
    pub(crate) fn at(&self, offset: u64) -> Option<String> {
        let after = self.functions.partition_point(|function| function.begin <= offset);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (offset < function.end).then(|| readable(&function.name))
    }
}

fn function<'data>(
    symbol: &ElfSymbol64<'data, '_, Endianness, impl ReadRef<'data>>,
    endian: Endianness,
    first: u64,
) -> Option<Function> {
    if symbol.is_undefined() || symbol.elf_symbol().st_type() != STT_FUNC || symbol.size() == 0 {
        return None;
    }
    let begin = symbol.elf_symbol().st_value(endian).checked_sub(first)?;
    let name = symbol.name().ok().filter(|name| !name.is_empty())?;
    Some(Function { begin, end: begin.checked_add(symbol.size())?, name: name.into() })
}

/// The name of a function of C++ without parameters and arguments of templates: `G1Allocator::attempt_allocation`. Other names stay as they are.
fn readable(name: &str) -> String {
    qualified(name).unwrap_or_else(|| name.to_owned())
}

/// Reads `_ZN`, then each part of the name after its length, then `E`; or `_Z` or `_ZL` and the only part.
fn qualified(name: &str) -> Option<String> {
    let mangled = name.strip_prefix("_Z")?;
    let nested = mangled.strip_prefix('N');
    let mut rest = nested.map_or(mangled, |rest| rest.trim_start_matches(['K', 'V', 'r']));
    let mut parts: Vec<&str> = Vec::new();
    loop {
        rest = rest.trim_start_matches('L');
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0);
        let Some((length, after)) = digits.and_then(|digits| rest.split_at_checked(digits)) else { break };
        let (part, after) = after.split_at_checked(length.parse().ok()?)?;
        parts.push(part);
        rest = after;
        if nested.is_none() {
            break;
        }
    }
    let last = *parts.last()?;
    let end = match rest.chars().next() {
        Some('I') => "<..>".to_owned(),
        Some('C') if nested.is_some() => format!("::{last}"),
        Some('D') if nested.is_some() => format!("::~{last}"),
        Some('E') | None => String::new(),
        _ if nested.is_some() => "::..".to_owned(),
        _ => String::new(),
    };
    Some(parts.join("::") + &end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::process::native_libraries::NativeLibrary;

    #[test]
    fn names_of_cpp_are_readable() {
        for (mangled, expected) in [
            ("_ZN20G1ParScanThreadState18trim_queue_partialEv", "G1ParScanThreadState::trim_queue_partial"),
            ("_ZNK5Klass13is_subtype_ofEPS_", "Klass::is_subtype_of"),
            ("_ZN9GrowableAI3oopE6appendERKS0_", "GrowableA<..>"),
            ("_ZN5ArenaC2E8MEMFLAGS", "Arena::Arena"),
            ("_ZN5ArenaD1Ev", "Arena::~Arena"),
            ("_ZL11helper_funciPc", "helper_func"),
            ("_Z7do_workv", "do_work"),
            ("_ZN3FooeqERKS_", "Foo::.."),
            ("memcpy", "memcpy"),
            ("_Z", "_Z"),
            ("_ZN99999999999999999999999xE", "_ZN99999999999999999999999xE"),
            ("_ZN1é", "_ZN1é"),
        ] {
            assert_eq!(readable(mangled), expected);
        }
    }

    /// The C library of this process and a function of it.
    #[test]
    fn a_function_is_found_from_its_first_byte_to_its_last() {
        let libraries = NativeLibrary::all_loaded().unwrap();
        let at = libc::qsort as *const () as u64;
        let is_in = |library: &&NativeLibrary| (library.address..library.address + library.length).contains(&at);
        let library = libraries.iter().find(is_in).unwrap();
        let symbols = Symbols::of_file(Path::new(&library.name));
        let offset = at - library.address;
        assert_eq!(symbols.at(offset).as_deref(), Some("qsort"));
        let function = symbols.functions.iter().find(|function| function.begin == offset).unwrap();
        assert_eq!(symbols.at(function.end - 1).as_deref(), Some("qsort"));
        assert_ne!(symbols.at(function.end).as_deref(), Some("qsort"));
    }

    #[test]
    fn what_is_no_library_has_no_symbols() {
        assert_eq!(Symbols::of_file(Path::new("/nowhere")).at(0), None);
        assert_eq!(Symbols::of_image(b"\x7fELF\x02\x01").at(0), None);
        let own = std::fs::read("/proc/self/exe").unwrap();
        for length in (0..own.len().min(5_000)).step_by(97) {
            assert_eq!(Symbols::of_image(&own[..length]).at(0), None);
        }
    }
}
