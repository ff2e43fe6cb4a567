//! The templates of one configuration, found by name and level.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use super::problem::TemplateProblem;
use super::runtime_members::RuntimeClasses;
use super::symbol::Symbol;
use super::{BUILT_IN, DIAGNOSIS_CATEGORY, Purpose, Template, TemplateId, Use, category, read};
use crate::level::Level;

/// All templates, built-in and the user's own. Immutable once built, shared by all threads.
#[derive(Debug, Default)]
pub struct TemplateLibrary {
    templates: Vec<Template>,
    runtime: RuntimeClasses,
}

impl TemplateLibrary {
    /// A library without templates.
    pub fn new() -> TemplateLibrary {
        TemplateLibrary::default()
    }

    /// From now on, a template that uses what these classes of the Java runtime do not have is refused.
    pub fn check_against(&mut self, runtime: RuntimeClasses) {
        self.runtime = runtime;
    }

    /// Adds every method of the class that carries `@java.instr.Template`, and returns their number. If one of them is faulty none
    /// is added, and every fault is returned. A template of the same name and level as an earlier one takes its place; one that asks for the
    /// values which a rule chooses is a variant of its own.
    pub fn add_class(&mut self, bytes: &[u8], origin: &str) -> Result<usize, Vec<TemplateProblem>> {
        let templates = read::templates(bytes, origin, self.runtime)?;
        let (count, content) = (templates.len(), FxBuildHasher.hash_one(bytes));
        for mut template in templates {
            template.content = content;
            if let Some(purpose) = Purpose::of_category(&template.category) {
                template.purpose = purpose;
            } else if template.declares_scope() && template.origin == BUILT_IN {
                template.purpose = Purpose::CallSites;
            } else if template.category == DIAGNOSIS_CATEGORY && template.origin == BUILT_IN {
                template.purpose = Purpose::StatementTexts;
            }
            let conditional = if template.live { template.conditional() } else { None };
            [Some(template), conditional].into_iter().flatten().for_each(|template| self.put(template));
        }
        Ok(count)
    }

    fn put(&mut self, template: Template) {
        let same = |known: &&mut Template| {
            (&known.name, known.level, known.live) == (&template.name, template.level, template.live)
                && (known.captures(), known.purpose) == (template.captures(), template.purpose)
        };
        match self.templates.iter_mut().find(same) {
            Some(known) => *known = template,
            None => self.templates.push(template),
        }
    }

