//! `instr probe`, `instr claims` and `instr remove`: probes by request, for a while.

use std::time::Duration;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use control::{BaggageFigures, ClaimList, ClaimRow, ConditionFigures, ContextMethod, Probed, Removed, Request};
use instrument_core::level::Level;
use instrument_core::rules::config::{HOW_TO_WRITE_TIMES, parse_time};
use trace::report::counted;

use crate::running_agent::{OpenConnection, ask};

/// Longer than anybody keeps a claim.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
/// A client that waits for the end of its claim looks this often. The agent disconnects clients that are silent for a second if others need
/// their place.
const BETWEEN_LOOKS: Duration = Duration::from_millis(400);

/// Insert probes into methods of a running JVM for a while, whether a rule takes them or not. They are removed after 10 minutes or 1,000 calls
/// unless another limit is given; of several limits the first one counts.
#[derive(Debug, clap::Args)]
pub(crate) struct ProbeArguments {
    /// Process id of the JVM.
    pid: u32,
    /// Methods: `package.Class.method`, `*` inside a package or name, `**` across packages.
    methods: String,
    /// Record only while these methods are executing on the thread, in this order, the outermost first: 'a.B.c > d.E.f'.
    #[arg(long = "in", value_name = "METHODS")]
    within: Option<String>,
    /// Record only calls that the last method of `--in` makes itself, not by way of other methods.
    #[arg(long, requires = "within")]
    direct: bool,
    /// Record only if this holds for the call of the outermost method of `--in`, or of the method itself: "arg.0 = 'card' and http.path = '/pay'".
    #[arg(long, value_name = "CONDITION")]
    when: Option<String>,
    /// Also in tasks that are handed to executors while the methods of `--in` are executing, and in threads that are started then.
    #[arg(long, requires = "within")]
    across_threads: bool,
    /// Requests that are sent with the JDK's clients of HTTP while the methods of `--in` are executing tell the receiver so: they have the entry `instr=NAME` in
    /// the header `baggage`, for `--when "baggage.instr = 'NAME'"` there. Only to hosts that `baggage-to` in [conditions] names.
    #[arg(long, value_name = "NAME")]
    across_hosts: Option<String>,
    /// How long the probes stay: `30s`, `10m`, `2h`.
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    time: Option<u64>,
    /// The probes are removed after this number of recorded calls.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    calls: Option<u64>,
    /// The probes are removed when the process has used this number of processor cycles: `500M`, `20G`.
    #[arg(long, value_parser = cycles)]
    cycles: Option<u64>,
    /// The probes are removed when the application has been healthy for this time without interruption: no limit of the breaker ([governor]) was
    /// exceeded.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    healthy_for: Option<u64>,
    /// The probes are removed when the application is in trouble: a limit of the breaker was exceeded for 1.5 s.
    #[arg(long)]
    while_healthy: bool,
    /// The probes are removed when this command ends, whatever ends it: Ctrl-C, a lost terminal. It runs until then, or until the claim ends.
    #[arg(long)]
    while_connected: bool,
    /// Keep the probes for the next start, in the file that `[claims]` of the configuration names, until `instr remove`. Limits begin anew at each start.
    #[arg(long, conflicts_with = "while_connected")]
    pin: bool,
    /// Their level.
    #[arg(long, default_value = "time", value_parser = PossibleValuesParser::new(LEVELS).map(level))]
    level: Level,
    /// Their template.
    #[arg(long, default_value = "timed")]
    template: String,
    /// Most methods that the pattern may match.
    #[arg(long)]
    most: Option<usize>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// List who wants which probes of a running JVM: the rules, persons, the governor.
#[derive(Debug, clap::Args)]
pub(crate) struct ClaimsArguments {
    /// Process id of the JVM.
    pid: u32,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// End a claim: its probes are removed, unless somebody else wants them.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArguments {
    /// Process id of the JVM.
    pid: u32,
    /// The number of the claim, as `instr claims` lists it.
    id: u32,
}

pub(crate) fn probe(arguments: &ProbeArguments) -> Result<()> {
    if !arguments.while_connected {
        return print_probed(arguments, &ask(arguments.pid, &request(arguments))?);
    }
    let pid = arguments.pid;
    let mut agent = OpenConnection::to(pid)?;
    let probed: Probed = agent.ask(&request(arguments))?;
    print_probed(arguments, &probed)?;
    // The agent notices the end of this process by the end of the connection.
    while agent.ask::<ClaimList>(&Request::Claims)?.claims.iter().any(|claim| claim.id == Some(probed.claim)) {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    if !arguments.json {
        println!("claim {} has ended; `instr status {pid}` says why", probed.claim);
    }
    Ok(())
}

fn request(arguments: &ProbeArguments) -> Request {
    Request::Probe {
        methods: arguments.methods.clone(),
        level: Some(arguments.level),
        template: Some(arguments.template.clone()),
        within: arguments.within.clone(),
        direct: arguments.direct,
        when: arguments.when.clone(),
        across_threads: arguments.across_threads,
        across_hosts: arguments.across_hosts.clone(),
        seconds: arguments.time,
        calls: arguments.calls,
        cycles: arguments.cycles,
        healthy_seconds: arguments.healthy_for,
        while_healthy: arguments.while_healthy,
        while_connected: arguments.while_connected,
        pin: arguments.pin,
        most: arguments.most,
    }
}

fn print_probed(arguments: &ProbeArguments, probed: &Probed) -> Result<()> {
    if arguments.json {
        println!("{}", serde_json::to_string(probed)?);
    } else {
        print!("{}", probed_text(arguments.pid, &arguments.methods, probed));
    }
    Ok(())
}

pub(crate) fn claims(arguments: &ClaimsArguments) -> Result<()> {
    let list: ClaimList = ask(arguments.pid, &Request::Claims)?;
    if arguments.json {
        println!("{}", serde_json::to_string(&list)?);
    } else {
        print!("{}", table(&list.claims));
    }
    Ok(())
}

pub(crate) fn remove(arguments: &RemoveArguments) -> Result<()> {
    let removed: Removed = ask(arguments.pid, &Request::Remove { claim: arguments.id })?;
    print!("{}", removed_text(&removed));
    Ok(())
}

fn removed_text(Removed { claim, methods }: &Removed) -> String {
    match methods {
        0 => format!("claim {claim} has ended; no method loses a probe: it had none, or others want the probes\n"),
        1 => format!("claim {claim} has ended; 1 method lost its probe or has its former level\n"),
        many => format!("claim {claim} has ended; {many} methods lost their probes or have their former levels\n"),
    }
}

const LEVELS: [&str; 5] = ["off", "watch", "burst", "time", "full"];

fn level(name: String) -> Level {
    Level::ALL.into_iter().find(|level| level.name() == name).unwrap_or(Level::Time)
}

/// Reads `30s`, `10m`, `2h`.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    let time = parse_time(text).ok_or_else(|| HOW_TO_WRITE_TIMES.to_owned())?;
    if (Duration::from_secs(1)..=LONGEST).contains(&time) {
        Ok(time.as_secs())
    } else {
        Err("a claim lasts a second at least and a year at most".to_owned())
    }
}

/// Reads `1000000`, `500M`, `20G`.
fn cycles(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.char_indices().next_back() {
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        _ => (text, 1),
    };
    let cycles = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    cycles.filter(|cycles| *cycles > 0).ok_or_else(|| "write a number of cycles, such as 500M or 20G".to_owned())
}

fn probed_text(pid: u32, methods: &str, probed: &Probed) -> String {
    let Probed {
        claim, methods: probes, classes, waiting, refused, overruled, expires, within, direct, condition, ..
    } = probed;
    let mut lines = vec![match (classes, probes) {
        (0, 0) if !waiting.is_empty() || !refused.is_empty() => {
            format!("claim {claim}: no probe yet; `instr remove {pid} {claim}` ends it")
        }
        (0, 0) => format!(
            "claim {claim}: no loaded class is named by {methods}; a class that is loaded or linked later gets its probes (a name of a class that is \
             wrong waits for ever: `instr remove {pid} {claim}` ends the claim)"
        ),
        (_, 0) => format!(
            "claim {claim}: no method of {} can have a probe: there is none of this name, or it is abstract, native, or left out by [exclude]",
            classes_text(*classes)
        ),
        (0, _) => format!(
            "claim {claim}: {}, there already; `instr remove {pid} {claim}` ends it",
            counted(*probes as u64, "probe"),
        ),
        _ => format!(
            "claim {claim}: {} in {}; `instr remove {pid} {claim}` ends it",
            counted(*probes as u64, "probe"),
            classes_text(*classes)
        ),
    }];
    lines.extend(context_lines(within));
    let caller = within.last().filter(|_| *direct);
    lines.extend(
        caller.map(|of| format!("recorded only if called by {} itself, not by way of other methods", of.method)),
    );
    lines.extend(condition.iter().map(|condition| format!("recorded only if: {condition}")));
    lines.extend(waiting.iter().map(|reason| format!("waits: {reason}")));
    lines.extend(refused.iter().map(|reason| format!("refused: {reason}")));
    lines.extend(overruled.clone());
    lines.extend(expires.iter().map(|expires| format!("ends: {expires}")));
    lines.push(String::new());
    lines.join("\n")
}

/// What is recorded only inside a context says so, and which of its methods are not loaded.
fn context_lines(within: &[ContextMethod]) -> Vec<String> {
    let methods: Vec<&str> = within.iter().map(|of| of.method.as_str()).collect();
    let mut lines = Vec::new();
    if !methods.is_empty() {
        lines.push(format!("recorded only inside: {}", methods.join(" > ")));
    }
    let missing = within.iter().filter(|of| of.methods == 0);
    lines.extend(missing.map(|of| {
        format!(
            "no loaded class has a method {} with bytecode that can be changed (not abstract, not native; name the implementations, with `*` if need be): nothing is recorded until there is one",
            of.method
        )
    }));
    lines
}

fn classes_text(classes: usize) -> String {
    if classes == 1 { "1 class".to_owned() } else { format!("{classes} classes") }
}

/// A line for each claim.
fn table(claims: &[ClaimRow]) -> String {
    let mut lines = vec![format!(
        "{:>4}  {:<9} {:<11} {:<6} {:<8} {:<50} reason",
        "id", "owner", "role", "level", "state", "methods"
    )];
    for ClaimRow { id, owner, role, class, method, level, state, reason, hits, expires, condition, baggage } in claims {
        let id = id.map_or_else(String::new, |id| id.to_string());
        let level = level.as_deref().unwrap_or("");
        let methods = format!("{class}.{method}");
        let hits = hits.map_or_else(String::new, |hits| format!("; {}", counted(hits, "call")));
        let expires = expires.as_ref().map_or_else(String::new, |expires| format!("; ends {expires}"));
        let condition = condition.as_ref().map_or_else(String::new, condition_text);
        let baggage = baggage.as_ref().map_or_else(String::new, baggage_text);
        lines.push(format!(
            "{id:>4}  {owner:<9} {role:<11} {level:<6} {state:<8} {methods:<50} {reason}{hits}{expires}{condition}{baggage}"
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Returns how often a condition was evaluated, and how often it held or failed.
fn condition_text(of: &ConditionFigures) -> String {
    let ConditionFigures { condition: _, evaluated, held, failed, last_failure } = of;
    let evaluated = counted(*evaluated, "time");
    let why = last_failure.as_ref().map_or_else(String::new, |why| format!(", last because {why}"));
    let failed =
        if *failed > 0 { format!(", could not be evaluated {}{why}", counted(*failed, "time")) } else { String::new() };
    format!("; the condition was evaluated {evaluated}, held {}{failed}", counted(*held, "time"))
}

/// Returns how many requests have carried the context to other hosts, and why others have not.
fn baggage_text(of: &BaggageFigures) -> String {
    let BaggageFigures { entry, sent, elsewhere, too_long } = of;
    let left_out = [
        (elsewhere, "to hosts that `baggage-to` does not name"),
        (too_long, "of which the header baggage would have been longer than 8,192 bytes"),
    ];
    let left_out = left_out.iter().filter(|(count, _)| **count > 0);
    let left_out: String =
        left_out.map(|(count, why)| format!(", {} without it {why}", counted(**count, "request"))).collect();
    format!("; {} with {entry} in the header baggage{left_out}", counted(*sent, "request"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_without_the_entry_have_a_reason() {
        let text = |sent, elsewhere, too_long| {
            baggage_text(&BaggageFigures { entry: "instr=a".to_owned(), sent, elsewhere, too_long })
        };
        assert_eq!(text(3, 0, 0), "; 3 requests with instr=a in the header baggage");
        assert!(
            text(0, 1, 2).contains("0 requests with instr=a in the header baggage, 1 request without it to hosts that")
        );
    }

    #[test]
    fn times_have_a_unit() {
        let read: Vec<_> = ["30s", "10m", "2h", "0s", "10", "", "m", "1é", "99999999h"]
            .map(seconds)
            .into_iter()
            .map(Result::ok)
            .collect();
        assert_eq!(read, [Some(30), Some(600), Some(7_200), None, None, None, None, None, None]);
    }

    #[test]
    fn cycles_may_be_written_in_millions_and_billions() {
        let read: Vec<_> =
            ["7", "500M", "20G", "0", "", "G", "1T", "99999999999G"].map(|text| cycles(text).ok()).into();
        assert_eq!(read, [Some(7), Some(500_000_000), Some(20_000_000_000), None, None, None, None, None]);
    }

    #[test]
    fn the_end_of_a_claim_that_changes_no_method_is_reported_as_such() {
        let text = [0, 1, 2].map(|methods| removed_text(&Removed { claim: 3, methods }));
        assert_eq!(
            text,
            [
                "claim 3 has ended; no method loses a probe: it had none, or others want the probes\n",
                "claim 3 has ended; 1 method lost its probe or has its former level\n",
                "claim 3 has ended; 2 methods lost their probes or have their former levels\n"
            ]
        );
    }

    #[test]
    fn a_request_that_hit_nothing_says_why() {
        let probed = |classes, methods| Probed { claim: 3, methods, classes, ..Probed::default() };
        let text = |classes, methods| probed_text(7, "a.B.c", &probed(classes, methods));
        assert!(
            text(0, 0)
                .starts_with("claim 3: no loaded class is named by a.B.c; a class that is loaded or linked later")
        );
        let refused = Probed { refused: vec!["a.B: a reason".to_owned()], ..probed(0, 0) };
        assert_eq!(
            probed_text(7, "a.B.c", &refused),
            "claim 3: no probe yet; `instr remove 7 3` ends it\nrefused: a.B: a reason\n"
        );
        assert!(text(1, 0).starts_with("claim 3: no method of 1 class can have a probe: "));
        assert_eq!(text(0, 2), "claim 3: 2 probes, there already; `instr remove 7 3` ends it\n");
        assert_eq!(text(2, 5), "claim 3: 5 probes in 2 classes; `instr remove 7 3` ends it\n");
        let with_end = Probed { expires: Some("at 12:04:10 UTC or after 1,000 calls".to_owned()), ..probed(2, 5) };
        let expected = format!("{}ends: at 12:04:10 UTC or after 1,000 calls\n", text(2, 5));
        assert_eq!(probed_text(7, "a.B.c", &with_end), expected);
        let of = |method: &str, methods| ContextMethod { method: method.to_owned(), methods };
        let within = Probed { within: vec![of("d.E.f", 1), of("g.H.i", 0)], ..probed(2, 5) };
        let expected = format!(
            "{}recorded only inside: d.E.f > g.H.i\nno loaded class has a method g.H.i with bytecode that can be changed (not abstract, not native; name the implementations, with `*` if need be): nothing is recorded until there is one\n",
            text(2, 5)
        );
        assert_eq!(probed_text(7, "a.B.c", &within), expected);
        let direct = Probed { within: vec![of("d.E.f", 1)], direct: true, ..probed(2, 5) };
        let said =
            "recorded only inside: d.E.f\nrecorded only if called by d.E.f itself, not by way of other methods\n";
        assert_eq!(probed_text(7, "a.B.c", &direct), format!("{}{said}", text(2, 5)));
    }
}
