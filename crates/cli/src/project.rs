//! A cluster file with its plan and findings.

use std::cell::OnceCell;
use std::path::Path;

use ichor_core::cluster::load;
use ichor_core::model::{self, Cluster};
use ichor_core::plan::attachment::Attachments;
use ichor_core::plan::{self, NodePlan, Plan};
use ichor_core::rules::{self, Finding, RuleContext};
use ichor_values::source::Sources;

use crate::cilium::CiliumManifest;
use crate::disk::{DiskFiles, RegularFiles};
use crate::refusal::Refusal;

/// A valid cluster file and its plan.
pub(crate) struct Project {
    /// Source texts, for excerpts.
    pub sources: Sources,
    pub cluster: Cluster,
    pub plan: Plan,
    name: String,
    attachments: OnceCell<Attachments>,
    cilium: OnceCell<CiliumManifest>,
}

/// Loads, validates and plans the cluster file at `path`.
pub(crate) fn open(path: &Path) -> Result<Project, Refusal> {
    let name = path.to_str().ok_or(Refusal::Path)?.to_owned();
    let loaded = load(&name, &mut DiskFiles);
    let sources = loaded.sources;
    match model::validate(loaded.file, loaded.problems) {
        Ok(cluster) => {
            let plan = plan::plan(&cluster);
            Ok(Project {
                sources,
                cluster,
                plan,
                name,
                attachments: OnceCell::new(),
                cilium: OnceCell::new(),
            })
        }
        Err(problems) => Err(Refusal::ClusterFile { name, sources, problems }),
    }
}

/// A name that is not in the cluster file.
#[derive(Debug, thiserror::Error)]
#[error("unknown node `{0}`; `ichor show nodes` lists all nodes")]
pub(crate) struct UnknownNode(pub String);

impl Project {
    /// Applies every rule.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let attachments = self.attachments();
        rules::check(&RuleContext { cluster: &self.cluster, plan: &self.plan, attachments })
    }

    /// Files named by the cluster file, read once.
    pub(crate) fn attachments(&self) -> &Attachments {
        self.attachments.get_or_init(|| Attachments::gather(&self.cluster, &self.name, &mut RegularFiles))
    }

    /// The Cilium manifest, rendered once.
    pub(crate) fn cilium(&self) -> &CiliumManifest {
        self.cilium.get_or_init(|| CiliumManifest::render(self))
    }

    /// The node of this name.
    pub(crate) fn node(&self, name: &str) -> Result<&NodePlan, UnknownNode> {
        self.plan.node(name).ok_or_else(|| UnknownNode(name.to_owned()))
    }

    /// Nodes of these names in the order of the file; all nodes if `only` is empty.
    pub(crate) fn chosen(&self, only: &[String]) -> Result<Vec<&NodePlan>, UnknownNode> {
        only.iter().try_for_each(|name| self.node(name).map(drop))?;
        let is_chosen =
            |node: &&NodePlan| only.is_empty() || only.iter().any(|name| name == node.name.as_str());
        Ok(self.plan.nodes.iter().filter(is_chosen).collect())
    }

    /// Name of the cluster file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}
