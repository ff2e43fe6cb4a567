//! Answers requests on the control socket.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use control::{
    CallTree, CallTreeDone, CallTreePart, Callees, CalleesRequest, Callers, CallersRequest, Changed, ClaimLimits,
    ClaimList, DiagnoseRequest, Diagnosis, Dumped, ErrorCode, Explained, Hello, HotRequest, HotSpots, InventoryClass,
    InventoryDone, InventoryPart, InventoryRequest, LONGEST_REQUEST, MethodRow, MethodsDone, MethodsPart, PROTOCOL,
    ProbeRequest, Probed, Refusal, Reloaded, Removed, Request, RequestId, RequestLine, Status, Stopped, SuspectList,
    Switched, Walk, WalkRequest, WantedLevel, answer_line,
};
use parking_lot::Mutex;
use serde::Serialize;

use super::clients_with_claims::{ClientsWithClaims, HasClaim};
use super::connections::{Connection, MOST};
use super::request_reader::{Received, RequestReader};
use super::socket::{Clients, ControlSocket};
use crate::config::setup::Setup;
use crate::jvm::{effective_user, socket_peer};

/// A client that does not take its answer for so long is disconnected.
const PATIENCE: Duration = Duration::from_secs(2);
/// Methods of a status, if nobody asks for another number.
const HOTTEST: usize = 50;
/// The most that a status has.
const MOST_METHODS: usize = 5_000;
/// Rows, such as nodes of a call tree, in a line of an answer that is streamed.
const ROWS_A_PART: usize = 1_000;
/// Most requests that change something, the one that is carried out included. Other places are for those that only ask.
const MOST_SLOW: usize = MOST / 2;
/// Most reloads: one that is carried out, and one that reads the file afterwards.
const MOST_RELOADS: usize = 2;

/// What clients can ask of.
pub(crate) trait Controlled: Send + Sync {
    /// What has been done and decided, with this many methods at most.
    fn status(&self, methods: usize, durations: bool) -> Status;

    /// Sets the level of methods (`package.Class.method` with `*`, or `category:NAME`).
    fn set_level(&self, methods: &str, level: WantedLevel) -> Result<Changed, Refusal>;

    /// Switches all probes on or off.
    fn switch(&self, on: bool) -> Result<Switched, Refusal>;

    /// The call tree up to now.
    fn call_tree(&self) -> Result<CallTree, Refusal>;

    /// Has the ring written.
    fn dump_trace(&self) -> Result<Dumped, Refusal>;

    /// Inserts probes for a while.
    fn probe(&self, request: &ProbeRequest) -> Result<Probed, Refusal>;

    /// The methods that carry probes and that the pattern means, in their order.
    fn methods(&self, methods: Option<&str>, most: Option<usize>) -> Result<(Vec<MethodRow>, MethodsDone), Refusal>;

    /// What loaded classes carry, by name.
    fn inventory(&self, request: &InventoryRequest) -> Result<(Vec<InventoryClass>, InventoryDone), Refusal>;

    /// Why the methods of a loaded class carry probes or none.
    fn explain(&self, class: &str) -> Result<Explained, Refusal>;

    /// What a loaded method may call.
    fn callees(&self, request: &CalleesRequest) -> Result<Callees, Refusal>;

    /// Begins to find out which branch makes slow calls of a method slow.
    fn diagnose(self: Arc<Self>, request: &DiagnoseRequest) -> Result<Diagnosis, Refusal>;

    /// How far a diagnosis has come.
    fn diagnosis(&self, claim: u32) -> Result<Diagnosis, Refusal>;

    /// Which methods have slow calls.
    fn suspects(&self, methods: Option<&str>, slower_than_us: Option<u64>) -> Result<SuspectList, Refusal>;

    /// Looks for hot methods, for as long as the request says and it `goes_on`.
    fn hot(&self, request: &HotRequest, goes_on: &dyn Fn() -> bool) -> Result<HotSpots, Refusal>;

    /// Looks who calls a method, for as long as the request says and it `goes_on`.
    fn callers(&self, request: &CallersRequest, goes_on: &dyn Fn() -> bool) -> Result<Callers, Refusal>;

