//! One machine: the release it runs, its links, and how it starts and is installed.

mod boot;
mod dhcp;
mod image;
mod install;
pub(super) mod link;
mod link_name;
mod release;
mod schematic;

use super::Group;

/// The rules by subject.
pub(super) const GROUPS: &[Group] = &[
    ("Releases", release::RULES),
    ("Links", link::RULES),
    ("DHCP", dhcp::RULES),
    ("Installation", install::RULES),
    ("Boot", boot::RULES),
    ("Images", image::RULES),
    ("Schematics", schematic::RULES),
];
