//! The control socket: the file of the socket and the thread that accepts ([`socket`]), the threads of the connections ([`connections`]), what
//! is answered on each ([`service`]), and claims that last as long as a connection ([`clients_with_claims`]). Requests and answers are those of the crate `control`; docs/protocol.md describes them.

mod clients_with_claims;
mod connections;
mod request_reader;
mod service;
mod socket;

pub(crate) use service::{Controlled, open};
pub(crate) use socket::ControlSocket;
