//! Which values of a call a rule asks for, and how they are shown.

pub(super) mod parameter_names;
pub(super) mod resolved;

use classfile::{ClassFile, Member};

pub use crate::weave::captured::{CapturedValue, CapturedValues};
pub use resolved::CapturedMethod;

use crate::declare_words;

/// Characters of a value that are kept where a rule says nothing.
pub const DEFAULT_VALUE_LENGTH: u32 = 100;
/// More characters cannot be asked for.
pub const LONGEST_VALUE: u32 = 1_000;

/// The values of a call that a rule asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Arguments and receiver, in the order in which they are shown.
    pub arguments: Vec<ArgumentKey>,
    /// The result, too.
    pub result: bool,
    /// Characters of a value that are kept.
    pub length: u32,
    /// How objects are shown.
    pub render: Render,
}

impl Capture {
    /// Returns the values of one method's calls that a template is given.
    pub fn in_method(&self, class: &ClassFile<'_>, method: &Member<'_>) -> CapturedValues {
        CapturedMethod::of(class, method, self).for_template()
    }
}

/// What an element of `arguments` selects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ArgumentKey {
    /// `"this"`: the receiver.
    Receiver,
    /// `"all"`: every argument.
    All,
    /// A number: the argument at this place, from 0.
    Index(u16),
    /// Any other text: the argument of this name, where the class file knows names.
    Name(String),
    /// `"!password"`: never the argument of this name, whatever else is asked for.
    Except(String),
}

impl ArgumentKey {
    /// The key of a text; numbers are not texts.
    pub fn of_text(text: &str) -> ArgumentKey {
        match text {
            "this" => ArgumentKey::Receiver,
            "all" => ArgumentKey::All,
            text => match text.strip_prefix('!') {
                Some(name) => ArgumentKey::Except(name.to_owned()),
                None => ArgumentKey::Name(text.to_owned()),
            },
        }
    }
}

declare_words! {
    /// How an object is shown that is neither a string, nor a number, nor an enum constant.
    pub enum Render {
        /// As its class and identity hash, `com.acme.Order@1b6d3586`: none of its code runs.
        Identity = "identity",
        /// As its `toString()` says, which then runs in the application's threads after slow calls.
        ToString = "to-string",
    }
}
