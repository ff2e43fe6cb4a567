//! The values of a call that a template is given.

/// A value that is captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedValue {
    /// The receiver.
    Receiver,
    /// The argument at this place, from 0.
    Argument(u16),
    /// The result.
    Result,
}

/// The values that a template which asks for them is given in one method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedValues {
    /// The values, in the order in which they are shown.
    pub values: Vec<CapturedValue>,
    /// The constant that `Target.captureForm()` returns: names of the values, and how they are shown.
    pub form: String,
}
