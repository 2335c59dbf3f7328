//! Cilium's chart: the request to helm and the rendered manifest.
//!
//! A [`ChartRequest`] has the chart and its values: those that Talos requires ([`values`]), overridden by the file's. The
//! result is validated ([`validate`]) and stored in a [`ChartLock`] beside the cluster file, so that the same cluster file
//! always results in the same configurations, even without helm.
//!
//! Not here: running helm, and Cilium's BGP objects ([`manifests`](super::manifests)).

mod lock;
pub mod values;

use serde_json::Value;

use crate::plan::Plan;
use crate::plan::attachment::Attachments;
use ichor_talos::digest::sha256;
use ichor_talos::manifest::{self, ManifestError};
use ichor_values::go_yaml::emit::emit;

pub use lock::{ChartLock, ChartLockError};

/// The release name and namespace that Cilium's commands expect.
const RELEASE: (&str, &str) = ("cilium", "kube-system");

/// A request to helm.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartRequest {
    chart: String,
    /// None for an `oci://` chart.
    repository: Option<String>,
    version: String,
    kubernetes: Option<String>,
    values: Value,
    own: Option<String>,
}

impl ChartRequest {
    /// The request of a cluster; none if Cilium is not its CNI, or is a manifest.
    pub fn from_plan(plan: &Plan, attachments: &Attachments) -> Option<Self> {
        let cilium = plan.cluster.cilium.as_ref().filter(|cilium| cilium.manifest.is_none())?;
        let chart = cilium.chart.value.clone();
        let own = cilium.values.as_ref().map(|path| path.value.as_str());
        Some(Self {
            repository: (!chart.starts_with("oci://")).then(|| cilium.repository.value.clone()),
            chart,
            version: cilium.version.value.clone(),
            kubernetes: plan.cluster.kubernetes.as_ref().map(|version| version.value.to_string()),
            values: values::values(plan),
            // A file that cannot be read is reported by a rule.
            own: own.and_then(|path| attachments.texts.get(path)?.as_ref().ok()).cloned(),
        })
    }

    /// The arguments of `helm`; value files follow, each after `--values`.
    ///
    /// The Kubernetes release is explicit, because helm would use the one it was built with.
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

    /// The texts of the value files; later ones override earlier ones.
    pub fn values(&self) -> Vec<String> {
        std::iter::once(emit(&self.values)).chain(self.own.clone()).collect()
    }

    /// A digest of everything the result depends on.
    pub(crate) fn digest(&self) -> String {
        let words = self.arguments().into_iter().map(str::to_owned);
        let parts: Vec<String> = words.chain(self.values()).collect();
        sha256(serde_json::json!(parts).to_string().as_bytes())
    }
}

/// Why a rendered chart cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// It is not a Kubernetes manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// It is empty.
    #[error("no objects")]
    Empty,
    /// It contains a secret.
    #[error(
        "the Secret {name} would be stored unencrypted; have it created in the cluster: set `tls.auto.method` to `cronJob` or \
         `certmanager` in the values"
    )]
    Secret {
        /// The name of the object.
        name: String,
    },
}

/// Validates a rendered chart: Kubernetes objects without secrets.
///
/// A chart that generates keys generates new ones each time, and the lock file is stored unencrypted with the cluster file.
pub fn validate(text: &str) -> Result<(), ChartError> {
    let objects = manifest::read(text)?;
    if objects.is_empty() {
        return Err(ChartError::Empty);
    }
    let has_entries = |object: &Value, key: &str| {
        object.get(key).and_then(Value::as_object).is_some_and(|entries| !entries.is_empty())
    };
    let secret = objects
        .iter()
        .find(|it| it["kind"] == "Secret" && (has_entries(it, "data") || has_entries(it, "stringData")));
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
    fn the_error_about_a_generated_secret_has_only_its_name() {
        let text =
            "apiVersion: v1\nkind: Secret\nmetadata: {name: cilium-ca}\ndata: {ca.key: aHVudGVyMg==}\n";

        let error = validate(text).unwrap_err().to_string();

        assert!(error.contains("the Secret cilium-ca"), "{error}");
        assert!(!error.contains("aHVudGVyMg"), "{error}");
    }

    #[test]
    fn an_empty_secret_is_accepted() {
        let text = "---\n# a comment\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: empty}\n";

        assert_eq!(validate(text), Ok(()));
    }

    #[test]
    fn an_empty_or_invalid_chart_is_rejected() {
        assert!(validate("# nothing\n").is_err());
        assert!(validate("Error: no such chart\n").is_err());
    }
}
