//! Every folder under `cases/` is a case: `ichor.yaml` in, `expected/` out.
//!
//! `expected/files.txt` lists every file of the build with its mode and purpose. The contents of the files that the case is about
//! (see [`contents`]) are included for one node of each class: nodes of a class differ only in names and addresses. Keys and
//! certificates are `***`, a document of `boot.yaml` that is also in `machine.yaml` is a comment, an image is a listing, and repeated
//! contents are omitted. Besides, there can be `plan.txt`, every decided value; `lab.txt`, the machines and cables of
//! `ichor lab up`; `network-1.N.txt`, the nodes' network on other releases; and `at-1.N/`, the nodes' configurations there.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run -p ichor-core golden::` rewrites `expected/`; the diff is reviewed.

mod describe;

use std::collections::BTreeMap;
use std::path::Path;

use describe::{decided, networks, readable};
use ichor_core::cluster::load;
use ichor_core::model::Cluster;
use ichor_core::plan::Plan;
use ichor_core::render::topology;
use ichor_core::render::tree::{BuildTree, FilePurpose, TreeFile, tree};
use ichor_testbed::machine::RenderFixture;

/// Texts by their paths in `expected/`.
type Expected = BTreeMap<String, String>;

const RELEASES: [&str; 4] = ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"];

/// What is compared in full for a case of this group. For the groups `plan`, `lab` and `picture` no node files: many of these cases
/// are too small to be built.
fn contents(group: &str) -> &'static [FilePurpose] {
    use FilePurpose::{
        Boot, Configuration, Fabric, FirstConfiguration, Images, Machines, Manifests, Routing,
    };
    match group {
        "example" => &[Configuration, FirstConfiguration, Routing, Boot, Images, Fabric, Manifests, Machines],
        "machine" => &[Configuration, FirstConfiguration, Boot],
        "native" => &[Configuration, FirstConfiguration, Fabric, Manifests],
        "routing" => &[Routing, Fabric, Manifests],
        "fabric" => &[Fabric, Manifests],
        "hypervisor" => &[Images, Machines],
        _ => &[],
    }
}

fn group(case: &Path) -> &str {
    case.file_name().unwrap().to_str().unwrap().split_once('-').unwrap().0
}

fn planned(case: &Path, release: Option<&str>) -> (Cluster, Plan) {
    let below = ichor_testbed::FolderFiles(case.to_owned());
    ichor_testbed::planned(match release {
        Some(release) => load("ichor.yaml", &mut ichor_testbed::ReleaseFiles(below, release)),
        None => ichor_testbed::load_case(case, "ichor.yaml"),
    })
}

/// All files of a case's build.
fn built(case: &Path, (cluster, plan): (&Cluster, &Plan)) -> BuildTree {
    let beside = RenderFixture::new(cluster, &mut ichor_testbed::FolderFiles(case.to_owned()));
    let admin = beside.bundle.os.clone();
    let built = beside.with((cluster, plan), |inputs| tree(inputs, &admin));
    let tree = built.unwrap_or_else(|errors| panic!("{}: {errors:#?}", case.display()));
    assert!(tree.warnings.is_empty(), "{}: {:#?}", case.display(), tree.warnings);
    tree
}

/// A line of `files.txt`.
fn listed(file: &TreeFile) -> String {
    let mode = if file.artifact.private { "0600" } else { "0644" };
    format!("{mode}  {:<19}  {}\n", file.purpose, file.artifact.path)
}

/// Adds the contents of some files, for one node of each class, without repetitions.
fn add_contents(expected: &mut Expected, below: &str, tree: &BuildTree, plan: &Plan, wanted: &[FilePurpose]) {
    let first: Vec<_> = plan.by_class().map(|(node, _)| &node.name).collect();
    let shown = |file: &&TreeFile| {
        wanted.contains(&file.purpose) && file.node.as_ref().is_none_or(|node| first.contains(&node))
    };
    for file in tree.files.iter().filter(shown) {
        let machine = file.artifact.path.replace("/boot.yaml", "/machine.yaml");
        let machine = tree.files.iter().find(|it| it.artifact.path == machine).map(|it| &it.artifact);
        let text = readable(&file.artifact, machine);
        if !expected.values().any(|other| *other == text) {
            expected.insert(format!("{below}{}", file.artifact.path), text);
        }
    }
}

/// All expected files of a case.
fn expected(case: &Path) -> Expected {
    let group = group(case);
    let (cluster, plan) = planned(case, None);
    let mut expected = Expected::new();
    if group == "example" || group == "plan" {
        expected.insert("plan.txt".to_owned(), decided(case, group == "plan"));
    }
    if group == "lab" || (group == "example" && plan.nodes.iter().any(|node| node.routing.is_some())) {
        expected.extend(describe::lab(case).map(|text| ("lab.txt".to_owned(), text)));
    }
    if group == "picture" {
        expected.insert("topology.svg".to_owned(), topology::render(&cluster, &plan));
    }
    let own = (!contents(group).is_empty()).then(|| minor(&plan));
    if group == "example" || group == "network" {
        add_networks(&mut expected, case, own);
    }
    if contents(group).is_empty() {
        return expected;
    }
    let tree = built(case, (&cluster, &plan));
    expected.insert("files.txt".to_owned(), tree.files.iter().map(listed).collect());
    add_contents(&mut expected, "", &tree, &plan, contents(group));
    if group == "machine" {
        for (cluster, plan) in RELEASES.map(|release| planned(case, Some(release))) {
            let below = format!("at-1.{}/", minor(&plan));
            let wanted = [FilePurpose::Configuration, FilePurpose::FirstConfiguration];
            if Some(minor(&plan)) != own {
                add_contents(&mut expected, &below, &built(case, (&cluster, &plan)), &plan, &wanted);
            }
        }
    }
    expected
}

/// The minor release of a cluster's configurations.
fn minor(plan: &Plan) -> u64 {
    plan.cluster.contract.value.minor().1.into()
}

/// Adds the nodes' network on each release where it differs from the previous one. The release `own` has it in the configurations.
fn add_networks(expected: &mut Expected, case: &Path, own: Option<u64>) {
    let mut before = String::new();
    for (_, plan) in RELEASES.map(|release| planned(case, Some(release))) {
        let text = networks(&plan);
        if text != before && Some(minor(&plan)) != own {
            expected.insert(format!("network-1.{}.txt", minor(&plan)), text.clone());
        }
        before = text;
    }
}

#[test]
fn every_case_renders_to_its_expected_files() {
    for case in ichor_testbed::cases("cases") {
        ichor_testbed::assert_same_texts(&case.join("expected"), &expected(&case));
    }
}
