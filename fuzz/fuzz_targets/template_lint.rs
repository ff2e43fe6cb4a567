#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::template_lint::check(data));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 3 == 0 {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    fuzz::mutation::in_place(&mut data[..size], &mut fuzz::mutation::Random::new(seed.into()));
    size
});
