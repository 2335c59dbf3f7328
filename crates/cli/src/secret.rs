//! Resolves secrets that a cluster file refers to. They are never printed.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ichor_core::cluster::load::resolve_path;
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use ichor_values::Secret;
use serde_json::Value;

use crate::disk::io_reason;
use crate::encrypted_file::{self, DecryptError};

/// Time limit for a program, enough to touch a key or type a passphrase.
const PATIENCE: Duration = Duration::from_mins(1);
/// Size limit of a secret.
const LARGEST: usize = 1 << 20;

/// Errors of resolving a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    #[error("the environment variable {0} is empty or not text")]
    BadVariable(String),
    #[error("cannot read {path}: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("{0} is empty")]
    Empty(String),
    #[error("{}", chain(.0))]
    Sealed(#[from] DecryptError),
    #[error("{path} has no text at {key}")]
    NoKey { path: String, key: String },
    #[error("cannot run `{program}`: {reason}")]
    NotRun { program: String, reason: String },
    #[error("`{program}` timed out after {seconds} s")]
    Slow { program: String, seconds: u64 },
    #[error("`{program}` failed with {status}")]
    Failed { program: String, status: String },
}

/// The error and its cause in one line, for findings.
fn chain(error: &DecryptError) -> String {
    let cause = std::error::Error::source(error);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// Resolves a secret; paths are relative to the cluster file `from`.
pub(crate) fn resolve(from: &str, secret: &Secret) -> Result<String, SecretError> {
    match secret {
        Secret::Env(name) => match std::env::var(name.as_str()) {
            Ok(value) if !value.is_empty() => Ok(value),
            Err(std::env::VarError::NotPresent) => Err(SecretError::NoVariable(name.to_string())),
            _ => Err(SecretError::BadVariable(name.to_string())),
        },
        Secret::File(path) => file(&resolve_path(from, path.as_str())),
        Secret::Sops { file, key } => {
            let path = resolve_path(from, file.as_str());
            let documents = encrypted_file::open_sealed(Path::new(&path), None)?;
            value_at(&documents, key.as_str())
                .ok_or_else(|| SecretError::NoKey { path, key: key.to_string() })
        }
        Secret::Command(arguments) => {
            let arguments: Vec<&str> = arguments.values().map(|argument| argument.as_str()).collect();
            match arguments.split_first() {
                Some((program, args)) => run(program, args),
                None => Err(SecretError::Empty("the command".to_owned())),
            }
        }
    }
}

/// Value at a key path such as `a.b.0` of a decrypted file, as text. Empty values count as missing.
fn value_at(documents: &[Value], key: &str) -> Option<String> {
    let mut value = documents.first()?;
    for step in key.split('.') {
        value = match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            _ => value.get(step)?,
        };
    }
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn file(path: &str) -> Result<String, SecretError> {
    let unreadable = |reason| SecretError::Unreadable { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(io_reason(&error)))?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() { Err(SecretError::Empty(path.to_owned())) } else { Ok(text.to_owned()) }
}

fn run(program: &str, args: &[&str]) -> Result<String, SecretError> {
    let not_run = |reason| SecretError::NotRun { program: program.to_owned(), reason };
    let mut command = Command::new(program);
    command.args(args);
    // The output may contain the secret, so it is not passed on.
    let run = ProgramRun::new(command, PATIENCE).inherit_input().without_stderr().limit(LARGEST);
    let output = run.run().and_then(ProgramOutput::require_success).map_err(|error| match error {
        ProgramError::TimedOut { timeout, .. } => {
            SecretError::Slow { program: program.to_owned(), seconds: timeout.as_secs() }
        }
        ProgramError::Failed(output) => {
            SecretError::Failed { program: program.to_owned(), status: output.status.to_string() }
        }
        error => not_run(io_reason(&io::Error::from(error))),
    })?;
    let text = String::from_utf8(output.stdout).map_err(|_| not_run("its output is not text".to_owned()))?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        Err(SecretError::Empty(format!("the output of `{program}`")))
    } else {
        Ok(text.to_owned())
    }
}
