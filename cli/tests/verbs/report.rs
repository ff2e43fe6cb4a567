//! `instr report`: what cannot be read is an error, not an empty report.

use crate::sandbox::Sandbox;

#[test]
fn a_file_that_is_no_recording_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("text.jfr", "this is no recording");
    for file in ["text.jfr", "absent.jfr"] {
        let said = sandbox.instr(&["report", file]);
        assert_eq!((said.code, said.stdout.as_str()), (1, ""));
        assert!(said.stderr.starts_with("error: ") && said.stderr.contains(file), "{}", said.stderr);
    }
}
