//! Cilium for the configurations of a cluster: as it was rendered before, or as helm renders it now.

use std::path::PathBuf;

use ichor_core::cluster::load::beside;
use ichor_core::plan::attachment::lock_name;
use ichor_core::render::chart::{ChartError, Lock, Order, judge};

use crate::disk::{self, WriteError};
use crate::helm::{self, HelmError};
use crate::project::Project;

/// Cilium as it goes into configurations.
pub(crate) struct Rendered {
    /// The lock's file.
    path: PathBuf,
    text: String,
    /// Why it cannot be rendered.
    failure: Option<String>,
    /// What the lock's file has to hold, where there is to be one.
    lock: Option<String>,
    /// Whether it holds something else.
    is_new: bool,
}

impl Rendered {
    /// Cilium of a cluster. Nothing is written.
    pub(crate) fn of(project: &Project) -> Self {
        let attachments = project.attachments();
        let name = lock_name(&project.plan.cluster.name);
        let path = PathBuf::from(beside(project.name(), &name));
        let Some(order) = Order::of(&project.plan, attachments) else {
            return Self { path, text: String::new(), failure: None, lock: None, is_new: false };
        };
        match lock(&order, &name, attachments.lock.as_deref()) {
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

    /// For those who make configurations.
    pub(crate) fn text(&self) -> Result<&str, &str> {
        self.failure.as_deref().map_or(Ok(&self.text), Err)
    }

    /// What the lock's file has to hold.
    pub(crate) fn lock(&self) -> Option<&str> {
        self.lock.as_deref()
    }

    /// The lock's file and what it has to hold, where that is not in it.
    pub(crate) fn news(&self) -> Option<(&PathBuf, &str)> {
        self.lock().filter(|_| self.is_new).map(|lock| (&self.path, lock))
    }

    /// Writes the lock where it has to be written; what is to be told of it then.
    pub(crate) fn keep(&self) -> Result<Option<String>, WriteError> {
        let Some((path, lock)) = self.news() else { return Ok(None) };
        disk::replace(path, lock.as_bytes())?;
        Ok(Some(format!("{} has Cilium as helm rendered it: keep it with the cluster file", path.display())))
    }
}

/// Why Cilium cannot be rendered.
#[derive(Debug, thiserror::Error)]
enum CiliumError {
    #[error("{name}: {why}; remove the file to have it rendered anew")]
    Lock { name: String, why: String },
    #[error(
        "Cilium is rendered by helm, which is not installed here, and {kept}; install helm and build again, or render \
         it elsewhere with what `ichor show cilium` prints, and name the result under `cluster.cilium.manifest`"
    )]
    NoHelm { kept: String },
    #[error(transparent)]
    Helm(HelmError),
    #[error("what helm rendered cannot be used: {0}")]
    Unusable(ChartError),
}

/// What was rendered before where it is of this order, else what helm makes of it.
fn lock(order: &Order, name: &str, before: Option<&str>) -> Result<Lock, CiliumError> {
    let before = before.map(Lock::read).transpose();
    let before = before.map_err(|why| CiliumError::Lock { name: name.to_owned(), why: why.to_string() })?;
    if let Some(lock) = before.as_ref().filter(|lock| lock.is_of(order)) {
        return Ok(lock.clone());
    }
    let text = helm::template(order).map_err(|error| match error {
        HelmError::Absent => {
            let kept = match before {
                None => format!("there is no {name} with what it rendered before"),
                Some(_) => format!("{name} was rendered from other values, or for another release"),
            };
            CiliumError::NoHelm { kept }
        }
        error => CiliumError::Helm(error),
    })?;
    judge(&text).map_err(CiliumError::Unusable)?;
    Ok(Lock::new(order, text))
}
