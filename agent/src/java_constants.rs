//! Constants of the Java code that runs in the application, for the tests that compare them with those of the agent.

/// Returns the value of the constant with this name in the source text of a Java class.
///
/// # Panics
///
/// If the text has no such constant, or its value is not a number.
pub(crate) fn constant(java: &str, name: &str) -> i64 {
    let value = java.split(&format!(" {name} = ")).nth(1).and_then(|rest| rest.split(';').next());
    let value = value.unwrap_or_else(|| panic!("no constant {name}"));
    let digits = value.trim_end_matches('L').replace('_', "");
    let number = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    number.unwrap_or_else(|error| panic!("{name} = {value}: {error}"))
}
