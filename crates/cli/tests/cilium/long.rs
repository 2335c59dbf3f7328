//! Cilium's own chart rendered by real helm, judged by a real API server. Needs `scripts/lab-parts helm etcd kubernetes crds`.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;

use ichor_talos::document;
use ichor_testbed::kubernetes::ApiServer;
use ichor_testbed::lab::output_text;
use ichor_testbed::parts;
use ichor_values::go_yaml::emit::emit_all;
use serde_json::Value;
use tempfile::TempDir;

use super::{SECRETS, read};
use crate::common::{Run, folder, ichor, ichor_with, root};

const PLANE: &str = "build/sol/nodes/solcp01/machine.yaml";

/// Serves the files of a folder on the loopback interface, and returns the URL.
fn serve(folder: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let _ = answer(&stream, &folder);
        }
    });
    url
}

fn answer(mut stream: &TcpStream, folder: &Path) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let name = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let (status, body) = match fs::read(folder.join(name)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")?;
    stream.write_all(&body)
}

/// Serves the part's chart as a repository, in a folder of the test.
fn chart_repository(folder: &Path) -> String {
    let charts = folder.join("charts");
    fs::create_dir(&charts).unwrap();
    let name = "cilium-1.20.2.tgz";
    fs::copy(parts::path(&format!("helm/charts/{name}")), charts.join(name)).unwrap();
    let url = serve(charts.clone());
    let mut index = Command::new(parts::path("helm/helm"));
    let output = index.args(["repo", "index", "--url", &url]).arg(&charts).output().unwrap();
    assert!(output.status.success(), "{}", output_text(&output));
    url
}

/// Example `cilium` with Cilium in the machine configurations, its secrets, and a repository of charts.
fn cluster() -> TempDir {
    let folder = folder(&[("talosctl.yaml", SECRETS)]);
    let repository = chart_repository(folder.path());
    let example = fs::read_to_string(root().join("examples/cilium/ichor.yaml")).unwrap();
    let cni = "\n  cni: none ";
    assert!(example.contains(cni) && !example.contains("\nsecrets:"), "{example}");
    let wanted = format!(
        "\n  cilium: {{version: 1.20.2, repository: '{repository}', values: values.yaml}}\n  cni: cilium "
    );
    let text = example.replace(cni, &wanted) + "\nsecrets: secrets.yaml\n";
    fs::write(folder.path().join("ichor.yaml"), text).unwrap();
    fs::write(folder.path().join("values.yaml"), "hubble: {relay: {enabled: true}}\n").unwrap();
    let imported = ichor(folder.path(), "secrets import talosctl.yaml --plain -o secrets.yaml");
    assert_eq!(imported.code, 0, "{}", imported.all());
    folder
}

/// Runs ichor with real helm, whose caches are in the folder.
fn with_helm(folder: &TempDir, words: &str) -> Run {
    let home = folder.path().join("helm").display().to_string();
    let program = parts::path("helm/helm");
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    ichor_with(folder.path(), words, &[("PATH", &path), ("HOME", &home), ("XDG_CACHE_HOME", &home)])
}

/// The objects of the inline manifests of a machine configuration.
fn objects(machine: &str) -> Vec<Value> {
    let documents = document::read(machine).unwrap();
    let own = documents.iter().filter(|it| document::kind(it) == Some("KubeInlineManifestConfig"));
    let legacy = documents.iter().flat_map(|it| document::items(it, "/cluster/inlineManifests"));
    let texts = own.map(|it| &it["manifest"]).chain(legacy.map(|(_, it)| &it["contents"]));
    texts.flat_map(|text| document::read(text.as_str().unwrap()).unwrap()).collect()
}

#[test]
fn an_api_server_accepts_the_chart_of_cilium_and_a_second_build_changes_nothing() {
    let folder = cluster();
    let start = Instant::now();
    let built = with_helm(&folder, "build");
    assert_eq!(built.code, 0, "{}", built.all());
    println!("built with helm in {:.2} s", start.elapsed().as_secs_f64());
    let (machine, lock) = (read(&folder, PLANE), read(&folder, "cilium.sol.lock"));
    let objects = objects(&machine);
    let of_kind =
        |kind: &str| objects.iter().filter(|object| object["kind"] == kind).cloned().collect::<Vec<_>>();

    // Unchanged with helm, and without it.
    for run in
        [with_helm(&folder, "build"), with_helm(&folder, "build --check"), ichor(folder.path(), "build")]
    {
        assert_eq!(run.code, 0, "{}", run.all());
    }
    assert_eq!((read(&folder, PLANE), read(&folder, "cilium.sol.lock")), (machine, lock.clone()));
    fs::remove_file(folder.path().join("cilium.sol.lock")).unwrap();
    let anew = with_helm(&folder, "build");
    assert_eq!(anew.code, 0, "{}", anew.all());
    assert_eq!(read(&folder, "cilium.sol.lock"), lock, "helm renders the same again");

    let server = ApiServer::start();
    server.apply_crds("cilium-1.20");
    // Objects in a namespace need one that exists, also in a dry run.
    server.apply(&emit_all(&of_kind("Namespace")));
    for object in &objects {
        let text = emit_all(std::slice::from_ref(object));
        server.dry_run(&text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    }
    let count = |kind: &str| of_kind(kind).len();
    let peering = [
        "CiliumBGPClusterConfig",
        "CiliumBGPPeerConfig",
        "CiliumBGPAdvertisement",
        "CiliumLoadBalancerIPPool",
    ];
    for kind in peering.into_iter().chain(["DaemonSet", "Namespace", "ClusterRole"]) {
        assert!(count(kind) > 0, "no {kind}: {lock}");
    }
    println!("{} objects accepted", objects.len());
}
