//! Who sends: the attributes of the process that stand in each request.

use super::messages::{AnyValue, InstrumentationScope, KeyValue, Resource, any_value};

/// The process, as the receiver knows it.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    /// Attributes of the process.
    pub(crate) resource: Resource,
    /// The agent.
    pub(crate) scope: InstrumentationScope,
}

impl Sender {
    /// This process under the name of a service, with further attributes from the configuration.
    pub(crate) fn new(service: &str, host_name: Option<&str>, further: &[(String, String)]) -> Sender {
        let mut attributes = vec![
            attribute("service.name", service),
            attribute("telemetry.sdk.name", "instr"),
            attribute("telemetry.sdk.language", "java"),
            attribute("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
            whole_number("process.pid", i64::from(std::process::id())),
        ];
        if let Some(host) = host_name {
            attributes.push(attribute("host.name", host));
        }
        for (name, value) in further {
            // What the user says counts.
            attributes.retain(|known| known.key != *name);
            attributes.push(attribute(name, value));
        }
        let scope = InstrumentationScope { name: "instr".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        Sender { resource: Resource { attributes }, scope }
    }
}

/// An attribute with a text.
pub(crate) fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) };
    KeyValue { key: name.to_owned(), value: Some(value) }
}

/// An attribute with a number.
pub(crate) fn whole_number(name: &str, value: i64) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::IntValue(value)) };
    KeyValue { key: name.to_owned(), value: Some(value) }
}
