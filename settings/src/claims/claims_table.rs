//! `[claims]`: claims of persons that outlast the process.

use instrument_core::config::text;
use instrument_core::declare_table;

declare_table! {
    /// Probes by request, `instr probe` (docs/probes.md).
    pub struct ClaimsConfig = "claims" {
        /// File that keeps the claims of `instr probe --pin` for the next start; relative to the directory of this file. It must belong to the
        /// JVM's user, must not be writable by others, and must be no link. Several JVMs may share it.
        file: Option<String> = key("file", text()),
    }
}
