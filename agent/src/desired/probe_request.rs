//! A request for probes in methods that no rule takes, as a rule: the same selection, the same refusals, the same reasons.

use std::sync::Arc;

use instrument_core::level::Level;
use instrument_core::rules::patterns::NameGlob;
use instrument_core::rules::predicates::{self, Condition, Path, Root};
use instrument_core::selection::RuleSet;
use instrument_core::template::TemplateLibrary;
use settings::{Diagnostic, ExcludeConfig, name_for_hosts};

use crate::config::embedded;
use crate::jvm::MethodNames;

/// Methods that get probes by request.
#[derive(Debug, Clone)]
pub(crate) struct RequestedProbes {
    /// The class, with `*` and `**`.
    pub(crate) class: String,
    /// Its methods, with `*`.
    pub(crate) method: String,
    pub(crate) template: String,
    pub(crate) level: Level,
    /// The methods inside which the probes record, the outermost first; none: everywhere.
    pub(crate) within: Arc<[RequestedProbes]>,
    /// Whether they record only what the last of these methods calls itself.
    pub(crate) direct: bool,
    /// The condition under which they record, if there is one.
    pub(crate) condition: Option<Arc<RequestedCondition>>,
    /// Whether tasks take the context along to other threads.
    across_threads: bool,
    /// The name by which requests tell other hosts that they are sent inside the context.
    across_hosts: Option<Arc<str>>,
    /// The methods of the JDK and of Tomcat that are changed for that.
    handover: Arc<[RequestedProbes]>,
    /// The methods that prepare statements whose texts the condition looks at.
    preparing: Arc<[RequestedProbes]>,
    glob: NameGlob,
    class_glob: NameGlob,
}

/// A condition as it was asked for, and where it is evaluated.
#[derive(Debug, PartialEq)]
pub(crate) struct RequestedCondition {
    /// The methods of the context that were asked for; none: the condition is about the methods that are recorded.
    asked_within: Option<String>,
    /// As it was asked for.
    whole: Condition,
    /// What is evaluated in methods of the context, by their position.
    steps: Vec<(usize, Condition)>,
    /// Whether the last one is evaluated for the very calls that are recorded.
    is_own: bool,
}

impl RequestedCondition {
    /// Returns the condition as it was asked for.
    pub(crate) fn text(&self) -> &str {
        self.whole.text()
    }

    /// Returns what is evaluated where: position in the context, the condition, and whether it is about the very calls that are recorded.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (usize, &Condition, bool)> {
        let last = self.steps.last().map(|(at, _)| *at);
        self.steps.iter().map(move |(at, condition)| (*at, condition, self.is_own && Some(*at) == last))
    }
}

/// Where servlets of all containers get a request.
const REQUEST_BEGINS: &str = "*.servlet.http.HttpServlet.service";
/// Most methods of a context.
const MOST_STEPS: usize = 16;
/// Between the methods of a context.
const INSIDE: &str = " > ";
/// After the methods of a context whose last one must be the immediate caller.
pub(crate) const DIRECTLY: &str = " (direct)";
/// After the methods of a context that tasks take along.
pub(crate) const ACROSS_THREADS: &str = " across threads";
/// The methods of a connection of JDBC that prepare statements; [`TemplateLibrary::statement_text`] chooses among them.
const PREPARING: &str = "prepare*";
/// After the methods of a context of which requests tell other hosts, before its name.
pub(crate) const ACROSS_HOSTS: &str = " across hosts as ";
/// What writes the head of a request of `HttpURLConnection`, and what begins one of `java.net.http.HttpClient`.
const SENDERS: &[(&str, &[&str])] =
    &[("sun.net.www.http.HttpClient", &["writeRequests"]), ("jdk.internal.net.http.MultiExchange", &["<init>"])];
/// What hands tasks over and runs them; [`TemplateLibrary::handover`] chooses among methods of one name.
const HANDOVER: &[(&str, &[&str])] = &[
    ("java.util.concurrent.ThreadPoolExecutor", &["execute", "reject", "runWorker", "getTask", "beforeExecute"]),
    (
        "org.apache.tomcat.util.threads.ThreadPoolExecutor",
        &["executeInternal", "reject", "runWorker", "getTask", "beforeExecute"],
    ),
    ("java.util.concurrent.ScheduledThreadPoolExecutor", &["delayedExecute"]),
    (
        "java.util.concurrent.ForkJoinPool",
        &[
            "externalSubmit",
            "poolSubmit",
            "scheduleDelayedTask",
            "helpJoin",
            "helpComplete",
            "helpStealer",
            "helpAsyncBlocker",
            "helpQuiesce",
            "helpQuiescePool",
        ],
    ),
    ("java.util.concurrent.ForkJoinTask", &["fork", "doExec"]),
    ("java.lang.Thread", &["start", "runWith"]),
    ("java.lang.ThreadBuilders", &["newVirtualThread"]),
];