    /// Names of all templates, each once, in order of their first appearance.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.iter().filter_map(|(id, template)| {
            let (first, _) = self.iter().find(|(_, other)| other.name == template.name)?;
            (first == id).then_some(template.name.as_str())
        })
    }

    /// All variants that rules can use.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (TemplateId, &Template)> {
        self.for_purpose(Purpose::Rules)
    }

    fn for_purpose(&self, purpose: Purpose) -> impl DoubleEndedIterator<Item = (TemplateId, &Template)> {
        let all = self.templates.iter().enumerate().map(|(at, template)| (TemplateId(at as u32), template));
        all.filter(move |(_, template)| template.purpose == purpose)
    }

    /// Returns the variant of a live template that records inside a context only.
    pub fn conditional(&self, live: TemplateId) -> Option<TemplateId> {
        let of = self.get(live).filter(|template| template.live)?;
        let is_it = |template: &Template| template.name == of.name && template.captures() == of.captures();
        self.for_purpose(Purpose::Conditional).find(|(_, template)| is_it(template)).map(|(id, _)| id)
    }

    /// Returns the template that marks the methods of contexts.
    pub fn anchor(&self) -> Option<TemplateId> {
        self.for_purpose(Purpose::Anchor).next().map(|(id, _)| id)
    }

    /// Returns the template that marks calls of these methods for which a condition holds.
    pub fn conditional_anchor(&self, is_constructor: bool) -> Option<TemplateId> {
        self.of_body(Purpose::ConditionalAnchor, is_constructor)
    }

    /// Returns the template that marks calls for which a condition holds around the probe in the same method.
    pub fn own_anchor(&self, is_constructor: bool) -> Option<TemplateId> {
        self.of_body(Purpose::OwnAnchor, is_constructor)
    }

    /// Returns the template that does not look at the receiver, which a constructor does not have at its beginning, or the one that does.
    fn of_body(&self, purpose: Purpose, is_constructor: bool) -> Option<TemplateId> {
        let is_it = |template: &Template| (template.needs.receiver == Use::Nowhere) == is_constructor;
        self.for_purpose(purpose).find(|(_, template)| is_it(template)).map(|(id, _)| id)
    }

    /// Returns the template around the bodies of which calls are measured.
    pub fn call_sites(&self) -> Option<TemplateId> {
        self.for_purpose(Purpose::CallSites).next().map(|(id, _)| id)
    }

    /// Returns the template that counts the callers of a method.
    pub fn caller_hook(&self) -> Option<TemplateId> {
        self.for_purpose(Purpose::CallerHook).next().map(|(id, _)| id)
    }

    /// Returns the template around a method of JDBC that executes a text or prepares one; `None` for any other method, whatever its class.
    pub fn statement_text(&self, method: &[u8], descriptor: &[u8]) -> Option<TemplateId> {
        let takes_text = descriptor.starts_with(b"(Ljava/lang/String;");
        let name = match method {
            b"prepareStatement" | b"prepareCall" if takes_text => "preparing-statement-text",
            b"execute" | b"executeQuery" | b"executeUpdate" | b"executeLargeUpdate" if takes_text => "statement-text",
            b"execute"
            | b"executeQuery"
            | b"executeUpdate"
            | b"executeLargeUpdate"
            | b"executeBatch"
            | b"executeLargeBatch"
                if descriptor.starts_with(b"()") =>
            {
                "prepared-statement-text"
            }
            _ => return None,
        };
        self.for_purpose(Purpose::StatementTexts).find(|(_, template)| template.name == name).map(|(id, _)| id)
    }

    /// Returns the template around a method of the JDK's executors and threads that hands tasks over or runs them, or around one of its clients of HTTP that sends a
    /// request, by its name and types; `None` for any other method, whatever its class.
    pub fn handover(&self, method: &[u8], descriptor: &[u8]) -> Option<TemplateId> {
        let takes = |prefix: &[u8]| descriptor.starts_with(prefix);
        let name = match method {
            b"execute" | b"executeInternal" if takes(b"(Ljava/lang/Runnable;)") => "carry-argument",
            b"delayedExecute" => "carry-argument",
            b"reject" if takes(b"(Ljava/lang/Runnable;)") => "carry-rejected",
            b"runWorker" if takes(b"(Ljava/util/concurrent/ThreadPoolExecutor$Worker;") => "carry-worker",
            b"runWorker" if takes(b"(Lorg/apache/") => "carry-worker",
            b"getTask" => "carry-fetch",
            b"beforeExecute" if takes(b"(Ljava/lang/Thread;Ljava/lang/Runnable;)") => "carry-before",
            b"externalSubmit" if takes(b"(Ljava/util/concurrent/ForkJoinTask;)") => "carry-forked",
            b"scheduleDelayedTask" => "carry-forked",
            b"poolSubmit" if takes(b"(ZLjava/util/concurrent/ForkJoinTask;)") => "carry-forked-second",
            b"fork" => "carry-self",
            b"doExec" => "carry-run-forked",
            b"helpJoin" | b"helpComplete" | b"helpStealer" | b"helpAsyncBlocker" | b"helpQuiesce"
            | b"helpQuiescePool" => "carry-helping",
            b"start" => "carry-start",
            b"newVirtualThread" => "carry-made",
            b"runWith" => "carry-run-thread",
            b"writeRequests" if takes(b"(Lsun/net/www/MessageHeader;Lsun/net/www/http/PosterOutputStream;)") => {
                "carry-baggage-url"
            }
            b"<init>" if takes(b"(Ljava/net/http/HttpRequest;Ljdk/internal/net/http/HttpRequestImpl;") => {
                "carry-baggage-net"
            }
            _ => return None,
        };
        self.for_purpose(Purpose::Handover).find(|(_, template)| template.name == name).map(|(id, _)| id)
    }

    /// Returns whether the code of some template, or of the values that it captures, calls this method.
    pub fn calls(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
        let is_it = |symbol: &Symbol| {
            matches!(symbol, Symbol::Member(member)
                if member.owner == owner && member.name == name && member.descriptor == descriptor)
        };
        is_boxing(owner, name) || self.templates.iter().any(|template| template.symbols.iter().any(is_it))
    }

    /// Returns the name of the template for a category, or for the nearest category that it refines and that has one. Of several it is the
    /// first in the origin that was added last.
    pub fn of_category(&self, category: &str) -> Option<&str> {
        category::with_parents(category).find_map(|category| {
            let of_it = || self.iter().map(|(_, template)| template).filter(|template| template.category == category);
            let origin = &of_it().next_back()?.origin;
            of_it().find(|template| template.origin == *origin).map(|template| template.name.as_str())
        })
    }

    /// Returns the categories of all templates, sorted, each once.
    pub fn categories(&self) -> Vec<&str> {
        let mut known: Vec<&str> = self.iter().map(|(_, template)| template.category.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        known
    }

    /// Why no template has this category or one that refines it; `None` if some have.
    pub fn unknown_category(&self, category: &str) -> Option<String> {
        let known = self.categories();
        let is_known = known.iter().any(|known| category::is_within(known, category));
        (!is_known).then(|| format!("no template has the category `{category}`; there are {}", known.join(", ")))
    }

    /// The variant for this level; if there is none, the live one, which is for all levels; then the most telling one below it, else the
    /// cheapest above. One that captures values only if there is no other; it then has none to capture.
    pub fn find(&self, name: &str, level: Level) -> Option<TemplateId> {
        self.of_level(name, level, false).or_else(|| self.of_level(name, level, true))
    }

    /// The same of the variants that take the values which a rule chooses. There is none for level off, which records nothing.
    pub fn find_capturing(&self, name: &str, level: Level) -> Option<TemplateId> {
        if level == Level::Off { None } else { self.of_level(name, level, true) }
    }

    fn of_level(&self, name: &str, level: Level, captures: bool) -> Option<TemplateId> {
        let of_name = |template: &Template| template.name == name && !template.live && template.captures() == captures;
        let variants = || self.iter().filter(|(_, template)| of_name(template));
        let below = variants().filter(|(_, template)| template.level <= level && template.level != Level::Off);
        let exact = variants().find(|(_, template)| template.level == level);
        exact
            .map(|(id, _)| id)
            .or_else(|| self.live(name, captures))
            .or_else(|| below.max_by_key(|(_, template)| template.level).map(|(id, _)| id))
            .or_else(|| variants().min_by_key(|(_, template)| template.level).map(|(id, _)| id))
    }

    /// The variant whose level can be changed while it runs, if there is one.
    pub fn find_live(&self, name: &str) -> Option<TemplateId> {
        self.live(name, false).or_else(|| self.find_live_capturing(name))
    }

    /// The same of the variants that take the values which a rule chooses.
    pub fn find_live_capturing(&self, name: &str) -> Option<TemplateId> {
        self.live(name, true)
    }

    fn live(&self, name: &str, captures: bool) -> Option<TemplateId> {
        let is_it = |template: &Template| template.name == name && template.live && template.captures() == captures;
        self.iter().find(|(_, template)| is_it(template)).map(|(id, _)| id)
    }

    /// The template of an id of this library.
    pub fn get(&self, id: TemplateId) -> Option<&Template> {
        self.templates.get(id.0 as usize)
    }
}

/// Whether it is one of the methods that box captured values.
fn is_boxing(owner: &[u8], name: &[u8]) -> bool {
    const BOXES: [&[u8]; 8] = [b"Boolean", b"Byte", b"Character", b"Short", b"Integer", b"Long", b"Float", b"Double"];
    name == b"valueOf" && owner.strip_prefix(b"java/lang/").is_some_and(|class| BOXES.contains(&class))
}
