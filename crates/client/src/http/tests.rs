//! The client on servers with canned responses.

use std::error::Error as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ichor_talos::secrets::self_signed;
use ichor_tls::provider;
use rand_core::OsRng;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::talos::key;

/// A server that sends its responses in sequence, `many` of them on each connection, and the requests it received.
async fn server(many: usize, answers: &'static [&'static str]) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&asked);
    tokio::spawn(async move {
        for answers in answers.chunks(many) {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answer in answers {
                let request = read(&mut stream).await;
                requests.lock().unwrap().push(request);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    });
    (address, asked)
}

/// Reads a request, up to its `content-length`.
async fn read(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if length.is_none_or(|length| length.parse::<usize>().unwrap() <= body.len()) {
                return text;
            }
        }
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.unwrap();
        assert!(count > 0, "{text}");
        text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
    }
}

fn options() -> ClientOptions {
    ClientOptions {
        trust: ServerTrust::System,
        identity: None,
        proxy: None,
        connect_within: Duration::from_secs(5),
        answer_within: Duration::from_secs(5),
        stall: Duration::from_secs(5),
        redirects: 3,
        keeps_connections: true,
    }
}

fn get(url: String) -> Request {
    Request { method: Method::GET, url, headers: Vec::new(), payload: Payload::none() }
}

async fn text(response: Result<Response, RequestError>) -> String {
    String::from_utf8(response.unwrap().bytes(1000).await.unwrap()).unwrap()
}

const ONE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none";
const TWO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\ntwo";

#[tokio::test]
async fn a_connection_is_reused_until_the_server_closes_it() {
    for many in [2, 1] {
        let (address, _) = server(many, &[ONE, TWO]).await;
        let client = Client::new(options());

        assert_eq!(text(client.send(get(format!("http://{address}/"))).await).await, "one");
        // The connection returns to the pool, and its end is noticed, in the background.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(text(client.send(get(format!("http://{address}/"))).await).await, "two");
    }
}

#[tokio::test]
async fn a_request_has_default_headers_and_the_credentials_of_its_url() {
    let (address, asked) = server(1, &[ONE, ONE]).await;
    let client = Client::new(options());

    client.send(get(format!("http://me:hunter2@{address}/a?b=c"))).await.unwrap();
    let payload = Payload::bytes("");
    let post = Request { method: Method::POST, payload, ..get(format!("http://{address}")) };
    client.send(post).await.unwrap();

    let asked = asked.lock().unwrap();
    assert!(asked[0].starts_with("GET /a?b=c HTTP/1.1\r\n"), "{}", asked[0]);
    for header in [
        &format!("host: {address}\r\n"),
        concat!("user-agent: ichor/", env!("CARGO_PKG_VERSION"), "\r\n"),
        "accept: */*\r\n",
        "authorization: Basic bWU6aHVudGVyMg==\r\n",
    ] {
        assert!(asked[0].contains(header), "{}", asked[0]);
    }
    assert!(!asked[0].contains("content-length"), "{}", asked[0]);
    assert!(asked[1].starts_with("POST / HTTP/1.1\r\n"), "{}", asked[1]);
    assert!(asked[1].contains("content-length: 0\r\n"), "{}", asked[1]);
}

#[tokio::test]
async fn a_redirect_is_followed_without_the_password() {
    let found = "HTTP/1.1 302 Found\r\nlocation: /cdn/1\r\ncontent-length: 0\r\n\r\n";
    let (address, asked) = server(1, Box::leak(Box::new([found, ONE, found]))).await;
    let mut request = get(format!("http://{address}/blob"));
    request.headers = vec![("authorization".to_owned(), "Bearer t0k3n".to_owned())];
    request.headers.push(("range".to_owned(), "bytes=1-".to_owned()));

    let followed = text(Client::new(options()).send(request).await).await;
    let direct = Client::new(ClientOptions { redirects: 0, ..options() });
    let not_followed = direct.send(get(format!("http://{address}/blob"))).await.unwrap();

    assert_eq!((followed.as_str(), not_followed.status().as_u16()), ("one", 302));
    let asked = asked.lock().unwrap();
    assert!(asked[0].contains("t0k3n"), "{}", asked[0]);
    assert!(asked[1].starts_with("GET /cdn/1") && asked[1].contains("bytes=1-"), "{}", asked[1]);
    assert!(!asked[1].contains("t0k3n"), "{}", asked[1]);
}

#[tokio::test]
async fn endless_redirects_are_limited() {
    let found = "HTTP/1.1 302 Found\r\nlocation: ?again\r\ncontent-length: 0\r\n\r\n";
    let (address, asked) = server(1, Box::leak(Box::new([found; 9]))).await;

    let error = Client::new(options()).send(get(format!("http://{address}/"))).await.unwrap_err();

    assert_eq!((error.to_string().as_str(), asked.lock().unwrap().len()), ("too many redirects", 4));
}

#[tokio::test]
async fn a_payload_is_sent_in_chunks() {
    let (address, asked) = server(1, &[ONE]).await;
    let (mut pieces, payload) = Payload::chunks(6, Duration::from_secs(5));
    let put = Request { method: Method::PUT, payload, ..get(format!("http://{address}/up")) };
    let client = Client::new(options());

    let (response, ()) = tokio::join!(client.send(put), async move {
        for piece in ["abc", "def"] {
            assert!(pieces.send(Ok(piece.into())).await.unwrap());
        }
    });

    assert_eq!(text(response).await, "one");
    let asked = asked.lock().unwrap();
    assert!(
        asked[0].contains("content-length: 6\r\n") && asked[0].ends_with("\r\n\r\nabcdef"),
        "{}",
        asked[0]
    );
}

