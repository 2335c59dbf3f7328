//! `ichor build`: written files, and builds that must not write.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::common::{Run, folder, ichor, ichor_with};
use ichor_testbed::schema::assert_valid;
use serde_json::json;
use tempfile::TempDir;

const OTHER_SECRETS: &str = include_str!("../../talos/tests/data/clusters/ha-v1.12/secrets.yaml");
const SECRETS: &str = include_str!("../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

const CLUSTER: &str = "
cluster: {name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}
secrets: secrets.yaml
network: {node: {v6: null, gateway: {v4: 10.101.0.1}}, loopback: null}
defaults: {platform: nocloud, install: {disk: /dev/sda}, patches: [patch.yaml]}
nodes:
  - {name: solcp01, role: controlplane, index: 11}
  - {name: solwk01, role: worker, index: 21}
";

/// A cluster folder with unencrypted secrets.
fn cluster(files: &[(&str, &str)]) -> TempDir {
    let mut all = vec![
        ("ichor.yaml", CLUSTER),
        ("talosctl.yaml", SECRETS),
        ("patch.yaml", "machine: {sysctls: {vm.max_map_count: \"262144\"}}\n"),
    ];
    all.extend(files);
    let folder = folder(&all);
    let imported = ichor(folder.path(), "secrets import talosctl.yaml --plain -o secrets.yaml");
    assert_eq!(imported.code, 0, "{}", imported.all());
    folder
}

/// All files below a folder with their contents.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let name = entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

fn refused(run: &Run, folder: &TempDir, code: i32, why: &str) {
    assert_eq!(run.code, code, "{}", run.all());
    assert!(run.all().contains(why), "{}", run.all());
    assert!(!folder.path().join("build").exists(), "something was written");
}

#[test]
fn required_images_are_listed_and_used_as_installers() {
    let folder =
        cluster(&[("ichor.yaml", &format!("{CLUSTER}image: {{source: ichor, registry: ghcr.io/me}}\n"))]);

    let run = ichor(folder.path(), "build");

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(run.stderr.contains("build it with `ichor image build`"), "{}", run.stderr);
    let built = files(&folder.path().join("build/sol"));
    let list: serde_json::Value = serde_json::from_slice(&built["images.json"]).unwrap();
    assert_valid("images", &list);
    assert_valid("manifest", &serde_json::from_slice(&built["manifest.json"]).unwrap());
    let image = &list["images"][0];
    assert_eq!(image["nodes"], json!(["solcp01", "solwk01"]));
    assert_eq!(image["products"], json!(["iso", "installer"]));
    let installer = image["installer_image"].as_str().unwrap();
    assert!(installer.starts_with("ghcr.io/me/installer:v1.13.9-nocloud-amd64-"), "{installer}");
    let machine = String::from_utf8(built["nodes/solwk01/machine.yaml"].clone()).unwrap();
    assert!(machine.contains(installer), "{machine}");
}

#[test]
fn node_files_are_complete_and_private() {
    let folder = cluster(&[]);

    let run = ichor(folder.path(), "build");

    assert_eq!((run.code, run.stdout.as_str()), (0, "build/sol\n"), "{}", run.stderr);
    let root = folder.path().join("build/sol");
    let built = files(&root);
    let names: Vec<&str> = built.keys().map(String::as_str).collect();
    let of = |node: &str| {
        ["boot.yaml", "cidata.img", "cidata.iso", "machine.yaml", "schematic.yaml"]
            .map(|file| format!("nodes/{node}/{file}"))
    };
    let of_all = vec!["manifest.json".to_owned()];
    assert_eq!(
        names,
        [
            of_all,
            of("solcp01").into(),
            of("solwk01").into(),
            vec!["talosconfig".to_owned(), "topology.svg".to_owned()]
        ]
        .concat()
    );
    for name in
        ["nodes/solcp01/machine.yaml", "nodes/solcp01/boot.yaml", "nodes/solcp01/cidata.iso", "talosconfig"]
    {
        assert_eq!(fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
    }
    let machine = String::from_utf8(built["nodes/solwk01/machine.yaml"].clone()).unwrap();
    assert!(machine.contains("vm.max_map_count") && machine.contains("10.101.0.21/24"), "{machine}");
    let client = String::from_utf8(built["talosconfig"].clone()).unwrap();
    assert!(client.contains("10.101.0.11") && client.contains("10.101.0.21"), "{client}");
}

#[test]
fn warnings_of_talos_are_printed_with_their_patch() {
    let files = "machine: {files: [{path: /var/motd, permissions: 0o644, op: create, content: hello}]}\n";
    let cluster = cluster(&[("ichor.yaml", &CLUSTER.replace("v1.13.9", "v1.14.1")), ("patch.yaml", files)]);

    let built = ichor(cluster.path(), "build");
    let checked = ichor(cluster.path(), "check --json");

    assert_eq!(built.code, 0, "{}", built.all());
    let warning = "machine.files: files are deprecated: use documents of their own";
    let line = format!("warning: solcp01 and solwk01: {warning} (from the patch patch.yaml)\n");
    assert!(built.stderr.contains(&line), "{}", built.stderr);
    assert_eq!(checked.code, 0, "{}", checked.all());
    let findings = checked.json()["findings"].as_array().unwrap().clone();
    let found = findings.iter().find(|it| it["rule"] == "patch-warning").unwrap();
    assert_eq!((&found["subject"], &found["line"]), (&json!("defaults.patches[0]"), &json!(5)));
    assert_eq!(found["message"], format!("patch.yaml: {warning}: solcp01, solwk01"));
}

#[test]
fn builds_are_reproducible_and_unchanged_files_are_kept() {
    let folder = cluster(&[]);
    let root = folder.path().join("build/sol");
    let inode = || fs::metadata(root.join("nodes/solcp01/machine.yaml")).unwrap().ino();

    assert_eq!(ichor(folder.path(), "build").code, 0);
    let (first, before) = (files(&root), inode());
    let again = ichor(folder.path(), "build");
    assert_eq!(ichor(folder.path(), "build -o elsewhere").code, 0);

    assert!(again.stderr.contains("12 files are up to date"), "{}", again.stderr);
    assert_eq!((files(&root), inode()), (first.clone(), before));
    assert_eq!(files(&folder.path().join("elsewhere/sol")), first);
}

#[test]
fn a_single_node_can_be_built() {
    let folder = cluster(&[]);

    assert_eq!(ichor(folder.path(), "build --only solwk01").code, 0);
    let unknown = ichor(folder.path(), "build --only solwk02 -o other");

    let built = files(&folder.path().join("build/sol"));
    let of_node = |name: &&String| name.starts_with("nodes/solwk01/");
    assert_eq!(built.keys().filter(|name| !of_node(name)).collect::<Vec<_>>(), ["manifest.json"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("unknown node `solwk02`"), "{}", unknown.stderr);
}

#[test]
fn configurations_that_talos_rejects_are_not_written() {
    let folder = cluster(&[("patch.yaml", "machine: {network: {hostname: twice}}\n")]);
    let run = ichor(folder.path(), "build");
    refused(&run, &folder, 1, "machine.network.hostname");

    let folder = cluster(&[("patch.yaml", "machine: {sysctl: {a: b}}\n")]);
    let run = ichor(folder.path(), "build");
    refused(&run, &folder, 1, "did you mean `sysctls`?");
}

#[test]
fn a_patch_declared_as_encrypted_must_be_encrypted() {
    let text = CLUSTER.replace("[patch.yaml]", "[{sops: patch.yaml}]");
    let folder = cluster(&[("ichor.yaml", &text)]);

    refused(&ichor(folder.path(), "build"), &folder, 1, "patch.yaml is not encrypted with SOPS");
    let silenced = format!("{text}silence: [{{rule: patch-not-encrypted, why: a test}}]\n");
    fs::write(folder.path().join("ichor.yaml"), silenced).unwrap();
    refused(&ichor(folder.path(), "build"), &folder, 1, "patch.yaml is not in the SOPS format; encrypt it");
}

#[test]
fn an_invalid_administrator_certificate_stops_the_build() {
    let folder = cluster(&[("other/talosctl.yaml", OTHER_SECRETS)]);
    let imported = ichor(folder.path(), "secrets import other/talosctl.yaml --plain -o other/secrets.yaml");
    assert_eq!(imported.code, 0, "{}", imported.all());
    fs::copy(folder.path().join("other/admin.yaml"), folder.path().join("admin.yaml")).unwrap();
    refused(&ichor(folder.path(), "build"), &folder, 2, "is of another cluster");

    assert_eq!(ichor(folder.path(), "secrets renew --ttl 1s").code, 0);
    thread::sleep(Duration::from_millis(2_100));
    let expired = ichor(folder.path(), "build");
    refused(&expired, &folder, 2, "expired on ");
    assert!(expired.stderr.contains("`ichor secrets renew`"), "{}", expired.stderr);

    assert_eq!(ichor(folder.path(), "secrets renew --ttl 49h").code, 0);
    let soon = ichor(folder.path(), "build");
    assert_eq!(soon.code, 0, "{}", soon.all());
    assert!(soon.stderr.contains("in 2 days; see `ichor secrets renew`"), "{}", soon.stderr);
}

#[test]
fn missing_secrets_are_named_and_values_are_never_printed() {
    let folder = folder(&[("ichor.yaml", CLUSTER), ("patch.yaml", "machine: {}\n")]);
    refused(&ichor(folder.path(), "build"), &folder, 2, "ichor secrets new");

    let text = CLUSTER.replace(
        "services:",
        "registries: {auth: {ghcr.io: {username: x, password: {env: GHCR_PASSWORD}}}}, services:",
    );
    let folder = cluster(&[("ichor.yaml", &text)]);
    refused(&ichor(folder.path(), "build"), &folder, 1, "GHCR_PASSWORD is not set");
    let run = ichor_with(folder.path(), "build", &[("GHCR_PASSWORD", "hunter2-hunter2")]);

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(!run.all().contains("hunter2"));
    let built = files(&folder.path().join("build/sol"));
    let holds = |name: &str| String::from_utf8_lossy(&built[name]).contains("hunter2-hunter2");
    assert!(
        holds("nodes/solcp01/machine.yaml")
            && !holds("nodes/solcp01/boot.yaml")
            && !holds("nodes/solcp01/schematic.yaml")
    );
}

#[test]
fn a_boot_medium_too_small_for_the_configuration_stops_the_build() {
    let early = |args: usize| {
        let more =
            format!("platform: metal, boot: {{from: early}}, kernel: {{args: [a={}]}}", "x".repeat(args));
        cluster(&[("ichor.yaml", &CLUSTER.replace("platform: nocloud", &more))])
    };
    let (short, long) = (early(10), early(1_650));

    let (built, stopped) = (ichor(short.path(), "build"), ichor(long.path(), "build"));

    assert_eq!(built.code, 0, "{}", built.all());
    let run = ichor(short.path(), "media inspect build/sol/nodes/solwk01/cmdline --talos v1.13.9");
    assert_eq!(run.code, 0, "{}", run.all());
    refused(&stopped, &long, 1, "nodes.solcp01.boot.from: early: the command line would have 2");
    assert!(stopped.stdout.contains("use `boot.from: metal-iso`"), "{}", stopped.stdout);
}

#[test]
fn obsolete_files_of_an_earlier_build_are_removed() {
    let folder = cluster(&[]);
    assert_eq!(ichor(folder.path(), "build").code, 0);
    let root = folder.path().join("build/sol");
    fs::write(root.join("nodes/solwk01/mine.txt"), "mine").unwrap();
    let fewer = CLUSTER.replace("  - {name: solwk01, role: worker, index: 21}\n", "");
    fs::write(folder.path().join("ichor.yaml"), fewer.replace("v1.13.9", "v1.11.6")).unwrap();

    let run = ichor(folder.path(), "build");

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(run.stderr.contains("6 of an earlier build removed"), "{}", run.stderr);
    let left: Vec<String> = files(&root).into_keys().filter(|name| name.contains("solwk01")).collect();
    assert_eq!(left, ["nodes/solwk01/mine.txt"]);
    assert!(!root.join("nodes/solcp01/boot.yaml").exists(), "1.11 has no documents for this");
}

#[test]
fn an_inline_patch_keeps_its_text_and_a_conflict_names_its_patch() {
    let inline = "patches: [{inline: {machine: {sysctls: {a: 010, b: 1.10, c: 1_000, d: on}}}}]";
    let folder = cluster(&[("ichor.yaml", &CLUSTER.replace("patches: [patch.yaml]", inline))]);
    let run = ichor(folder.path(), "build");
    assert_eq!(run.code, 0, "{}", run.all());
    let machine = fs::read_to_string(folder.path().join("build/sol/nodes/solwk01/machine.yaml")).unwrap();
    for line in ["a: \"010\"", "b: \"1.10\"", "c: \"1_000\"", "d: 'on'"] {
        assert!(machine.contains(line), "{line}: {machine}");
    }

    let inline = "patches: [{inline: {persist: false}}]";
    let folder = cluster(&[("ichor.yaml", &CLUSTER.replace("patches: [patch.yaml]", inline))]);
    for command in ["check", "build"] {
        let run = ichor(folder.path(), command);
        refused(&run, &folder, 1, "defaults.patches[0]");
        let count = run.stdout.matches("error[patch-value]").count();
        assert_eq!(count, 1, "printed once for both nodes: {}", run.stdout);
    }
}

#[test]
fn an_unknown_release_is_refused() {
    let folder = cluster(&[("ichor.yaml", &CLUSTER.replace("v1.13.9", "v1.15.0"))]);
    for command in ["check", "build"] {
        let run = ichor(folder.path(), command);
        assert_eq!(run.code, 1, "{}", run.all());
        assert!(run.all().contains("ichor supports v1.11 to v1.14, not v1.15.0"), "{}", run.all());
    }
    assert_eq!(ichor(folder.path(), "build nowhere.yaml").code, 2);
}

#[test]
fn a_node_with_frr_has_its_configuration_files() {
    let routing = "routing: {backend: frr, neighbors: [{link: eth0, password: {env: BGP_PW}}]}\nimage: {registry: ghcr.io/example}\nnodes:";
    let text = CLUSTER.replace("loopback: null", "api: null").replace("nodes:", routing);
    let folder = cluster(&[("ichor.yaml", &text)]);

    let missing = ichor(folder.path(), "build");
    refused(&missing, &folder, 1, "BGP_PW is not set");
    let run = ichor_with(folder.path(), "build", &[("BGP_PW", "hunter2-hunter2")]);

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(!run.all().contains("hunter2"));
    let root = folder.path().join("build/sol/nodes/solwk01");
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o777;
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert_eq!((mode("frr.conf"), mode("boot.yaml"), mode("daemons")), (0o600, 0o600, 0o644));
    assert!(read("frr.conf").contains(" neighbor eth0 password hunter2-hunter2\n"));
    assert!(
        read("boot.yaml").contains("hunter2-hunter2") && read("machine.yaml").contains("hunter2-hunter2")
    );
    assert!(!read("schematic.yaml").contains("hunter2") && !read("daemons").contains("hunter2"));
}

#[test]
fn a_node_with_the_official_bird_has_its_file_and_extension() {
    let routing = "routing: {backend: bird, carrier: official, neighbors: [{link: eth0}]}\nnodes:";
    let text = CLUSTER.replace("loopback: null", "api: null").replace("nodes:", routing);
    let folder = cluster(&[("ichor.yaml", &text)]);

    let run = ichor(folder.path(), "build");

    assert_eq!(run.code, 0, "{}", run.all());
    let root = folder.path().join("build/sol/nodes/solwk01");
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    assert!(read("bird.conf").contains("protocol bgp 'fabric-eth0' {"));
    assert!(!root.join("daemons").exists(), "no daemon would read it");
    assert!(read("schematic.yaml").contains("siderolabs/bird2"), "{}", read("schematic.yaml"));
    for name in ["boot.yaml", "machine.yaml"] {
        let contents = read(name);
        assert!(contents.contains("kind: ExtensionServiceConfig\nname: bird2\n"), "{contents}");
        assert!(contents.contains("mountPath: /usr/local/etc/bird.conf\n"), "{contents}");
    }
}

#[test]
fn fabric_and_manifest_files_are_written() {
    let more = "fabric: {routers: [{name: gw, role: gateway, asn: 65001, addresses: [10.101.0.1], password: {env: BGP_PW}}]}\n\
                routing: {backend: frr, neighbors: [{router: gw}], workload: {speaker: metallb}}\n\
                image: {registry: ghcr.io/example}\nnodes:";
    let text = CLUSTER.replace("loopback: null", "api: null").replace("nodes:", more);
    let folder = cluster(&[("ichor.yaml", &text)]);
    let build = |arguments: &str| ichor_with(folder.path(), arguments, &[("BGP_PW", "hunter2-hunter2")]);

    let run = build("build");
    let alone = build("build --only solwk01 -o alone");

    assert_eq!((run.code, alone.code), (0, 0), "{}{}", run.all(), alone.all());
    let root = folder.path().join("build/sol");
    let built = files(&root);
    let read = |name: &str| String::from_utf8(built[name].clone()).unwrap();
    assert!(read("fabric/gw/frr.conf").contains(" neighbor NODES password hunter2-hunter2\n"));
    assert!(
        read("fabric/sessions.csv")
            .contains("solcp01,4210101011,10.101.0.11,gw,65001,10.101.0.1,ipv4,,3,9,yes,\n")
    );
    assert!(read("manifests/metallb.yaml").contains("kind: BGPPeer"));
    assert!(read("fabric/containerlab.clab.yml").contains("../nodes/solwk01/frr.conf:/etc/frr/frr.conf"));
    let listed = read("manifest.json");
    for name in built.keys().filter(|name| name.starts_with("fabric/") || name.starts_with("manifests/")) {
        assert!(listed.contains(&format!("{{\"path\":\"{name}\",")), "{name}: {listed}");
        let mode = fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode == 0o600, name.ends_with("/frr.conf"), "{name}: {mode:o}");
    }
    let alone = files(&folder.path().join("alone/sol"));
    assert!(alone.keys().all(|name| name.starts_with("nodes/solwk01/") || name == "manifest.json"));
}

#[test]
fn a_check_reports_differences_and_writes_nothing() {
    let folder = cluster(&[]);
    let root = folder.path().join("build/sol");
    let path = |name: &str| root.join(name);
    let empty = ichor(folder.path(), "build --check");
    assert_eq!(empty.code, 1, "{}", empty.all());
    assert!(empty.stdout.contains("nodes/solcp01/machine.yaml: missing"), "{}", empty.stdout);
    assert!(!root.exists());
    assert_eq!(ichor(folder.path(), "build").code, 0);
    let good = ichor(folder.path(), "build --check");
    assert_eq!((good.code, good.stdout.as_str()), (0, ""), "{}", good.stderr);

    let mut machine = fs::read(path("nodes/solcp01/machine.yaml")).unwrap();
    machine.push(b'\n');
    fs::write(path("nodes/solcp01/machine.yaml"), machine).unwrap();
    fs::set_permissions(path("talosconfig"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(path("topology.svg")).unwrap();
    let text = CLUSTER.replace("  - {name: solwk01, role: worker, index: 21}\n", "");
    fs::write(folder.path().join("ichor.yaml"), text).unwrap();
    let before = files(&root);
    let checked = ichor(folder.path(), "build --check");
    let list = fs::read(path("manifest.json")).unwrap();
    fs::remove_file(path("manifest.json")).unwrap();
    let unlisted = ichor(folder.path(), "build --check");
    assert!(unlisted.stdout.contains("build/sol/manifest.json: missing"), "{}", unlisted.stdout);
    fs::write(path("manifest.json"), list).unwrap();

    assert_eq!(checked.code, 1, "{}", checked.all());
    for line in [
        "build/sol/nodes/solcp01/machine.yaml: differs",
        "build/sol/nodes/solwk01/machine.yaml: no longer needed",
        "build/sol/manifest.json: differs",
        "build/sol/talosconfig: differs",
        "build/sol/topology.svg: missing",
    ] {
        assert!(checked.stdout.lines().any(|found| found == line), "{line}\n{}", checked.stdout);
    }
    assert_eq!(files(&root), before);
}

#[test]
fn every_input_changes_the_digest() {
    let password = "routing: {backend: frr, neighbors: [{link: eth0, password: {env: SECRET}}]}\n";
    let mut text = CLUSTER.replace("loopback: null", "loopback: {v4: 10.101.254.0/24}");
    text.push_str(password);
    let folder = cluster(&[("ichor.yaml", &text)]);
    let build = |secret: &str| {
        let run = ichor_with(folder.path(), "build", &[("SECRET", secret)]);
        assert_eq!(run.code, 0, "{}", run.all());
        run.stderr
    };
    let quiet = |secret: &str| build(secret).contains("nothing to write");
    let change = |name: &str, contents: &str| fs::write(folder.path().join(name), contents).unwrap();
    assert!(!quiet("one"));
    assert!(quiet("one"));

    assert!(!quiet("two"), "a secret that the file refers to");
    change("patch.yaml", "machine: {sysctls: {vm.max_map_count: \"262145\"}}\n");
    assert!(!quiet("two"), "a patch");
    change("ichor.yaml", &text.replace("index: 21", "index: 22"));
    assert!(!quiet("two"), "the cluster file");
    assert_eq!(ichor(folder.path(), "secrets renew").code, 0);
    assert!(!quiet("two"), "the administrator's certificate");
    assert!(quiet("two"));
}

#[test]
fn a_build_that_is_killed_is_completed_by_the_next() {
    let mut text = CLUSTER.to_owned();
    for index in 30..80 {
        text.push_str(&format!("  - {{name: w{index}, role: worker, index: {index}}}\n"));
    }
    let folder = cluster(&[("ichor.yaml", &text)]);
    assert_eq!(ichor(folder.path(), "build -o whole").code, 0);
    let want = files(&folder.path().join("whole/sol"));
    let root = folder.path().join("build/sol");
    let mut halves = 0;

    for round in 0..8 {
        if round % 4 == 0 {
            let _ = fs::remove_dir_all(&root);
        } else {
            fs::write(
                folder.path().join("patch.yaml"),
                format!("machine: {{sysctls: {{a.b: \"{round}\"}}}}\n"),
            )
            .unwrap();
        }
        let mut child = crate::common::command(folder.path(), "build")
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let start = std::time::Instant::now();
        while child.try_wait().unwrap().is_none() && !root.join(".ichor-new").exists() {
            assert!(start.elapsed() < Duration::from_mins(1));
        }
        thread::sleep(Duration::from_millis(round));
        let _ = child.kill();
        child.wait().unwrap();
        halves += usize::from(root.join(".ichor-new").exists());
    }
    fs::write(folder.path().join("patch.yaml"), "machine: {sysctls: {vm.max_map_count: \"262144\"}}\n")
        .unwrap();
    assert_eq!(ichor(folder.path(), "build").code, 0);

    assert!(halves > 0, "no build was killed in the middle");
    assert!(files(&root) == want, "{:?}", files(&root).keys().collect::<Vec<_>>());
}

#[test]
fn vm_definitions_are_written_without_secrets() {
    let more = "hypervisors:\n  pve: {proxmox: {url: https://pve:8006, token: {env: PVE_TOKEN}}}\n  \
                edge: {libvirt: {uri: qemu+ssh://edge1/system}}\nnodes:\n  \
                - {name: solwk02, index: 22, vm: {hypervisor: pve, id: 322}}\n  \
                - {name: solwk03, index: 23, vm: {hypervisor: edge}}\n  \
                - {name: solwk04, index: 24, platform: gcp}";
    let folder = cluster(&[("ichor.yaml", &CLUSTER.replace("nodes:", more))]);

    let run = ichor_with(folder.path(), "build", &[("PVE_TOKEN", "hunter2-hunter2")]);

    assert_eq!(run.code, 0, "{}", run.all());
    let root = folder.path().join("build/sol");
    let built = files(&root);
    let made: Vec<&str> = built
        .keys()
        .map(String::as_str)
        .filter(|name| name.starts_with("hypervisors/") || name.starts_with("clouds/"))
        .collect();
    assert_eq!(
        made,
        [
            "clouds/gcp/main.tf.json",
            "hypervisors/edge/create.sh",
            "hypervisors/edge/domains/solwk03.xml",
            "hypervisors/edge/volumes/solwk03.xml",
            "hypervisors/pve/create.sh",
            "hypervisors/pve/main.tf.json",
            "hypervisors/pve/solwk02.conf",
        ]
    );
    for name in made {
        let text = String::from_utf8(built[name].clone()).unwrap();
        assert!(!text.contains("hunter2") && !text.contains("PRIVATE KEY"), "{name}");
        // Files that a module reads must exist; the boot media are not built yet.
        for path in text.split("${path.module}/../../").skip(1) {
            let path = path.split(['"', '\\']).next().unwrap();
            assert!(built.contains_key(path), "{name}: {path}");
        }
    }
}

#[test]
fn machines_missing_in_the_containerlab_topology_are_reported() {
    let frr = include_str!("../../../examples/cilium/ichor.yaml");
    let notes = |text: &str| {
        let text = format!("{text}\nsecrets: secrets.yaml\n");
        let folder = cluster(&[("ichor.yaml", &text)]);
        let run = ichor(folder.path(), "build");
        assert_eq!(run.code, 0, "{}", run.all());
        run.stderr
    };

    let all = notes(frr);
    let some = notes(&frr.replace("index: 23,", "index: 23, routing: {backend: bird},"));

    assert!(!all.contains("containerlab"), "{all}");
    assert!(
        some.contains("omitted from fabric/containerlab.clab.yml, because they do not run FRR: solwk03\n"),
        "{some}"
    );
}
