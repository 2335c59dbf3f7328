//! The answer is no: what keeps a command from what it is for.
//!
//! A command returns it as its error. `main` recognises it, prints it and ends with its exit status; any other error is printed
//! as one chain of causes.

use std::io::{self, Write};
use std::process::ExitCode;

use ichor_core::rules::{self, Finding};
use ichor_values::{FileIssue, Issue, Location, Sources};

use crate::project::Project;
use crate::{report, style};

/// Why the answer is no.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// The name of a cluster file is not text.
    #[error("a path that is not UTF-8")]
    Path,
    /// A cluster file was not understood.
    #[error("{name} has problems")]
    ClusterFile {
        name: String,
        /// The texts it was read from.
        sources: Sources,
        problems: Vec<FileIssue>,
    },
    /// Rules find errors in a cluster.
    #[error("the cluster has errors")]
    Findings {
        sources: Sources,
        findings: Vec<Finding>,
        /// Where secrets are in the sources.
        hidden: Vec<Location>,
        consequence: &'static str,
    },
    /// Files cannot be rendered.
    #[error("files cannot be rendered")]
    Unrendered { errors: Vec<Issue>, consequence: Option<&'static str> },
    /// Anything else, each reason in words.
    #[error("{}", .0.join("; "))]
    Reasons(Vec<String>),
    /// The person who was asked does not agree.
    #[error("nothing was done")]
    Declined,
    /// All reasons were printed when they were found.
    #[error("the answer is no")]
    Printed,
}

impl Refusal {
    /// A cluster in which rules found errors.
    pub(crate) fn findings(project: Project, findings: Vec<Finding>, consequence: &'static str) -> Self {
        let hidden = rules::secret_places(&project.cluster);
        Self::Findings { sources: project.sources, findings, hidden, consequence }
    }

    /// Everything of this kind, each in words.
    pub(crate) fn reasons<R: ToString>(all: impl IntoIterator<Item = R>) -> Self {
        Self::Reasons(all.into_iter().map(|reason| reason.to_string()).collect())
    }

    /// Prints it, and gives the exit status of the command that stops there.
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
