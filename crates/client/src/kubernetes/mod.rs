//! Kubernetes' API of a cluster, as far as nodes come and go: a list of them, cordons, evictions, deletion.
//!
//! [`KubernetesClient::new`] signs a certificate for an hour with the cluster's own authority, so no kubeconfig is
//! needed. Every control plane may answer; they are asked in turn until one does. What answers mean is in
//! [`ichor_talos::kubernetes`].

mod call;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use ichor_talos::kubernetes::{KubeNode, Pod, cordon, uncordon};
use ichor_talos::secrets::{Bundle, IssueError, Pem, kubernetes_admin_certificate};
use ichor_tls::provider;
use ichor_values::Moment;
use rand_core::OsRng;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use serde_json::Value;

use crate::http::{Client, ClientIdentity, ClientOptions, Method, ServerTrust, StatusCode};
use crate::talos::key;

pub use call::KubernetesError;

/// The timeouts of a control plane for the handshake and the response.
const GREET: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(30);

/// The lifetime of the certificate.
const LIFE: Duration = Duration::from_hours(1);

/// The port on which control planes answer.
pub const PORT: u16 = 6443;

/// An endpoint of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiEndpoint {
    /// A name or an address.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}

/// The API of a cluster.
pub struct KubernetesClient {
    places: Vec<ApiEndpoint>,
    client: Client,
}

/// Why secrets do not open Kubernetes.
#[derive(Debug, thiserror::Error)]
pub enum KubernetesCredentialsError {
    /// The authority signs no certificate.
    #[error("the authority certs.k8s of the bundle cannot sign a certificate")]
    Issue(#[from] IssueError),
    /// TLS rejects the authority or the certificate.
    #[error("the authority certs.k8s of the bundle is not a CA certificate")]
    Tls(#[from] rustls::Error),
    /// The authority is not PEM.
    #[error("the authority certs.k8s of the bundle is not PEM")]
    NotPem,
}

/// The result of an eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// It is being evicted.
    Going,
    /// It no longer exists.
    Gone,
    /// Not now: its disruption budget is used up.
    Later(String),
}

impl KubernetesClient {
    /// The API of the cluster with these secrets, which may answer at any of `places`.
    pub fn new(
        bundle: &Bundle,
        places: Vec<ApiEndpoint>,
        now: Moment,
    ) -> Result<Self, KubernetesCredentialsError> {
        let admin = kubernetes_admin_certificate(&bundle.k8s, &mut OsRng, now, LIFE)?;
        let der = |pem: &Pem| pem.block().ok_or(KubernetesCredentialsError::NotPem);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(der(&bundle.k8s.crt)?.1))?;
        let chain = vec![CertificateDer::from(der(&admin.crt)?.1)];
        let key = key(&admin.key).ok_or(KubernetesCredentialsError::NotPem)?;
        let identity = ClientIdentity(Arc::new(CertifiedKey::from_der(chain, key, &provider())?));
        let client = Client::new(ClientOptions {
            trust: ServerTrust::Authority(roots),
            identity: Some(identity),
            proxy: None,
            connect_within: GREET,
            answer_within: ANSWER,
            stall: ANSWER,
            redirects: 0,
            keeps_connections: false,
        });
        Ok(Self { places, client })
    }

    /// All nodes.
    pub async fn nodes(&self) -> Result<Vec<KubeNode>, KubernetesError> {
        let (_, list) = self.ask("list nodes", Method::GET, "/api/v1/nodes", None).await?;
        Ok(items(&list).filter_map(KubeNode::read).collect())
    }

    /// A node; none if Kubernetes does not know it.
    pub async fn node(&self, name: &str) -> Result<Option<KubeNode>, KubernetesError> {
        match self.ask("get a node", Method::GET, &format!("/api/v1/nodes/{name}"), None).await {
            Ok((_, node)) => Ok(KubeNode::read(&node)),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Cordons a node, with a reason that identifies the cordon.
    pub async fn cordon(&self, name: &str, reason: &str) -> Result<(), KubernetesError> {
        self.patch("cordon", name, &cordon(reason)).await
    }

    /// Takes that back.
    pub async fn uncordon(&self, name: &str) -> Result<(), KubernetesError> {
        self.patch("uncordon", name, &uncordon()).await
    }

    async fn patch(&self, what: &'static str, name: &str, patch: &Value) -> Result<(), KubernetesError> {
        self.ask(what, Method::PATCH, &format!("/api/v1/nodes/{name}"), Some(patch)).await.map(drop)
    }

    /// Has Kubernetes forget a node; whether it knew it.
    pub async fn forget(&self, name: &str) -> Result<bool, KubernetesError> {
        match self.ask("delete a node", Method::DELETE, &format!("/api/v1/nodes/{name}"), None).await {
            Ok(_) => Ok(true),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The pods on a node.
    pub async fn pods(&self, node: &str) -> Result<Vec<Pod>, KubernetesError> {
        let path = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}");
        let (_, list) = self.ask("list the pods of a node", Method::GET, &path, None).await?;
        Ok(items(&list).filter_map(Pod::read).collect())
    }

    /// Has a pod moved away.
    pub async fn evict(&self, pod: &Pod) -> Result<Eviction, KubernetesError> {
        let path = format!("/api/v1/namespaces/{}/pods/{}/eviction", pod.namespace, pod.name);
        match self.ask("evict a pod", Method::POST, &path, Some(&pod.eviction())).await {
            Ok(_) => Ok(Eviction::Going),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(Eviction::Gone),
            Err(error) if error.status() == Some(StatusCode::TOO_MANY_REQUESTS) => {
                Ok(Eviction::Later(error.answer().to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}
