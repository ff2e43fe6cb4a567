//! The control socket: who listens ([`socket`]), and who answers there ([`service`]). Requests and answers are those of the crate `control`.

mod service;
mod socket;

pub(crate) use service::{Controlled, open};
pub(crate) use socket::ControlSocket;
