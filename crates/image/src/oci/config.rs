//! The configuration of an image: which machines it is for, and the sums of its unpacked layers.

use serde_json::{Value, json};

use super::digest::Digest;
use super::error::OciError;
use ichor_values::Arch;
use ichor_values::Moment;
use ichor_values::read::Scalar as _;

/// The keys that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageConfig {
    /// The architecture, where it is one of ours and the system is Linux.
    pub arch: Option<Arch>,
    /// The sums of the layers, the lowest first.
    pub(crate) diff_ids: Vec<Digest>,
    value: Value,
}

impl ImageConfig {
    pub(super) fn read(bytes: &[u8], what: &str) -> Result<Self, OciError> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| OciError::json(what, format!("not JSON: {error}")))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let arch = text("architecture").filter(|_| text("os") == Some("linux"));
        let sums = value.get("rootfs").and_then(|root| root.get("diff_ids")).and_then(Value::as_array);
        let sums = sums.ok_or_else(|| OciError::json(what, "`rootfs.diff_ids` is not a list"))?;
        let sum = |sum: &Value| {
            let wrong = || OciError::json(what, "an item of `rootfs.diff_ids` is not a SHA-256 digest");
            sum.as_str().and_then(Digest::parse).ok_or_else(wrong)
        };
        let arch = arch.and_then(|arch| Arch::parse(arch).ok());
        let diff_ids = sums.iter().map(sum).collect::<Result<_, _>>()?;
        Ok(Self { arch, diff_ids, value })
    }

    /// The configuration of an image that runs as this one does, of its first layers and one more.
    pub(super) fn with_layer(
        &self,
        arch: Arch,
        created: Moment,
        kept: usize,
        diff_id: &Digest,
        by: &str,
    ) -> Vec<u8> {
        let sums: Vec<_> = self.diff_ids.iter().take(kept).chain([diff_id]).map(Digest::to_string).collect();
        let mut history = self.history(kept);
        history.push(json!({"created": created.to_string(), "created_by": by}));
        let value = json!({
            "created": created.to_string(),
            "architecture": arch.word(),
            "os": "linux",
            "config": self.value.get("config").filter(|it| it.is_object()).cloned().unwrap_or_else(|| json!({})),
            "rootfs": {"type": "layers", "diff_ids": sums},
            "history": history,
        });
        value.to_string().into_bytes()
    }

    /// The history of the first layers, up to the first layer that is not kept. If it does not match the layers, it is an
    /// empty entry for each.
    fn history(&self, kept: usize) -> Vec<Value> {
        let entries = self.value.get("history").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_layer = |item: &Value| item.get("empty_layer").and_then(Value::as_bool) != Some(true);
        if entries.iter().filter(|item| is_layer(item)).count() != self.diff_ids.len() {
            return vec![json!({}); kept];
        }
        let mut layers = 0;
        let is_kept = |item: &&Value| {
            layers += usize::from(is_layer(item));
            layers <= kept
        };
        entries.iter().take_while(is_kept).cloned().collect()
    }
}

/// The configuration of an image of one layer that is never run.
pub(super) fn write(arch: Arch, created: Moment, diff_id: &Digest) -> Vec<u8> {
    let value = json!({
        "created": created.to_string(),
        "architecture": arch.word(),
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": [diff_id.to_string()]},
    });
    value.to_string().into_bytes()
}
