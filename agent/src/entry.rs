//! How the agent is loaded into the JVM, attached and unloaded.

use std::sync::OnceLock;

use crate::config::setup::{self, Setup, SetupError};
use crate::jvm::{JavaVm, Jvmti};
use crate::session::Agent;
use crate::{jvm, log::logging, log::message};

/// What is returned to the JVM that has loaded the agent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The application runs, instrumented or not.
    #[default]
    Continue,
    /// The JVM stops.
    Abort,
    /// Somebody else has attached the agent: this request has no effect.
    AlreadyActive,
}

static AGENT: OnceLock<Agent> = OnceLock::new();

/// The agent is loaded at start-up, before the JVM is initialised.
pub(crate) fn on_load(vm: JavaVm, options: &[u8]) -> Answer {
    if AGENT.get().is_some() {
        message::say("the agent is loaded already; this second -agentpath is ignored");
        return Answer::Continue;
    }
    let setup = match setup::from_options(options) {
        Ok(setup) => setup,
        Err(error) => return refuse(&error),
    };
    logging::install(setup.config.agent.log);
    warn(&setup);
    let abort = Answer::of(setup.config.agent.on_error);
    match connect(vm).and_then(|agent| agent.start_with_jvm(setup)) {
        Ok(()) => Answer::Continue,
        Err(reason) => {
            message::say(&format!("{reason}; the application runs un-instrumented"));
            abort
        }
    }
}

/// The agent is loaded into a running JVM: to start, or with the option `detach` to leave.
pub(crate) fn on_attach(vm: JavaVm, options: &[u8]) -> Answer {
    let active = AGENT.get().is_some_and(Agent::is_active);
    if matches!(options.trim_ascii(), b"detach" | b"stop") {
        match AGENT.get() {
            Some(agent) if active => {
                vm.with_current_thread(|jni| agent.detach(jni));
            }
            _ => message::say("there is nothing to detach"),
        }
        return Answer::Continue;
    }
    if active {
        message::say(
            "the agent is active already; detach it first (options \"detach\") to give it another configuration",
        );
        return Answer::AlreadyActive;
    }
    let setup = match setup::from_options(options) {
        Ok(setup) => setup,
        // Never stops an application that is running.
        Err(error) => {
            refuse(&error);
            return Answer::Continue;
        }
    };
    logging::install(setup.config.agent.log);
    warn(&setup);
    let started = connect(vm).and_then(|agent| {
        vm.with_current_thread(|jni| agent.start_now(jni, setup))
            .unwrap_or_else(|| Err("no JNI on this thread".to_owned()))
    });
    if let Err(reason) = started {
        message::say(&format!("{reason}; the application runs un-instrumented"));
    }
    Answer::Continue
}

/// The JVM is gone; everything was written at `VMDeath`.
pub(crate) fn on_unload() {}

impl Answer {
    fn of(on_error: settings::OnError) -> Answer {
        match on_error {
            settings::OnError::Continue => Answer::Continue,
            settings::OnError::Abort => Answer::Abort,
        }
    }
}

fn refuse(error: &SetupError) -> Answer {
    // Diagnostics have carets under source lines, so they get no mark in front.
    if error.text.contains("-->") {
        message::write_unmarked(&error.text)
    } else {
        message::say(&error.text)
    }
    if error.abort {
        message::say("the JVM stops, because the configuration says on_error = \"abort\"");
        return Answer::Abort;
    }
    message::say("the application runs un-instrumented");
    Answer::Continue
}

/// Reports the warnings about the configuration, and what else is to be known of it.
fn warn(setup: &Setup) {
    setup.warnings.iter().chain(&setup.notes).for_each(|warning| message::write_unmarked(&format!("{warning}\n")));
}

/// The one agent of this process, connected to the JVM.
fn connect(vm: JavaVm) -> Result<&'static Agent, String> {
    jvm::counter::note_beginning();
    if let Some(agent) = AGENT.get() {
        return Ok(agent);
    }
    let jvmti: Jvmti = vm.jvmti().ok_or("this JVM has no JVMTI 11 (JDK 11 or newer is needed)")?;
    let granted = jvm::negotiate(jvmti).map_err(|error| error.to_string())?;
    if !granted.retransform {
        tracing::warn!("this JVM cannot retransform; classes loaded before the agent stay as they are");
    }
    let agent = AGENT.get_or_init(|| Agent::new(vm, jvmti));
    jvm::install(jvmti, agent).map_err(|error| error.to_string())?;
    Ok(agent)
}
