//! A client of the Kubernetes API, configured by a kubeconfig.

use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::Arc;

use flate2::read::GzDecoder;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use ichor_talos::document;
use ichor_talos::secrets::{Pair, Pem};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Endpoint and credentials of a kubeconfig.
pub struct Kube {
    pub server: SocketAddr,
    authority: Pem,
    admin: Pair,
}

impl Kube {
    /// Unpacks a kubeconfig as sent by Talos: a file in a compressed archive.
    pub fn unpack(packed: &[u8]) -> Self {
        let mut archive = tar::Archive::new(GzDecoder::new(packed));
        let mut entry = archive.entries().unwrap().next().unwrap().unwrap();
        assert_eq!(entry.path().unwrap().to_str(), Some("kubeconfig"));
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        let config = document::read(&text).unwrap().remove(0);
        let pem =
            |pointer: &str| Pem::from_base64(config.pointer(pointer).unwrap().as_str().unwrap()).unwrap();
        let server = config.pointer("/clusters/0/cluster/server").unwrap().as_str().unwrap();
        Self {
            server: server.trim_start_matches("https://").parse().unwrap(),
            authority: pem("/clusters/0/cluster/certificate-authority-data"),
            admin: Pair {
                crt: pem("/users/0/user/client-certificate-data"),
                key: pem("/users/0/user/client-key-data"),
            },
        }
    }

    /// Sends a request with or without the client certificate.
    pub async fn ask(&self, known: bool, method: Method, path: &str, body: &str) -> (u16, String) {
        let mut roots = RootCertStore::empty();
        roots.add(der(&self.authority)).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots);
        let config = if known {
            let key = PrivateKeyDer::Sec1(self.admin.key.block().unwrap().1.into());
            builder.with_client_auth_cert(vec![der(&self.admin.crt)], key).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        let stream = TcpStream::connect(self.server).await.unwrap();
        let name = ServerName::from(self.server.ip());
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header("host", "kubernetes");
        let body = Full::<Bytes>::from(body.to_owned());
        let answer = sender.send_request(request.body(body).unwrap()).await.unwrap();
        let code = answer.status().as_u16();
        let text = answer.into_body().collect().await.unwrap().to_bytes();
        connection.abort();
        (code, String::from_utf8(text.to_vec()).unwrap())
    }

    /// The JSON response for a path.
    pub async fn get(&self, path: &str) -> Value {
        let (code, text) = self.ask(true, Method::GET, path, "").await;
        assert_eq!(code, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }
}

fn der(pem: &Pem) -> CertificateDer<'static> {
    CertificateDer::from(pem.block().unwrap().1)
}
