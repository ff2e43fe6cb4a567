//! What can be asked for.

use std::fmt;

use instrument_core::level::Level;
use serde::{Deserialize, Serialize};

/// A request: one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask")]
pub enum Request {
    /// What the agent has done and decided. The answer is a [`Status`](crate::Status).
    Status {
        /// Most methods in the answer; without it the agent chooses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        methods: Option<usize>,
        /// Whether the answer has how long calls took since the last request of this kind: for clients that ask again and again.
        #[serde(default)]
        durations: bool,
    },
    /// Changes the level of live probes. The answer is a [`Changed`](crate::Changed).
    Level {
        /// Methods as `package.Class.method` with `*` and `**`, or `category:NAME`.
        methods: String,
        /// Their new level.
        level: WantedLevel,
    },
    /// Switches all probes off, whatever their level. The answer is a [`Switched`](crate::Switched).
    Pause,
    /// Takes a [`Request::Pause`] back.
    Resume,
    /// The call tree up to now: a [`CallTree`](crate::CallTree).
    CallTree,
    /// Writes what the ring holds. The answer is a [`Dumped`](crate::Dumped).
    DumpTrace,
    /// Reads the configuration file again: rules and templates are replaced. The answer is [`Reloaded`](crate::Reloaded).
    Reload,
    /// Ends the recording; the application goes on. The answer is a [`Stopped`](crate::Stopped).
    Stop,
}

/// The level that a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WantedLevel {
    /// That of the rule, which the governor may lower.
    Auto,
    /// This one.
    #[serde(untagged)]
    Exact(Level),
}

impl fmt::Display for WantedLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WantedLevel::Auto => f.write_str("auto"),
            WantedLevel::Exact(level) => level.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_written_as_they_are_read() {
        let requests = [
            (r#"{"ask":"status","durations":false}"#, Request::Status { methods: None, durations: false }),
            (r#"{"ask":"status","methods":7,"durations":true}"#, Request::Status { methods: Some(7), durations: true }),
            (r#"{"ask":"level","methods":"a.B.*","level":"off"}"#, level(WantedLevel::Exact(Level::Off))),
            (r#"{"ask":"level","methods":"a.B.*","level":"auto"}"#, level(WantedLevel::Auto)),
            (r#"{"ask":"call-tree"}"#, Request::CallTree),
        ];
        for (text, request) in requests {
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), request);
        }
    }

    #[test]
    fn what_is_left_out_has_a_default_and_unknown_levels_are_refused() {
        let status = serde_json::from_str::<Request>(r#"{"ask":"status"}"#).unwrap();
        assert_eq!(status, Request::Status { methods: None, durations: false });
        assert!(serde_json::from_str::<Request>(r#"{"ask":"level","methods":"a","level":"loud"}"#).is_err());
    }

    fn level(level: WantedLevel) -> Request {
        Request::Level { methods: "a.B.*".to_owned(), level }
    }
}