impl RequestedProbes {
    /// Reads `package.Class.method` with `*` and `**`.
    pub(crate) fn parse(methods: &str, template: &str, level: Level) -> Result<RequestedProbes, String> {
        let glob = NameGlob::method(methods).map_err(|error| error.message)?;
        let (class, method) = match methods.rsplit_once('.') {
            _ if methods.ends_with("**") => (methods, "*"),
            Some(parts) => parts,
            None => return Err(format!("`{methods}` names no class: write `package.Class.method`")),
        };
        let class_glob = NameGlob::class(class).map_err(|error| error.message)?;
        let (class, method) = (class.to_owned(), method.to_owned());
        Ok(RequestedProbes {
            class,
            method,
            template: template.to_owned(),
            level,
            within: Arc::default(),
            direct: false,
            condition: None,
            across_threads: false,
            across_hosts: None,
            handover: Arc::default(),
            preparing: Arc::default(),
            glob,
            class_glob,
        })
    }

    /// Timed calls of one method: `text` is `package.Class.method(Types)`, `class` and `name` are what the JVM has.
    pub(crate) fn of_method(class: &[u8], name: &[u8], text: &str, level: Level) -> Result<RequestedProbes, String> {
        let [class, name] = [class, name].map(String::from_utf8_lossy);
        let probes = RequestedProbes::parse(&format!("{}.{name}", class.replace('/', ".")), "timed", level)?;
        let types = text.find('(').and_then(|at| text.get(at..)).unwrap_or_default();
        Ok(RequestedProbes { method: format!("{name}{types}"), ..probes })
    }

    /// The same, but recording only while the methods of `a.B.c > d.E.f` are executing, in this order.
    pub(crate) fn within(self, methods: &str) -> Result<RequestedProbes, String> {
        let step = |text: &str| match text.trim() {
            "" => Err(format!("`{methods}` is no context: write methods with `>` between them, as `a.B.c > d.E.f`")),
            text => RequestedProbes::parse(text, &self.template, self.level),
        };
        let within = methods.split('>').map(step).collect::<Result<Arc<[_]>, _>>()?;
        check_length(&within)?;
        Ok(RequestedProbes { within, ..self })
    }

    /// The same, but recording only calls that the last method of the context makes itself.
    pub(crate) fn directly(self) -> Result<RequestedProbes, String> {
        if self.within.is_empty() {
            return Err(
                "there is no context whose last method could be the immediate caller: name it (`--in`)".to_owned()
            );
        }
        Ok(RequestedProbes { direct: true, ..self })
    }

    /// The same, but recording only if a condition holds: for the call of the outermost method of the context, or of the recorded method. What it
    /// asks of an HTTP request is evaluated there if this method `takes_request`, and where the request begins if not.
    pub(crate) fn when(self, text: &str, takes_request: bool) -> Result<RequestedProbes, String> {
        let whole = Condition::parse(text).map_err(|error| predicates::explained(text, &error))?;
        let asked_within = self.asked_within();
        let mut within = self.within.to_vec();
        let is_own = within.is_empty();
        if is_own {
            within.push(self.clone());
        }
        let begins_there =
            within.first().is_some_and(|first| first.text().ends_with(".servlet.http.HttpServlet.service"));
        let mut steps = Vec::new();
        let mut is_about_itself = is_own;
        if takes_request || begins_there {
            steps.push((0, whole.clone()));
        } else {
            let [of_request, other] = whole.split(Path::is_of_request).map_err(|path| {
                let message = "this comparison is joined by `or` or `not` with one of the HTTP request, which is read where the request begins; join them by `and`, or name a method \
                               that has the request as an argument";
                whole.problem(&path, message)
            })?;
            if let Some(of_request) = of_request {
                let begins = RequestedProbes::parse(REQUEST_BEGINS, &self.template, self.level)?;
                // The recorded method is none of the context if nothing is asked of its calls.
                if is_own && other.is_none() {
                    within.clear();
                    is_about_itself = false;
                }
                within.insert(0, begins);
                steps.push((0, of_request));
            }
            steps.extend(other.map(|other| (steps.len(), other)));
        }
        check_length(&within)?;
        let condition = RequestedCondition { asked_within, whole, steps, is_own: is_about_itself };
        Ok(RequestedProbes { within: within.into(), condition: Some(Arc::new(condition)), ..self })
    }

