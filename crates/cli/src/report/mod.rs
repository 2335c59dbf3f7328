//! Problems and findings for people, programs and CI servers.

mod excerpt;
mod json;
mod junit;
mod text;

pub(crate) use json::{finding as finding_json, problem as problem_json, unresolved as unresolved_json};
pub(crate) use junit::junit;
pub(crate) use text::{findings, problems};
