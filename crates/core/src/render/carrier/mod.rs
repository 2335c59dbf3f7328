//! What brings a machine its first configuration, as `boot.from` says.
//!
//! [`render`] makes its files, or says why this carrier cannot hold what the node needs: `volume` makes CDs and images for USB
//! sticks, `nocloud` the files that Talos reads on that platform, `kernel` the command line. The image is the same for all of
//! them, and a carrier is small; only META and an embedded configuration are part of the schematic, and so of an image of the
//! node's own. [`file()`] names what a person takes in hand.
//!
//! [`check_size`] is about the other way to a machine, its API, by which it gets the whole configuration later.
//!
//! Not here: what the first configuration is ([`Renderer::boot`](super::machine::Renderer::boot)), and what is wrong with a carrier
//! by the file alone (the rule `boot-carrier`).

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

/// The file of a node that carries its first configuration, from its folder; none where somebody else brings it.
pub fn file(node: &NodePlan) -> Option<&'static str> {
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

/// The carrier of a node, and its schematic. `boot` is the text of its first configuration, which may be empty.
pub fn render(node: &NodePlan, boot: &str) -> Result<Vec<Artifact>, Issue> {
    if let Some(who) = node.shows_passwords_to() {
        return Err(refused(node, &format!("the password of a BGP session would be shown to {who}")));
    }
    let from = node.boot.from.value;
    if boot.is_empty() && wants_documents(from) {
        return Err(refused(
            node,
            "it would be empty, and Talos starts again for ever with an empty configuration",
        ));
    }
    let embedded = (from == BootFrom::Embedded).then_some(boot);
    let schematic = schematic::of(node, embedded).map_err(|error| node_issue(node, &error))?;
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

/// Whether a machine takes its whole configuration, which the Talos API brings it in one message; no carrier holds it.
///
/// Up to 1.12 the API of maintenance mode takes what gRPC takes by itself, 4 MiB; later it is the same that installed machines
/// have, with 32 MiB.
pub(crate) fn check_size(node: &NodePlan, machine: &str) -> Result<(), Issue> {
    /// For what the message has beside it.
    const FRAME: usize = 1 << 10;
    let largest = if release::at_least(&node.talos.value, 13) { 32 } else { 4 };
    if machine.len() + FRAME <= largest << 20 {
        return Ok(());
    }
    let reason = format!(
        "its configuration is longer than the {largest} MiB that Talos {} takes at once: leave out manifests, which can be \
         applied when the cluster runs",
        node.talos.value
    );
    Err(Issue::error(node.path(""), reason))
}

/// Whether a carrier has nothing but the documents of the first configuration.
fn wants_documents(from: BootFrom) -> bool {
    matches!(from, BootFrom::MetalIso | BootFrom::Embedded | BootFrom::Early | BootFrom::Inline)
}

fn path(node: &NodePlan, name: &str) -> String {
    format!("nodes/{}/{name}", node.name)
}

/// Why the carrier of a node cannot be made, and which one would do.
fn refused(node: &NodePlan, why: &str) -> Issue {
    let (from, other) = (node.boot.from.value, node.fitting_carrier());
    let remedy = if from == other { String::new() } else { format!("; `boot.from: {other}` would do") };
    Issue::error(node.path("boot.from"), format!("{from}: {why}{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::planned;

    #[test]
    fn a_configuration_is_no_longer_than_the_release_takes() {
        let plan = planned(
            "{cluster: {name: sol, id: 1, talos: v1.12.4},
              nodes: [{name: a, role: controlplane, index: 1}, {name: b, index: 2, talos: v1.13.9}]}",
        );
        let [old, new] = &plan.nodes[..] else { panic!("two nodes") };
        let five = " ".repeat(5 << 20);

        let refused = check_size(old, &five).unwrap_err().to_string();

        let told = "nodes.a: its configuration is longer than the 4 MiB that Talos v1.12.4 takes at once";
        assert!(refused.starts_with(told), "{refused}");
        assert_eq!(check_size(old, &five[..1 << 20]), Ok(()));
        assert_eq!(check_size(new, &five), Ok(()));
        assert!(check_size(new, &" ".repeat(32 << 20)).is_err());
    }
}