#[tokio::test]
async fn an_unreadable_payload_is_the_reported_error() {
    let (address, _) = server(1, &[ONE]).await;
    let (mut pieces, payload) = Payload::chunks(6, Duration::from_secs(5));
    let put = Request { method: Method::PUT, payload, ..get(format!("http://{address}/up")) };
    let client = Client::new(options());

    let (response, sent) = tokio::join!(client.send(put), async move {
        pieces.send(Err(std::io::Error::other("the disk failed"))).await
    });

    assert!(sent.is_ok());
    assert_eq!(response.unwrap_err().source().unwrap().to_string(), "the disk failed");
}

#[tokio::test]
async fn silent_and_interrupted_servers_are_errors() {
    let patience = Duration::from_millis(50);
    let hasty = Client::new(ClientOptions { answer_within: patience, ..options() });
    let client = Client::new(ClientOptions { stall: patience, ..options() });
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (half, _) = server(2, &["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", "HTTP/1.1 "]).await;
    let (cut, _) = server(1, &["HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"]).await;
    let (strange, _) = server(1, &["SSH-2.0-OpenSSH_9.2\r\n"]).await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();

    let no_answer = hasty.send(get(format!("http://{}/", silent.local_addr().unwrap()))).await.unwrap_err();
    let stalled = client.send(get(format!("http://{half}/"))).await.unwrap().bytes(9).await.unwrap_err();
    let broken = client.send(get(format!("http://{cut}/"))).await.unwrap().bytes(9).await.unwrap_err();
    let not_http = client.send(get(format!("http://{strange}/"))).await.unwrap_err();
    let refused = client.send(get(format!("http://{closed}/"))).await.unwrap_err();

    assert!(matches!(no_answer, RequestError::NoAnswer(_)), "{no_answer}");
    assert!(matches!(stalled, RequestError::Stalled(_)), "{stalled}");
    assert!(matches!(broken, RequestError::BrokenBody(_)), "{broken}");
    assert_eq!(not_http.to_string(), "the server does not speak HTTP");
    assert_eq!(refused.to_string(), "Connection refused (os error 111)");
}

#[tokio::test]
async fn a_proxy_is_used_for_hosts_outside_no_proxy() {
    let (address, _) = server(1, &[ONE, TWO]).await;
    let (proxy, asked) = proxy().await;
    let client = |direct: &'static str| {
        let url = format!("http://me:hunter2@{proxy}");
        let variable = move |name: &str| match name {
            "HTTPS_PROXY" => Some(url.clone()),
            "NO_PROXY" => Some(direct.to_owned()),
            _ => None,
        };
        Client::new(ClientOptions { proxy: Proxy::from_env(variable), ..options() })
    };

    let through = text(client("").send(get(format!("http://{address}/"))).await).await;
    let direct = text(client("127.*").send(get(format!("http://{address}/"))).await).await;

    assert_eq!((through.as_str(), direct.as_str()), ("one", "two"));
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with(&format!("CONNECT {address} HTTP/1.1\r\n")), "{}", asked[0]);
    assert!(asked[0].contains("proxy-authorization: Basic bWU6aHVudGVyMg==\r\n"), "{}", asked[0]);
}

/// A proxy for one connection, and the requests it received.
async fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&asked);
    tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.unwrap();
        let request = read(&mut near).await;
        let place = request.split_whitespace().nth(1).unwrap().to_owned();
        requests.lock().unwrap().push(request);
        let mut far = TcpStream::connect(place).await.unwrap();
        near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
    });
    (address, asked)
}

#[tokio::test]
async fn a_refusing_proxy_is_named_without_its_password() {
    let (proxy, _) =
        server(1, &["HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"]).await;
    let url = format!("http://me:hunter2@{proxy}");
    let proxied = Proxy::from_env(|name| (name == "ALL_PROXY").then(|| url.clone()));
    let client = Client::new(ClientOptions { proxy: proxied, ..options() });

    let error = client.send(get("https://factory.talos.dev/".to_owned())).await.unwrap_err();

    assert_eq!(error.to_string(), format!("the proxy http://{proxy} returned status 407"));
}

/// A server with a self-signed certificate.
async fn encrypted() -> (String, Vec<u8>) {
    let pair = self_signed("bmc1", &mut OsRng, ichor_system::now()).unwrap();
    let certificate = pair.crt.block().unwrap().1;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate.clone())], key(&pair.key).unwrap())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(ONE.as_bytes()).await;
        }
    });
    (address, certificate)
}

#[tokio::test]
async fn a_server_with_another_certificate_is_not_trusted() {
    let (address, certificate) = encrypted().await;
    let ask = |trust| {
        let client = Client::new(ClientOptions { trust, ..options() });
        let request = get(format!("https://{address}/"));
        async move { client.send(request).await }
    };
    let (pin, other) = (CertificatePin::from_der(&certificate), CertificatePin::from_der(b"another"));

    let pinned = text(ask(ServerTrust::Pinned(pin)).await).await;
    let mismatch = ask(ServerTrust::Pinned(other)).await.unwrap_err();
    let unsigned = ask(ServerTrust::pem(b"no certificate")).await.unwrap_err();
    let system = ask(ServerTrust::System).await.unwrap_err();

    assert_eq!(pinned, "one");
    let words = format!("the certificate has the fingerprint {pin}, expected {other}");
    assert_eq!(mismatch.to_string(), words);
    assert_eq!(unsigned.to_string(), "invalid peer certificate: UnknownIssuer");
    assert!(mismatch.is_distrust() && unsigned.is_distrust() && system.is_distrust());
}
