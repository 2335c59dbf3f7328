//! Boot media with the first configuration of a machine, by `boot.from`.
//!
//! [`render`] writes the files of a node, or returns why the medium cannot contain its configuration: `volume` writes ISOs and
//! USB images, `nocloud` the files for that platform, `kernel` the command line. All of these work with a shared image; only
//! META and an embedded configuration are part of the schematic, and so of the node's own image. [`file_name`] is the file that
//! an operator uses.
//!
//! [`check_size`] checks the complete configuration, which the machine receives later through the Talos API.
//!
//! Not here: the first configuration itself ([`Renderer::boot`](super::machine::Renderer::boot)), and problems visible in the
//! cluster file (rule `boot-carrier`).

mod kernel;
mod nocloud;
mod volume;

use super::artifact::Artifact;
use super::{platform_network, schematic};
use crate::cluster::section::BootFrom;
use crate::plan::NodePlan;
use crate::render::node_issue;
use ichor_talos::command_line::INLINE;
use ichor_talos::release;
use ichor_values::Issue;

pub use nocloud::serial;
pub use volume::BootVolume;

/// The file with a node's first configuration, relative to its folder; none if it comes from a server or through the API.
pub fn file_name(node: &NodePlan) -> Option<&'static str> {
    match node.boot.from.value {
        BootFrom::Cidata => Some("cidata.iso"),
        BootFrom::MetalIso => Some("metal-iso.iso"),
        BootFrom::Meta => Some("meta-10.yaml"),
        BootFrom::NocloudNet => Some("smbios-serial"),
        BootFrom::Embedded => Some("schematic.yaml"),
        BootFrom::Early | BootFrom::Inline => Some("cmdline"),
        BootFrom::Netboot | BootFrom::Apply => None,
    }
}

/// Renders the boot media and schematic of a node; `boot` is the text of its first configuration, which may be empty.
pub fn render(node: &NodePlan, boot: &str) -> Result<Vec<Artifact>, Issue> {
    if let Some(readers) = node.password_readers() {
        return Err(medium_error(node, &format!("{readers} could read the password of a BGP session")));
    }
    let from = node.boot.from.value;
    if boot.is_empty() && wants_documents(from) {
        return Err(medium_error(node, "the configuration is empty, with which Talos reboots in a loop"));
    }
    let embedded = (from == BootFrom::Embedded).then_some(boot);
    let schematic = schematic::node_schematic(node, embedded).map_err(|error| node_issue(node, &error))?;
    let mut files = match from {
        BootFrom::Cidata => volume::render(node, "cidata", nocloud::files(node, boot))?,
        BootFrom::MetalIso => volume::render(node, "metal-iso", vec![("config.yaml", boot.to_owned())])?,
        BootFrom::Meta => vec![Artifact::public(path(node, "meta-10.yaml"), platform_network::text(node))],
        BootFrom::NocloudNet => nocloud::render(node, boot)?,
        BootFrom::Early => vec![kernel::render(node, &schematic, INLINE[0], boot)?],
        BootFrom::Inline => vec![kernel::render(node, &schematic, INLINE[1], boot)?],
        BootFrom::Embedded | BootFrom::Netboot | BootFrom::Apply => Vec::new(),
    };
    files.push(Artifact::public(path(node, "schematic.yaml"), schematic.canonical()));
    Ok(files)
}

/// Checks the size of a node's complete configuration, which the Talos API receives in one message.
///
/// Up to 1.12 the limit of the API in maintenance mode is gRPC's default of 4 MiB; later it is 32 MiB, as on installed
/// machines.
pub(crate) fn check_size(node: &NodePlan, machine: &str) -> Result<(), Issue> {
    /// Reserve for the other fields of the message.
    const FRAME: usize = 1 << 10;
    let largest = if release::at_least(&node.talos.value, 13) { 32 } else { 4 };
    if machine.len() + FRAME <= largest << 20 {
        return Ok(());
    }
    let reason = format!(
        "the configuration exceeds the {largest} MiB that Talos {} accepts in one message: remove manifests, which can \
         be applied when the cluster runs",
        node.talos.value
    );
    Err(Issue::error(node.path(""), reason))
}

/// Whether a medium has only the documents of the first configuration.
fn wants_documents(from: BootFrom) -> bool {
    matches!(from, BootFrom::MetalIso | BootFrom::Embedded | BootFrom::Early | BootFrom::Inline)
}

fn path(node: &NodePlan, name: &str) -> String {
    format!("nodes/{}/{name}", node.name)
}

/// The error that a node's boot medium cannot be written, with one that works.
fn medium_error(node: &NodePlan, why: &str) -> Issue {
    let (from, other) = (node.boot.from.value, node.suitable_boot_source());
    let alternative = if from == other { String::new() } else { format!("; use `boot.from: {other}`") };
    Issue::error(node.path("boot.from"), format!("{from}: {why}{alternative}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::planned;

    #[test]
    fn the_size_limit_of_a_configuration_depends_on_the_release() {
        let plan = planned(
            "{cluster: {name: sol, id: 1, talos: v1.12.4},
              nodes: [{name: a, role: controlplane, index: 1}, {name: b, index: 2, talos: v1.13.9}]}",
        );
        let [old, new] = &plan.nodes[..] else { panic!("two nodes") };
        let five = " ".repeat(5 << 20);

        let error = check_size(old, &five).unwrap_err().to_string();

        let expected =
            "nodes.a: the configuration exceeds the 4 MiB that Talos v1.12.4 accepts in one message";
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(check_size(old, &five[..1 << 20]), Ok(()));
        assert_eq!(check_size(new, &five), Ok(()));
        assert!(check_size(new, &" ".repeat(32 << 20)).is_err());
    }
}
