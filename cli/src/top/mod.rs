//! A running JVM, looked at again and again: as a screen with keys, or as tables one below the other.

mod background;
mod drawing;
mod figures;
mod plain;
mod screen;
mod terminal;
mod tree;

pub(crate) use plain::print_tables;
pub(crate) use terminal::show_screen;
pub(crate) use tree::print_tree;
