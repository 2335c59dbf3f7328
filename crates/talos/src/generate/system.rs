//! The documents of the system itself: kernel settings, volumes, isolation.

use serde_json::{Value, json};

use super::contract::Trait;
use super::{ConfigBuilder, document};

impl ConfigBuilder<'_> {
    pub(super) fn system_documents(self) -> Vec<Value> {
        let mut documents = Vec::new();
        if !self.input.sysctls.is_empty() && self.has(Trait::SysctlDocument) {
            documents.push(document("SysctlConfig", json!({"params": self.input.sysctls})));
        }
        if self.has(Trait::FilesystemTrim) {
            documents.push(document("VolumeConfig", json!({"name": "EPHEMERAL", "mount": {"secure": true}})));
            documents.push(document("FilesystemTrimConfig", json!({"interval": "168h0m0s"})));
        }
        if self.has(Trait::WorkloadIsolation) {
            documents.push(document("SecurityProfileConfig", json!({"workloadIsolation": true})));
        }
        documents
    }
}
