//! Which methods are instrumented, with which template, and how: bytes in, bytes out.
//!
//! [`rules`] chooses: configuration, selection of classes and methods, values to capture. [`weave`] rewrites: templates, method bodies,
//! their merge and its check. [`facts`] are what class files say. `rules` may use `weave` and `facts`, which know nothing of `rules`.
//!
//! Pure: no IO, clock, thread or global. The same input always gives the same output, in agent and command line alike.

pub mod facts;
pub mod internal_name;
pub mod level;
pub mod rules;
pub mod weave;
pub mod words;

pub use rules::{capture, config, selection};
pub use weave::ahead;
pub use weave::call_sites::{self, CallSite, RefusedSite, SiteRefusal};
pub use weave::engine::{self, Engine, Workspace};
pub use weave::insertion::{self, Insertion};
pub use weave::offset_map::{self, OffsetMap};
pub use weave::options::{self, EngineOptions, Layout, SentinelForm, SlotScheme};
pub use weave::outcome::{self, MethodPlan, Outcome, ProbeSlot, Refused, Rewritten, RewrittenMethod, Templates};
pub use weave::refusal::{self, Refusal};
pub use weave::template;
pub use weave::wrapper::{NotWrapped, is_name_of_original};
