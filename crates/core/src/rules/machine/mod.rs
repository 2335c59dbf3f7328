//! Machines: their releases, links, boot media and installation.

mod boot_media;
mod cloud;
mod dhcp;
mod extension;
mod hypervisor;
mod image;
mod install;
pub(super) mod link;
mod link_name;
mod port;
mod release;
mod schematic;
mod vm;

use super::RuleGroup;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[
    ("Releases", release::RULES),
    ("Links", link::RULES),
    ("Ports", port::RULES),
    ("DHCP", dhcp::RULES),
    ("Installation", install::RULES),
    ("First configuration", boot_media::RULES),
    ("Virtual machines", vm::RULES),
    ("Hypervisors", hypervisor::RULES),
    ("Clouds", cloud::RULES),
    ("Images", image::RULES),
    ("Extensions", extension::RULES),
    ("Schematics", schematic::RULES),
];
