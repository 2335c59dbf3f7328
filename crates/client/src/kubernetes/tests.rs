//! The client on a server with canned responses.

use std::sync::Mutex;

use ichor_talos::secrets::{Server, server_certificate};
use ichor_values::TalosVersion;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;

/// A server with the certificate of a cluster, which gives these answers, one to each connection.
struct ApiServer {
    place: ApiEndpoint,
    asked: Arc<Mutex<Vec<String>>>,
}

async fn stand(bundle: &Bundle, answers: &'static [(u16, &'static str)]) -> ApiServer {
    let address = "127.0.0.1".parse().unwrap();
    let server = Server { name: "kube-apiserver", names: &[], addresses: &[address] };
    let pair = server_certificate(Some(&bundle.k8s), server, &mut OsRng, ichor_system::now(), LIFE).unwrap();
    let chain = vec![CertificateDer::from(pair.crt.block().unwrap().1)];
    let key = key(&pair.key).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(bundle.k8s.crt.block().unwrap().1)).unwrap();
    let provider = provider();
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = ApiEndpoint { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
    let asked = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&asked);
    tokio::spawn(async move {
        for (code, body) in answers {
            let Ok((stream, _)) = listener.accept().await else { return };
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap_or(0);
            requests.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
            let answer = format!("HTTP/1.1 {code} x\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    ApiServer { place, asked }
}

fn bundle() -> Bundle {
    Bundle::quick(&TalosVersion::parse("v1.13.9").unwrap(), &mut OsRng, ichor_system::now()).unwrap()
}

fn open(bundle: &Bundle, places: &[&ApiEndpoint]) -> KubernetesClient {
    KubernetesClient::new(bundle, places.iter().map(|place| (*place).clone()).collect(), ichor_system::now())
        .unwrap()
}

#[tokio::test]
async fn the_next_control_plane_is_tried_after_a_failure() {
    let bundle = bundle();
    let silent = ApiEndpoint { host: "127.0.0.1".to_owned(), port: 1 };
    let ill = stand(&bundle, &[(503, "etcd failed")]).await;
    let well = stand(&bundle, &[(200, r#"{"items": [{"metadata": {"name": "cp1"}}]}"#)]).await;

    let nodes = open(&bundle, &[&silent, &ill.place, &well.place]).nodes().await.unwrap();

    assert_eq!(nodes[0].name, "cp1");
    assert!(well.asked.lock().unwrap()[0].starts_with("GET /api/v1/nodes HTTP/1.1"));
}

#[tokio::test]
async fn a_cordon_is_a_merge_patch_with_a_reason() {
    let bundle = bundle();
    let api = stand(&bundle, &[(200, "{}")]).await;

    open(&bundle, &[&api.place]).cordon("w1", "upgrade").await.unwrap();

    let asked = api.asked.lock().unwrap()[0].clone();
    assert!(asked.starts_with("PATCH /api/v1/nodes/w1"), "{asked}");
    assert!(
        asked.contains("application/merge-patch+json") && asked.contains("\"unschedulable\":true"),
        "{asked}"
    );
    assert!(asked.contains("\"ichor/cordoned-for\":\"upgrade\""), "{asked}");
}

#[tokio::test]
async fn an_eviction_is_deferred_by_a_budget_and_done_for_a_missing_pod() {
    let bundle = bundle();
    let later = r#"{"kind": "Status", "message": "Cannot evict pod as it would violate the pod's disruption budget."}"#;
    let api = stand(&bundle, Box::leak(Box::new([(429, later), (404, "{}"), (201, "{}")]))).await;
    let api = open(&bundle, &[&api.place]);
    let pod = Pod { namespace: "web".into(), name: "shop".into(), uid: String::new(), moves: true };

    assert!(
        matches!(api.evict(&pod).await.unwrap(), Eviction::Later(why) if why.contains("disruption budget"))
    );
    assert_eq!(api.evict(&pod).await.unwrap(), Eviction::Gone);
    assert_eq!(api.evict(&pod).await.unwrap(), Eviction::Going);
}

#[tokio::test]
async fn a_rejection_is_reported_verbatim_and_not_retried() {
    let bundle = bundle();
    let refusal = r#"{"kind": "Status", "message": "nodes is forbidden", "code": 403}"#;
    let api = stand(&bundle, Box::leak(Box::new([(403, refusal)]))).await;
    let other = stand(&bundle, &[(200, "{}")]).await;

    let error = open(&bundle, &[&api.place, &other.place]).nodes().await.unwrap_err();

    assert_eq!(
        error.to_string(),
        format!("Kubernetes at {}: list nodes: nodes is forbidden", api.place.authority())
    );
    assert!(other.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_server_of_another_authority_receives_no_request() {
    let api = stand(&bundle(), &[(200, "{}")]).await;

    let error = open(&bundle(), &[&api.place]).nodes().await.unwrap_err();

    assert_eq!(error.status(), None);
    assert!(api.asked.lock().unwrap().is_empty());
}
