//! Renders charts with the installed helm.

use std::io::{self, Write as _};
use std::process::Command;
use std::time::Duration;

use ichor_core::render::chart::ChartRequest;
use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};
use tempfile::NamedTempFile;

use crate::disk::io_reason;

/// Time limit for helm, including a chart download.
const RENDER_TIMEOUT: Duration = Duration::from_mins(3);
/// Output limit: a hundred times Cilium's manifest.
const MAX_OUTPUT: usize = 64 << 20;

/// Errors of rendering a chart.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HelmError {
    #[error("helm is not installed on this machine")]
    NotInstalled,
    #[error("cannot run helm: {}", io_reason(.0))]
    NotRun(#[from] io::Error),
    #[error("helm timed out after {} s", RENDER_TIMEOUT.as_secs())]
    Timeout,
    #[error("helm failed: {0}")]
    Refused(String),
}

/// Renders a chart.
pub(crate) fn render_chart(order: &ChartRequest) -> Result<String, HelmError> {
    // Readable by the owner only, and deleted on drop.
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
    let run = ProgramRun::new(command, RENDER_TIMEOUT).limit(MAX_OUTPUT);
    let output = run.run().and_then(ProgramOutput::require_success).map_err(|error| match error {
        ProgramError::Missing { .. } => HelmError::NotInstalled,
        ProgramError::TimedOut { .. } => HelmError::Timeout,
        ProgramError::Failed(output) => {
            let message = output.stderr_text();
            let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            HelmError::Refused(if lines.is_empty() { output.status.to_string() } else { lines.join("; ") })
        }
        error => HelmError::NotRun(error.into()),
    })?;
    Ok(String::from_utf8(output.stdout).map_err(io::Error::other)?)
}
