//! `ichor schematic` and `ichor meta` on the command line, with a local server as the Image Factory.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::common::{command, folder, ichor, root, run_of};

const TAILSCALE: &str = "customization: {systemExtensions: {officialExtensions: [siderolabs/tailscale]}}\n";
const TAILSCALE_ID: &str = "4a0d65c669d46663f377e7161e50cfd570c401f26fd9e7bda34a0216b6f1922b";

/// The relevant parts of a request.
#[derive(Clone, Debug)]
struct Request {
    line: String,
    range: Option<u64>,
    body: String,
}

/// A loopback server that answers every request with raw bytes.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn start(answer: impl Fn(&Request) -> Vec<u8> + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(request) = read(&stream) else { continue };
                log.lock().unwrap().push(request.clone());
                let _ = (&stream).write_all(&answer(&request));
            }
        });
        Server { url, requests }
    }

    fn asked(&self, path: &str) -> Vec<Request> {
        let all = self.requests.lock().unwrap();
        all.iter().filter(|request| request.line.split(' ').nth(1) == Some(path)).cloned().collect()
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut request = Request { line: String::new(), range: None, body: String::new() };
    reader.read_line(&mut request.line).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        if let Some(value) = line.strip_prefix("range: bytes=") {
            request.range = value.trim_end_matches('-').parse().ok();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).ok()?;
    Some(request)
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n")
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// 300 KiB with the signature of an ISO.
fn iso() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..300_u32 << 10).map(|nth| u8::try_from(nth % 251).unwrap()).collect();
    bytes[0] = 0;
    bytes[0x8001..0x8006].copy_from_slice(b"CD001");
    bytes
}

fn path() -> String {
    format!("/image/{TAILSCALE_ID}/v1.13.9/metal-amd64.iso")
}

fn fetch(server: &Server, folder: &std::path::Path) -> crate::common::Run {
    ichor(
        folder,
        &format!(
            "schematic fetch s.yaml --talos v1.13.9 --asset iso --cache cache --json --factory {}",
            server.url
        ),
    )
}

fn kept() -> String {
    format!("cache/{TAILSCALE_ID}/v1.13.9/metal-amd64.iso")
}

/// Response of a factory without published checksums.
fn unpaid(request: &Request) -> Option<Vec<u8>> {
    request.line.contains(".sha256 ").then(|| answer("402 Payment Required", "", b"enterprise not enabled"))
}

#[test]
fn ids_are_printed_in_order_and_a_bad_file_is_named() {
    let folder = folder(&[
        ("a.yaml", "customization: {}\n"),
        ("b.json", "{\"customisation\": {}}"),
        ("c.yaml", TAILSCALE),
    ]);
    let run = ichor(folder.path(), "schematic id a.yaml b.json c.yaml");
    let canonical = ichor(folder.path(), "schematic id --canonical c.yaml");

    assert_eq!(run.code, 1);
    let want = format!("376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba\n{TAILSCALE_ID}\n");
    assert_eq!(run.stdout, want);
    assert!(
        run.stderr.contains("b.json: line 1: unknown key `customisation`; did you mean"),
        "{}",
        run.stderr
    );
    assert!(canonical.stdout.ends_with("            - siderolabs/tailscale\n"), "{}", canonical.stdout);
    assert_eq!(ichor(folder.path(), "schematic id nowhere.yaml").code, 2);
}

#[test]
fn urls_follow_platform_architecture_and_secure_boot() {
    let folder = folder(&[("s.yaml", TAILSCALE), ("ichor.yaml", crate::common::GOOD)]);
    let one = ichor(
        folder.path(),
        "schematic url s.yaml --talos v1.13.9 --platform nocloud --arch arm64 --asset iso",
    );
    let secure = ichor(folder.path(), "schematic url s.yaml --talos v1.13.9 --secureboot --json").json();
    let nodes = ichor(folder.path(), "schematic url --json").json();
    let without = ichor(folder.path(), "schematic url s.yaml");

    let base = format!("https://factory.talos.dev/image/{TAILSCALE_ID}/v1.13.9");
    assert_eq!(one.stdout, format!("{base}/nocloud-arm64.iso\n"));
    assert_eq!(secure[0]["assets"]["uki"], format!("{base}/metal-amd64-secureboot-uki.efi"));
    let installer = format!("factory.talos.dev/metal-installer-secureboot/{TAILSCALE_ID}:v1.13.9");
    assert_eq!(secure[0]["assets"]["installer"], installer);
    assert_eq!(nodes.as_array().unwrap().len(), 3);
    assert!(nodes[0]["assets"]["pxe"].as_str().unwrap().starts_with("https://pxe.talos.dev/pxe/"), "{nodes}");
    assert_eq!(without.code, 2);
    assert!(without.stderr.contains("--talos"), "{}", without.stderr);
}

