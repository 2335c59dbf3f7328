//! The declarations of each environment: variables, constants, messages and functions.
//!
//! talos:pkg/machinery/cel/celenv, and the messages of talos:api/resource/definitions.

use super::Environment;
use super::library::{self, Signature};
use super::types::CelType;
use crate::release;
use ichor_values::TalosVersion;

const UNITS: [&str; 12] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "kB", "MB", "GB", "TB", "PB", "EB"];

const CLASSES: [&str; 5] = ["Besteffort", "Burstable", "Guaranteed", "Podruntime", "System"];

const GLOB: &str = "glob(string, string) bool\n";

const GLOB_AND_MAC: &str = "glob(string, string) bool\nmac(bytes) string\n";

/// The function of the OOM trigger, beside those of optional values.
const MULTIPLY: &str = "multiply_qos_vectors(map(dyn, double), map(dyn, double)) double";

/// A message: its name, the package it is in, and its fields with the release that first has them.
struct Message {
    name: &'static str,
    package: &'static str,
    fields: &'static [(u16, &'static str)],
}

const MESSAGES: [Message; 14] = [
    Message {
        name: "DiskSpec",
        package: "talos.resource.definitions.block",
        fields: &[
            (
                0,
                "size uint, io_size uint, sector_size uint, readonly bool, model string, serial string, modalias string, \
                 wwid string, bus_path string, sub_system string, transport string, rotational bool, cdrom bool, \
                 dev_path string, pretty_size string, secondary_disks list(string), uuid string, symlinks list(string)",
            ),
            (14, "firmware_version string"),
        ],
    },
    Message {
        name: "DiscoveredVolumeSpec",
        package: "talos.resource.definitions.block",
        fields: &[
            (
                0,
                "size uint, sector_size uint, io_size uint, name string, uuid string, label string, block_size uint, \
                 filesystem_block_size uint, probed_size uint, partition_uuid string, partition_type string, \
                 partition_label string, partition_index uint, type string, device_path string, parent string, \
                 dev_path string, parent_dev_path string, pretty_size string",
            ),
            (12, "offset uint"),
        ],
    },
    Message {
        name: "LinkStatusSpec",
        package: "talos.resource.definitions.network",
        fields: &[
            (
                0,
                "index uint, type int, link_index uint, flags uint, hardware_addr bytes, broadcast_addr bytes, mtu uint, \
                 queue_disc string, master_index uint, operational_state int, kind string, slave_kind string, \
                 bus_path string, pciid string, driver string, driver_version string, firmware_version string, \
                 product_id string, vendor_id string, product string, vendor string, link_state bool, \
                 speed_megabits int, port int, duplex int, vlan VLANSpec, bridge_master BridgeMasterSpec, \
                 bond_master BondMasterSpec, wireguard WireguardSpec, permanent_addr bytes, alias string, \
                 alt_names list(string)",
            ),
            (13, "vrf_master VRFMasterSpec"),
            (14, "veth VethSpec"),
        ],
    },
    network("VLANSpec", &[(0, "vid uint, protocol int")]),
    network("BridgeMasterSpec", &[(0, "stp STPSpec, vlan BridgeVLANSpec")]),
    network("STPSpec", &[(0, "enabled bool")]),
    network("BridgeVLANSpec", &[(0, "filtering_enabled bool")]),
    network(
        "BondMasterSpec",
        &[(
            0,
            "mode int, hash_policy int, lacp_rate int, arp_validate int, arp_all_targets int, primary_index uint, \
             primary_reselect int, fail_over_mac int, ad_select int, mii_mon uint, up_delay uint, down_delay uint, \
             arp_interval uint, resend_igmp uint, min_links uint, lp_interval uint, packets_per_slave uint, \
             num_peer_notif uint, tlb_dynamic_lb uint, all_slaves_active uint, use_carrier bool, \
             ad_actor_sys_prio uint, ad_user_port_key uint, peer_notify_delay uint, arpip_targets list(NetIP), \
             nsip6_targets list(NetIP), adlacp_active int, missed_max uint",
        )],
    ),
    network(
        "WireguardSpec",
        &[(
            0,
            "private_key string, public_key string, listen_port int, firewall_mark int, peers list(WireguardPeer)",
        )],
    ),
    network(
        "WireguardPeer",
        &[(
            0,
            "public_key string, preshared_key string, endpoint string, persistent_keepalive_interval duration, \
             allowed_ips list(NetIPPrefix)",
        )],
    ),
    network("VRFMasterSpec", &[(13, "table int")]),
    network("VethSpec", &[(14, "peer_name string")]),
    Message { name: "NetIP", package: "common", fields: &[(0, "ip bytes")] },
    Message { name: "NetIPPrefix", package: "common", fields: &[(0, "ip bytes, prefix_length int")] },
];

