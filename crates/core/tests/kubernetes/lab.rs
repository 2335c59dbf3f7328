//! Objects below `manifests/` and inline manifests of control planes, by server-side dry runs. Needs `scripts/lab-parts etcd kubernetes
//! crds`.
#![expect(clippy::disallowed_methods, reason = "a test reads the examples")]

use std::collections::BTreeSet;
use std::path::Path;

use ichor_core::cluster::{Files, load};
use ichor_core::render::tree::tree;
use ichor_talos::document;
use ichor_testbed::kubernetes::ApiServer;
use ichor_testbed::machine::RenderFixture;
use ichor_testbed::{FolderFiles, SingleFile, cases, folder};
use ichor_values::go_yaml::emit::emit_all;
use serde_json::Value;

/// A substitute for Cilium's chart that the API server accepts.
const CHART: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cilium-config, namespace: kube-system}\n";

const KUBE_VIP: &str = "\
cluster: {name: sol, id: 101, talos: v1.13.9, kube_vip: {address: 10.101.0.10, interface: eth0}}
defaults: {install: {disk: /dev/sda}}
nodes: [{name: solcp01, role: controlplane, index: 11}]
";

/// Text of each manifest of a build: files below `manifests/`, and inline manifests of machine configurations.
fn manifests(name: &str, files: &mut dyn Files) -> BTreeSet<String> {
    let (cluster, plan) = ichor_testbed::planned(load("ichor.yaml", files));
    let fixture = RenderFixture { cilium: Ok(CHART), ..RenderFixture::new(&cluster, files) };
    let admin = fixture.bundle.os.clone();
    let built = fixture.with((&cluster, &plan), |inputs| tree(inputs, &admin));
    let built = built.unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
    let mut found = BTreeSet::new();
    for file in built.files.iter().map(|file| &file.artifact) {
        if file.path.starts_with("manifests/") {
            found.insert(file.text().unwrap().to_owned());
        } else if file.path.ends_with("/machine.yaml") {
            found.extend(inline_manifests(file.text().unwrap()));
        }
    }
    found
}

fn inline_manifests(machine: &str) -> Vec<String> {
    let documents = document::read(machine).unwrap();
    let own = documents.iter().filter(|it| document::kind(it) == Some("KubeInlineManifestConfig"));
    let legacy = documents.iter().flat_map(|it| document::items(it, "/cluster/inlineManifests"));
    let texts = own.map(|it| &it["manifest"]).chain(legacy.map(|(_, it)| &it["contents"]));
    texts.map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The objects of these manifests whose API group ends with `group`.
fn objects_of<'m>(manifests: impl IntoIterator<Item = &'m String>, group: &str) -> Vec<Value> {
    let objects = manifests.into_iter().flat_map(|text| document::read(text).unwrap());
    let is_wanted = |object: &Value| {
        let version = object["apiVersion"].as_str().unwrap();
        version.split_once('/').is_some_and(|(found, _)| found.ends_with(group))
    };
    objects.filter(is_wanted).collect()
}

/// The texts of all examples with this speaker.
fn examples(speaker: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in folder("../../../examples").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(path.join("ichor.yaml")).unwrap();
        if text.contains(&format!("speaker: {speaker}")) {
            found.push((path.display().to_string(), text));
        }
    }
    assert!(found.len() > 1, "{found:?}");
    found
}

/// Replaces the part of the file that occurs exactly once.
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}: {text}");
    text.replace(from, to)
}

/// The example with another mode of MetalLB.
fn in_mode(text: &str, mode: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("metallb: {"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    replaced(&text, "speaker: metallb\n", &format!("speaker: metallb\n    metallb: {{mode: {mode}}}\n"))
}

/// The example with a release of Cilium, whose objects are in the machine configurations.
fn with_cilium(text: &str, version: &str) -> String {
    replaced(text, "\n  cni: none ", &format!("\n  cilium: {{version: {version}}}\n  cni: cilium "))
}

fn shared(text: &str) -> String {
    replaced(text, "    speaker: cilium", "    isolation: none\n    speaker: cilium")
}

fn of_text(name: &str, text: &str) -> BTreeSet<String> {
    manifests(name, &mut SingleFile(text.into()))
}

fn of_case(case: &Path) -> BTreeSet<String> {
    manifests(&case.display().to_string(), &mut FolderFiles(case.to_owned()))
}

/// Whether ichor reports that the release of Cilium is too old.
fn is_too_old(text: &str) -> bool {
    is_reported("cilium-too-old", text)
}

fn is_reported(rule: &str, text: &str) -> bool {
    ichor_testbed::findings_of_text(text).iter().any(|finding| finding.rule.id == rule)
}

#[test]
fn an_api_server_accepts_every_generated_object() {
    let server = ApiServer::start_with_new_bundle();
    server.create_namespace("metallb-system");
    let accepts = |manifests: &BTreeSet<String>| {
        assert!(!manifests.is_empty());
        for text in manifests {
            server.dry_run(text).unwrap_or_else(|errors| panic!("{errors}{text}"));
        }
    };
    let built = |case: &std::path::PathBuf| case.join("expected/manifests").exists();
    let cases: BTreeSet<String> =
        cases("cases").iter().filter(|case| built(case)).flat_map(|case| of_case(case)).collect();
    let cilium_cases: Vec<_> = cases.iter().filter(|text| text.contains("cilium.io/")).collect();
    let other_cases = cases.iter().filter(|text| !text.contains("cilium.io/")).cloned().collect();

    accepts(&of_text("kube-vip", KUBE_VIP));

    // Kubernetes 1.36 rejects the CRD of MetalLB before 0.16, and so does ichor.
    server.apply_crds("metallb-0.15");
    let example = include_str!("../../../../examples/metallb/ichor.yaml");
    assert!(is_reported("metallb-too-old", &replaced(example, "version: 0.16.1}", "version: 0.15.3}")));
    let peers = objects_of(&of_text("metallb", example), "metallb.io");
    let refused = server.dry_run(&emit_all(&peers)).unwrap_err().to_string();
    assert!(refused.contains("Maximum boundary value must be of type integer"), "{refused}");

    server.apply_crds("metallb-0.16");
    server.apply_crds("frr-k8s");
    accepts(&other_cases);
    for (name, text) in examples("metallb") {
        for mode in ["native", "frr", "frr-k8s"] {
            accepts(&of_text(&name, &in_mode(&text, mode)));
        }
    }

    for release in ["1.18", "1.19", "1.20"] {
        server.apply_crds(&format!("cilium-{release}"));
        for (name, text) in examples("cilium") {
            let text = with_cilium(&text, &format!("{release}.2"));
            accepts(&of_text(&name, &text));
            assert!(!is_too_old(&text), "{release}");

            // ichor refuses what the API server refuses.
            let shared = shared(&text);
            let objects = of_text(&name, &shared);
            if is_too_old(&shared) {
                let refused =
                    server.dry_run(&emit_all(&objects_of(&objects, "cilium.io"))).unwrap_err().to_string();
                assert!(refused.contains("sourceInterface"), "{release}: {refused}");
            } else {
                accepts(&objects);
            }
        }
    }
    for text in cilium_cases {
        server.dry_run(text).unwrap_or_else(|errors| panic!("{errors}{text}"));
    }
}
