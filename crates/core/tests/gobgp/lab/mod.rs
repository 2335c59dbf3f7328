//! Real gobgpd in namespaces. Needs root.

mod folder;
mod policy;
mod random;
mod running;
mod session;

use std::path::{Path, PathBuf};
use std::process::Output;

use ichor_bgp::model::BgpModel;
use ichor_values::Backend;

use ichor_testbed::routing::{PASSWORD, cases, model, routed, service_with};

/// The file of one class of nodes, and the intended state.
pub struct NodeFile {
    pub name: String,
    pub model: BgpModel,
    pub conf: String,
    /// The value of all its references to secrets.
    pub password: String,
    /// The folders of the programs that support it.
    pub programs: Vec<PathBuf>,
}

/// Every node of every case with GoBGP.
pub fn node_files() -> Vec<NodeFile> {
    let mut all = Vec::new();
    for case in cases() {
        let (cluster, plan) = ichor_testbed::planned_case(&case, "ichor.yaml");
        let gobgp =
            routed(&plan).filter(|node| node.routing.as_deref().unwrap().backend.value == Backend::Gobgp);
        for node in gobgp {
            let service = service_with(&cluster, &plan, node, &|_| Ok(PASSWORD.to_owned())).unwrap().unwrap();
            all.push(NodeFile {
                name: format!("{}-{}", case.file_name().unwrap().to_str().unwrap(), node.name),
                model: model(&cluster, &plan, node),
                conf: service.files[0].text.clone(),
                password: PASSWORD.to_owned(),
                programs: readers(service.version),
            });
        }
    }
    assert!(!all.is_empty());
    all
}

/// The programs that read the files of a release: 4 supports what 3 supports.
pub fn readers(release: (u16, u16)) -> Vec<PathBuf> {
    if release.0 == 3 { vec![three(), four()] } else { vec![four()] }
}

fn programs(folder: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lab").join(folder);
    assert!(path.join("gobgpd").exists(), "there is no gobgpd in {}", path.display());
    path
}

pub fn three() -> PathBuf {
    programs("trixie/usr/bin")
}

pub fn four() -> PathBuf {
    programs("gobgp4/usr/bin")
}

pub fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Lines of the form `{"what": …, "is": …}`.
pub fn answers(output: &Output) -> Vec<(String, serde_json::Value)> {
    assert!(
        output.status.success(),
        "{}; this test needs root, and `scripts/tools frr`",
        output_text(output)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let answer = |line: &str| {
        let mut line: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        (line["what"].as_str().unwrap().to_owned(), line["is"].take())
    };
    text.lines().map(answer).collect()
}
