//! The description of the protocol, for those who write clients.

use serde_json::json;

use crate::message::{Described, Types};
use crate::{LONGEST_REQUEST, PROTOCOL, Refusal, Request};

/// Returns a description of all requests and answers, as indented JSON: JSON Schemas (draft 2020-12) by verb.
#[must_use]
pub fn protocol_schema() -> String {
    let mut types = Types::new();
    let requests = Request::describe_all(&mut types);
    let refusal = Refusal::describe(&mut types);
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "control protocol of instr",
        "protocol": PROTOCOL,
        "description": "A request is a line of JSON on the control socket; so is its answer, or its refusal. Answers with parts have a line for \
            each part and end with the line `done`. A request may have an `id`, a whole number or a string, which each line of its answer \
            repeats; after a request without one the agent closes the connection.",
        "longest_request": LONGEST_REQUEST,
        "requests": requests,
        "refusal": refusal,
        "$defs": types,
    });
    format!("{schema:#}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;
    use crate::{Dumped, ErrorCode, Hello};

    fn schema() -> Json {
        serde_json::from_str(&protocol_schema()).unwrap()
    }

    #[test]
    fn every_request_and_every_type_is_described() {
        let schema = schema();
        for verb in Request::VERBS {
            let described = &schema["requests"][verb];
            assert_eq!(described["request"]["properties"]["ask"]["const"], verb);
            assert!(described["answer"]["$ref"].is_string(), "{verb}");
        }
        assert_eq!(schema["requests"]["level"]["request"]["required"], json!(["ask", "methods", "level"]));
        assert_eq!(schema["requests"]["status"]["request"]["required"], json!(["ask"]));
        let text = schema.to_string();
        for reference in text.split("\"#/$defs/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schema["$defs"][name]["properties"].is_object(), "{name}");
        }
    }

    #[test]
    fn answers_are_as_they_are_described() {
        let schema = schema();
        let dumped = Dumped { file: "/t.jfr".into(), bytes: 7, seconds: 1.5, reason: String::new() };
        let hello = Hello {
            agent_version: "1".to_owned(),
            protocol: vec![PROTOCOL],
            abilities: Vec::new(),
            pid: 1,
            longest_request: LONGEST_REQUEST,
        };
        let refusal = Refusal::new(ErrorCode::Busy, "no").help("wait");
        let written = [
            ("Dumped", serde_json::to_value(dumped).unwrap()),
            ("Hello", serde_json::to_value(hello).unwrap()),
            ("Refusal", serde_json::to_value(refusal).unwrap()),
        ];
        for (name, value) in written {
            for (field, value) in value.as_object().unwrap() {
                let described = &schema["$defs"][name]["properties"][field];
                let kind = match value {
                    Json::Array(_) => "array",
                    Json::Number(number) if number.is_f64() => "number",
                    Json::Number(_) => "integer",
                    _ => "string",
                };
                let is_so = described["type"] == kind
                    || described["anyOf"][0]["type"] == kind
                    || described["enum"].as_array().is_some_and(|words| words.contains(value));
                assert!(is_so, "{name}.{field} is {value}, described as {described}");
            }
            for required in schema["$defs"][name]["required"].as_array().unwrap() {
                assert!(value.get(required.as_str().unwrap()).is_some(), "{name} has no {required}");
            }
        }
    }
}
