//! A cluster on disk: its file, its plan and what is wrong with it.

use std::cell::OnceCell;
use std::path::Path;

use ichor_core::cluster::load;
use ichor_core::model::{self, Cluster};
use ichor_core::plan::attachment::Attachments;
use ichor_core::plan::{self, NodePlan, Plan};
use ichor_core::rules::{self, Context, Finding};
use ichor_values::source::Sources;

use crate::cilium::Rendered;
use crate::disk::{Disk, Regular};
use crate::refused::Refused;

/// A cluster file that was understood.
pub(crate) struct Project {
    /// The texts it was read from.
    pub sources: Sources,
    pub cluster: Cluster,
    pub plan: Plan,
    name: String,
    attachments: OnceCell<Attachments>,
    cilium: OnceCell<Rendered>,
}

/// Reads the cluster file at `path` and decides everything about it.
pub(crate) fn open(path: &Path) -> Result<Project, Refused> {
    let name = path.to_str().ok_or(Refused::Path)?.to_owned();
    let loaded = load(&name, &mut Disk);
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
        Err(problems) => Err(Refused::ClusterFile { name, sources, problems }),
    }
}

/// A name that is no node's.
#[derive(Debug, thiserror::Error)]
#[error("there is no node `{0}`; `ichor show nodes` lists them")]
pub(crate) struct UnknownNode(pub String);

impl Project {
    /// Applies every rule.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let attachments = self.attachments();
        rules::check(&Context { cluster: &self.cluster, plan: &self.plan, attachments })
    }

    /// Every file that the cluster file names, read once.
    pub(crate) fn attachments(&self) -> &Attachments {
        self.attachments.get_or_init(|| Attachments::gather(&self.cluster, &self.name, &mut Regular))
    }

    /// Cilium as it goes into configurations, rendered once.
    pub(crate) fn cilium(&self) -> &Rendered {
        self.cilium.get_or_init(|| Rendered::of(self))
    }

    /// The node of this name.
    pub(crate) fn node(&self, name: &str) -> Result<&NodePlan, UnknownNode> {
        self.plan.node(name).ok_or_else(|| UnknownNode(name.to_owned()))
    }

    /// The nodes of these names in the order of the file; all of them where none is named.
    pub(crate) fn chosen(&self, only: &[String]) -> Result<Vec<&NodePlan>, UnknownNode> {
        only.iter().try_for_each(|name| self.node(name).map(drop))?;
        let is_chosen =
            |node: &&NodePlan| only.is_empty() || only.iter().any(|name| name == node.name.as_str());
        Ok(self.plan.nodes.iter().filter(is_chosen).collect())
    }

    /// The cluster file's own name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}