#[test]
fn registering_compares_the_id() {
    let right =
        Server::start(|_| answer("201 Created", "", format!("{{\"id\": \"{TAILSCALE_ID}\"}}").as_bytes()));
    let wrong = Server::start(|_| answer("201 Created", "", b"{\"id\": \"abc\"}"));
    let refusing = Server::start(|_| answer("400 Bad Request", "", b"unknown extension\n"));
    let page = Server::start(|_| answer("200 OK", "content-type: text/html\r\n", b"<html>log in</html>"));
    let folder = folder(&[("s.yaml", TAILSCALE)]);
    let register = |url: &str| ichor(folder.path(), &format!("schematic register s.yaml --factory {url}"));

    let run = register(&right.url);
    assert_eq!((run.code, run.stdout), (0, format!("{TAILSCALE_ID}\n")), "{}", run.stderr);
    let posted = right.asked("/schematics");
    assert!(posted[0].body.starts_with("customization:\n    systemExtensions:\n"), "{posted:?}");
    let run = register(&wrong.url);
    assert_eq!((run.code, run.stderr.contains("the factory computed abc")), (1, true), "{}", run.stderr);
    let run = register(&refusing.url);
    assert_eq!(
        (run.code, run.stderr.contains("400 Bad Request: unknown extension")),
        (1, true),
        "{}",
        run.stderr
    );
    let run = register(&page.url);
    assert_eq!(
        (run.code, run.stderr.contains("check that it is an Image Factory")),
        (1, true),
        "{}",
        run.stderr
    );
    let run = register("http://127.0.0.1:1");
    assert_eq!(
        (run.code, run.stderr.contains("cannot reach http://127.0.0.1:1")),
        (2, true),
        "{}",
        run.stderr
    );
}

#[test]
fn a_schematic_with_a_secret_is_not_registered() {
    let server = Server::start(|_| answer("201 Created", "", b"{}"));
    let folder = folder(&[("s.yaml", "customization: {extraKernelArgs: [ts.authkey=hunter2]}\n")]);
    let run = ichor(folder.path(), &format!("schematic register s.yaml --factory {}", server.url));

    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("ts.authkey") && !run.all().contains("hunter2"), "{}", run.all());
    assert!(server.requests.lock().unwrap().is_empty());
}

#[test]
fn a_second_fetch_sends_no_request() {
    let server = Server::start(|request| unpaid(request).unwrap_or_else(|| answer("200 OK", "", &iso())));
    let folder = folder(&[("s.yaml", TAILSCALE)]);
    let first = fetch(&server, folder.path());
    let asked = server.requests.lock().unwrap().len();
    let second = fetch(&server, folder.path());

    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(
        (first.json()[0]["downloaded"].as_bool(), second.json()[0]["downloaded"].as_bool()),
        (Some(true), Some(false))
    );
    assert_eq!(server.requests.lock().unwrap().len(), asked);
    assert_eq!(fs::read(folder.path().join(kept())).unwrap(), iso());
}

#[test]
fn an_interrupted_download_is_resumed() {
    let server = Server::start(|request| {
        unpaid(request).unwrap_or_else(|| match request.range {
            None => {
                let mut response = answer("200 OK", "etag: \"1\"\r\n", &iso());
                response.truncate(100_000);
                response
            }
            Some(from) => {
                let rest = &iso()[usize::try_from(from).unwrap()..];
                let range = format!("content-range: bytes {from}-{}/{}\r\n", iso().len() - 1, iso().len());
                answer("206 Partial Content", &range, rest)
            }
        })
    });
    let folder = folder(&[("s.yaml", TAILSCALE)]);
    let first = fetch(&server, folder.path());
    let is_cached = folder.path().join(kept()).exists();
    let second = fetch(&server, folder.path());

    assert_eq!((first.code, is_cached), (2, false), "{}", first.stderr);
    assert!(first.stderr.contains("run the command again to resume"), "{}", first.stderr);
    assert_eq!(second.code, 0, "{}", second.stderr);
    assert!(server.asked(&path())[1].range.is_some_and(|from| from > 90_000));
    assert_eq!(fs::read(folder.path().join(kept())).unwrap(), iso());
}

