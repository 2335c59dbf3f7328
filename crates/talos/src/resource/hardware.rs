//! What the machine is made of.

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
    /// What its maker calls it.
    pub model: String,
    /// Such as `nvme` or `virtio`.
    pub transport: String,
}

impl ResourceKind for Disk {
    const TYPE: &'static str = "Disks.block.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// What the firmware says of the machine; the one is named `systeminformation`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SystemInformation {
    /// Who made it.
    pub manufacturer: String,
    /// What they call it.
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
