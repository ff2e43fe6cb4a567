//! The steps of a task that one thread hands to another, as recordings name them.

/// A step on the way of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStep {
    /// The thread gave the task away.
    HandedOver,
    /// The thread begins to run the task.
    Begins,
    /// What the thread began last is over.
    Ends,
    /// The thread makes or starts another thread, whose id is in the field of the task.
    ThreadStarts,
}

impl TaskStep {
    const ALL: [TaskStep; 4] = [TaskStep::HandedOver, TaskStep::Begins, TaskStep::Ends, TaskStep::ThreadStarts];

    /// Returns the word that is recorded.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TaskStep::HandedOver => "hand-over",
            TaskStep::Begins => "begin",
            TaskStep::Ends => "end",
            TaskStep::ThreadStarts => "thread",
        }
    }

    /// The step with this name.
    pub(crate) fn of_name(name: &str) -> Option<TaskStep> {
        TaskStep::ALL.into_iter().find(|step| step.name() == name)
    }
}
