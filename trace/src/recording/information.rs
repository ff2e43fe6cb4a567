//! The first chunk: what is known about the process, under the names that the tools of the JDK look for.

use super::Recording;
use super::payload::push_text;
use crate::schema::id;
use crate::varint;

impl Recording {
    /// Writes the events of the first chunk, as of its beginning.
    pub(super) fn write_information(&mut self) {
        let process = self.options.process.clone();
        let at = self.chunk.first_tick();
        self.event(id::JVM_INFORMATION, at, |_, payload| {
            push_text(payload, &process.jvm_name);
            push_text(payload, &process.jvm_version);
            push_text(payload, &process.jvm_arguments);
            push_text(payload, "");
            push_text(payload, &process.command_line);
            varint::push(payload, process.jvm_start_epoch_millis);
            varint::push(payload, process.pid);
        });
        self.event(id::CPU_INFORMATION, at, |_, payload| {
            push_text(payload, &process.cpu_model);
            push_text(payload, &process.cpu_model);
            for count in [1, process.cpu_count, process.cpu_count] {
                varint::push(payload, u64::from(count));
            }
        });
        self.event(id::OS_INFORMATION, at, |_, payload| push_text(payload, &process.os_version));
        for type_id in id::METHOD_CALL..=id::NOTE {
            self.event(id::ACTIVE_SETTING, at, |_, payload| {
                varint::push(payload, u64::from(type_id));
                push_text(payload, "enabled");
                push_text(payload, "true");
            });
        }
        self.configuration_at(at, "agent.version", &process.agent_version);
        self.configuration_at(at, "config", &process.config_text);
    }
}