const fn network(name: &'static str, fields: &'static [(u16, &'static str)]) -> Message {
    Message { name, package: "talos.resource.definitions.network", fields }
}

impl Environment {
    /// The type an expression has to have.
    pub(super) fn answer(self) -> CelType {
        if self == Environment::OomRanking { CelType::Double } else { CelType::Bool }
    }

    /// Whether values that may be missing can be written, as in `a.?b`.
    pub(super) fn has_optionals(self) -> bool {
        matches!(self, Environment::OomTrigger | Environment::OomRanking)
    }

    /// The ways to call a function.
    pub(super) fn function(self, name: &str) -> Vec<Signature> {
        let mut found = library::find(name, self.table());
        if self.has_optionals() {
            found.extend(library::find_in(name, library::OPTIONALS));
        }
        found
    }

    fn table(self) -> &'static str {
        match self {
            Environment::Disk => GLOB,
            Environment::Link => GLOB_AND_MAC,
            Environment::OomTrigger => MULTIPLY,
            Environment::Volume | Environment::OomRanking => "",
        }
    }

    /// The type of a variable or constant.
    pub(super) fn name(self, name: &str) -> Option<CelType> {
        if self != Environment::Link && UNITS.contains(&name) {
            return Some(CelType::Uint);
        }
        if self.has_optionals() && CLASSES.contains(&name) {
            return Some(CelType::Int);
        }
        match (self, name) {
            (Environment::Disk | Environment::Volume, "disk") => Some(CelType::Message("DiskSpec")),
            (Environment::Disk, "system_disk") => Some(CelType::Bool),
            (Environment::Volume, "volume") => Some(CelType::Message("DiscoveredVolumeSpec")),
            (Environment::Link, "link") => Some(CelType::Message("LinkStatusSpec")),
            (Environment::OomTrigger, _) => trigger(name),
            (Environment::OomRanking, "memory_max" | "memory_current" | "memory_peak") => {
                Some(CelType::optional(CelType::Uint))
            }
            (Environment::OomRanking, "path") => Some(CelType::Text),
            (Environment::OomRanking, "class") => Some(CelType::Int),
            _ => None,
        }
    }
}

/// The metrics of the OOM trigger: per machine or per class of pods, with `d_` the change since the last sample.
fn trigger(name: &str) -> Option<CelType> {
    if name == "time_since_trigger" {
        return Some(CelType::Duration);
    }
    let metric = name.strip_prefix("d_").unwrap_or(name);
    let pressure = |name: &str| {
        name.strip_prefix("memory_some_")
            .or(name.strip_prefix("memory_full_"))
            .is_some_and(|over| ["avg10", "avg60", "avg300", "total"].contains(&over))
    };
    match metric.strip_prefix("qos_") {
        Some(of) if pressure(of) || ["memory_current", "memory_peak", "memory_max"].contains(&of) => {
            Some(CelType::Map(Box::new(CelType::Int), Box::new(CelType::Double)))
        }
        Some(_) => None,
        None => pressure(metric).then_some(CelType::Double),
    }
}

/// The type that a name denotes as a value, such as `uint` in `type(a) == uint`.
pub(crate) fn type_named(name: &str, optionals: bool) -> Option<CelType> {
    Some(match name {
        "bool" => CelType::Bool,
        "bytes" => CelType::Bytes,
        "double" => CelType::Double,
        "int" => CelType::Int,
        "uint" => CelType::Uint,
        "string" => CelType::Text,
        "list" => CelType::list(CelType::Dyn),
        "map" => CelType::Map(Box::new(CelType::Dyn), Box::new(CelType::Dyn)),
        "null_type" => CelType::Null,
        "type" => CelType::Kind(Box::new(CelType::Dyn)),
        "google.protobuf.Duration" => CelType::Duration,
        "google.protobuf.Timestamp" => CelType::Timestamp,
        "optional_type" if optionals => CelType::optional(CelType::Dyn),
        _ => {
            let (package, last) = name.rsplit_once('.')?;
            let message =
                MESSAGES.iter().find(|message| message.name == last && message.package == package)?;
            CelType::Message(message.name)
        }
    })
}

/// The type of a field of a message.
pub(crate) fn field(message: &str, field: &str, talos: &TalosVersion) -> Option<CelType> {
    let message = MESSAGES.iter().find(|known| known.name == message)?;
    let fields = message.fields.iter().filter(|(since, _)| release::at_least(talos, *since));
    fields.flat_map(|(_, fields)| fields.split(", ")).find_map(|line| {
        let kind = line.strip_prefix(field)?.strip_prefix(' ')?;
        Some(library::read_type(kind).0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_that_a_field_has_is_known() {
        let newest = TalosVersion::parse("v1.14.0").unwrap();
        let lines = MESSAGES
            .iter()
            .flat_map(|message| message.fields.iter().map(move |field| (message.name, field.1)));
        for (message, line) in
            lines.flat_map(|(message, line)| line.split(", ").map(move |line| (message, line)))
        {
            let (name, _) = line.split_once(' ').unwrap();
            let mut found = field(message, name, &newest).unwrap();
            if let CelType::List(item) = found {
                found = *item;
            }
            if let CelType::Message(of) = found {
                assert!(MESSAGES.iter().any(|known| known.name == of), "{message}.{name}: {of}");
            }
        }
    }
}
