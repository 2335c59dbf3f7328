//! A server with canned responses: TLS and gRPC as in Talos, and every kind of failure.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::http::{HeaderMap, Request, Response};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ichor_talos::secrets::{Bundle, Pair, admin_certificate, agent_certificate, self_signed};
use ichor_tls::provider;
use ichor_values::TalosVersion;
use prost::Message;
use rand_core::OsRng;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio::time;
use tokio_rustls::TlsAcceptor;

use super::super::trust::{Credentials, NodeTrust};

/// A canned response.
#[derive(Clone)]
pub(super) enum CannedResponse {
    /// These, and then a status with its words.
    Messages(Vec<Vec<u8>>, i32, &'static str),
    /// These, and then the connection is gone.
    Cut(Vec<Vec<u8>>),
    /// These, and then an end without a status.
    Truncated(Vec<Vec<u8>>),
    /// No response at all.
    Nothing,
}

impl CannedResponse {
    pub(super) fn one(message: &impl Message) -> Self {
        Self::Messages(vec![message.encode_to_vec()], 0, "")
    }

    pub(super) fn no(code: tonic::Code, words: &'static str) -> Self {
        Self::Messages(vec![], code.into(), words)
    }
}

/// Paths and messages of calls.
type RecordedCalls = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

pub(super) struct TestServer {
    pub(super) address: SocketAddr,
    /// The calls that were made.
    pub(super) asked: RecordedCalls,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestServer {
    /// Answers every call in the same way.
    pub(super) async fn start(tls: ServerConfig, say: CannedResponse) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let requests = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(tls));
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, say, requests) = (acceptor.clone(), say.clone(), Arc::clone(&requests));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let cut = Arc::new(tokio::sync::Notify::new());
                    let end = Arc::clone(&cut);
                    let service = service_fn(move |request| {
                        answer(request, say.clone(), Arc::clone(&cut), Arc::clone(&requests))
                    });
                    let serving = http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service);
                    tokio::select! {
                        _ = serving => {}
                        () = end.notified() => {}
                    }
                });
            }
        });
        Self { address, asked, task }
    }
}

async fn answer(
    request: Request<Incoming>,
    say: CannedResponse,
    cut: Arc<tokio::sync::Notify>,
    requests: RecordedCalls,
) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    requests.lock().unwrap().push((path, body.get(5..).unwrap_or_default().to_vec()));
    let (messages, end) = match say {
        CannedResponse::Messages(messages, code, words) => {
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", code.to_string().parse().unwrap());
            trailers.insert("grpc-message", words.parse().unwrap());
            (messages, stream::iter([Frame::trailers(trailers)]).boxed())
        }
        CannedResponse::Truncated(messages) => (messages, stream::empty().boxed()),
        CannedResponse::Cut(messages) => {
            let end = async move {
                // The previous messages must be sent first.
                time::sleep(Duration::from_millis(50)).await;
                cut.notify_one();
                std::future::pending().await
            };
            (messages, stream::once(end).boxed())
        }
        CannedResponse::Nothing => (vec![], stream::pending().boxed()),
    };
    let messages = stream::iter(messages).map(|message| {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        Frame::data(Bytes::from([&[0][..], &length[..], &message].concat()))
    });
    let body = StreamBody::new(messages.chain(end).map(Ok::<_, Infallible>));
    Ok(Response::builder().header("content-type", "application/grpc").body(body.boxed_unsync()).unwrap())
}

/// Certificates of a cluster.
pub(super) fn bundle() -> Bundle {
    Bundle::new(&TalosVersion::parse("1.6").unwrap(), &mut OsRng, ichor_system::now()).unwrap()
}

pub(super) fn trust(bundle: &Bundle) -> NodeTrust {
    let admin =
        admin_certificate(&bundle.os, &mut OsRng, ichor_system::now(), Duration::from_hours(1)).unwrap();
    NodeTrust::Mutual(Arc::new(Credentials::new(&bundle.os.crt, &admin).unwrap()))
}

/// TLS of a machine without a configuration.
pub(super) fn maintenance() -> ServerConfig {
    let pair = self_signed("maintenance", &mut OsRng, ichor_system::now()).unwrap();
    configuration(None, &pair)
}

/// TLS of a machine of the cluster, whose certificate is for these addresses.
pub(super) fn mutual(bundle: &Bundle, addresses: &[&str]) -> ServerConfig {
    let addresses: Vec<_> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    configuration(Some(bundle), &agent_certificate(&bundle.os, "cp1", &addresses).unwrap())
}

fn configuration(clients: Option<&Bundle>, pair: &Pair) -> ServerConfig {
    let builder =
        ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(bundle) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from(bundle.os.crt.block().unwrap().1)).unwrap();
            let judge = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
            builder.with_client_cert_verifier(judge.build().unwrap())
        }
    };
    let certificate = CertificateDer::from(pair.crt.block().unwrap().1);
    let (label, key) = pair.key.block().unwrap();
    let key = match label.as_str() {
        "EC PRIVATE KEY" => PrivateKeyDer::Sec1(key.into()),
        _ => PrivateKeyDer::Pkcs8(key.into()),
    };
    let mut configuration = builder.with_single_cert(vec![certificate], key).unwrap();
    configuration.alpn_protocols = vec![b"h2".to_vec()];
    configuration
}
