//! The Cilium manifest of a cluster: from its lock file, or rendered by helm.

use std::path::PathBuf;

use ichor_core::cluster::load::resolve_path;
use ichor_core::plan::attachment::lock_name;
use ichor_core::render::chart::{ChartError, ChartLock, ChartRequest, validate};

use crate::disk::{self, WriteError};
use crate::helm::{self, HelmError};
use crate::project::Project;

/// The rendered Cilium manifest.
pub(crate) struct CiliumManifest {
    /// Path of the lock file.
    path: PathBuf,
    text: String,
    /// Error of rendering.
    failure: Option<String>,
    /// Contents of the lock file, if the cluster needs one.
    lock: Option<String>,
    /// Whether the lock file must be written.
    is_new: bool,
}

impl CiliumManifest {
    /// Renders Cilium for a cluster, without writing files.
    pub(crate) fn render(project: &Project) -> Self {
        let attachments = project.attachments();
        let name = lock_name(&project.plan.cluster.name);
        let path = PathBuf::from(resolve_path(project.name(), &name));
        let Some(order) = ChartRequest::from_plan(&project.plan, attachments) else {
            return Self { path, text: String::new(), failure: None, lock: None, is_new: false };
        };
        match load_or_render(&order, &name, attachments.lock.as_deref()) {
            Ok(lock) => {
                let file = lock.file(&order);
                let is_new = attachments.lock.as_ref() != Some(&file);
                Self { path, text: lock.text().to_owned(), failure: None, lock: Some(file), is_new }
            }
            Err(error) => {
                let failure = Some(error.to_string());
                Self { path, text: String::new(), failure, lock: None, is_new: false }
            }
        }
    }

    /// The manifest, or the error message.
    pub(crate) fn text(&self) -> Result<&str, &str> {
        self.failure.as_deref().map_or(Ok(&self.text), Err)
    }

    /// Contents of the lock file.
    pub(crate) fn lock(&self) -> Option<&str> {
        self.lock.as_deref()
    }

    /// Path and new contents of the lock file, if it must change.
    pub(crate) fn changed_lock(&self) -> Option<(&PathBuf, &str)> {
        self.lock().filter(|_| self.is_new).map(|lock| (&self.path, lock))
    }

    /// Writes the lock file if it must change; returns a note for the user.
    pub(crate) fn write_lock(&self) -> Result<Option<String>, WriteError> {
        let Some((path, lock)) = self.changed_lock() else { return Ok(None) };
        disk::replace(path, lock.as_bytes())?;
        Ok(Some(format!(
            "wrote {} with Cilium as rendered by helm; commit it with the cluster file",
            path.display()
        )))
    }
}

/// Errors of rendering Cilium.
#[derive(Debug, thiserror::Error)]
enum CiliumError {
    #[error("{name}: {why}; delete the file to render it again")]
    Lock { name: String, why: String },
    #[error(
        "cannot render Cilium: helm is not installed, and {reason}; install helm, or render it elsewhere with the \
        output of `ichor show cilium` and set `cluster.cilium.manifest`"
    )]
    NoHelm { reason: String },
    #[error(transparent)]
    Helm(HelmError),
    #[error("cannot use the output of helm: {0}")]
    Unusable(ChartError),
}

/// The lock file if it matches the request, else a new rendering by helm.
fn load_or_render(order: &ChartRequest, name: &str, before: Option<&str>) -> Result<ChartLock, CiliumError> {
    let before = before.map(ChartLock::parse).transpose();
    let before = before.map_err(|why| CiliumError::Lock { name: name.to_owned(), why: why.to_string() })?;
    if let Some(lock) = before.as_ref().filter(|lock| lock.matches(order)) {
        return Ok(lock.clone());
    }
    let text = helm::render_chart(order).map_err(|error| match error {
        HelmError::NotInstalled => {
            let reason = match before {
                None => format!("the lock file {name} is missing"),
                Some(_) => format!("{name} was rendered for other values or another release"),
            };
            CiliumError::NoHelm { reason }
        }
        error => CiliumError::Helm(error),
    })?;
    validate(&text).map_err(CiliumError::Unusable)?;
    Ok(ChartLock::new(order, text))
}
