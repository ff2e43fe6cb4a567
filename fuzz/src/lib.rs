//! What is fuzzed, as plain functions: each takes any bytes and panics if something is wrong with what instr makes of them.
//!
//! libFuzzer calls them (`fuzz_targets/`), and so does the smoke test of the command line (`cli/tests/fuzzing`), which includes
//! this file and needs neither libFuzzer nor a nightly compiler.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a panic reports a finding to the fuzzer")]
#![allow(missing_docs, unreachable_pub, reason = "for the fuzz targets and the smoke test only")]

pub(crate) mod built_in;
pub mod class_reader;
pub mod config;
pub mod lift_merge_lower;
pub mod mutation;
pub mod template_lint;
