//! The answer to a request that cannot be fulfilled.

use std::fmt;

use instrument_core::declare_words;
use serde::{Deserialize, Deserializer, Serialize};

use crate::message::{Described, Types, messages, words};

declare_words! {
    /// What kind of refusal it is: for programs. The words never change.
    #[derive(Hash, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ErrorCode {
        /// The agent has a reason, which the text says.
        Refused = "refused",
        /// The line is no request: no JSON object, or a field is missing or has a wrong value.
        Malformed = "malformed",
        /// The agent does not know the verb.
        UnknownRequest = "unknown-request",
        /// The line is longer than a request may be. The agent closes the connection.
        TooLong = "too-long",
        /// The agent has too many connections, or too many requests that change something. The same request may succeed later.
        Busy = "busy",
        /// The client's user may not ask. The agent closes the connection.
        NotAllowed = "not-allowed",
        /// The configuration of the agent does not provide for what was asked.
        NotConfigured = "not-configured",
        /// No method, category or template has the name in the request.
        UnknownName = "unknown-name",
        /// The recording has ended.
        Ended = "ended",
        /// The request was accepted, but is not carried out yet.
        Pending = "pending",
    }
}

/// Older agents send no code.
impl Default for ErrorCode {
    fn default() -> ErrorCode {
        ErrorCode::Refused
    }
}

/// A code that a newer agent has added is a refusal all the same.
impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ErrorCode, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(ErrorCode::ALL.into_iter().find(|code| code.name() == word).unwrap_or_default())
    }
}

impl Described for ErrorCode {
    fn describe(_: &mut Types) -> serde_json::Value {
        words::<ErrorCode>()
    }
}

messages! {
    /// The answer to a request that cannot be fulfilled.
    #[derive(Eq)]
    pub struct Refusal {
        /// Why not, for people.
        pub error: String,
        /// What kind of refusal it is, for programs. Words may be added.
        #[serde(default)]
        pub code: ErrorCode,
        /// What to do about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub help: Option<String>,
    }
}

impl Refusal {
    /// Returns a refusal of this kind.
    pub fn new(code: ErrorCode, error: impl Into<String>) -> Refusal {
        Refusal { error: error.into(), code, help: None }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Refusal {
        Refusal { help: Some(help.into()), ..self }
    }
}

impl From<String> for Refusal {
    fn from(error: String) -> Refusal {
        Refusal::new(ErrorCode::Refused, error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_older_and_newer_agents_are_read() {
        let of = |text: &str| serde_json::from_str::<Refusal>(text).unwrap();
        assert_eq!(of(r#"{"error":"no"}"#), Refusal::from("no".to_owned()));
        assert_eq!(of(r#"{"error":"no","code":"stars-are-wrong"}"#).code, ErrorCode::Refused);
        let busy = Refusal::new(ErrorCode::Busy, "no").help("ask later");
        let text = serde_json::to_string(&busy).unwrap();
        assert_eq!(text, r#"{"error":"no","code":"busy","help":"ask later"}"#);
        assert_eq!(of(&text), busy);
    }
}
