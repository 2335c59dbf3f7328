//! helm, where it is installed, which renders charts.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use ichor_core::render::chart::Order;
use tempfile::{NamedTempFile, tempfile};

use crate::disk::reason;
use crate::patience::wait;

/// Time for a chart over a slow line, not to hang a pipeline.
const PATIENCE: Duration = Duration::from_mins(3);
/// A hundred times Cilium's manifest.
const LARGEST: u64 = 64 << 20;

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
    let (mut out, mut err) = (tempfile()?, tempfile()?);
    let mut command = Command::new("helm");
    command.args(order.arguments());
    for file in &values {
        command.arg("--values").arg(file.path());
    }
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => HelmError::Absent,
        _ => HelmError::NotRun(error),
    })?;
    let status = wait(&mut child, PATIENCE)?.ok_or(HelmError::Slow)?;
    if status.success() {
        return Ok(said(&mut out)?);
    }
    let words = said(&mut err)?;
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(HelmError::Refused(if lines.is_empty() { status.to_string() } else { lines.join("; ") }))
}

fn said(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}
