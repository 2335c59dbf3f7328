//! The configuration of an image: which machines it is for, and the sums of its unpacked layers.

use serde_json::{Value, json};

use super::digest::Digest;
use super::error::ReadError;
use crate::cluster::read::Scalar as _;
use crate::cluster::section::Arch;
use crate::moment::Moment;

/// What is read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// The architecture, where it is one of ours and the system is Linux.
    pub arch: Option<Arch>,
    /// The sums of the layers, the lowest first.
    pub diff_ids: Vec<Digest>,
}

impl Config {
    pub(super) fn read(bytes: &[u8], what: &str) -> Result<Self, ReadError> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| ReadError::json(what, format!("not JSON: {error}")))?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let arch = text("architecture").filter(|_| text("os") == Some("linux"));
        let sums = value.get("rootfs").and_then(|root| root.get("diff_ids")).and_then(Value::as_array);
        let sums = sums.ok_or_else(|| ReadError::json(what, "`rootfs.diff_ids` is not a list"))?;
        let sum = |sum: &Value| {
            let wrong = || ReadError::json(what, "an item of `rootfs.diff_ids` is no SHA-256 digest");
            sum.as_str().and_then(Digest::parse).ok_or_else(wrong)
        };
        let arch = arch.and_then(|arch| Arch::parse(arch).ok());
        Ok(Self { arch, diff_ids: sums.iter().map(sum).collect::<Result<_, _>>()? })
    }
}

/// The configuration of an image that is made here.
pub(super) fn write(arch: Arch, created: Moment, diff_ids: &[Digest]) -> Vec<u8> {
    let sums: Vec<_> = diff_ids.iter().map(Digest::to_string).collect();
    let value = json!({
        "created": created.to_string(),
        "architecture": arch.word(),
        "os": "linux",
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": sums},
    });
    value.to_string().into_bytes()
}
