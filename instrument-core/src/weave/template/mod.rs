//! Templates: ordinary compiled Java methods of three parts, prolog, sentinel and epilog, that are merged into others.
//!
//! [`read`] reads them out of classes, [`lint`] checks them, [`type_walk`] finds the types at the sentinel, [`symbol`] holds their
//! constants free of any pool, [`library`] finds them by name and level. [`runtime_members`] checks what they use of the Java runtime,
//! [`examined`] is what `instr template lint` prints. [`single_pass_form`] says which of them one walk can merge; [`scope`] is what call sites get.

pub mod category;
mod examined;
mod exit_block;
mod intrinsic;
mod library;
mod lint;
mod problem;
mod read;
mod runtime_members;
mod scope;
mod single_pass_form;
pub mod symbol;
mod template_id;
mod type_walk;

pub use examined::ExaminedTemplate;
pub use intrinsic::Intrinsic;
pub use library::TemplateLibrary;
pub use problem::TemplateProblem;
pub use runtime_members::RuntimeClasses;
pub(crate) use scope::Scope;
pub(crate) use single_pass_form::SinglePassForm;
pub use template_id::TemplateId;

use crate::level::Level;
use symbol::{MemberSymbol, Symbol};

/// A template, ready to be merged. It is never changed.
#[derive(Clone, Debug)]
pub struct Template {
    /// The name that rules use.
    pub name: String,
    /// What kind of code it is for; see [`category`].
    pub category: String,
    /// The level that this variant is for.
    pub level: Level,
    /// A variant for all levels, which asks for the present one at each call. It uses two probe numbers: its own for exact
    /// times, the next for those of ticks.
    pub live: bool,
    /// Who puts it into methods.
    pub purpose: Purpose,
    /// The jar that contains it, or `built-in`.
    pub origin: String,
    /// Hash of the class file that it was read from: a template of the same name with another hash may be another one.
    pub content: u64,
    /// Binary name of its class and name of its method, e.g. `instr.templates.CatchAll.timed`.
    pub source: String,
    /// Types outside `java.*` that it needs the target's loader to see (internal names).
    pub requires: Vec<String>,
    pub(crate) operations: Vec<Operation>,
    /// Index of the operation [`Intrinsic::Proceed`].
    pub(crate) sentinel: usize,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) frames: Vec<TemplateFrame>,
    pub(crate) handlers: Vec<TemplateHandler>,
    /// Locals that are set before the sentinel and used after it, with their types.
    pub(crate) live_locals: Vec<(u16, TemplateType)>,
    pub(crate) max_locals: u16,
    pub(crate) needs: Needs,
    /// The local that call sites get, if the template declares one.
    pub(crate) scope: Option<Scope>,
    /// The epilog's normal way has nothing that needs a frame or the result, so that operands may lie below it.
    pub(crate) epilog_is_straight: bool,
    /// Set if the template can be merged in a single pass.
    pub(crate) single_pass: Option<SinglePassForm>,
    /// Lowest `major_version` of a class that can hold the template's instructions.
    pub(crate) minimum_version: u16,
}

/// Who puts a template into methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Rules and persons, by its name.
    Rules,
    /// Persons and diagnoses, where calls are recorded only inside a context: a live variant that asks for the context first.
    Conditional,
    /// Contexts: it marks that the method is executing, and records nothing.
    Anchor,
    /// Contexts with a condition: the same, in calls for which the condition holds.
    ConditionalAnchor,
    /// Conditions of the method whose calls are recorded: the same, around the probe.
    OwnAnchor,
    /// Diagnoses, around a body of which calls are measured where they are made.
    CallSites,
    /// Diagnoses and conditions, around statements of JDBC whose texts they want: it records nothing.
    StatementTexts,
    /// Contexts that reach across threads or hosts, around what hands tasks over, what runs them, and what sends requests: it records nothing.
    Handover,
    /// Caller finders: it counts callers, and their time, while it is on.
    CallerHook,
}

/// The origin of instr's own templates.
pub const BUILT_IN: &str = "built-in";

impl Purpose {
    /// Returns the purpose of the templates of a category that no rule can name; `None` for all others.
    pub(crate) fn of_category(category: &str) -> Option<Purpose> {
        match category {
            "context" => Some(Purpose::Anchor),
            "context-condition" => Some(Purpose::ConditionalAnchor),
            "own-condition" => Some(Purpose::OwnAnchor),
            "handover" => Some(Purpose::Handover),
            "caller-finder" => Some(Purpose::CallerHook),
            _ => None,
        }
    }

    /// Whether it marks that a method is executing.
    pub fn is_anchor(self) -> bool {
        matches!(self, Purpose::Anchor | Purpose::ConditionalAnchor | Purpose::OwnAnchor)
    }
}

/// The category of the templates that diagnoses put into methods. No rule can name them.
pub(crate) const DIAGNOSIS_CATEGORY: &str = "diagnosis";