#[test]
fn a_file_that_is_not_an_image_is_not_cached() {
    let page = Server::start(|request| {
        unpaid(request).unwrap_or_else(|| answer("200 OK", "", &b"<html>not here</html>".repeat(9000)))
    });
    let scrap =
        Server::start(|request| unpaid(request).unwrap_or_else(|| answer("200 OK", "", b"not found")));
    let missing = Server::start(|_| answer("404 Not Found", "", b"schematic not found"));
    for (server, want) in [
        (page, "it is a web page"),
        (scrap, "it is 9 bytes long"),
        (missing, "404 Not Found: schematic not found\nhint: register the schematic first"),
    ] {
        let folder = folder(&[("s.yaml", TAILSCALE)]);
        let run = fetch(&server, folder.path());

        assert_eq!(run.code, 1, "{want}: {}", run.stderr);
        assert!(run.stderr.contains(want), "{want}: {}", run.stderr);
        assert!(!folder.path().join("cache").exists(), "{want}");
    }
}

#[test]
fn downloads_match_the_published_checksum_or_the_first_download() {
    let wrong = Server::start(|request| {
        if request.line.contains(".sha256 ") {
            return answer("200 OK", "", format!("{}  metal-amd64.iso\n", "0".repeat(64)).as_bytes());
        }
        answer("200 OK", "", &iso())
    });
    let changed = Server::start(|request| {
        let mut other = iso();
        other[200_000] ^= 1;
        unpaid(request).unwrap_or_else(|| answer("200 OK", "", &other))
    });
    let good = Server::start(|request| unpaid(request).unwrap_or_else(|| answer("200 OK", "", &iso())));
    let folder = folder(&[("s.yaml", TAILSCALE)]);
    let file = folder.path().join(kept());

    let run = fetch(&wrong, folder.path());
    assert_eq!((run.code, file.exists()), (1, false), "{}", run.stderr);
    assert!(run.stderr.contains("but the server publishes 0000"), "{}", run.stderr);
    assert_eq!(fetch(&good, folder.path()).code, 0);
    fs::write(&file, b"broken on disk").unwrap();
    let run = fetch(&changed, folder.path());
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("at the first download"), "{}", run.stderr);
    assert_eq!(fetch(&good, folder.path()).code, 0, "what broke on disk is fetched again");
    assert_eq!(fs::read(&file).unwrap(), iso());
}

#[test]
fn a_redirect_is_followed() {
    let server = Server::start(|request| {
        unpaid(request).unwrap_or_else(|| {
            if request.line.contains("/cdn/") {
                answer("200 OK", "", &iso())
            } else {
                answer("302 Found", "location: /cdn/it\r\n", b"")
            }
        })
    });
    let folder = folder(&[("s.yaml", TAILSCALE)]);
    let run = fetch(&server, folder.path());

    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(fs::read(folder.path().join(kept())).unwrap(), iso());
}

#[test]
fn meta_values_survive_encoding_and_decoding() {
    let folder = folder(&[]);
    let encoded = ichor(folder.path(), "meta encode 012=foo 0xc=bar");
    let variable = ichor(folder.path(), "meta encode 0xa=foo --env");
    let decoded = ichor(folder.path(), &format!("meta decode {}", variable.stdout.trim()));
    let bad_key = ichor(folder.path(), "meta encode 256=x");
    let bad_text = ichor(folder.path(), "meta decode MTA=");

    assert_eq!(encoded.stdout, "MHhhPWZvbzsweGM9YmFy\n");
    assert_eq!(variable.stdout, "INSTALLER_META_BASE64=MHhhPWZvbw==\n");
    assert_eq!(decoded.stdout, "0xa=foo\n");
    assert_eq!(ichor(folder.path(), "meta decode MHhhPWZvbw== --json").json()[0]["key"], 10);
    assert_eq!((bad_key.code, bad_text.code), (1, 1));
    assert!(bad_key.stderr.contains("`256` is not a META key"), "{}", bad_key.stderr);
}

#[test]
fn meta_values_that_talos_cannot_decode_are_refused() {
    let folder = folder(&[]);
    let cut = ichor(folder.path(), "meta encode 10=a;b 12=c");
    let twice = ichor(folder.path(), "meta encode 10=a 0xa=b");
    let none = ichor(folder.path(), "meta encode");
    let empty = ichor(folder.path(), "meta decode -");
    let garbage = ichor(folder.path(), "meta decode hello.there");

    assert_eq!((cut.code, cut.stdout.as_str()), (1, ""));
    assert!(cut.stderr.contains("cannot encode key 0xa: its value contains `;`"), "{}", cut.stderr);
    assert_eq!((twice.code, twice.stdout.as_str()), (0, "MHhhPWE7MHhhPWI=\n"));
    assert!(twice.stderr.contains("key 0xa is repeated"), "{}", twice.stderr);
    assert_eq!((none.code, none.stdout.as_str()), (0, "\n"));
    assert!(none.stderr.contains("no values"), "{}", none.stderr);
    assert_eq!((empty.code, empty.stdout.as_str()), (0, ""));
    assert!(empty.stderr.contains("no values to decode"), "{}", empty.stderr);
    assert_eq!(garbage.code, 1);
    assert!(garbage.stderr.contains("not base64: character 6 is not allowed there"), "{}", garbage.stderr);
}

