//! The client and a server that fails in every way a node can.

mod server;
mod stranger;

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

use self::server::{Say, Server, bundle, maintenance, mutual, trust};
use super::machine::LogTail;
use super::watch::Change;
use super::*;

const HERE: &[&str] = &["127.0.0.1"];

fn version() -> VersionResponse {
    let version = VersionInfo { tag: "v1.13.9".into(), ..VersionInfo::default() };
    VersionResponse { messages: vec![Version { version: Some(version), ..Version::default() }] }
}

fn anyone() -> Trust {
    Trust::Maintenance { pin: None }
}

/// Connects and asks; in TLS 1.3 a node says only then whom it lets in.
async fn asked(server: &Server, trust: &Trust) -> Result<Version, NodeError> {
    Node::connect("cp1", server.address, trust).await?.version().await
}

#[tokio::test]
async fn both_sides_show_certificates_of_the_cluster() {
    let bundle = bundle();
    let server = Server::start(mutual(&bundle, HERE), Say::one(&version())).await;

    let version = asked(&server, &trust(&bundle)).await.unwrap();

    assert_eq!(version.version.unwrap().tag, "v1.13.9");
    assert_eq!(server.asked.lock().unwrap()[0].0, "/machine.MachineService/Version");
}

#[tokio::test]
async fn a_machine_without_a_configuration_is_known_again_by_its_key() {
    let server = Server::start(maintenance(), Say::one(&version())).await;

    let first = Node::connect("cp1", server.address, &anyone()).await.unwrap();
    let pin = first.peer().pin;
    first.version().await.unwrap();
    asked(&server, &Trust::Maintenance { pin: Some(pin) }).await.unwrap();

    let other = Trust::Maintenance { pin: Some(Pin::of_key(b"other")) };
    let error = asked(&server, &other).await.unwrap_err();
    assert_eq!(error.kind(), Kind::WrongCertificate);
    assert!(error.to_string().contains(&format!("its key is {pin}, and not ")), "{error}");
    assert_eq!(server.asked.lock().unwrap().len(), 2, "nothing is asked of another machine");

    let imposter = Server::start(maintenance(), Say::one(&version())).await;
    let node = Node::connect("cp1", imposter.address, &Trust::Maintenance { pin: Some(pin) }).await;
    assert_eq!(node.err().unwrap().kind(), Kind::WrongCertificate);
    assert!(imposter.asked.lock().unwrap().is_empty(), "another key is another machine");
}

#[tokio::test]
async fn a_machine_of_a_cluster_is_not_taken_for_one_without_a_configuration() {
    let bundle = bundle();
    let server = Server::start(mutual(&bundle, HERE), Say::one(&version())).await;

    assert_eq!(asked(&server, &anyone()).await.unwrap_err().kind(), Kind::NotMaintenance);
    let pinned = Trust::Maintenance { pin: Some(Pin::of_key(b"other")) };
    assert_eq!(asked(&server, &pinned).await.unwrap_err().kind(), Kind::NotMaintenance);
}

#[tokio::test]
async fn a_machine_of_another_cluster_is_told_by_its_certificate_and_shown_none() {
    let (ours, theirs) = (bundle(), bundle());
    let server = Server::start(mutual(&theirs, HERE), Say::one(&version())).await;

    let error = asked(&server, &trust(&ours)).await.unwrap_err();

    assert_eq!(error.kind(), Kind::WrongCertificate);
    assert!(error.to_string().contains("it shows a certificate of cp1 signed by talos"), "{error}");
    assert!(server.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_machine_of_the_cluster_under_another_address_is_not_the_one() {
    let bundle = bundle();
    let server = Server::start(mutual(&bundle, &["10.0.0.11"]), Say::one(&version())).await;

    let error = asked(&server, &trust(&bundle)).await.unwrap_err();

    assert_eq!(error.kind(), Kind::WrongCertificate);
    assert!(error.to_string().contains("of this cluster, but not for this address"), "{error}");
}

#[tokio::test]
async fn a_certificate_that_the_node_does_not_take_is_told_as_such() {
    let (ours, theirs) = (bundle(), bundle());
    let server = Server::start(mutual(&ours, HERE), Say::one(&version())).await;
    let long_ago = ichor_values::Moment::from_unix(ichor_system::now().unix() - 7200).unwrap();
    let expired = admin_certificate(&ours.os, &mut OsRng, long_ago, Duration::from_hours(1)).unwrap();
    let foreign =
        admin_certificate(&theirs.os, &mut OsRng, ichor_system::now(), Duration::from_hours(1)).unwrap();

    for (pair, words) in [(expired, "expired"), (foreign, "certificate it was shown")] {
        let trust = Trust::Mutual(Arc::new(Credentials::new(&ours.os.crt, &pair).unwrap()));
        let error = asked(&server, &trust).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Unauthorised, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn who_is_at_an_address_is_found_by_a_greeting() {
    let (ours, theirs) = (bundle(), bundle());
    let Trust::Mutual(credentials) = trust(&ours) else { unreachable!() };
    let look = async |tls| {
        let server = Server::start(tls, Say::Nothing).await;
        Node::meet("cp1", server.address, Some(&credentials)).await.unwrap()
    };

    assert!(matches!(look(maintenance()).await, Met::Maintenance(_)));
    assert!(matches!(look(mutual(&ours, HERE)).await, Met::Configured(_)));
    let Met::Other { peer, .. } = look(mutual(&theirs, HERE)).await else {
        panic!("it is of another cluster")
    };
    assert_eq!(peer.names, ["cp1", "127.0.0.1"]);
}

#[tokio::test]
async fn nobody_and_somebody_else_are_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let talker = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"SSH-2.0-OpenSSH_9.2\r\n").await.unwrap();
        // The listener is gone after the first.
    });

    let error = Node::connect("cp1", address, &anyone()).await.err().unwrap();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(error.to_string().contains("what listens there is not Talos"), "{error}");
    talker.await.unwrap();

    assert!(Node::meet("cp1", address, None).await.is_err(), "nobody is there");
    let error = Node::connect("cp1", address, &anyone()).await.err().unwrap();
    assert!(error.to_string().contains("nothing listens there"), "{error}");
}