    /// The same, but tasks and threads that are handed over inside the context are inside it on the threads that run them.
    pub(crate) fn across_threads(self) -> Result<RequestedProbes, String> {
        if self.within.is_empty() {
            return Err(
                "there is no context that could reach across threads: name its methods (`--in`, `in`)".to_owned()
            );
        }
        self.with_handover()
    }

    /// The same, with the methods changed that hand tasks over and run them, whether there is a context or not.
    pub(crate) fn with_handover(self) -> Result<RequestedProbes, String> {
        Ok(RequestedProbes { across_threads: true, handover: self.handover_and(HANDOVER)?, ..self })
    }

    /// The same, but requests that are sent inside the context tell other hosts so, under this name.
    pub(crate) fn across_hosts(self, name: &str) -> Result<RequestedProbes, String> {
        if self.within.is_empty() {
            let message = "there is no context of which requests could tell other hosts: name its methods (`--in`, `in`) or a condition";
            return Err(message.to_owned());
        }
        let name = name_for_hosts(name).map_err(|error| error.message)?;
        let handover = self.handover_and(SENDERS)?;
        Ok(RequestedProbes { across_hosts: Some(name.into()), handover, ..self })
    }

    fn handover_and(&self, more: &[(&str, &[&str])]) -> Result<Arc<[RequestedProbes]>, String> {
        let methods = more.iter().flat_map(|(class, methods)| methods.iter().map(move |method| (class, method)));
        let parse = |(class, method)| RequestedProbes::parse(&format!("{class}.{method}"), &self.template, self.level);
        self.handover.iter().cloned().map(Ok).chain(methods.map(parse)).collect()
    }

    /// Whether the context reaches across threads.
    pub(crate) fn reaches_across_threads(&self) -> bool {
        self.across_threads
    }

    /// Returns the name by which requests tell other hosts that they are sent inside the context, if they do.
    pub(crate) fn name_for_hosts(&self) -> Option<&str> {
        self.across_hosts.as_deref()
    }

    /// Returns the methods that hand tasks over, run them, or send requests, as far as the context reaches across threads or hosts.
    pub(crate) fn handover(&self) -> &[RequestedProbes] {
        &self.handover
    }

    /// Whether the condition looks at the text of statements.
    pub(crate) fn looks_at_statements(&self) -> bool {
        let is_text = |condition: &Condition| condition.paths().iter().any(|(path, _)| path.root == Root::Sql);
        self.condition.as_ref().is_some_and(|condition| is_text(&condition.whole))
    }

