//! The engine from outside: classes in, rewritten classes out.
//!
//! Targets are assembled here instruction by instruction (`assembler`) or were compiled by javac (`templates/`); outputs are
//! decoded again (`inspect`) and, where a JVM is the better judge, linked and run by one (`jvm`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test stops at the first surprise")]

mod assembler;
mod fixtures;
mod inspect;

mod arithmetic;
mod branches;
mod call_sites;
mod capture;
mod constants;
mod constructors;
mod damaged;
mod damaged_copies;
mod debug_tables;
mod exits;
mod far_jumps;
mod frame_oracle;
mod frames;
mod handlers;
mod hostile;
mod jvm;
mod limits;
mod lint;
mod odd_shapes;
mod old_versions;
mod options;
mod order;
mod properties;
mod random_program;
mod returns;
mod same_behaviour;
mod stack_need;
mod threads;
mod timer_class;
mod timer_object;
mod values;
mod wrapper;
