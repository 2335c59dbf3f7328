//! The files that Talos reads on the nocloud platform, from a volume or from a server.

use serde_json::json;

use super::{medium_error, path};
use crate::cluster::section::BootFrom;
use crate::plan::{ConfigStage, NodePlan};
use crate::render::artifact::Artifact;
use crate::render::machine::network::network_config;
use ichor_values::Issue;
use ichor_values::go_yaml::emit::emit;

/// `meta-data`, `network-config` and, if it is not empty, `user-data`.
///
/// Talos applies `meta-data` only if it can read `network-config`, so that file always exists.
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

/// The SMBIOS serial with the server's URL, and the folder `nocloud` with the files to serve.
pub(crate) fn render(node: &NodePlan, boot: &str) -> Result<Vec<Artifact>, Issue> {
    let serial = serial(node).ok_or_else(|| medium_error(node, "`boot.server` is not set"))?;
    let files = files(node, boot).into_iter().map(|(name, text)| {
        let artifact = if name == "user-data" { Artifact::private } else { Artifact::public };
        artifact(path(node, &format!("nocloud/{name}")), text)
    });
    let mut artifacts = vec![Artifact::public(path(node, "smbios-serial"), format!("{serial}\n"))];
    artifacts.extend(files);
    Ok(artifacts)
}

/// The SMBIOS serial of a machine with `nocloud-net`.
pub fn serial(node: &NodePlan) -> Option<String> {
    let server = node.boot.server.as_ref().filter(|_| node.boot.from.value == BootFrom::NocloudNet)?;
    let server = server.value.as_str().trim_end_matches('/');
    Some(format!("ds=nocloud-net;s={server}/nocloud/{}/", node.name))
}
