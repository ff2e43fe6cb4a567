//! The agent's log: on stderr, at level `warn` unless the configuration says otherwise, so that a normal run prints nothing.

use std::io::IsTerminal as _;

use settings::LogLevel;
use tracing_subscriber::EnvFilter;

/// Installs the log. Only the first call of a process has an effect.
pub(crate) fn install(level: Option<LogLevel>) {
    let directive = level.map_or("warn", LogLevel::name);
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(directive))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .finish();
    // Fails if the agent was attached before in this process; then the first log stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let text = panic.payload().downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
        tracing::error!(place, "internal error: {}", text.unwrap_or("unknown"));
    }));
}
