//! Slow calls of a method that is diagnosed, one by one.

/// A slow call, and where its time went.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SlowCall {
    /// The number of the diagnosis.
    pub claim: u64,
    /// The method, as `package.Class.method(Types)`.
    pub method: String,
    /// The context inside which calls count, if not all do.
    pub context: Option<String>,
    /// The condition under which calls count, if there is one.
    pub condition: Option<String>,
    /// Java's id of its thread; 0 if it is not known.
    pub thread_id: u64,
    /// The name of its thread.
    pub thread: String,
    /// How long it took.
    pub duration_nanos: u64,
    /// Of one in a recording, the time from the start of the recording to its beginning.
    pub began_after_nanos: u64,
    /// The calls within it that took longest, each within the one before.
    pub path: Vec<SlowCallStep>,
}

/// Calls of a method within a slow call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SlowCallStep {
    /// The method, as `package.Class.method(Types)`.
    pub method: String,
    /// How often it was called there.
    pub calls: u64,
    /// How long these calls took together.
    pub nanos: u64,
}

impl SlowCallStep {
    /// Returns a path as a text: a line `12.345 ms x1 a.B.c()` for each step.
    pub(crate) fn text_of(path: &[SlowCallStep]) -> String {
        let line = |of: &SlowCallStep| format!("{:.3} ms x{} {}", of.nanos as f64 / 1e6, of.calls, of.method);
        path.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Reads such a text; lines that are damaged are left out.
    pub(crate) fn path_of(text: &str) -> Vec<SlowCallStep> {
        let step = |line: &str| {
            let (millis, rest) = line.split_once(" ms x")?;
            let (calls, method) = rest.split_once(' ')?;
            let millis = millis.parse::<f64>().ok().filter(|millis| millis.is_finite() && *millis >= 0.0)?;
            let nanos = (millis * 1e6).round() as u64;
            Some(SlowCallStep { method: method.to_owned(), calls: calls.parse().ok()?, nanos })
        };
        text.lines().filter_map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_it_was_written() {
        let step = |method: &str, calls, nanos| SlowCallStep { method: method.to_owned(), calls, nanos };
        let path = vec![step("a.B.c(int, String)", 1, 412_345_000), step("dynamic call x()", 12, 1_000)];
        let text = SlowCallStep::text_of(&path);
        assert_eq!(text, "412.345 ms x1 a.B.c(int, String)\n0.001 ms x12 dynamic call x()");
        assert_eq!(SlowCallStep::path_of(&text), path);
        assert_eq!(SlowCallStep::path_of("5 ms\nx ms x1 a.B.c()\n-1 ms x1 a()\n1 ms x2 a.B.c()").len(), 1);
    }
}
