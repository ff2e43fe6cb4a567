//! Contexts that reach other hosts: an entry of W3C baggage in the requests that are sent inside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use control::BaggageFigures;
use settings::ConditionsConfig;

use super::memory::WORDS;
use super::steps::{bit_of, word_of};
use super::{Context, Contexts};

/// The key of the entry.
const KEY: &str = "instr";
/// Bytes of the longest header (W3C Baggage, 3.3.2): a longer one may be dropped as a whole, with what the application has put there.
const LONGEST: usize = 8_192;

/// What requests have that are sent inside a context, and how many of them.
#[derive(Debug)]
pub(crate) struct BaggageEntry {
    /// `instr=NAME`.
    text: String,
    /// Says to which hosts it may be sent.
    allowed: ConditionsConfig,
    sent: AtomicU64,
    elsewhere: AtomicU64,
    too_long: AtomicU64,
}

impl BaggageEntry {
    /// The entry with this name.
    pub(crate) fn new(name: &str, allowed: &ConditionsConfig) -> BaggageEntry {
        BaggageEntry {
            text: format!("{KEY}={name}"),
            allowed: allowed.clone(),
            sent: AtomicU64::new(0),
            elsewhere: AtomicU64::new(0),
            too_long: AtomicU64::new(0),
        }
    }

    /// Returns how many requests have carried it.
    pub(crate) fn figures(&self) -> BaggageFigures {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let (sent, elsewhere, too_long) = (count(&self.sent), count(&self.elsewhere), count(&self.too_long));
        BaggageFigures { entry: self.text.clone(), sent, elsewhere, too_long }
    }

    /// Returns the header with this entry before all others; `None` if the request stays as it is.
    fn added_to(&self, header: Option<&str>, host: &str) -> Option<String> {
        let count = |of: &AtomicU64| _ = of.fetch_add(1, Ordering::Relaxed);
        if !self.allowed.is_sent_to(host) {
            count(&self.elsewhere);
            return None;
        }
        let present = header.unwrap_or_default();
        // The application passes on what it was sent inside the same context of another JVM.
        if present.split(',').any(|entry| entry.trim() == self.text) {
            return None;
        }
        let separator = if present.trim().is_empty() { "" } else { "," };
        let extended = format!("{}{separator}{present}", self.text);
        if extended.len() > LONGEST {
            count(&self.too_long);
            return None;
        }
        count(&self.sent);
        Some(extended)
    }
}

impl Contexts {
    /// Returns the header `baggage` of a request to this host that has this one already, if a thread with these bits is about to send it. `None` if it stays as it is. The entry
    /// of the newest context is the first one: that is the one that conditions read.
    pub(crate) fn baggage(&self, words: [u64; WORDS], host: &str, present: Option<&str>) -> Option<String> {
        let senders = self.senders.read();
        let inside = senders.iter().filter(|context| context.is_last_among(&words));
        let mut extended: Option<String> = None;
        for entry in inside.filter_map(|context| context.baggage.as_ref()) {
            extended = entry.added_to(extended.as_deref().or(present), host).or(extended);
        }
        extended
    }

    /// From now on requests that are sent inside the context say so, if it reaches other hosts.
    pub(super) fn begin_sending(&self, context: &Arc<Context>) {
        let mut senders = self.senders.write();
        if context.baggage.is_some() && !senders.contains(context) {
            senders.push(Arc::clone(context));
        }
    }

    /// From now on they do not.
    pub(super) fn end_sending(&self, context: &Context) {
        self.senders.write().retain(|sender| **sender != *context);
    }
}

impl Context {
    /// Returns what requests have that are sent inside it, if it reaches other hosts.
    pub(crate) fn baggage(&self) -> Option<&BaggageEntry> {
        self.baggage.as_ref()
    }

    fn is_last_among(&self, words: &[u64; WORDS]) -> bool {
        let is_set = |last: &u8| words.get(word_of(*last)).is_some_and(|word| word & bit_of(*last) != 0);
        self.steps.last().is_some_and(is_set)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn open(contexts: &Contexts, name: &str) -> Arc<Context> {
        let allowed = ConditionsConfig { baggage_to: vec!["*.internal".to_owned()], ..ConditionsConfig::default() };
        let kind = Kind { baggage: Some(BaggageEntry::new(name, &allowed)), ..Kind::default() };
        let context = contexts.open(&format!("a.B.c as {name}"), 2, Vec::new(), kind).unwrap();
        contexts.arm(&context);
        context
    }

    fn inside(all: &[&Context]) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for last in all.iter().filter_map(|context| context.steps.last()) {
            words[word_of(*last)] |= bit_of(*last);
        }
        words
    }

    #[test]
    fn requests_inside_have_the_entry_and_keep_what_they_had() {
        let contexts = Contexts::default();
        let (one, two) = (open(&contexts, "one"), open(&contexts, "two"));
        let of = |words, present: Option<&str>| contexts.baggage(words, "stock.internal", present);
        assert_eq!(of([0; WORDS], None), None, "outside");
        assert_eq!(of(inside(&[&one]), None).as_deref(), Some("instr=one"));
        assert_eq!(of(inside(&[&one]), Some("tenant=7;x, a=b")).as_deref(), Some("instr=one,tenant=7;x, a=b"));
        assert_eq!(of(inside(&[&one, &two]), Some("a=b")).as_deref(), Some("instr=two,instr=one,a=b"));
        assert_eq!(of(inside(&[&one]), Some("a=b, instr=one ")), None, "the application passes it on");
        assert_eq!(contexts.baggage(inside(&[&one]), "example.org", None), None);
        let figures = one.baggage().unwrap().figures();
        assert_eq!((figures.sent, figures.elsewhere, figures.too_long), (3, 1, 0));
        let other = format!("a={}", "x".repeat(LONGEST - "instr=one,a=".len()));
        assert_eq!(of(inside(&[&one]), Some(&other)).map(|header| header.len()), Some(LONGEST));
        let longer = format!("{other}x");
        assert_eq!(of(inside(&[&one]), Some(&longer)), None);
        assert_eq!(one.baggage().unwrap().figures().too_long, 1);
        assert!(contexts.close(&one));
        assert_eq!(of(inside(&[&one, &two]), None).as_deref(), Some("instr=two"), "it has ended");
    }
}