    /// Walks up from hot methods, as long as it `goes_on`.
    fn walk(&self, request: &WalkRequest, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<Walk, Refusal>;

    /// How far the walk has come.
    fn walk_progress(&self) -> Result<Walk, Refusal>;

    /// Who wants which probes.
    fn claims(&self) -> ClaimList;

    /// The client has disconnected that made these claims, which depend on it.
    fn client_left(&self, claims: &[u32]);

    /// Ends a claim.
    fn remove(&self, claim: u32) -> Result<Removed, Refusal>;

    /// Reads the configuration file again, which may last as long as its drive hangs.
    fn read_configuration(&self) -> Result<Setup, Refusal>;

    /// Replaces the rules by those that were read.
    fn reload(&self, setup: Setup) -> Result<Reloaded, Refusal>;

    /// Ends the recording.
    fn stop(&self) -> Result<Stopped, Refusal>;
}

/// Answers until the socket is dropped.
pub(crate) fn open(controlled: Weak<dyn Controlled>) -> io::Result<ControlSocket> {
    ControlSocket::open(Service {
        controlled,
        owner: effective_user(),
        peer: socket_peer,
        queues: Queues::default(),
        clients: ClientsWithClaims::default(),
    })
}

struct Service {
    controlled: Weak<dyn Controlled>,
    /// The user of this process.
    owner: u32,
    /// Returns user and process of a client.
    peer: fn(&UnixStream) -> io::Result<(u32, u32)>,
    queues: Queues,
    clients: ClientsWithClaims,
}

impl Clients for Service {
    fn allow(&self, client: &UnixStream) -> bool {
        let refusal = match (self.peer)(client) {
            Ok((user, _)) if user == self.owner => return true,
            Ok((0, process)) => {
                tracing::info!(process, "the control socket is used by root");
                return true;
            }
            Ok((user, process)) => {
                tracing::warn!(user, process, "a user who may not ask has connected to the control socket");
                Refusal::new(ErrorCode::NotAllowed, format!("user {user} may not ask the agent of user {}", self.owner))
                    .help("ask as the user that the JVM runs as, or as root")
            }
            Err(error) => Refusal::new(ErrorCode::NotAllowed, format!("the client's user is unknown: {error}")),
        };
        refuse(client, &refusal);
        false
    }

    fn refuse_busy(&self, client: &UnixStream) {
        refuse(client, &busy(&format!("the agent has {MOST} connections already")));
    }

    fn serve(&self, client: &UnixStream, connection: &Connection) {
        // A client that does not read the answer loses nothing else.
        let mut claims = Vec::new();
        // A panic, too, ends the claims that depend on this client.
        let answering = AssertUnwindSafe(|| self.answer_all(client, connection, &mut claims));
        let _ = catch_unwind(answering);
        if !claims.is_empty() {
            self.clients.one_left();
            if let Some(controlled) = self.controlled.upgrade() {
                controlled.client_left(&claims);
            }
        }
    }
}

impl Service {
    /// `claims` gets those that depend on the connection.
    fn answer_all(&self, mut client: &UnixStream, connection: &Connection, claims: &mut Vec<u32>) -> io::Result<()> {
        client.set_write_timeout(Some(PATIENCE))?;
        let mut requests = RequestReader::new(client);
        loop {
            connection.reads();
            let line = match requests.receive()? {
                Received::Line(line) => line,
                Received::End => return Ok(()),
                Received::TooLong => {
                    let reason = format!("the request is longer than {LONGEST_REQUEST} bytes");
                    refuse(client, &Refusal::new(ErrorCode::TooLong, reason));
                    return Ok(());
                }
            };
            connection.works();
            let RequestLine { id, request } = RequestLine::read(&line);
            let mut answer = Answer { id, lines: String::new() };
            match request {
                Ok(request) => {
                    if self.answer_in_turn(request, connection, &mut answer, claims).is_none() {
                        return Ok(());
                    }
                }
                Err(refusal) => answer.refuse(&refusal),
            }
            connection.writes();
            client.write_all(answer.lines.as_bytes())?;
            // As before version 1 of the protocol: clients may wait for the end of the connection.
            if answer.id.is_none() {
                return Ok(());
            }
        }
    }

    /// Carries out a request when it is its turn; nothing if the agent has left meanwhile.
    fn answer_in_turn(
        &self,
        request: Request,
        connection: &Connection,
        answer: &mut Answer,
        claims: &mut Vec<u32>,
    ) -> Option<()> {
        let Queues { turn, changes, reloads, stops, .. } = &self.queues;
        let accepted = match &request {
            Request::Reload => reloads.accept(),
            Request::Stop => stops.accept(),
            request if request.is_slow() => changes.accept(),
            _ => return self.answer(request, connection, answer, claims),
        };
        let _accepted = match accepted {
            Ok(accepted) => accepted,
            Err(refusal) => {
                answer.refuse(&refusal);
                return Some(());
            }
        };
        // A stop does not wait: nothing more is to be recorded, whatever is being changed. A reload reads its file first.
        let waits = !matches!(request, Request::Reload | Request::Stop);
        let _turn = waits.then(|| turn.lock());
        self.answer(request, connection, answer, claims)
    }

