//! The client and a server that fails in every way a node can.

mod server;
mod untrusted;

use std::time::Duration;

use ichor_talos::api::common::Data;
use ichor_talos::api::cosi;
use ichor_talos::api::machine::{
    ApplyConfiguration, ApplyConfigurationRequest, ApplyConfigurationResponse, LogsRequest, Version,
    VersionInfo, VersionResponse,
};
use ichor_talos::peer::Pin;
use ichor_talos::resource::{Disk, MachineStatus};
use ichor_talos::secrets::admin_certificate;
use prost::Message as _;
use rand_core::OsRng;
use tokio::net::TcpListener;
use tokio::time::{self, Instant};
use tonic::Code;

use self::server::{CannedResponse, TestServer, bundle, maintenance, mutual, trust};
use super::machine::LogTail;
use super::watch::ResourceEvent;
use super::*;

const HERE: &[&str] = &["127.0.0.1"];

fn version() -> VersionResponse {
    let version = VersionInfo { tag: "v1.13.9".into(), ..VersionInfo::default() };
    VersionResponse { messages: vec![Version { version: Some(version), ..Version::default() }] }
}

fn anyone() -> NodeTrust {
    NodeTrust::Maintenance { pin: None }
}

/// Connects and makes a call; in TLS 1.3 a node rejects a client only then.
async fn asked(server: &TestServer, trust: &NodeTrust) -> Result<Version, NodeError> {
    NodeClient::connect("cp1", server.address, trust).await?.version().await
}

#[tokio::test]
async fn client_and_node_authenticate_each_other() {
    let bundle = bundle();
    let server = TestServer::start(mutual(&bundle, HERE), CannedResponse::one(&version())).await;

    let version = asked(&server, &trust(&bundle)).await.unwrap();

    assert_eq!(version.version.unwrap().tag, "v1.13.9");
    assert_eq!(server.asked.lock().unwrap()[0].0, "/machine.MachineService/Version");
}

#[tokio::test]
async fn a_maintenance_machine_is_identified_by_its_pinned_key() {
    let server = TestServer::start(maintenance(), CannedResponse::one(&version())).await;

    let first = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();
    let pin = first.peer().pin;
    first.version().await.unwrap();
    asked(&server, &NodeTrust::Maintenance { pin: Some(pin) }).await.unwrap();

    let other = NodeTrust::Maintenance { pin: Some(Pin::of_key(b"other")) };
    let error = asked(&server, &other).await.unwrap_err();
    assert_eq!(error.kind(), NodeErrorKind::WrongCertificate);
    assert!(error.to_string().contains(&format!("the server key is {pin}, expected ")), "{error}");
    assert_eq!(server.asked.lock().unwrap().len(), 2, "nothing is asked of another machine");

    let imposter = TestServer::start(maintenance(), CannedResponse::one(&version())).await;
    let node = NodeClient::connect("cp1", imposter.address, &NodeTrust::Maintenance { pin: Some(pin) }).await;
    assert_eq!(node.err().unwrap().kind(), NodeErrorKind::WrongCertificate);
    assert!(imposter.asked.lock().unwrap().is_empty(), "another key is another machine");
}

#[tokio::test]
async fn a_configured_machine_is_not_in_maintenance_mode() {
    let bundle = bundle();
    let server = TestServer::start(mutual(&bundle, HERE), CannedResponse::one(&version())).await;

    assert_eq!(asked(&server, &anyone()).await.unwrap_err().kind(), NodeErrorKind::NotMaintenance);
    let pinned = NodeTrust::Maintenance { pin: Some(Pin::of_key(b"other")) };
    assert_eq!(asked(&server, &pinned).await.unwrap_err().kind(), NodeErrorKind::NotMaintenance);
}

