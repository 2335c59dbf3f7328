//! Files of nodes: the output of a build with the secrets of the tests.

use std::fmt;

use ichor_core::cluster::{Files, load};
use ichor_core::model::Cluster;
use ichor_core::plan::Plan;
use ichor_core::plan::attachment::Attachments;
use ichor_core::render::machine::encrypted_patches;
use ichor_core::render::tree::{PatchTexts, RenderInputs, Renderer};
use ichor_talos::secrets::Bundle;
use ichor_values::Issue;

const SECRETS: &str = include_str!("../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

/// The content of every encrypted patch.
const OPENED: &str = "machine: {certSANs: [opened.sol.example]}";

/// The inputs of a rendering beside a cluster and its plan.
pub struct RenderFixture {
    pub attachments: Attachments,
    pub patches: PatchTexts,
    pub bundle: Bundle,
    pub cilium: Result<&'static str, &'static str>,
}

impl RenderFixture {
    /// The files that a cluster names, and secrets of its own.
    pub fn new(cluster: &Cluster, files: &mut dyn Files) -> Self {
        let opened = |path| (path, Ok(OPENED.to_owned()));
        Self {
            attachments: Attachments::gather(cluster, "ichor.yaml", files),
            patches: encrypted_patches(cluster).into_iter().map(opened).collect(),
            bundle: bundle(),
            cilium: Ok(super::CILIUM),
        }
    }

    /// Gives the inputs of a build to `make`.
    pub fn with<T>(&self, (cluster, plan): (&Cluster, &Plan), make: impl FnOnce(RenderInputs<'_>) -> T) -> T {
        make(RenderInputs {
            cluster,
            plan,
            bundle: &self.bundle,
            attachments: &self.attachments,
            cilium: self.cilium,
            patches: &self.patches,
            secret: &|_| Ok(super::routing::PASSWORD.to_owned()),
        })
    }
}

/// The secrets of the tests.
pub fn bundle() -> Bundle {
    Bundle::read(SECRETS).unwrap()
}

/// Calls `make` for the nodes of the cluster in `ichor.yaml`; or returns all its problems.
pub fn of_files<T>(
    files: &mut dyn Files,
    make: impl FnOnce(&Renderer<'_>, &Plan) -> Result<T, Vec<Issue>>,
) -> Result<T, Vec<Issue>> {
    let (cluster, plan) = super::planned(load("ichor.yaml", files));
    RenderFixture::new(&cluster, files).with((&cluster, &plan), |inputs| make(&Renderer::new(inputs)?, &plan))
}

/// Everything that is wrong, one on a line.
#[derive(Debug)]
pub struct RenderErrors(pub Vec<Issue>);

impl fmt::Display for RenderErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join("\n"))
    }
}

/// The same of a cluster that names no files.
pub fn rendered<T>(
    cluster: &Cluster,
    plan: &Plan,
    make: impl FnOnce(&Renderer<'_>) -> Result<T, Vec<Issue>>,
) -> Result<T, RenderErrors> {
    let beside = RenderFixture::new(cluster, &mut super::SingleFile(Vec::new()));
    let made = beside.with((cluster, plan), |inputs| make(&Renderer::new(inputs)?));
    made.map_err(RenderErrors)
}
