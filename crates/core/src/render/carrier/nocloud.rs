//! The files that Talos reads on the nocloud platform, from a volume or from a server.

use serde_json::json;

use super::{path, refused};
use crate::cluster::section::BootFrom;
use crate::plan::{ConfigStage, NodePlan};
use crate::render::artifact::Artifact;
use crate::render::machine::network::network_config;
use ichor_values::Issue;
use ichor_values::go_yaml::emit::emit;

/// `meta-data`, `network-config` and, where there is something in it, `user-data`.
///
/// Talos applies `meta-data` only where it can read `network-config`, so that is always there.
pub fn files(node: &NodePlan, boot: &str) -> Vec<(&'static str, String)> {
    let name = node.name.as_str();
    let mut files = vec![
        ("meta-data", emit(&json!({"instance-id": name, "local-hostname": name}))),
        ("network-config", network_config(node, ConfigStage::Boot)),
    ];
    if !boot.is_empty() {
        files.push(("user-data", boot.to_owned()));
    }
    files
}

/// The serial number that sends Talos to the server, and the folder `nocloud` with what it asks for there.
pub(crate) fn render(node: &NodePlan, boot: &str) -> Result<Vec<Artifact>, Issue> {
    let serial = serial(node).ok_or_else(|| refused(node, "there is no `boot.server`"))?;
    let served = files(node, boot).into_iter().map(|(name, text)| {
        let artifact = if name == "user-data" { Artifact::private } else { Artifact::public };
        artifact(path(node, &format!("nocloud/{name}")), text)
    });
    let mut made = vec![Artifact::public(path(node, "smbios-serial"), format!("{serial}\n"))];
    made.extend(served);
    Ok(made)
}

/// The serial number in SMBIOS of a machine that starts by `nocloud-net`.
pub fn serial(node: &NodePlan) -> Option<String> {
    let server = node.boot.server.as_ref().filter(|_| node.boot.from.value == BootFrom::NocloudNet)?;
    let server = server.value.as_str().trim_end_matches('/');
    Some(format!("ds=nocloud-net;s={server}/nocloud/{}/", node.name))
}
