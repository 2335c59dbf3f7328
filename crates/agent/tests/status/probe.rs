//! Health probes against real servers and programs.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ichor_agent::health::{run_probe, watch};
use ichor_bgp::agent::config::{HealthCheck, HealthProbe};
use ichor_bgp::agent::health_gate::GateState;
use ichor_bgp::agent::status::AnycastStatus;
use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch as channel;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::status::authority::Authority;

const WITHIN: Duration = Duration::from_secs(2);

/// A server that responds to `/readyz` with a variable status, and an endless body.
async fn server(tls: Option<Arc<ServerConfig>>) -> (SocketAddr, Arc<AtomicU16>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let code = Arc::new(AtomicU16::new(200));
    let shared = Arc::clone(&code);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (code, tls) = (Arc::clone(&shared), tls.clone());
            tokio::spawn(async move {
                match tls {
                    None => answer(stream, code).await,
                    Some(tls) => {
                        if let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await {
                            answer(stream, code).await;
                        }
                    }
                }
            });
        }
    });
    (address, code)
}

async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, code: Arc<AtomicU16>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let found = request.uri().path() == "/readyz" && request.headers().contains_key("host");
        let code = if found { code.load(Ordering::Relaxed) } else { 404 };
        let endless =
            stream::repeat_with(|| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b'x'; 1024]))));
        let mut answer = Response::new(StreamBody::new(endless).boxed());
        *answer.status_mut() = StatusCode::from_u16(code).unwrap();
        async { Ok::<_, Infallible>(answer) }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// A server that accepts a connection, sends something and is then silent.
async fn silent_server(text: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let text = text.clone();
            tokio::spawn(async move {
                let _ = stream.write_all(&text).await;
                let _ = stream.read_to_end(&mut Vec::new()).await;
            });
        }
    });
    address
}

async fn url(url: String) -> Result<(), String> {
    run_probe(&HealthProbe::Url(url), WITHIN).await.map_err(|error| error.to_string())
}

async fn command(words: &[&str], within: Duration) -> Result<(), String> {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    run_probe(&HealthProbe::Command(words), within).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn https_probes_accept_any_certificate_in_either_version_of_tls() {
    let authority = Authority::new(1);
    for version in [&TLS12, &TLS13] {
        let (address, code) = server(Some(authority.server(&[version]))).await;

        assert_eq!(url(format!("https://{address}/readyz")).await, Ok(()));
        assert_eq!(url(format!("https://localhost:{}/readyz", address.port())).await, Ok(()));

        code.store(503, Ordering::Relaxed);
        let error = format!("https://{address}/readyz answers 503");
        assert_eq!(url(format!("https://{address}/readyz")).await, Err(error));
    }
}

#[tokio::test]
async fn http_probes_succeed_with_2xx_only() {
    let (address, code) = server(None).await;
    let ready = format!("http://{address}/readyz");

    for good in [200, 204, 299] {
        code.store(good, Ordering::Relaxed);
        assert_eq!(url(ready.clone()).await, Ok(()), "{good}");
    }
    for error in [301, 401, 404, 500] {
        code.store(error, Ordering::Relaxed);
        assert_eq!(url(ready.clone()).await, Err(format!("{ready} answers {error}")));
    }
    assert!(url(format!("http://{address}/")).await.unwrap_err().ends_with("answers 404"));
}

#[tokio::test]
async fn the_cause_of_a_failure_is_reported() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let refused = format!("cannot connect to {free}: Connection refused (os error 111)");
    assert_eq!(url(format!("https://{free}/readyz")).await, Err(refused.clone()));
    let tcp = run_probe(&HealthProbe::Tcp(free.to_string()), WITHIN).await;
    assert_eq!(tcp.map_err(|error| error.to_string()), Err(refused));

    let plain = silent_server(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()).await;
    let words = url(format!("https://{plain}/readyz")).await.unwrap_err();
    assert!(words.starts_with(&format!("{plain} does not speak TLS 1.2 or 1.3: ")), "{words}");

    let other = silent_server(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()).await;
    let words = url(format!("http://{other}/")).await.unwrap_err();
    assert!(words.starts_with(&format!("http://{other}/ does not answer in HTTP: ")), "{words}");

    for wrong in ["ftp://127.0.0.1/", "127.0.0.1:6443", "https://", "https://user:secret@127.0.0.1/"] {
        assert!(url(wrong.to_owned()).await.unwrap_err().contains("is not a URL such as"), "{wrong}");
    }
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let address = silent_server(Vec::new()).await;

    for scheme in ["http", "https"] {
        let start = Instant::now();
        let probe = HealthProbe::Url(format!("{scheme}://{address}/readyz"));
        let error = run_probe(&probe, Duration::from_millis(200)).await.unwrap_err().to_string();

        assert_eq!(error, format!("no answer from {scheme}://{address}/readyz within 200 ms"));
        assert!(start.elapsed() < Duration::from_millis(1500));
    }
    assert!(run_probe(&HealthProbe::Tcp(address.to_string()), WITHIN).await.is_ok());
}