#[test]
fn a_failed_fetch_keeps_the_cached_file() {
    let missing = Server::start(|_| answer("404 Not Found", "", b"schematic not found"));
    let folder = folder(&[("s.yaml", TAILSCALE), ("cache/other", "kept")]);

    let run = fetch(&missing, folder.path());

    assert_eq!(run.code, 1, "{}", run.stderr);
    let left: Vec<_> =
        fs::read_dir(folder.path().join("cache")).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(left.iter().map(|entry| entry.file_name()).collect::<Vec<_>>(), ["other"]);
}

#[test]
fn invalid_platforms_and_factories_are_refused() {
    let folder = folder(&[("s.yaml", TAILSCALE)]);
    for (words, message) in [
        ("url s.yaml --talos v1.13.9 --platform foo", "metal, nocloud, akamai"),
        ("url s.yaml --talos v1.13.9 --platform Metal", "want one of metal"),
        ("url s.yaml --talos v1.13.9 --factory ftp://x", "http or https"),
        ("url s.yaml --talos v1.13.9 --factory factory.sol", "such as https://"),
        ("register s.yaml --factory https://", "http or https"),
    ] {
        let run = ichor(folder.path(), &format!("schematic {words}"));

        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words}");
        assert!(run.stderr.contains(message), "{words}: {}", run.stderr);
    }
    assert_eq!(ichor(folder.path(), "schematic url s.yaml --talos v1.13.9 --platform vmware").code, 0);
}

#[test]
fn ids_and_canonical_texts_are_those_of_image_factory() {
    let data = root().join("crates/talos/tests/data/schematics");
    let cases: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(data.join("ids.json")).unwrap()).unwrap();
    let (bad, good): (Vec<&Value>, Vec<&Value>) = cases.iter().partition(|case| case.get("error").is_some());
    let text = |case: &Value, key: &str| case[key].as_str().unwrap().to_owned();
    let files: Vec<String> = good.iter().map(|case| text(case, "file")).collect();

    let run = ichor(&data, &format!("schematic id {}", files.join(" ")));

    let ids: Vec<String> = good.iter().map(|case| text(case, "id")).collect();
    assert_eq!((run.code, run.stdout), (0, ids.join("\n") + "\n"), "{}", run.stderr);
    for case in good {
        let run = ichor(&data, &format!("schematic id --canonical {}", text(case, "file")));
        assert_eq!((run.code, run.stdout), (0, text(case, "canonical")), "{case}");
    }
    assert!(!bad.is_empty());
    for case in bad {
        assert_eq!(ichor(&data, &format!("schematic id {}", text(case, "file"))).code, 1, "{case}");
    }
}

#[test]
fn meta_values_are_encoded_and_decoded_as_by_talos() {
    let data = root().join("crates/talos/tests/data/meta/values.json");
    let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(data).unwrap()).unwrap();
    let folder = folder(&[]);
    let meta = |words: &str, values: &[String]| {
        let mut command = command(folder.path(), words);
        command.args(values);
        run_of(command)
    };
    let decode = |encoded: &Value| meta("meta decode --json", &[encoded.as_str().unwrap().to_owned()]);

    for case in &cases {
        let Some(values) = case["values"].as_array() else {
            let run = decode(&case["encoded"]);
            let fails = case["decoded"].get("error").is_some();
            assert_eq!(run.code, i32::from(fails), "{case}: {}", run.stderr);
            assert!(fails || run.json() == case["decoded"], "{case}: {}", run.stdout);
            continue;
        };
        let value = |it: &Value| format!("{}={}", it["key"], it["value"].as_str().unwrap());
        let values: Vec<String> = values.iter().map(value).collect();
        let plain = meta("meta encode", &values).stdout;
        let gzip = meta("meta encode --gzip", &values).stdout;

        assert_eq!(plain.trim_end_matches('\n'), case["encoded_plain"], "{case}");
        // Compressors differ, so compressed values are compared decoded.
        for encoded in [json!(plain.trim_end()), json!(gzip.trim_end()), case["encoded_gzip"].clone()] {
            assert_eq!(decode(&encoded).json(), case["decoded_from_gzip"], "{case}");
        }
    }
    assert_eq!(cases.len(), 15);
}
