//! helm, where it is installed, which renders charts.

use std::io::{self, Write as _};
use std::process::Command;
use std::time::Duration;

use ichor_core::render::chart::Order;
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use tempfile::NamedTempFile;

use crate::disk::reason;

/// Time for a chart over a slow line, not to hang a pipeline.
const PATIENCE: Duration = Duration::from_mins(3);
/// A hundred times Cilium's manifest.
const LARGEST: usize = 64 << 20;

/// Why a chart was not rendered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HelmError {
    #[error("helm is not installed here")]
    Absent,
    #[error("cannot run helm: {}", reason(.0))]
    NotRun(#[from] io::Error),
    #[error("helm did not end within {} s", PATIENCE.as_secs())]
    Slow,
    #[error("helm refuses: {0}")]
    Refused(String),
}

/// Renders the chart of an order.
pub(crate) fn template(order: &Order) -> Result<String, HelmError> {
    // For the owner alone, and gone with the variable.
    let mut values = Vec::new();
    for text in order.values() {
        let mut file = NamedTempFile::with_suffix(".yaml")?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        values.push(file);
    }
    let mut command = Command::new("helm");
    command.args(order.arguments());
    for file in &values {
        command.arg("--values").arg(file.path());
    }
    let run = ProgramRun::new(command, PATIENCE).limit(LARGEST);
    let output = run.run().and_then(ProgramOutput::succeeded).map_err(|error| match error {
        ProgramError::Missing { .. } => HelmError::Absent,
        ProgramError::TimedOut { .. } => HelmError::Slow,
        ProgramError::Failed(output) => {
            let words = output.stderr_text();
            let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            HelmError::Refused(if lines.is_empty() { output.status.to_string() } else { lines.join("; ") })
        }
        error => HelmError::NotRun(error.into()),
    })?;
    Ok(String::from_utf8(output.stdout).map_err(io::Error::other)?)
}