#[tokio::test]
async fn what_a_node_answers_is_told_with_its_words() {
    let server = Server::start(maintenance(), Say::no(Code::InvalidArgument, "unknown keys found")).await;
    let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();

    let error = node.apply(b"machine: {}".into(), true).await.unwrap_err();

    assert_eq!((error.kind(), error.call()), (Kind::Refused, "apply configuration"));
    assert_eq!(error.answer(), "it refuses what it was sent: unknown keys found");
    let request = ApplyConfigurationRequest::decode(&server.asked.lock().unwrap()[0].1[..]).unwrap();
    assert_eq!((request.data.as_slice(), request.mode, request.dry_run), (&b"machine: {}"[..], 1, true));
}

#[tokio::test]
async fn an_answer_of_nothing_is_no_answer() {
    let server = Server::start(maintenance(), Say::one(&ApplyConfigurationResponse::default())).await;
    let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();
    assert_eq!(node.apply(vec![], true).await.unwrap_err().kind(), Kind::Refused);

    let one = ApplyConfigurationResponse { messages: vec![ApplyConfiguration::default()] };
    let server = Server::start(maintenance(), Say::one(&one)).await;
    let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();
    assert!(node.apply(vec![], true).await.is_ok());
}

fn piece(text: &str) -> Vec<u8> {
    Data { metadata: None, bytes: text.into() }.encode_to_vec()
}

#[tokio::test]
async fn a_stream_that_breaks_has_what_came_before_and_an_error() {
    for say in [Say::Cut(vec![piece("a\n"), piece("b\n")]), Say::Truncated(vec![piece("a\n"), piece("b\n")])]
    {
        let server = Server::start(maintenance(), say).await;
        let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();

        let mut logs = node.logs("ext-frr", LogTail { lines: Some(7), follow: true });
        assert_eq!(logs.next().await.unwrap().unwrap().bytes, b"a\n");
        assert_eq!(logs.next().await.unwrap().unwrap().bytes, b"b\n");
        let error = logs.next().await.unwrap_err();

        assert_eq!(error.kind(), Kind::Lost, "{error}");
        assert!(logs.next().await.unwrap().is_none(), "it is over");
        let request = LogsRequest::decode(&server.asked.lock().unwrap()[0].1[..]).unwrap();
        assert_eq!(
            (request.namespace.as_str(), request.id.as_str(), request.tail_lines),
            ("system", "ext-frr", 7)
        );
    }
}

#[tokio::test]
async fn a_stream_that_is_whole_ends() {
    let say = Say::Messages(vec![piece("a"), piece("b")], 0, "");
    let server = Server::start(maintenance(), say).await;
    let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();

    assert_eq!(node.read("/proc/version").await.unwrap(), b"ab");
}

#[tokio::test]
async fn a_node_that_says_nothing_is_given_up_and_one_that_is_followed_is_not() {
    let server = Server::start(maintenance(), Say::Nothing).await;
    let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();
    time::pause();

    let start = Instant::now();
    let error = node.version().await.unwrap_err();
    assert_eq!(error.kind(), Kind::TimedOut);
    assert_eq!(start.elapsed().as_secs(), 20);

    let mut lines = node.dmesg(true, true);
    let waited = time::timeout(Duration::from_hours(1), lines.next()).await;
    assert!(waited.is_err(), "whoever follows waits");
}

fn status(stage: &str) -> cosi::Resource {
    let metadata = cosi::Metadata { id: "machine".into(), ..cosi::Metadata::default() };
    let yaml_spec = format!("stage: {stage}\nstatus:\n    ready: true\n    unmetConditions: []\n");
    cosi::Resource { metadata: Some(metadata), spec: Some(cosi::Spec { yaml_spec, ..cosi::Spec::default() }) }
}

#[tokio::test]
async fn resources_are_got_listed_and_may_not_be_there() {
    let got = Say::one(&cosi::GetResponse { resource: Some(status("running")) });
    let server = Server::start(maintenance(), got).await;
    let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();
    assert_eq!(node.get::<MachineStatus>("machine").await.unwrap().unwrap().stage, "running");

    let server = Server::start(maintenance(), Say::no(Code::NotFound, "resource does not exist")).await;
    let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();
    assert_eq!(node.get::<MachineStatus>("machine").await.unwrap(), None);
    assert_eq!(node.list::<Disk>().await.unwrap(), []);
}

#[tokio::test]
async fn a_watch_tells_what_is_there_what_changes_and_that_it_broke() {
    let event = |kind: cosi::EventType, resource| cosi::Event {
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
    let server = Server::start(maintenance(), Say::Messages(answers.into(), 0, "")).await;
    let node = Node::connect("cp1", server.address, &anyone()).await.unwrap();

    let mut watch = node.watch("runtime", "MachineStatuses.runtime.talos.dev");

    let Some(Change::Is(first)) = watch.next().await.unwrap() else { panic!("it is there") };
    assert_eq!(first.read::<MachineStatus>().unwrap().stage, "booting");
    assert_eq!(watch.next().await.unwrap(), Some(Change::Caught));
    assert!(matches!(watch.next().await.unwrap(), Some(Change::Gone(_))));
    let error = watch.next().await.unwrap_err();
    assert!(error.to_string().contains("the watch broke: behind"), "{error}");
}
