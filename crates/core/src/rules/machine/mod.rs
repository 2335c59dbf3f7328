//! One machine: the release it runs, its links, and how it starts and is installed.

mod boot;
mod carrier;
mod dhcp;
mod image;
mod install;
pub(super) mod link;
mod link_name;
mod port;
mod release;
mod schematic;
mod vm;

use super::Group;

/// The rules by subject.
pub(super) const GROUPS: &[Group] = &[
    ("Releases", release::RULES),
    ("Links", link::RULES),
    ("Ports", port::RULES),
    ("DHCP", dhcp::RULES),
    ("Installation", install::RULES),
    ("First configuration", carrier::RULES),
    ("Hypervisors", boot::RULES),
    ("Virtual machines", vm::RULES),
    ("Images", image::RULES),
    ("Schematics", schematic::RULES),
];
