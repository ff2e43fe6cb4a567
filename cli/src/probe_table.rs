//! The numbers that pre-instrumented classes carry, and what they stand for (`probes.json`).

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

/// Numbers probes from 1, in the order in which they are met; 0 means "no probe" in the records.
#[derive(Debug, Default)]
pub(crate) struct ProbeTable {
    probes: Vec<Probe>,
}

impl ProbeTable {
    /// Gives the next number to the probe that `describe` makes of it.
    pub(crate) fn add(&mut self, describe: impl FnOnce(u32) -> Probe) -> u32 {
        let id = self.probes.len() as u32 + 1;
        self.probes.push(describe(id));
        id
    }

    pub(crate) fn write(&self, output: impl Write) -> Result<()> {
        Ok(serde_json::to_writer_pretty(output, &self.probes)?)
    }
}
