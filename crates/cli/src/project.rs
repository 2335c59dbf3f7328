//! A cluster on disk: its file, its plan and what is wrong with it.

use std::cell::OnceCell;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use ichor_core::cluster::load;
use ichor_core::model::{self, Cluster};
use ichor_core::plan::attachment::Attachments;
use ichor_core::plan::{self, NodePlan, Plan};
use ichor_core::rules::{self, Context, Finding};
use ichor_values::FileIssue;
use ichor_values::source::Sources;

use crate::cilium::Rendered;
use crate::disk::{Disk, Regular};
use crate::report;

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

/// A cluster file that was not.
pub(crate) struct Refused {
    pub sources: Sources,
    pub problems: Vec<FileIssue>,
}

impl Refused {
    /// Tells every problem of the file at `path`, and gives the exit status of a command that stops there.
    pub(crate) fn report(&self, path: &Path, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        report::problems(out, &path.display().to_string(), &self.sources, &self.problems)?;
        let unreadable = self.problems.iter().any(|problem| problem.unreadable);
        Ok(ExitCode::from(if unreadable { 2 } else { 1 }))
    }
}

/// Reads the cluster file at `path` and decides everything about it.
pub(crate) fn open(path: &Path) -> anyhow::Result<Result<Project, Refused>> {
    let name = path.to_str().context("a path that is not UTF-8")?.to_owned();
    let loaded = load(&name, &mut Disk);
    let sources = loaded.sources;
    Ok(match model::validate(loaded.file, loaded.problems) {
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
        Err(problems) => Err(Refused { sources, problems }),
    })
}

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
    pub(crate) fn node(&self, name: &str) -> anyhow::Result<&NodePlan> {
        let found = self.plan.node(name);
        found.with_context(|| format!("there is no node `{name}`; `ichor show nodes` lists them"))
    }

    /// The nodes of these names in the order of the file; all of them where none is named.
    pub(crate) fn chosen(&self, only: &[String]) -> anyhow::Result<Vec<&NodePlan>> {
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
