//! Problems and findings for people, programs and CI servers.

mod excerpt;
mod json;
mod junit;
mod text;

use std::process::ExitCode;

use ichor_core::routing::ModelError;

use crate::style;

pub(crate) use json::{finding as finding_json, problem as problem_json, unresolved as unresolved_json};
pub(crate) use junit::junit;
pub(crate) use text::{findings, problems, unrendered};

/// Tells what keeps a fabric from being known, and gives the exit status of a command that stops there.
pub(crate) fn underivable(errors: &[ModelError]) -> ExitCode {
    for error in errors {
        style::say(&format!("{}error:{} {error}", style::ERROR, style::ERROR.render_reset()));
    }
    ExitCode::from(1)
}