    /// The same, with the methods of connections changed that prepare statements; each connection by its internal name.
    pub(crate) fn with_preparing<'c>(
        self,
        connections: impl Iterator<Item = &'c [u8]>,
    ) -> Result<RequestedProbes, String> {
        let of_class = |class: &[u8]| {
            let class = String::from_utf8_lossy(class).replace('/', ".");
            RequestedProbes::parse(&format!("{class}.{PREPARING}"), &self.template, self.level)
        };
        let preparing = connections.map(of_class).collect::<Result<Arc<[_]>, _>>()?;
        Ok(RequestedProbes { preparing, ..self })
    }

    /// Returns the methods that prepare statements whose texts the condition looks at.
    pub(crate) fn preparing(&self) -> &[RequestedProbes] {
        &self.preparing
    }

    /// Returns the internal names of the classes that prepare statements.
    pub(crate) fn preparing_classes(&self) -> impl Iterator<Item = Arc<[u8]>> + '_ {
        self.preparing.iter().map(|of| of.class.replace('.', "/").into_bytes().into())
    }

    /// Returns the internal names of the classes that hand tasks over and run them.
    pub(crate) fn handover_classes() -> impl Iterator<Item = Arc<[u8]>> {
        internal_names(HANDOVER)
    }

    /// Returns the internal names of the classes that send requests.
    pub(crate) fn sender_classes() -> impl Iterator<Item = Arc<[u8]>> {
        internal_names(SENDERS)
    }

    /// Returns the methods of the context as text, if there are any: the outermost first.
    fn methods_within(&self) -> Option<String> {
        let methods: Vec<String> = self.within.iter().map(RequestedProbes::text).collect();
        (!methods.is_empty()).then(|| methods.join(INSIDE))
    }

    /// Returns the context as text, if there is one: its methods, whether the last one must be the immediate caller, and its condition.
    pub(crate) fn context(&self) -> Option<String> {
        let methods = self.methods_within()?;
        let methods = if self.direct { methods + DIRECTLY } else { methods };
        let methods = if self.reaches_across_threads() { methods + ACROSS_THREADS } else { methods };
        let methods = match &self.across_hosts {
            Some(name) => methods + ACROSS_HOSTS + name,
            None => methods,
        };
        Some(match &self.condition {
            Some(condition) if condition.is_own => format!("{methods} itself when {}", condition.text()),
            Some(condition) => format!("{methods} when {}", condition.text()),
            None => methods,
        })
    }

    /// Returns the methods of the context that were asked for.
    pub(crate) fn asked_within(&self) -> Option<String> {
        if let Some(condition) = &self.condition {
            return condition.asked_within.clone();
        }
        self.methods_within()
    }

    /// Returns the method that must be the immediate caller.
    pub(crate) fn immediate_caller(&self) -> Option<&NameGlob> {
        self.within.last().filter(|_| self.direct).map(|last| &last.glob)
    }

    /// Returns the condition as it was asked for.
    pub(crate) fn asked_condition(&self) -> Option<&str> {
        self.condition.as_ref().map(|condition| condition.text())
    }

    /// Whether both want the same of the same methods.
    pub(crate) fn wants_the_same(&self, other: &RequestedProbes) -> bool {
        let wanted = |of: &RequestedProbes| {
            let condition = of.asked_condition().map(str::to_owned);
            let kind = (of.direct, of.across_threads, of.across_hosts.clone());
            (of.text(), of.asked_within(), kind, condition, of.template.clone(), of.level)
        };
        wanted(self) == wanted(other)
    }

    /// Returns the patterns of the methods that were asked for: those of the context, too.
    pub(crate) fn asked_patterns(&self) -> impl Iterator<Item = &RequestedProbes> {
        std::iter::once(self).chain(self.within.iter())
    }

    /// Returns the patterns of all methods that are changed: those that hand tasks over, send requests or prepare statements, too.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &RequestedProbes> {
        self.asked_patterns().chain(self.handover.iter()).chain(self.preparing.iter())
    }

    /// Whether this method is meant, as `package.Class.method`.
    pub(crate) fn takes(&self, method: &str) -> bool {
        self.glob.matches(method.replace('.', "/").as_bytes())
    }

    /// Whether methods of the class of this internal name are meant.
    pub(crate) fn may_be_in(&self, class: &str) -> bool {
        self.class_glob.matches(class.as_bytes())
    }

    /// How many of the methods of the class of this internal name are meant.
    pub(crate) fn count_among(&self, class: &[u8], methods: &[MethodNames]) -> usize {
        methods.iter().filter(|method| self.takes_of(class, method)).count()
    }

    /// Whether this method of the class of this internal name is meant.
    pub(crate) fn takes_of(&self, class: &[u8], method: &MethodNames) -> bool {
        let (class, method) = (String::from_utf8_lossy(class), String::from_utf8_lossy(&method.name));
        self.takes(&format!("{class}.{method}"))
    }

    /// As it was asked for.
    pub(crate) fn text(&self) -> String {
        self.glob.text().replace('/', ".")
    }

    /// Returns the rule that takes these methods; what `[exclude]` leaves out stays left out.
    pub(crate) fn rules(&self, templates: &TemplateLibrary, exclude: &ExcludeConfig) -> Result<RuleSet, String> {
        let RequestedProbes { class, method, template, level, .. } = self;
        let text = format!(
            "[control]\nlive = true\n[filter]\nleaf = false\nmax-bytes = 0\n[[rule]]\nname = 'instr probe'\nclass = {class:?}\n\
             method = {method:?}\ntemplate = {template:?}\nlevel = '{level}'\ngoverned = false\nconstructors = true\n"
        );
        let reason =
            |problems: Vec<Diagnostic>| problems.first().map_or_else(String::new, |first| first.message.clone());
        let (mut config, _) = settings::parse(&text, "instr probe").map_err(reason)?;
        config.exclude = exclude.clone();
        config.compile_rules(templates, embedded::PRESETS).map_err(reason)
    }
}

