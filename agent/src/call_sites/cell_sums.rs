//! What a cell has measured.

/// Calls and their time, as probes read time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) calls: u64,
    pub(crate) time: u64,
}

/// What a cell has measured in slow calls of the root and in fast ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CellSums {
    pub(crate) slow: Sum,
    pub(crate) fast: Sum,
}

impl CellSums {
    /// Slow ones and fast ones.
    pub(crate) fn calls(&self) -> u64 {
        self.slow.calls + self.fast.calls
    }
}
