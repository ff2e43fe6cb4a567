//! One file for each verb of the command line.

pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod detach;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod dump_trace;
pub(crate) mod explain;
mod explain_live;
pub(crate) mod export;
pub(crate) mod inventory;
pub(crate) mod level;
pub(crate) mod methods;
pub(crate) mod pause;
pub(crate) mod pre;
pub(crate) mod probe;
pub(crate) mod ps;
pub(crate) mod receive;
pub(crate) mod reload;
pub(crate) mod report;
pub(crate) mod schema;
pub(crate) mod send;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod template;
pub(crate) mod templates;
pub(crate) mod top;
pub(crate) mod transactions;