fn internal_names(methods: &'static [(&str, &[&str])]) -> impl Iterator<Item = Arc<[u8]>> {
    methods.iter().map(|(class, _)| class.replace('.', "/").into_bytes().into())
}

fn check_length(within: &[RequestedProbes]) -> Result<(), String> {
    if within.len() > MOST_STEPS {
        return Err(format!(
            "a context of {} methods: {MOST_STEPS} are allowed; leave out some, the others keep their order",
            within.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(methods: &str) -> Result<(String, String), String> {
        let requested = RequestedProbes::parse(methods, "timed", Level::Time)?;
        Ok((requested.class, requested.method))
    }

    #[test]
    fn a_pattern_names_classes_and_methods() {
        let parts = |class: &str, method: &str| Ok((class.to_owned(), method.to_owned()));
        assert_eq!(parse("a.b.C.run"), parts("a.b.C", "run"));
        assert_eq!(parse("a.b.C.<init>"), parts("a.b.C", "<init>"));
        assert_eq!(parse("a.*.find*"), parts("a.*", "find*"));
        assert_eq!(parse("a.b.**"), parts("a.b.**", "*"));
        assert!(parse("run").is_err() && parse("a.b;.C").is_err());
    }

    #[test]
    fn a_context_is_methods_in_their_order() {
        let within = |text: &str| RequestedProbes::parse("x.Y.z", "timed", Level::Time).unwrap().within(text);
        let requested = within("a.B.c>d.*.e*").unwrap();
        assert_eq!(requested.context().as_deref(), Some("a.B.c > d.*.e*"));
        assert!(
            requested.takes("x.Y.z") && !requested.takes("a.B.c") && requested.patterns().any(|of| of.takes("a.B.c"))
        );
        for wrong in ["", "a.B.c >", "a", "> a.B.c"] {
            assert!(within(wrong).is_err(), "{wrong}");
        }
        let direct = within("a.B.c > d.E.f").unwrap().directly().unwrap();
        assert_eq!(direct.context().as_deref(), Some("a.B.c > d.E.f (direct)"));
        assert_eq!(direct.asked_within().as_deref(), Some("a.B.c > d.E.f"));
        assert!(direct.immediate_caller().is_some_and(|last| last.matches(b"d/E/f") && !last.matches(b"a/B/c")));
        assert!(!direct.wants_the_same(&within("a.B.c > d.E.f").unwrap()));
        let conditional = direct.when("arg.0 = 5", false).unwrap();
        assert_eq!(conditional.context().as_deref(), Some("a.B.c > d.E.f (direct) when arg.0 = 5"));
        assert!(RequestedProbes::parse("x.Y.z", "timed", Level::Time).unwrap().directly().is_err());
        let methods = |count: usize| vec!["a.B.c"; count].join(" > ");
        assert!(within(&methods(16)).is_ok() && within(&methods(17)).unwrap_err().contains("16 are allowed"));
    }

    #[test]
    fn a_context_for_other_hosts_is_another_one_and_changes_what_sends_requests() {
        let within = || RequestedProbes::parse("x.Y.z", "timed", Level::Time).unwrap().within("a.B.c").unwrap();
        let both = within().across_threads().unwrap().across_hosts("slow-orders").unwrap();
        assert_eq!(both.context().as_deref(), Some("a.B.c across threads across hosts as slow-orders"));
        assert!(
            ["sun.net.www.http.HttpClient.writeRequests", "java.lang.Thread.start"]
                .iter()
                .all(|method| both.patterns().any(|of| of.takes(method)))
        );
        assert!(!both.wants_the_same(&within().across_threads().unwrap()));
        assert!(within().across_hosts("a,b").is_err() && within().across_hosts("").is_err());
        let nowhere = RequestedProbes::parse("x.Y.z", "timed", Level::Time).unwrap();
        assert!(nowhere.across_hosts("name").unwrap_err().contains("there is no context"));
    }

    #[test]
    fn a_condition_is_evaluated_where_its_values_are() {
        let probes = || RequestedProbes::parse("x.Y.z", "timed", Level::Time).unwrap();
        let of = |probes: RequestedProbes, text: &str, takes_request| {
            let probes = probes.when(text, takes_request).unwrap();
            let condition = probes.condition.clone().unwrap();
            let steps: Vec<_> = condition.steps().map(|(at, of, is_own)| (at, of.paths().len(), is_own)).collect();
            (probes.context().unwrap(), steps)
        };
        let (http, arg) = ("http.path = '/pay'", "arg.0 = 'card'");
        let both = format!("{http} and {arg}");
        let inside = || probes().within("a.B.c").unwrap();
        assert_eq!(of(probes(), arg, false), (format!("x.Y.z itself when {arg}"), vec![(0, 1, true)]));
        assert_eq!(of(probes(), http, false), (format!("{REQUEST_BEGINS} when {http}"), vec![(0, 1, false)]));
        let steps = vec![(0, 1, false), (1, 1, true)];
        assert_eq!(of(probes(), &both, false), (format!("{REQUEST_BEGINS} > x.Y.z itself when {both}"), steps));
        assert_eq!(of(probes(), &both, true), (format!("x.Y.z itself when {both}"), vec![(0, 2, true)]));
        assert_eq!(of(inside(), arg, false), (format!("a.B.c when {arg}"), vec![(0, 1, false)]));
        assert_eq!(of(inside(), http, false), (format!("{REQUEST_BEGINS} > a.B.c when {http}"), vec![(0, 1, false)]));
        let steps = vec![(0, 1, false), (1, 1, false)];
        assert_eq!(of(inside(), &both, false), (format!("{REQUEST_BEGINS} > a.B.c when {both}"), steps));
        let begins = probes().within("jakarta.servlet.http.HttpServlet.service > a.B.c").unwrap();
        assert_eq!(of(begins, http, false).1, [(0, 1, false)]);
        let conditional = inside().when(arg, false).unwrap();
        assert_eq!((conditional.asked_within().as_deref(), conditional.asked_condition()), (Some("a.B.c"), Some(arg)));
        assert!(!conditional.wants_the_same(&inside()) && conditional.wants_the_same(&conditional.clone()));
    }

    #[test]
    fn statements_are_prepared_by_connections() {
        let probes =
            |text: &str| RequestedProbes::parse("x.Y.z", "timed", Level::Time).unwrap().when(text, false).unwrap();
        assert!(!probes("arg.0 = 5").looks_at_statements());
        let sql = probes("http.path = '/pay' and (sql like '*orders*' or sql = null)");
        assert!(sql.looks_at_statements() && sql.preparing_classes().next().is_none());
        let prepared = sql.clone().with_preparing([b"a/Connection".as_slice()].into_iter()).unwrap();
        assert!(prepared.patterns().any(|of| of.takes("a.Connection.prepareStatement")));
        assert!(!prepared.asked_patterns().any(|of| of.may_be_in("a/Connection")) && prepared.wants_the_same(&sql));
        assert_eq!(prepared.preparing_classes().collect::<Vec<_>>(), [Arc::from(b"a/Connection".as_slice())]);
    }

    #[test]
    fn a_condition_that_cannot_be_evaluated_is_refused() {
        let refused =
            |text: &str| RequestedProbes::parse("x.Y.z", "timed", Level::Time).unwrap().when(text, false).unwrap_err();
        assert!(refused("http.path = '/pay' or arg.0 = 'card'").starts_with("column 23 of the condition"));
        assert!(refused("arg.0 = 'card").contains("column 9"));
    }

    #[test]
    fn the_rule_takes_what_was_asked_for_and_what_is_wrong_has_a_reason() {
        let setup =
            crate::config::setup::from_text("[[rule]]\nclass = 'x.Y'\n[exclude]\nclass = 'a.Secret'\n", "c.toml")
                .unwrap();
        let rules = |template: &str| {
            let requested = RequestedProbes::parse("a.*.find*", template, Level::Time).unwrap();
            requested.rules(&setup.templates, &setup.config.exclude)
        };
        let taken = rules("timed").unwrap();
        assert!(taken.wants_name(b"a/B") && !taken.wants_name(b"a/Secret") && !taken.wants_name(b"b/B"));
        let template = setup.templates.get(taken.rules()[0].templates()[0]).unwrap();
        assert!(template.live, "its level can change");
        assert!(rules("timd").unwrap_err().contains("timd"));
    }
}
