//! One machine: the release it runs, its links, and how it starts and is installed.

mod carrier;
mod cloud;
mod dhcp;
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
    ("First configuration", carrier::RULES),
    ("Virtual machines", vm::RULES),
    ("Hypervisors", hypervisor::RULES),
    ("Clouds", cloud::RULES),
    ("Images", image::RULES),
    ("Schematics", schematic::RULES),
];
