//! The protocol of the control socket, as agent and command line both use it.
//!
//! A client connects to the socket of a JVM ([`socket_name`]), writes one line of JSON, a [`Request`], and reads one line of JSON: the answer that
//! belongs to the request, or a [`Refusal`]. Fields that an older agent does not send have defaults; a client ignores those that it does not know.
//!
//! Times are nanoseconds unless the name of a field says otherwise.

mod call_tree;
mod changes;
mod request;
mod socket_name;
mod status;

pub use call_tree::{CallTree, TreeNode};
pub use changes::{Changed, Fixed, Refusal, Reloaded, Stopped, Switched};
pub use request::{Request, WantedLevel};
pub use socket_name::{namespace_of, socket_name};
pub use status::{
    Bursts, Dumped, Failing, GovernorFigures, Hot, LiveCounts, Recent, RecordedTime, Retransforms, Sending, Status,
};
