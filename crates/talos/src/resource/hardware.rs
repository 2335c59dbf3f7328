//! The hardware of a machine.

use serde::Deserialize;

use super::ResourceKind;

/// A disk; named as the kernel names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// Such as `/dev/sda`.
    pub dev_path: String,
    /// Bytes.
    pub size: u64,
    /// Bytes, for people.
    pub pretty_size: String,
    /// Whether nothing can be written.
    pub readonly: bool,
    /// Whether it is a drive for CDs.
    pub cdrom: bool,
    /// The model.
    pub model: String,
    /// Such as `nvme` or `virtio`.
    pub transport: String,
}

impl ResourceKind for Disk {
    const TYPE: &'static str = "Disks.block.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// The system information of the firmware; its only instance is named `systeminformation`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SystemInformation {
    /// The manufacturer.
    pub manufacturer: String,
    /// The product name.
    pub product_name: String,
    /// Its serial number.
    #[serde(rename = "serialnumber")]
    pub serial: String,
    /// Its UUID.
    pub uuid: String,
}

impl SystemInformation {
    /// The name of the one there is.
    pub const ID: &str = "systeminformation";
}

impl ResourceKind for SystemInformation {
    const TYPE: &'static str = "SystemInformations.hardware.talos.dev";
    const NAMESPACE: &'static str = "hardware";
}