#[tokio::test]
async fn an_endless_head_is_not_read_completely() {
    let mut endless = b"HTTP/1.1 200 OK\r\n".to_vec();
    endless.extend(b"x: y\r\n".repeat(1_000_000));
    let address = silent_server(endless).await;

    let error = url(format!("http://{address}/readyz")).await.unwrap_err();

    assert!(error.contains("does not answer in HTTP"), "{error}");
}

#[tokio::test]
async fn the_result_of_a_command_is_its_exit_status() {
    assert_eq!(command(&["true"], WITHIN).await, Ok(()));
    assert_eq!(command(&["false"], WITHIN).await, Err("false ended with exit status: 1".into()));
    let result = command(&["sh", "-c", "echo not ready >&2; echo more >&2; exit 3"], WITHIN).await;
    assert_eq!(result, Err("sh ended with exit status: 3: not ready".into()));
    let missing = command(&["/nowhere/ready"], WITHIN).await.unwrap_err();
    assert!(missing.starts_with("cannot run /nowhere/ready: No such file"), "{missing}");
    assert_eq!(command(&[], WITHIN).await, Err("the command of the health check is empty".into()));
}

#[tokio::test]
async fn long_output_of_a_command_is_truncated() {
    let error = command(&["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1"], WITHIN)
        .await
        .unwrap_err();

    assert!(error.starts_with("sh ended with exit status: 1: xxx") && error.len() < 300, "{error}");
}

#[tokio::test]
async fn a_hanging_command_is_killed_with_its_descendants() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", file.display());

    let error = command(&["sh", "-c", &script], Duration::from_millis(500)).await.unwrap_err();

    assert_eq!(error, "no answer from sh within 500 ms");
    let pid = std::fs::read_to_string(file).unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}/stat", pid.trim()));
    let gone = async {
        // A process that was ended and not reaped yet is still listed, as a zombie.
        while std::fs::read_to_string(&process).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(WITHIN, gone).await.expect("its descendants are killed as well");
}

#[tokio::test]
async fn a_descendant_with_the_pipe_does_not_delay_the_result() {
    let start = Instant::now();

    assert_eq!(command(&["sh", "-c", "sleep 3 & exit 0"], WITHIN).await, Ok(()));

    assert!(start.elapsed() < Duration::from_millis(1500));
}

#[tokio::test]
async fn the_gate_follows_a_server_with_hysteresis() {
    let (address, code) = server(None).await;
    let probe = HealthProbe::Url(format!("http://{address}/readyz"));
    let health = HealthCheck { interval: 20, timeout: 500, ..HealthCheck::new(probe) };
    let (sender, mut status) = channel::channel(AnycastStatus { gate: GateState::Closed, reason: None });
    let watching = tokio::spawn(watch(health, GateState::Closed, sender));
    let long = Duration::from_secs(10);

    timeout(long, status.wait_for(|it| it.gate == GateState::Open)).await.unwrap().unwrap();

    code.store(500, Ordering::Relaxed);
    let first = timeout(long, status.wait_for(|it| it.reason.is_some())).await.unwrap().unwrap().clone();
    assert_eq!(first.gate, GateState::Open, "one failure is not enough");
    let shut =
        timeout(long, status.wait_for(|it| it.gate == GateState::Closed)).await.unwrap().unwrap().clone();
    assert_eq!(shut.reason, Some(format!("http://{address}/readyz answers 500")));

    code.store(200, Ordering::Relaxed);
    timeout(long, status.wait_for(|it| it.gate == GateState::Open)).await.unwrap().unwrap();

    drop(status);
    timeout(long, watching).await.expect("it ends when the receiver is dropped").unwrap();
}
