//! Talos' API as real nodes and the simulator answer it.
//!
//! [`calls`] is the list of calls, [`wire`] makes them without ichor's message types, [`schema`] decodes the answers by Talos' own
//! definitions, [`answers`] normalizes them, and a [`session`](session::Session) does it all. What real nodes answered is in `data`, by release: the tests of
//! `image_boot::lab::answers` record it (`UPDATE_GOLDEN=1`) and compare, and [`simulator`] compares the simulator with it.
//! [`declared`] compares ichor's message types with the definitions.

pub mod answers;
pub mod calls;
pub mod declared;
pub mod schema;
pub mod session;
mod simulator;
pub mod wire;

use std::fs;

use tempfile::TempDir;

use crate::common::{folder, ichor};
use answers::Release;

const SECRETS: &str = include_str!("../../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

/// A built cluster with one control plane in this node network, whose secrets are in `talosctl.yaml`.
pub fn cluster(talos: &str, network: &str) -> TempDir {
    let file = format!(
        "cluster: {{name: lab, id: 12, talos: {talos}}}\nsecrets: secrets.yaml\nnetwork: {{node: {network}}}\n\
         image: {{source: ichor, registry: ghcr.io/example/talos}}\n\
         defaults: {{platform: nocloud, boot: {{from: cidata}}, install: {{disk: /dev/sda}}}}\n\
         nodes: [{{name: n1, role: controlplane, index: 1, macs: [\"52:54:00:12:00:01\"]}}]\n"
    );
    let build = folder(&[("ichor.yaml", &file), ("talosctl.yaml", SECRETS)]);
    for words in ["secrets import talosctl.yaml --plain -o secrets.yaml", "build"] {
        let run = ichor(build.path(), words);
        assert_eq!(run.code, 0, "{words}: {}", run.all());
    }
    build
}

/// The recorded releases.
pub static RELEASES: [Release; 2] = [Release { version: "v1.13.9" }, Release { version: "v1.14.1" }];

/// The configuration of the node of a [`cluster`], which no server gives the time.
pub fn configuration(build: &TempDir) -> String {
    let path = build.path().join("build/lab/nodes/n1/machine.yaml");
    let text = fs::read_to_string(path).unwrap();
    format!("{}\n---\napiVersion: v1alpha1\nkind: TimeSyncConfig\nenabled: false\n", text.trim_end())
}

/// The release with this version.
pub fn release(version: &str) -> &'static Release {
    RELEASES.iter().find(|release| release.version == version).unwrap()
}

/// The fields that ichor declares exist in every release, with the same name and type.
#[test]
fn messages_have_the_fields_of_real_releases() {
    let declared = declared::Declared::read();
    for release in &RELEASES {
        let (fields, wrong) = declared.compare(&release.schema());

        assert_eq!(wrong, Vec::<String>::new(), "{}", release.version);
        assert!(fields.len() > 90, "{} fields", fields.len());
    }
}
