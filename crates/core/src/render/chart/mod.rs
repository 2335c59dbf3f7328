//! Cilium's chart: what helm is asked for, and what it gave.
//!
//! An [`ChartRequest`] names the chart and its values: those that Talos needs ([`values`]), and over them the file's own. What helm
//! makes of it is judged ([`judge`]) and kept in a [`ChartLock`] beside the cluster file, so that the same cluster file gives the
//! same configurations also next year, and where there is no helm.
//!
//! Not here: running helm, and what Cilium is told of BGP ([`manifests`](super::manifests)).

mod lock;
pub mod values;

use serde_json::Value;

use crate::plan::Plan;
use crate::plan::attachment::Attachments;
use ichor_talos::digest::sha256;
use ichor_talos::manifest::{self, ManifestError};
use ichor_values::go_yaml::emit::emit;

pub use lock::{ChartLock, ChartLockError};

/// The name and namespace that Cilium's own commands look for.
const RELEASE: (&str, &str) = ("cilium", "kube-system");

/// What helm is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartRequest {
    chart: String,
    /// None for a chart in a registry, whose name says where it is.
    repository: Option<String>,
    version: String,
    kubernetes: Option<String>,
    values: Value,
    own: Option<String>,
}

impl ChartRequest {
    /// The order of a cluster; none where Cilium is not its pod network, or comes as a manifest.
    pub fn of(plan: &Plan, attachments: &Attachments) -> Option<Self> {
        let cilium = plan.cluster.cilium.as_ref().filter(|cilium| cilium.manifest.is_none())?;
        let chart = cilium.chart.value.clone();
        let own = cilium.values.as_ref().map(|path| path.value.as_str());
        Some(Self {
            repository: (!chart.starts_with("oci://")).then(|| cilium.repository.value.clone()),
            chart,
            version: cilium.version.value.clone(),
            kubernetes: plan.cluster.kubernetes.as_ref().map(|version| version.value.to_string()),
            values: values::values(plan),
            // One that cannot be read is a finding.
            own: own.and_then(|path| attachments.texts.get(path)?.as_ref().ok()).cloned(),
        })
    }

    /// The words after `helm`; files with values are to follow, each after `--values`.
    ///
    /// The release of Kubernetes is told, for helm would take the one it was built with.
    pub fn arguments(&self) -> Vec<&str> {
        let mut words = vec!["template", RELEASE.0, &self.chart];
        if let Some(repository) = &self.repository {
            words.extend(["--repo", repository]);
        }
        words.extend(["--version", &self.version, "--namespace", RELEASE.1]);
        if let Some(kubernetes) = &self.kubernetes {
            words.extend(["--kube-version", kubernetes]);
        }
        words
    }

    /// The texts of the files with values; later ones win.
    pub fn values(&self) -> Vec<String> {
        std::iter::once(emit(&self.values)).chain(self.own.clone()).collect()
    }

    /// What the result depends on, summed up.
    pub(crate) fn sum(&self) -> String {
        let words = self.arguments().into_iter().map(str::to_owned);
        let parts: Vec<String> = words.chain(self.values()).collect();
        sha256(serde_json::json!(parts).to_string().as_bytes())
    }
}

/// Why what a chart gave cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// It is not made of objects of Kubernetes.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// It is empty.
    #[error("it has no object")]
    Empty,
    /// It has keys in it.
    #[error(
        "it has the Secret {name}, which would be kept in clear; let it be made in the cluster: `tls.auto.method: cronJob` or \
         `certmanager` among the values"
    )]
    Secret {
        /// The name of the object.
        name: String,
    },
}

/// Whether what a chart gave can be kept and applied: objects of Kubernetes, and no secrets among them.
///
/// A chart that makes keys makes others each time, and the lock is kept with the cluster file, where everybody reads it.
pub fn judge(text: &str) -> Result<(), ChartError> {
    let objects = manifest::read(text)?;
    if objects.is_empty() {
        return Err(ChartError::Empty);
    }
    let holds = |object: &Value, key: &str| {
        object.get(key).and_then(Value::as_object).is_some_and(|entries| !entries.is_empty())
    };
    let secret =
        objects.iter().find(|it| it["kind"] == "Secret" && (holds(it, "data") || holds(it, "stringData")));
    match secret {
        None => Ok(()),
        Some(secret) => {
            let name = secret["metadata"]["name"].as_str().unwrap_or("without a name");
            Err(ChartError::Secret { name: name.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_a_chart_made_is_refused_by_its_name_alone() {
        let text =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: cilium-ca}\ndata: {ca.key: aHVudGVyMg==}\n";

        let refused = judge(text).unwrap_err().to_string();

        assert!(refused.contains("the Secret cilium-ca"), "{refused}");
        assert!(!refused.contains("aHVudGVyMg"), "{refused}");
    }

    #[test]
    fn a_secret_that_is_filled_in_the_cluster_is_not() {
        let text = "---\n# a comment\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: empty}\n";

        assert_eq!(judge(text), Ok(()));
    }

    #[test]
    fn nothing_is_no_chart() {
        assert!(judge("# nothing\n").is_err());
        assert!(judge("Error: no such chart\n").is_err());
    }
}