#[tokio::test]
async fn a_machine_of_another_cluster_is_rejected_by_its_certificate() {
    let (ours, theirs) = (bundle(), bundle());
    let server = TestServer::start(mutual(&theirs, HERE), CannedResponse::one(&version())).await;

    let error = asked(&server, &trust(&ours)).await.unwrap_err();

    assert_eq!(error.kind(), NodeErrorKind::WrongCertificate);
    assert!(
        error.to_string().contains("the server presents a certificate of cp1 signed by talos"),
        "{error}"
    );
    assert!(server.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_certificate_for_another_address_is_rejected() {
    let bundle = bundle();
    let server = TestServer::start(mutual(&bundle, &["10.0.0.11"]), CannedResponse::one(&version())).await;

    let error = asked(&server, &trust(&bundle)).await.unwrap_err();

    assert_eq!(error.kind(), NodeErrorKind::WrongCertificate);
    assert!(error.to_string().contains("of this cluster, but not valid for this address"), "{error}");
}

#[tokio::test]
async fn a_rejected_client_certificate_is_reported() {
    let (ours, theirs) = (bundle(), bundle());
    let server = TestServer::start(mutual(&ours, HERE), CannedResponse::one(&version())).await;
    let long_ago = ichor_values::Moment::from_unix(ichor_system::now().unix() - 7200).unwrap();
    let expired = admin_certificate(&ours.os, &mut OsRng, long_ago, Duration::from_hours(1)).unwrap();
    let foreign =
        admin_certificate(&theirs.os, &mut OsRng, ichor_system::now(), Duration::from_hours(1)).unwrap();

    for (pair, words) in [(expired, "expired"), (foreign, "the client certificate")] {
        let trust = NodeTrust::Mutual(Arc::new(Credentials::new(&ours.os.crt, &pair).unwrap()));
        let error = asked(&server, &trust).await.unwrap_err();
        assert_eq!(error.kind(), NodeErrorKind::Unauthorised, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn a_probe_detects_the_state_of_a_machine() {
    let (ours, theirs) = (bundle(), bundle());
    let NodeTrust::Mutual(credentials) = trust(&ours) else { unreachable!() };
    let look = async |tls| {
        let server = TestServer::start(tls, CannedResponse::Nothing).await;
        NodeClient::meet("cp1", server.address, Some(&credentials)).await.unwrap()
    };

    assert!(matches!(look(maintenance()).await, ProbeResult::Maintenance(_)));
    assert!(matches!(look(mutual(&ours, HERE)).await, ProbeResult::Configured(_)));
    let ProbeResult::Other { peer, .. } = look(mutual(&theirs, HERE)).await else {
        panic!("it is of another cluster")
    };
    assert_eq!(peer.names, ["cp1", "127.0.0.1"]);
}

#[tokio::test]
async fn a_closed_port_and_another_server_are_distinguished() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let talker = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"SSH-2.0-OpenSSH_9.2\r\n").await.unwrap();
        // The listener is gone after the first.
    });

    let error = NodeClient::connect("cp1", address, &anyone()).await.err().unwrap();
    assert_eq!(error.kind(), NodeErrorKind::Unreachable);
    assert!(error.to_string().contains("the server is not Talos"), "{error}");
    talker.await.unwrap();

    assert!(NodeClient::meet("cp1", address, None).await.is_err(), "no server answers");
    let error = NodeClient::connect("cp1", address, &anyone()).await.err().unwrap();
    assert!(error.to_string().contains("connection refused"), "{error}");
}

#[tokio::test]
async fn an_error_contains_the_message_of_the_node() {
    let server =
        TestServer::start(maintenance(), CannedResponse::no(Code::InvalidArgument, "unknown keys found"))
            .await;
    let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();

    let error = node.apply(b"machine: {}".into(), true).await.unwrap_err();

    assert_eq!((error.kind(), error.call()), (NodeErrorKind::Refused, "apply configuration"));
    assert_eq!(error.answer(), "invalid argument: unknown keys found");
    let request = ApplyConfigurationRequest::decode(&server.asked.lock().unwrap()[0].1[..]).unwrap();
    assert_eq!((request.data.as_slice(), request.mode, request.dry_run), (&b"machine: {}"[..], 1, true));
}

#[tokio::test]
async fn an_empty_response_is_an_error() {
    let server =
        TestServer::start(maintenance(), CannedResponse::one(&ApplyConfigurationResponse::default())).await;
    let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();
    assert_eq!(node.apply(vec![], true).await.unwrap_err().kind(), NodeErrorKind::Refused);

    let one = ApplyConfigurationResponse { messages: vec![ApplyConfiguration::default()] };
    let server = TestServer::start(maintenance(), CannedResponse::one(&one)).await;
    let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();
    assert!(node.apply(vec![], true).await.is_ok());
}

fn piece(text: &str) -> Vec<u8> {
    Data { metadata: None, bytes: text.into() }.encode_to_vec()
}

#[tokio::test]
async fn an_interrupted_stream_yields_its_messages_and_an_error() {
    for say in [
        CannedResponse::Cut(vec![piece("a\n"), piece("b\n")]),
        CannedResponse::Truncated(vec![piece("a\n"), piece("b\n")]),
    ] {
        let server = TestServer::start(maintenance(), say).await;
        let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();

        let mut logs = node.logs("ext-frr", LogTail { lines: Some(7), follow: true });
        assert_eq!(logs.next().await.unwrap().unwrap().bytes, b"a\n");
        assert_eq!(logs.next().await.unwrap().unwrap().bytes, b"b\n");
        let error = logs.next().await.unwrap_err();

        assert_eq!(error.kind(), NodeErrorKind::Lost, "{error}");
        assert!(logs.next().await.unwrap().is_none(), "it is over");
        let request = LogsRequest::decode(&server.asked.lock().unwrap()[0].1[..]).unwrap();
        assert_eq!(
            (request.namespace.as_str(), request.id.as_str(), request.tail_lines),
            ("system", "ext-frr", 7)
        );
    }
}

#[tokio::test]
async fn a_complete_stream_ends() {
    let say = CannedResponse::Messages(vec![piece("a"), piece("b")], 0, "");
    let server = TestServer::start(maintenance(), say).await;
    let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();

    assert_eq!(node.read("/proc/version").await.unwrap(), b"ab");
}

#[tokio::test]
async fn a_silent_node_times_out_unless_its_log_is_followed() {
    let server = TestServer::start(maintenance(), CannedResponse::Nothing).await;
    let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();
    time::pause();

    let start = Instant::now();
    let error = node.version().await.unwrap_err();
    assert_eq!(error.kind(), NodeErrorKind::TimedOut);
    assert_eq!(start.elapsed().as_secs(), 20);

    let mut lines = node.dmesg(true, true);
    let waited = time::timeout(Duration::from_hours(1), lines.next()).await;
    assert!(waited.is_err(), "a following client waits");
}

fn status(stage: &str) -> cosi::ResourceMessage {
    let metadata = cosi::ResourceMetadata { id: "machine".into(), ..cosi::ResourceMetadata::default() };
    let yaml_spec = format!("stage: {stage}\nstatus:\n    ready: true\n    unmetConditions: []\n");
    cosi::ResourceMessage {
        metadata: Some(metadata),
        spec: Some(cosi::Spec { yaml_spec, ..cosi::Spec::default() }),
    }
}

#[tokio::test]
async fn resources_are_fetched_listed_or_missing() {
    let got = CannedResponse::one(&cosi::GetResponse { resource: Some(status("running")) });
    let server = TestServer::start(maintenance(), got).await;
    let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();
    assert_eq!(node.get::<MachineStatus>("machine").await.unwrap().unwrap().stage, "running");

    let server =
        TestServer::start(maintenance(), CannedResponse::no(Code::NotFound, "resource does not exist")).await;
    let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();
    assert_eq!(node.get::<MachineStatus>("machine").await.unwrap(), None);
    assert_eq!(node.list::<Disk>().await.unwrap(), []);
}

#[tokio::test]
async fn a_watch_reports_existing_resources_changes_and_errors() {
    let event = |kind: cosi::EventType, resource| cosi::WatchEvent {
        resource,
        event_type: kind.into(),
        error: "behind".into(),
    };
    let answers = [
        vec![
            event(cosi::EventType::Created, Some(status("booting"))),
            event(cosi::EventType::Bootstrapped, None),
        ],
        vec![event(cosi::EventType::Noop, None)],
        vec![event(cosi::EventType::Destroyed, Some(status("booting")))],
        vec![event(cosi::EventType::Errored, None)],
    ];
    let answers = answers.map(|event| cosi::WatchResponse { event }.encode_to_vec());
    let server = TestServer::start(maintenance(), CannedResponse::Messages(answers.into(), 0, "")).await;
    let node = NodeClient::connect("cp1", server.address, &anyone()).await.unwrap();

    let mut watch = node.watch("runtime", "MachineStatuses.runtime.talos.dev");

    let Some(ResourceEvent::Is(first)) = watch.next().await.unwrap() else { panic!("it is there") };
    assert_eq!(first.read::<MachineStatus>().unwrap().stage, "booting");
    assert_eq!(watch.next().await.unwrap(), Some(ResourceEvent::Caught));
    assert!(matches!(watch.next().await.unwrap(), Some(ResourceEvent::Gone(_))));
    let error = watch.next().await.unwrap_err();
    assert!(error.to_string().contains("watch failed: behind"), "{error}");
}
