//! The status, as clients receive it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ichor_agent::serve::tls::{TlsConfig, TlsError, TlsListener};
use ichor_agent::serve::{local, socket};
use ichor_bgp::agent::AgentStatus;
use ichor_bgp::agent::config;
use ichor_bgp::agent::config::SecretText;
use ichor_bgp::agent::session::SessionState;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::watch::{self, Sender};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::status::authority::Authority;
use crate::status::sample;

const LONG: Duration = Duration::from_secs(20);

async fn pages() -> (SocketAddr, Sender<AgentStatus>) {
    let listener = local::bind(0).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, source) = watch::channel(sample::status());
    tokio::spawn(local::serve(listener, source));
    (address, sender)
}

/// The complete response to one request.
async fn get(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> io::Result<String> {
    stream.write_all(format!("{request} HTTP/1.1\r\nHost: here\r\n\r\n").as_bytes()).await?;
    let mut text = String::new();
    match stream.read_to_string(&mut text).await {
        // Some peers close without notice; the received text counts.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !text.is_empty() => {}
        other => drop(other?),
    }
    Ok(text)
}

async fn page(address: SocketAddr, request: &str) -> (u16, String) {
    let stream = TcpStream::connect(address).await.unwrap();
    let text = timeout(LONG, get(stream, request)).await.expect("a response in time").unwrap();
    let (head, body) = text.split_once("\r\n\r\n").expect("a complete response");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn pages_have_the_current_status() {
    let (address, state) = pages().await;

    assert!(address.ip().is_loopback());
    assert_eq!(page(address, "GET /metrics").await, (200, sample::status().metrics()));
    assert_eq!(page(address, "GET /healthz").await, (200, "ok\n".into()));
    let (code, line) = page(address, "GET /status?x=y").await;
    assert_eq!((code, AgentStatus::find(&line).unwrap().unwrap()), (200, sample::status()));

    state.send_modify(|status| status.sessions[0].session.state = SessionState::Active);
    let reason = "no fabric session is established: eth0: Active\n";
    assert_eq!(page(address, "GET /healthz").await, (503, reason.into()));
}

#[tokio::test]
async fn other_requests_are_rejected() {
    let (address, _state) = pages().await;

    assert_eq!(page(address, "GET /").await.0, 404);
    assert_eq!(page(address, "GET /../etc/passwd").await.0, 404);
    assert_eq!(page(address, "POST /status").await.0, 405);
    assert_eq!(page(address, "HEAD /status").await, (200, String::new()));
    let long = format!("GET /{}", "x".repeat(100_000));
    let stream = TcpStream::connect(address).await.unwrap();
    let text = timeout(LONG, get(stream, &long)).await.unwrap().unwrap_or_default();
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    assert_eq!(page(address, "GET /healthz").await.0, 200);
}

#[tokio::test]
async fn slow_clients_delay_no_other_and_are_disconnected() {
    let (address, _state) = pages().await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /st").await.unwrap();
        slow.push(stream);
        tokio::task::yield_now().await;
    }

    let start = Instant::now();
    assert_eq!(page(address, "GET /healthz").await.0, 200);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());

    // The first was closed in favour of others, the last after its timeout.
    let (mut first, mut last) = (slow.remove(0), slow.pop().unwrap());
    let mut rest = Vec::new();
    let _ = timeout(LONG, first.read_to_end(&mut rest)).await.expect("the first connection ends");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let _ = timeout(LONG, last.read_to_end(&mut rest)).await.expect("the last connection ends");
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
}

#[tokio::test]
async fn the_socket_is_accessible_to_root_only_and_replaces_an_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(socket::NAME);
    drop(UnixListener::bind(&path).unwrap());
    let unreachable = socket::query_status(&path).await.unwrap_err().to_string();
    assert!(unreachable.starts_with("no agent answers on "), "{unreachable}");

    let listener = socket::bind(&path).unwrap();
    let (_sender, source) = watch::channel(sample::status());
    tokio::spawn(socket::serve(listener, source));

    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(socket::query_status(&path).await.unwrap(), sample::status());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);

    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(UnixStream::connect(&path).await.unwrap());
    }
    assert_eq!(socket::query_status(&path).await.unwrap(), sample::status());
}

