//! Claims that last as long as their client is connected.

use std::sync::atomic::{AtomicUsize, Ordering};

use control::{Diagnosis, ErrorCode, Probed, Refusal};

use super::connections;

/// Most clients on whose connections claims depend. The other places are for those that only ask.
const MOST: usize = connections::MOST / 2;

/// The answer to a request that has made a claim.
pub(super) trait HasClaim {
    /// Returns the number of the claim.
    fn claim(&self) -> u32;
}

impl HasClaim for Probed {
    fn claim(&self) -> u32 {
        self.claim
    }
}

impl HasClaim for Diagnosis {
    fn claim(&self) -> u32 {
        self.claim
    }
}

/// Counts the clients on whose connections claims depend.
#[derive(Debug, Default)]
pub(super) struct ClientsWithClaims(AtomicUsize);

impl ClientsWithClaims {
    /// Has a claim made that depends on the connection of a client, and adds its number to `claims`. Called for one request at a time.
    pub(super) fn make<T: HasClaim>(
        &self,
        stays_connected: bool,
        claims: &mut Vec<u32>,
        make: impl FnOnce() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if !stays_connected {
            let reason =
                "the connection of a request without `id` is closed after the answer, and the claim would end with it";
            return Err(Refusal::new(ErrorCode::Malformed, reason).help("give the request an `id`"));
        }
        let is_first = claims.is_empty();
        if is_first && self.0.load(Ordering::Relaxed) >= MOST {
            let reason = format!("claims depend on the connections of {MOST} clients already");
            let help = "end one of these clients, or limit the claim by a time or a number of calls";
            return Err(Refusal::new(ErrorCode::Busy, reason).help(help));
        }
        let made = make()?;
        claims.push(made.claim());
        self.0.fetch_add(usize::from(is_first), Ordering::Relaxed);
        Ok(made)
    }

    /// Notes that a client has disconnected that had such claims.
    pub(super) fn one_left(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
