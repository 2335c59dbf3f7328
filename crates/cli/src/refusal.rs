//! Negative results of commands, such as problems in the cluster file.
//!
//! A command returns a [`Refusal`] as its error. `main` prints it and exits with its status; any other error is printed
//! as a chain of causes.

use std::io::{self, Write};
use std::process::ExitCode;

use ichor_core::rules::{self, Finding};
use ichor_values::{FileIssue, Issue, Location, Sources};

use crate::project::Project;
use crate::{report, style};

/// A negative result of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The path of a cluster file is not UTF-8.
    #[error("the path of the cluster file is not UTF-8")]
    Path,
    /// The cluster file is invalid.
    #[error("{name} has problems")]
    ClusterFile {
        name: String,
        /// Source texts of the cluster file.
        sources: Sources,
        problems: Vec<FileIssue>,
    },
    /// Rules found errors in the cluster.
    #[error("the cluster has errors")]
    Findings {
        sources: Sources,
        findings: Vec<Finding>,
        /// Locations of secrets in the sources.
        hidden: Vec<Location>,
        consequence: &'static str,
    },
    /// Files cannot be rendered.
    #[error("cannot render files")]
    Unrendered { errors: Vec<Issue>, consequence: Option<&'static str> },
    /// Other reasons, as text.
    #[error("{}", .0.join("; "))]
    Reasons(Vec<String>),
    /// The user declined the confirmation.
    #[error("nothing was changed")]
    Declined,
    /// All reasons were printed already.
    #[error("the command has a negative result")]
    Printed,
}

impl Refusal {
    /// Creates a refusal for a cluster in which rules found errors.
    pub(crate) fn findings(project: Project, findings: Vec<Finding>, consequence: &'static str) -> Self {
        let hidden = rules::secret_locations(&project.cluster);
        Self::Findings { sources: project.sources, findings, hidden, consequence }
    }

    /// Creates a refusal with a text for each reason.
    pub(crate) fn reasons<R: ToString>(all: impl IntoIterator<Item = R>) -> Self {
        Self::Reasons(all.into_iter().map(|reason| reason.to_string()).collect())
    }

    /// Prints the refusal and returns its exit status.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<ExitCode> {
        match self {
            Self::Path => {
                style::say_error(&self.to_string());
                return Ok(ExitCode::from(2));
            }
            Self::ClusterFile { name, sources, problems } => {
                report::problems(out, name, sources, problems)?;
                if problems.iter().any(|problem| problem.unreadable) {
                    return Ok(ExitCode::from(2));
                }
            }
            Self::Findings { sources, findings, hidden, consequence } => {
                report::findings(out, sources, findings, hidden)?;
                style::say(consequence);
            }
            Self::Unrendered { errors, consequence } => {
                report::unrendered(out, errors)?;
                if let Some(consequence) = consequence {
                    style::say(consequence);
                }
            }
            Self::Reasons(reasons) => reasons.iter().for_each(|reason| style::say_error(reason)),
            Self::Declined => style::say(&self.to_string()),
            Self::Printed => {}
        }
        Ok(ExitCode::FAILURE)
    }
}
