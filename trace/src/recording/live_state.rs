//! The present state: threads, classes, compiled code, settings, whether all probes are paused. It follows the events, so that the end of something can be recorded
//! with its name, and so that a ring can begin with the state at the beginning of what it keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::forgetting::KeptKeys;

/// A change of the state. Keys are those of the constants.
#[derive(Debug, Clone)]
pub(super) enum StateChange {
    Thread {
        tid: u64,
        name: Box<str>,
        os_id: u64,
    },
    ThreadEnded {
        tid: u64,
    },
    Class {
        loader: u64,
        class: u32,
    },
    ClassGone {
        loader: u64,
        class: u32,
    },
    Methods {
        loader: u64,
        class: u32,
        methods: Vec<u32>,
    },
    Code {
        address: u64,
        code: Code,
    },
    CodeGone {
        address: u64,
    },
    /// Something to know about how the recording is made.
    Setting {
        key: Box<str>,
        value: Box<str>,
    },
    /// All probes are paused, with owner and reason, or record again.
    Paused(Option<Pause>),
    /// The initial state has been recorded completely.
    Complete,
}

/// Who paused all probes, and why.
#[derive(Debug, Clone)]
pub(super) struct Pause {
    pub(super) owner: Box<str>,
    pub(super) reason: Box<str>,
}

/// A piece of machine code.
#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) owner: CodeOwner,
    pub(super) length: u64,
}

impl Code {
    fn keep_keys(&self, kept: &mut KeptKeys) {
        if let CodeOwner::Method(method) = self.owner {
            kept.methods.insert(method);
        }
    }
}

impl StateChange {
    /// Notes the keys of constants that it will bring into a state.
    pub(super) fn keep_keys(&self, kept: &mut KeptKeys) {
        match self {
            StateChange::Class { class, .. } => _ = kept.classes.insert(*class),
            StateChange::Methods { class, methods, .. } => {
                kept.classes.insert(*class);
                kept.methods.extend(methods);
            }
            StateChange::Code { code, .. } => code.keep_keys(kept),
            _ => {}
        }
    }
}

/// What a piece of machine code does.
#[derive(Debug, Clone)]
pub(super) enum CodeOwner {
    /// Key of a compiled method.
    Method(u32),
    /// A part of the JVM, by its name.
    Jvm(Arc<str>),
    /// A native library.
    Library { name: Arc<str>, build_id: Arc<str> },
}

/// The state after some changes.
#[derive(Debug, Default)]
pub(super) struct LiveState {
    /// Name and number of the operating system, by Java's id.
    pub(super) threads: BTreeMap<u64, (Box<str>, u64)>,
    /// By loader and key of the class: keys of the methods, if they were recorded.
    pub(super) classes: BTreeMap<u64, BTreeMap<u32, Vec<u32>>>,
    /// By address.
    pub(super) code: BTreeMap<u64, Code>,
    pub(super) settings: BTreeMap<Box<str>, Box<str>>,
    pub(super) paused: Option<Pause>,
    pub(super) is_complete: bool,
}

impl LiveState {
    pub(super) fn apply(&mut self, change: StateChange) {
        match change {
            StateChange::Thread { tid, name, os_id } => drop(self.threads.insert(tid, (name, os_id))),
            StateChange::ThreadEnded { tid } => drop(self.threads.remove(&tid)),
            StateChange::Class { loader, class } => {
                self.classes.entry(loader).or_default().entry(class).or_default();
            }
            StateChange::ClassGone { loader, class } => {
                if let Some(classes) = self.classes.get_mut(&loader) {
                    classes.remove(&class);
                    if classes.is_empty() {
                        self.classes.remove(&loader);
                    }
                }
            }
            StateChange::Methods { loader, class, methods } => {
                self.classes.entry(loader).or_default().insert(class, methods);
            }
            StateChange::Code { address, code } => drop(self.code.insert(address, code)),
            StateChange::CodeGone { address } => drop(self.code.remove(&address)),
            StateChange::Setting { key, value } => drop(self.settings.insert(key, value)),
            StateChange::Paused(paused) => self.paused = paused,
            StateChange::Complete => self.is_complete = true,
        }
    }

    /// Notes the keys of constants that will be used again.
    pub(super) fn keep_keys(&self, kept: &mut KeptKeys) {
        for (class, methods) in self.classes.values().flatten() {
            kept.classes.insert(*class);
            kept.methods.extend(methods);
        }
        self.code.values().for_each(|code| code.keep_keys(kept));
    }

    /// Keys of the classes that a loader has defined.
    pub(super) fn classes_of(&self, loader: u64) -> Vec<u32> {
        self.classes.get(&loader).map(|classes| classes.keys().copied().collect()).unwrap_or_default()
    }
}
