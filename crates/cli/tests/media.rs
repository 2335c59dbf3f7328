//! `ichor media inspect`.

use std::fs;
use std::path::PathBuf;

use crate::common::{folder, ichor, root};
use ichor_image::media::{Volume, iso9660};
use ichor_talos::document;
use serde_json::Value;

const CONFIG: &str = include_str!("../../talos/tests/data/clusters/single-v1.12/worker.yaml");

fn cases(kind: &str) -> Vec<PathBuf> {
    let folder = root().join("crates/talos/tests/data").join(kind);
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|case| case.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() > 10);
    cases
}

fn case(path: &std::path::Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path.join("case.json")).unwrap()).unwrap()
}

/// The releases whose results are recorded. `expected.yaml` is the result of the first one.
const RELEASES: [&str; 2] = ["v1.12.4", "v1.14.1"];

/// Talos's result for a case; none if Talos rejects it.
fn expected(case: &std::path::Path, release: &str) -> Option<Value> {
    assert!(!case.join(format!("differs-on-{release}.error.txt")).exists(), "{}", case.display());
    let read = |name: &str| fs::read_to_string(case.join(name)).ok();
    let text = read(&format!("differs-on-{release}.yaml")).or_else(|| read("expected.yaml"))?;
    Some(document::read(&text).unwrap().remove(0))
}

#[test]
fn nocloud_media_are_read_as_by_talos() {
    for (path, release) in
        cases("nocloud").iter().flat_map(|path| RELEASES.map(|release| (path.clone(), release)))
    {
        let says = case(&path);
        let links = says["links_present"].as_str().unwrap();
        let run = ichor(&path, &format!("media inspect . --talos {release} --links {links} --json"));
        let got = run.json();

        let what = format!("{} on {release}", path.display());
        assert_eq!(got["network"], expected(&path, release).unwrap_or_default(), "{what}");
        assert_eq!(got["error"].is_null(), says["ok"] == true, "{what}");
        if says["ok"] == true {
            assert_eq!(got["needs_reconcile"], says["needs_reconcile"], "{what}");
        }
        assert_eq!(run.code, i32::from(says["ok"] == false), "{what}");
    }
}

#[test]
fn meta_values_are_read_as_by_each_release() {
    for path in cases("metal-meta") {
        for (release, verdict) in case(&path)["unmarshals_on"].as_object().unwrap() {
            let links = "eth0=52:54:00:00:01:0b";
            let got =
                ichor(&path, &format!("media inspect . --talos {release} --links {links} --json")).json();

            let want = *verdict == Value::Bool(true);
            assert_eq!(got["network"].is_object(), want, "{} on {release}", path.display());
            assert_eq!(got["error"].is_null(), want, "{} on {release}", path.display());
            if RELEASES.contains(&release.as_str()) {
                let want = expected(&path, release).unwrap_or_default();
                assert_eq!(got["network"], want, "{} on {release}", path.display());
            }
        }
    }
}

#[test]
fn the_report_states_what_the_machine_will_do() {
    let folder = folder(&[
        ("network-config", "version: 2\nethernets: {eth0: {addresses: [10.0.0.11/24], set-name: a}}\n"),
        ("meta-data", "local-hostname: solcp01\n"),
        ("user-data", CONFIG),
    ]);

    let run = ichor(folder.path(), "media inspect . --talos 1.13");

    assert_eq!(run.code, 0, "{}", run.all());
    for text in [
        "nocloud",
        "solcp01",
        "eth0  10.0.0.11/24",
        "boots with",
        "warning[media-passed-over]",
        "set-name",
        "type: worker",
    ] {
        assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    }
}

#[test]
fn a_secret_is_not_repeated() {
    let broken = CONFIG.replace("machine:", "machine:\n    tokn: hunter2");
    let folder = folder(&[("user-data", &broken)]);
    let token = CONFIG.lines().find_map(|line| line.trim().strip_prefix("token: ")).unwrap();

    let run = ichor(folder.path(), "media inspect . --talos 1.13");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("media-config-refused"), "{}", run.stdout);
    assert!(!run.all().contains("hunter2") && !run.all().contains(token), "{}", run.all());
}

#[test]
fn a_command_line_is_an_argument_or_a_file() {
    let folder = folder(&[("cmdline", "talos.platform=metal talos.config=none\n")]);

    let file = ichor(folder.path(), "media inspect cmdline --talos 1.13 --json").json();
    let words = ichor(folder.path(), "media inspect talos.platform=metal --talos 1.13 --json").json();

    assert_eq!((&file["platform"], &file["outcome"]), (&"metal".into(), &"maintenance".into()));
    assert_eq!(file["outcome"], words["outcome"]);
    assert_eq!(ichor(folder.path(), "media inspect quiet=1 --talos 1.13").code, 1);
}