    /// Replaces the rules. The file is read before it is the turn of this request: if its drive hangs, only other reloads wait, and not the end of the
    /// agent.
    fn reload(&self, controlled: &dyn Controlled, connection: &Connection) -> Result<Reloaded, Refusal> {
        connection.reads();
        // What was read last is in force last.
        let _one_at_a_time = self.queues.turn_of_reload.lock();
        let setup = controlled.read_configuration()?;
        connection.works();
        let _turn = self.queues.turn.lock();
        controlled.reload(setup)
    }

    /// Has a claim made, which may end with the connection.
    fn give_claim<T: HasClaim + Serialize>(
        &self,
        while_connected: bool,
        (answer, claims): (&mut Answer, &mut Vec<u32>),
        make: impl FnOnce() -> Result<T, Refusal>,
    ) {
        let stays_connected = answer.id.is_some();
        answer.give(if while_connected { self.clients.make(stays_connected, claims, make) } else { make() });
    }

    /// Carries out a request; nothing if the agent has left meanwhile.
    fn answer(
        &self,
        request: Request,
        connection: &Connection,
        answer: &mut Answer,
        claims: &mut Vec<u32>,
    ) -> Option<()> {
        let controlled = self.controlled.upgrade()?;
        match request {
            Request::Hello => answer.line(&hello()),
            Request::Status { methods, durations } => {
                answer.line(&controlled.status(methods.unwrap_or(HOTTEST).min(MOST_METHODS), durations));
            }
            Request::Level { methods, level } => answer.give(controlled.set_level(&methods, level)),
            Request::Pause => answer.give(controlled.switch(false)),
            Request::Resume => answer.give(controlled.switch(true)),
            Request::Probe {
                methods,
                level,
                template,
                within,
                direct,
                when,
                across_threads,
                across_hosts,
                seconds,
                calls,
                cycles,
                healthy_seconds,
                while_healthy,
                while_connected,
                pin,
                most,
            } => {
                let limits = ClaimLimits { seconds, calls, cycles, healthy_seconds, while_healthy, while_connected };
                let request = ProbeRequest {
                    methods,
                    level,
                    template,
                    within,
                    direct,
                    when,
                    across_threads,
                    across_hosts,
                    limits,
                    pin,
                    most,
                };
                self.give_claim(while_connected, (answer, claims), || controlled.probe(&request));
            }
            Request::Methods { methods, most } => answer.methods(controlled.methods(methods.as_deref(), most)),
            Request::Inventory { classes, methods, jdk, most } => {
                let request = InventoryRequest { classes, methods, jdk, most };
                answer.stream(controlled.inventory(&request), |part| InventoryPart { part });
            }
            Request::Explain { class } => answer.give(controlled.explain(&class)),
            Request::Callees { method, loader, depth, opcodes, most, implementers, class_kb } => {
                let request = CalleesRequest { method, loader, depth, opcodes, most, implementers, class_kb };
                answer.give(controlled.callees(&request));
            }
            Request::Diagnose {
                method,
                loader,
                within,
                when,
                slower_than_us,
                across_threads,
                depth,
                report_only,
                seconds,
                while_connected,
            } => {
                let request = DiagnoseRequest {
                    method,
                    loader,
                    within,
                    when,
                    slower_than_us,
                    across_threads,
                    depth,
                    report_only,
                    seconds,
                    while_connected,
                };
                self.give_claim(while_connected, (answer, claims), || Arc::clone(&controlled).diagnose(&request));
            }
            Request::Diagnosis { claim } => answer.give(controlled.diagnosis(claim)),
            Request::Suspects { methods, slower_than_us } => {
                answer.give(controlled.suspects(methods.as_deref(), slower_than_us));
            }
            request
            @ (Request::Hot { .. } | Request::Callers { .. } | Request::Walk { .. } | Request::WalkProgress) => {
                answer_hot_spots(&*controlled, request, connection, answer);
            }
            Request::Claims => answer.line(&controlled.claims()),
            Request::Remove { claim } => answer.give(controlled.remove(claim)),
            Request::Reload => answer.give(self.reload(&*controlled, connection)),
            Request::DumpTrace => answer.give(controlled.dump_trace()),
            Request::CallTree { stream: false } => answer.give(controlled.call_tree()),
            Request::CallTree { stream: true } => answer.tree(controlled.call_tree()),
            Request::Stop => answer.give(controlled.stop()),
        }
        Some(())
    }
}

/// What is hot, and who calls it: these requests take their time, as long as the client waits for it.
fn answer_hot_spots(controlled: &dyn Controlled, request: Request, connection: &Connection, answer: &mut Answer) {
    let goes_on = || connection.is_open();
    match request {
        Request::Hot { by, seconds, share_percent, top } => {
            answer.give(controlled.hot(&HotRequest { by, seconds, share_percent, top }, &goes_on));
        }
        Request::Callers { method, loader, by, seconds, through, most, source, hits, across_threads } => {
            let request =
                CallersRequest { method, loader, by, seconds, through, most, source, hits, used: None, across_threads };
            answer.give(controlled.callers(&request, &goes_on));
        }
        Request::Walk {
            method,
            top,
            seconds,
            period_ms,
            calls,
            levels,
            percent,
            most_callers,
            hooks,
            budget,
            used,
            through,
            boundary,
            metric,
            across_threads,
        } => {
            let request = WalkRequest {
                method,
                top,
                seconds,
                period_ms,
                calls,
                levels,
                percent,
                most_callers,
                hooks,
                budget,
                used,
                through,
                boundary,
                metric,
                across_threads,
            };
            answer.give(controlled.walk(&request, &goes_on));
        }
        _ => answer.give(controlled.walk_progress()),
    }
}

/// The lines that answer a request.
struct Answer {
    id: Option<RequestId>,
    lines: String,
}

impl Answer {
    fn line<T: Serialize>(&mut self, message: &T) {
        self.lines.push_str(&answer_line(self.id.as_ref(), message));
    }

