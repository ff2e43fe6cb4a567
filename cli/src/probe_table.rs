//! The probes that `instr pre` inserted (`probes.json`).

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

/// A probe: the method it sits in and the template it runs.
#[derive(Debug, Serialize)]
pub(crate) struct Probe {
    pub(crate) id: u32,
    pub(crate) class: String,
    pub(crate) method: String,
    pub(crate) descriptor: String,
    pub(crate) template: String,
}

/// Lists probes, counted from 1 in the order in which they are inserted. In a JVM the agent gives them numbers of the process.
#[derive(Debug, Default)]
pub(crate) struct ProbeTable {
    probes: Vec<Probe>,
}

impl ProbeTable {
    /// Adds the probe that `describe` makes of its number.
    pub(crate) fn add(&mut self, describe: impl FnOnce(u32) -> Probe) {
        let id = self.probes.len() as u32 + 1;
        self.probes.push(describe(id));
    }

    pub(crate) fn write(&self, output: impl Write) -> Result<()> {
        Ok(serde_json::to_writer_pretty(output, &self.probes)?)
    }
}