#[test]
fn an_iso_is_recognised_by_content_and_mistakes_are_explained() {
    let folder = folder(&[]);
    let files = vec![("user-data", CONFIG.as_bytes()), ("network-config", &b"version: 2\n"[..])];
    let iso = iso9660::write(&Volume::new("seed", files).unwrap());
    fs::write(folder.path().join("image.txt"), iso).unwrap();

    let run = ichor(folder.path(), "media inspect image.txt --talos 1.13 --json");
    let got = run.json();

    assert_eq!((run.code, &got["outcome"]), (1, &"maintenance".into()), "{got}");
    assert_eq!(got["findings"][0]["rule"], "media-label");
    assert!(ichor(folder.path(), "explain media-label").stdout.contains("CIDATA"));
    assert_eq!(got["config_sources"].as_array().unwrap().len(), 5);
}

#[test]
fn image_factory_assets_are_inspected_by_url() {
    let schematic = "customization: {extraKernelArgs: [talos.hostname=a], systemExtensions: {officialExtensions: [siderolabs/x]}}";
    let folder = folder(&[("s.yaml", schematic), ("other.yaml", "customization: {}\n")]);
    let id = ichor(folder.path(), "schematic id s.yaml").stdout;
    let url = format!("https://factory.talos.dev/image/{}/v1.13.9/metal-arm64-secureboot.iso", id.trim());

    let known = ichor(folder.path(), &format!("media inspect {url} --schematic s.yaml --json")).json();
    let unknown = ichor(folder.path(), &format!("media inspect {url} --json")).json();
    let other = ichor(folder.path(), &format!("media inspect {url} --schematic other.yaml"));
    let alone = ichor(folder.path(), "media inspect s.yaml --talos 1.13 --json").json();

    assert_eq!((&known["talos_version"], &known["hostname"]), (&"v1.13.9".into(), &"a".into()));
    assert!(
        known["contents"][0]["recognized_as"].as_str().unwrap().contains("arm64, secure boot"),
        "{known}"
    );
    assert_eq!(
        (&unknown["config_sources"][1]["result"], &unknown["outcome"]),
        (&"unread".into(), &"depends".into())
    );
    assert_eq!(
        (other.code, other.stderr.contains("but the asset is built from")),
        (2, true),
        "{}",
        other.stderr
    );
    let same = ichor(folder.path(), &format!("media inspect {url} --talos 1.13 --json")).json();
    let older = ichor(folder.path(), &format!("media inspect {url} --talos v1.12.4"));
    assert_eq!(same["talos_version"], "v1.13.9");
    assert_eq!(older.code, 2, "{}", older.all());
    assert!(older.stderr.contains("v1.12.4") && older.stderr.contains("v1.13.9"), "{}", older.stderr);
    assert_eq!((&alone["hostname"], &alone["outcome"]), (&"a".into(), &"maintenance".into()));
}

#[test]
fn report_lines_fit_the_page_width() {
    let folder = folder(&[("user-data", CONFIG)]);

    let run = ichor(folder.path(), "media inspect . --talos 1.13");

    assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{}", run.stdout);
}

#[test]
fn the_error_of_an_unsupported_input_lists_the_supported_ones() {
    let folder = folder(&[
        ("disk.img", "a\0b"),
        ("empty/x", ""),
        ("zeros", "\0\0\0"),
        ("notes", "a\nb\n"),
        ("x.yaml", "version: 2\n"),
    ]);
    fs::write(folder.path().join("disk.zst"), b"\x28\xb5\x2f\xfd\0\xff").unwrap();

    for (what, text) in [
        ("disk.img", "neither an ISO 9660 nor a FAT file system"),
        ("zeros", "neither an ISO 9660"),
        ("disk.zst", "zstd -d"),
        ("notes", "one line"),
        ("x.yaml", "neither a kernel command line"),
        ("/dev/zero", "not a regular file"),
        ("empty", "network-config"),
        ("no", "does not exist"),
    ] {
        let run = ichor(folder.path(), &format!("media inspect {what} --talos 1.13"));
        assert_eq!(run.code, 2, "{what}");
        assert!(run.stderr.contains(text), "{what}: {}", run.stderr);
    }
    let links = ichor(folder.path(), "media inspect empty --talos 1.13 --links eth0=1");
    assert!(links.stderr.contains("want NAME=MAC"), "{}", links.stderr);
    for twice in
        ["eth0=52:54:00:00:01:0b,eth0=52:54:00:00:01:0c", "eth0=52:54:00:00:01:0b,eth1=52:54:00:00:01:0B"]
    {
        let links = ichor(folder.path(), &format!("media inspect empty --talos 1.13 --links {twice}"));
        assert!(links.stderr.contains("is repeated"), "{}", links.stderr);
    }
}

#[test]
fn the_output_in_the_documentation_is_current() {
    let text = fs::read_to_string(root().join("docs/how-to/inspect-boot-media.md")).unwrap();
    let blocks =
        text.split("```yaml\n# ").skip(1).filter_map(|rest| rest.split_once("```")?.0.split_once('\n'));
    let files: Vec<(&str, &str)> = blocks.collect();
    let folder = folder(&files);
    let console = text.split_once("```console\n$ ichor ").unwrap().1.split_once("```").unwrap().0;
    let (command, printed) = console.split_once('\n').unwrap();

    assert_eq!(files.len(), 2);
    assert_eq!(ichor(folder.path(), command).stdout, printed);
}
