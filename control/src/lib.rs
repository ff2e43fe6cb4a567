//! The protocol of the control socket, as agent and command line both use it (docs/protocol.md).
//!
//! A client connects to the socket of a JVM ([`socket_name`]), writes one line of JSON, a [`Request`], and reads one line of JSON: the answer that
//! belongs to the request, or a [`Refusal`]. With a [`RequestId`] it may go on to ask. Fields that an older agent does not send have
//! defaults; a client ignores those that it does not know.
//!
//! Times are nanoseconds unless the name of a field says otherwise.

mod calls;
mod changes;
mod claims;
mod explained;
mod hello;
mod inventory;
mod line;
mod message;
mod probed_methods;
mod refusal;
mod request;
mod schema;
mod socket_name;
mod status;

pub use calls::call_tree::{CallTree, CallTreeDone, CallTreePart, TreeNode};
pub use calls::callees::{Callee, CalleeCall, Callees, CalleesRequest};
pub use calls::diagnosis::{
    DiagnoseRequest, Diagnosis, DiagnosisBranch, DiagnosisCost, DiagnosisNode, DiagnosisSentence, DiagnosisState,
    LONGEST_DIAGNOSIS, NodeKind,
};
pub use calls::hot_spots::{
    Caller, Callers, CallersRequest, CallersSource, CodeKind, HOT_PERCENT, HOT_TOP, HookFigures, HotBy, HotRequest,
    HotSpot, HotSpots, JvmThreads, LONGEST_HOT_SECONDS, LineShare, MOST_HITS, PackageShare, USUAL_HITS,
    USUAL_HOT_SECONDS, WithoutMethod,
};
pub use calls::suspects::{Suspect, SuspectList};
pub use calls::walk::{
    CLIENT_LEFT, WALK_BUDGET, WALK_CALLS, WALK_HOOKS, WALK_LEVELS, WALK_PERCENT, WALK_PERIOD_MS, Walk, WalkCaller,
    WalkHooks, WalkLevel, WalkRequest,
};
pub use changes::{Changed, Fixed, Reloaded, Stopped, Switched};
pub use claims::{
    BaggageFigures, ClaimLimits, ClaimList, ClaimRow, ConditionFigures, ContextMethod, ProbeRequest, Probed, Removed,
    UnchangedClass,
};
pub use explained::{Explained, ExplainedClass};
pub use hello::{Hello, PROTOCOL};
pub use inventory::{InventoryClass, InventoryDone, InventoryMethod, InventoryPart, InventoryRequest, LeftAlone};
pub use line::{LONGEST_REQUEST, RequestId, RequestLine, answer_line};
pub use probed_methods::{MethodRow, MethodsDone, MethodsPart};
pub use refusal::{ErrorCode, Refusal};
pub use request::{Request, WantedLevel};
pub use schema::protocol_schema;
pub use socket_name::{namespace_of, socket_name};
pub use status::{
    Analysis, BaggageAllowed, Bursts, ContextFigures, Dumped, Failing, GovernorFigures, Hot, LiveCounts, Recent,
    RecordedTime, Retransforms, Sending, Status, WalkTotals,
};