impl Template {
    /// Returns the variant of a live template that asks first whether the thread is inside the probe's context: `Contexts.enter` in place of
    /// `Live.enter`, which has the same shape. `None` if it does not ask for its level there.
    fn conditional(&self) -> Option<Template> {
        let mut conditional = Template { purpose: Purpose::Conditional, ..self.clone() };
        let mut enters = conditional.symbols.iter_mut().filter_map(|symbol| match symbol {
            Symbol::Member(member) => Some(member),
            _ => None,
        });
        let is_enter = |member: &&mut MemberSymbol| {
            (&*member.owner, &*member.name, &*member.descriptor) == (b"java/instr/Live", b"enter", b"(I)J")
        };
        enters.find(is_enter)?.owner = b"java/instr/Contexts".to_vec();
        Some(conditional)
    }

    /// Whether it records its calls: it asks for the number of its probe. An anchor asks for a number of its own.
    pub fn records(&self) -> bool {
        self.needs.probe_id && !self.purpose.is_anchor()
    }

    /// Whether it declares a scope, so that methods with it may have call sites.
    pub fn declares_scope(&self) -> bool {
        self.scope.is_some()
    }

    /// Whether it asks for the values that the rule chooses (`arguments`, `result`).
    pub fn captures(&self) -> bool {
        self.needs.captured != Use::Nowhere
    }
}

/// What a template asks of the method it is merged into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) probe_id: bool,
    pub(crate) result: bool,
    pub(crate) thrown: bool,
    /// Whether the receiver is used at all, and after the sentinel.
    pub(crate) receiver: Use,
    /// Argument indexes, each with where it is used.
    pub(crate) arguments: Vec<(u16, Use)>,
    pub(crate) all_arguments: Use,
    /// The values that the rule chooses.
    pub(crate) captured: Use,
}

impl Needs {
    /// Notes that an argument is used.
    pub(crate) fn use_argument(&mut self, index: u16, place: Use) {
        match self.arguments.iter_mut().find(|(known, _)| *known == index) {
            Some((_, used)) => *used = (*used).max(place),
            None => self.arguments.push((index, place)),
        }
    }
}

/// Where a value of the target is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Use {
    #[default]
    Nowhere,
    Prolog,
    /// Behind the sentinel (and perhaps before it), so the prolog must save it.
    Epilog,
}

/// One instruction of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) kind: OperationKind,
    /// Words on the operand stack before it.
    pub(crate) depth: u16,
    /// True if it can be reached from a handler that covers the sentinel.
    pub(crate) exceptional: bool,
    /// True if it can be reached from the sentinel's normal end.
    pub(crate) normal: bool,
    pub(crate) line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// Bytes without any reference or offset.
    Plain(Vec<u8>),
    /// A load or store: the opcode of the form with a one-byte slot, and the template's slot.
    Local {
        opcode: u8,
        slot: u16,
    },
    Increment {
        slot: u16,
        by: i16,
    },
    /// An instruction with a constant: `ldc` represents both `ldc` and `ldc_w`; what follows the index is kept.
    Constant {
        opcode: u8,
        symbol: usize,
        suffix: [u8; 2],
        suffix_length: u8,
    },
    /// A jump; the opcode of the short form.
    Branch {
        opcode: u8,
        target: usize,
    },
    Switch {
        default: usize,
        cases: Vec<(i32, usize)>,
        low: Option<i32>,
    },
    Return,
    Intrinsic(Intrinsic),
    /// Nothing: a pushed constant that became part of an intrinsic.
    Folded,
}

/// A verification type of template code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TemplateType {
    Top,
    Integer,
    Float,
    Double,
    Long,
    Null,
    /// Index into the template's symbols.
    Object(usize),
    /// Made by the `new` at this operation.
    Uninitialized(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateFrame {
    /// Index of the operation it applies to.
    pub(crate) operation: usize,
    pub(crate) locals: Vec<TemplateType>,
    pub(crate) stack: Vec<TemplateType>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TemplateHandler {
    /// First covered operation.
    pub(crate) start: usize,
    /// First operation not covered any more.
    pub(crate) end: usize,
    pub(crate) handler: usize,
    /// Symbol of the caught class; `None` catches everything.
    pub(crate) catch_type: Option<usize>,
}

impl TemplateHandler {
    pub(crate) fn covers(&self, operation: usize) -> bool {
        (self.start..self.end).contains(&operation)
    }
}

/// True if the epilog's normal way has one end and no jumps, handlers and frames, and does not use the result (which the rule
/// may choose).
fn epilog_is_straight(template: &Template) -> bool {
    use OperationKind::{Branch, Return, Switch};
    let normal = || template.operations.iter().enumerate().filter(|(_, operation)| operation.normal);
    !template.needs.result
        && !template.captures()
        && normal().filter(|(_, operation)| operation.kind == Return).count() == 1
        && !normal().any(|(_, operation)| matches!(operation.kind, Branch { .. } | Switch { .. }))
        && !normal().any(|(index, _)| template.handlers.iter().any(|row| row.covers(index)))
        && !template.frames.iter().any(|frame| normal().any(|(index, _)| index == frame.operation))
}