    fn refuse(&mut self, refusal: &Refusal) {
        self.line(refusal);
    }

    fn give<T: Serialize>(&mut self, outcome: Result<T, Refusal>) {
        match outcome {
            Ok(message) => self.line(&message),
            Err(refusal) => self.refuse(&refusal),
        }
    }

    fn tree(&mut self, tree: Result<CallTree, Refusal>) {
        let in_parts =
            |CallTree { nodes, left_out, misplaced }| (nodes, CallTreeDone { done: true, left_out, misplaced });
        self.stream(tree.map(in_parts), |part| CallTreePart { part });
    }

    fn methods(&mut self, methods: Result<(Vec<MethodRow>, MethodsDone), Refusal>) {
        self.stream(methods, |part| MethodsPart { part });
    }

    /// Writes rows in parts, and the last line.
    fn stream<T: Clone, P: Serialize, D: Serialize>(
        &mut self,
        outcome: Result<(Vec<T>, D), Refusal>,
        part: impl Fn(Vec<T>) -> P,
    ) {
        match outcome {
            Ok((rows, done)) => {
                rows.chunks(ROWS_A_PART).for_each(|rows| self.line(&part(rows.to_vec())));
                self.line(&done);
            }
            Err(refusal) => self.refuse(&refusal),
        }
    }
}

/// Requests that may take long.
#[derive(Debug)]
struct Queues {
    /// Held by the request that changes something.
    turn: Mutex<()>,
    changes: Accepted,
    /// Held by the reload whose file is read, or that changes something.
    turn_of_reload: Mutex<()>,
    reloads: Accepted,
    stops: Accepted,
}

impl Default for Queues {
    fn default() -> Queues {
        Queues {
            turn: Mutex::default(),
            changes: Accepted::at_most(MOST_SLOW),
            turn_of_reload: Mutex::default(),
            reloads: Accepted::at_most(MOST_RELOADS),
            stops: Accepted::at_most(1),
        }
    }
}

/// Requests of a kind that are carried out or wait for that.
#[derive(Debug)]
struct Accepted {
    most: usize,
    present: AtomicUsize,
}

/// One of them; dropped when it has been carried out.
struct Place<'a>(&'a AtomicUsize);

impl Accepted {
    fn at_most(most: usize) -> Accepted {
        Accepted { most, present: AtomicUsize::new(0) }
    }

    /// Accepts a request, or refuses it if there are too many.
    fn accept(&self) -> Result<Place<'_>, Refusal> {
        let place = Place(&self.present);
        match self.present.fetch_add(1, Ordering::Relaxed) {
            before if before < self.most => Ok(place),
            _ if self.most == 1 => Err(busy("the agent carries out such a request already")),
            _ => Err(busy(&format!("the agent has {} such requests to carry out", self.most))),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn hello() -> Hello {
    Hello {
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol: vec![PROTOCOL],
        abilities: Request::VERBS.map(str::to_owned).to_vec(),
        pid: std::process::id(),
        longest_request: LONGEST_REQUEST,
    }
}

fn busy(reason: &str) -> Refusal {
    Refusal::new(ErrorCode::Busy, reason).help("ask again in a moment")
}

/// Sends a refusal to a client that is disconnected then.
fn refuse(mut client: &UnixStream, refusal: &Refusal) {
    // A line always fits into an empty socket, so this does not wait.
    let _ = client.write_all(answer_line(None, refusal).as_bytes());
}

#[cfg(test)]
mod tests;