#[tokio::test]
async fn a_response_of_another_program_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(socket::NAME);
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(b"hello\n").await.unwrap();
        }
    });

    let foreign = socket::query_status(&path).await.unwrap_err().to_string();

    assert_eq!(foreign, "the response is not from an agent of this release");
}

fn listener_config(authority: &Authority, listen: IpAddr) -> config::StatusListener {
    config::StatusListener {
        listen,
        port: 0,
        ca: authority.os.crt.text().into_owned(),
        certificate: authority.agent.crt.text().into_owned(),
        key: SecretText(authority.agent.key.text().into_owned()),
    }
}

fn open(status: &config::StatusListener) -> Result<TlsListener, TlsError> {
    TlsConfig::read(status).and_then(TlsListener::open)
}

/// Queries over TLS with the certificate of an authority, or with none. The server needs a certificate of `believed`.
async fn over_tls(
    address: SocketAddr,
    believed: &Authority,
    with: Option<&Authority>,
    version: &'static SupportedProtocolVersion,
) -> io::Result<String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_protocol_versions(&[version]).unwrap();
    let builder = builder.with_root_certificates(believed.roots());
    let configuration = match with {
        Some(authority) => builder.with_client_auth_cert(authority.chain(), authority.key()).unwrap(),
        None => builder.with_no_client_auth(),
    };
    let connector = TlsConnector::from(Arc::new(configuration));
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::from(address.ip());
    let stream = connector.connect(name, stream).await?;
    timeout(LONG, get(stream, "GET /status")).await.expect("a response in time")
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_authority_are_accepted() {
    let (ours, theirs) = (Authority::new(1), Authority::new(2));
    let listener = open(&listener_config(&ours, Ipv4Addr::LOCALHOST.into())).unwrap();
    let address = listener.address().unwrap();
    let (_sender, source) = watch::channel(sample::status());
    tokio::spawn(listener.serve(source));

    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let answer = over_tls(address, &ours, Some(&ours), version).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert_eq!(AgentStatus::find(&answer).unwrap().unwrap(), sample::status());

        for stranger in [None, Some(&theirs)] {
            let refused = over_tls(address, &ours, stranger, version).await.unwrap_err().to_string();
            let alerts =
                ["CertificateRequired", "UnknownCA", "HandshakeFailure", "DecryptError", "BadCertificate"];
            assert!(alerts.iter().any(|alert| refused.contains(alert)), "{refused}");
        }
    }

    // A client without TLS gets no response, and delays no other.
    let mut plain = TcpStream::connect(address).await.unwrap();
    plain.write_all(b"GET /status HTTP/1.1\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(LONG, plain.read_to_end(&mut answer)).await.expect("it is closed");
    assert!(!answer.starts_with(b"HTTP"));
    let _mute = TcpStream::connect(address).await.unwrap();
    sleep(Duration::from_millis(50)).await;
    over_tls(address, &ours, Some(&ours), &rustls::version::TLS13).await.unwrap();
}

#[tokio::test]
async fn an_unassigned_address_can_be_bound() {
    let authority = Authority::new(1);

    for address in ["192.0.2.7", "2001:db8::7"] {
        open(&listener_config(&authority, address.parse().unwrap())).map(drop).unwrap();
    }
}

#[tokio::test]
async fn an_invalid_certificate_or_key_is_reported_without_secrets() {
    let (authority, other) = (Authority::new(1), Authority::new(2));
    let good = listener_config(&authority, Ipv4Addr::LOCALHOST.into());
    let key = SecretText(other.signed.key.text().into_owned());
    for (wrong, part) in [
        (
            config::StatusListener { ca: "hello".into(), ..good.clone() },
            "`status_listener.client_ca` has no valid certificate",
        ),
        (
            config::StatusListener { certificate: String::new(), ..good.clone() },
            "`status_listener.certificate` has no valid certificate",
        ),
        (
            config::StatusListener { key: SecretText("hunter2".into()), ..good.clone() },
            "`status_listener.private_key` has no valid key",
        ),
        (config::StatusListener { key, ..good.clone() }, "do not belong together"),
    ] {
        let error = open(&wrong).map(drop).unwrap_err();

        assert!(error.to_string().contains(part), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"));
    }
}
