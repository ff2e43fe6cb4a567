//! How the engine writes a merged method, where there is a choice. The defaults give the smallest and fastest code; the others
//! show each step of the merge apart from the rest.

/// Options of the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineOptions {
    /// Keep an offset map for every rewritten method. Costs a little memory and time.
    pub offset_maps: bool,
    /// How far a jump reaches.
    pub layout: Layout,
    /// What is left where the template's sentinel stood.
    pub sentinel: SentinelForm,
    /// Where the template's local variables lie.
    pub slots: SlotScheme,
}

/// Which form of jumps is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Jumps start short and widen only if they do not reach their target; a method over 32,767 bytes may need a few passes.
    #[default]
    Shortest,
    /// Every jump is wide from the start, so one pass is enough whatever the number of jumps. A conditional jump, which has no
    /// wide form, goes by way of a `goto_w`.
    Long,
}

/// What is left of the sentinel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SentinelForm {
    /// Nothing.
    #[default]
    Removed,
    /// As many `nop` as it had bytes, to show where it was.
    NoOperations,
}

/// Which slots the locals of merge and template get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotScheme {
    /// After all locals of the target: no instruction of the target changes.
    #[default]
    AfterLocals,
    /// Directly after the parameters; all later locals of the target are renumbered. (One slot later for each long or double
    /// that occupies the slots on both sides of this position, so that it is not split.)
    AfterParameters,
    /// Before the parameters. Always refused, see `docs/decisions/010-no-locals-in-front.md`.
    InFront,
}
