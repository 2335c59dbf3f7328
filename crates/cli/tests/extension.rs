//! `ichor extension check` on the command line.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::common::{Run, folder, ichor, root};
use serde_json::Value;

const MANIFEST: &str = "\
version: v1alpha1
metadata:
  {name: frr, version: '1', author: me, description: FRR, compatibility: {talos: {version: '>= v1.11.0'}}}
";

const SERVICE: &str = "name: frr\ncontainer: {entrypoint: /x}\nrestart: always\n";

fn cases(kind: &str) -> Vec<Value> {
    let path = root().join("crates/talos/tests/data").join(kind).join("cases.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Writes the files of a case to disk.
fn unpack(top: &Path, tree: &Value) {
    for item in tree.as_array().unwrap() {
        let path = top.join(item["path"].as_str().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(target) = item["symlink"].as_str() {
            symlink(target, &path).unwrap();
            continue;
        }
        fs::write(&path, item["content"].as_str().unwrap()).unwrap();
        let mode = u32::from_str_radix(item["mode"].as_str().unwrap_or("0644"), 8).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn assert_agrees(run: &Run, says: &Value, what: &str) {
    let want = says.as_str().unwrap().starts_with("ok");
    let json = run.json();
    assert_eq!((run.code, &json["valid"]), (i32::from(!want), &Value::Bool(want)), "{what}: {}", run.all());
    assert_eq!(json["problems"].as_array().unwrap().is_empty(), want, "{what}");
    for remark in ["problems", "warnings"].iter().flat_map(|key| json[key].as_array().unwrap()) {
        let is_told = |key: &str| !remark[key].as_str().unwrap().is_empty();
        assert!(is_told("file") && is_told("message") && is_told("help"), "{what}: {remark}");
    }
}

#[test]
fn extensions_are_validated_as_by_each_release() {
    let cases = cases("extensions");
    assert!(cases.len() > 20);
    for case in cases {
        let folder = folder(&[]);
        unpack(&folder.path().join("x"), &case["tree"]);
        for (release, says) in case["verdict"].as_object().unwrap() {
            let run = ichor(folder.path(), &format!("extension check x --talos {release} --json"));
            assert_agrees(&run, says, &format!("{} on {release}", case["name"]));
        }
    }
}

#[test]
fn services_are_validated_as_by_each_release() {
    let cases = cases("extension-services");
    assert!(cases.len() > 10);
    for case in cases {
        let folder = folder(&[("frr.yaml", case["spec"].as_str().unwrap())]);
        for (release, says) in case["verdict"].as_object().unwrap() {
            let run = ichor(folder.path(), &format!("extension check frr.yaml --talos {release} --json"));
            assert_agrees(&run, says, &format!("{} on {release}", case["name"]));
        }
    }
}

#[test]
fn pipes_and_sockets_are_refused_without_opening_them() {
    let folder = folder(&[("manifest.yaml", MANIFEST), ("rootfs/usr/local/x", "")]);
    for path in ["rootfs/usr/local/pipe", "rootfs/usr/local/etc/containers/frr.yaml"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    }

    let run = ichor(folder.path(), "extension check .");

    assert_eq!(run.code, 1, "{}", run.all());
    assert_eq!(run.stdout.matches("error: a pipe").count(), 2, "{}", run.stdout);
    fs::remove_file(folder.path().join("manifest.yaml")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("manifest.yaml")).status().unwrap().success());
    assert!(ichor(folder.path(), "extension check .").stdout.contains("manifest.yaml: error: not a file"));
}

#[test]
fn links_out_of_the_extension_are_not_followed() {
    let folder = folder(&[("secret", "hunter2: [\n"), ("x/rootfs/usr/local/x", "")]);
    symlink(folder.path().join("secret"), folder.path().join("x/manifest.yaml")).unwrap();
    fs::create_dir_all(folder.path().join("x/rootfs/usr/local/etc/containers")).unwrap();
    symlink("../../../../../../secret", folder.path().join("x/rootfs/usr/local/etc/containers/frr.yaml"))
        .unwrap();

    let run = ichor(folder.path(), "extension check x");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(
        run.stdout.contains("manifest.yaml: error: a link to no file of the extension"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("frr.yaml: warning: not a file"), "{}", run.stdout);
    assert!(!run.all().contains("hunter2"), "{}", run.all());
}

#[test]
fn a_root_that_is_a_link_is_refused() {
    let folder = folder(&[("manifest.yaml", MANIFEST), ("real/usr/local/x", "")]);
    symlink("real", folder.path().join("rootfs")).unwrap();

    let run = ichor(folder.path(), "extension check .");

    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("rootfs: error: not a folder"), "{}", run.stdout);
}

#[test]
fn the_error_of_an_unreadable_file_names_the_file() {
    let long = " ".repeat((256 << 10) + 1);
    let tar = format!("{}ustar", "\0".repeat(257));
    let folder = folder(&[("long/manifest.yaml", &long), ("x.tar", &tar), ("rootfs/x", "")]);

    for (what, message) in [
        ("no", "cannot read no: No such file"),
        ("long", "cannot read long/manifest.yaml: longer than 256 KiB"),
        ("x.tar", "cannot check the image x.tar"),
        (". --talos 1.9", "1.11 to 1.14"),
    ] {
        let run = ichor(folder.path(), &format!("extension check {what}"));
        assert_eq!(run.code, 2, "{what}: {}", run.all());
        assert!(run.stderr.contains(message), "{what}: {}", run.stderr);
    }
}

#[test]
fn control_characters_in_names_are_escaped() {
    let folder = folder(&[("manifest.yaml", MANIFEST), ("rootfs/\u{1b}[2Jx", "")]);

    let run = ichor(folder.path(), "extension check .");

    assert!(run.stdout.contains("\\u{1b}[2Jx") && !run.stdout.contains('\u{1b}'), "{}", run.stdout);
}

#[test]
fn many_invalid_files_are_counted() {
    let folder = folder(&[("manifest.yaml", MANIFEST)]);
    fs::create_dir_all(folder.path().join("rootfs/opt")).unwrap();
    (0..250).for_each(|nth| fs::write(folder.path().join(format!("rootfs/opt/{nth}")), "").unwrap());

    let run = ichor(folder.path(), "extension check .");
    let json = ichor(folder.path(), "extension check . --json").json();

    assert!(run.stdout.contains("50 more not shown"), "{}", run.stdout);
    assert_eq!((json["problems"].as_array().unwrap().len(), &json["problems_omitted"]), (200, &50.into()));
}

#[test]
fn a_service_file_is_named_after_its_service() {
    let folder = folder(&[("frr.yaml", SERVICE), ("other.yaml", SERVICE)]);

    let named = ichor(folder.path(), "extension check frr.yaml");
    let other = ichor(folder.path(), "extension check other.yaml");

    assert_eq!((named.code, named.stdout.as_str()), (0, ""));
    assert_eq!(named.stderr, "frr.yaml: Talos v1.14 accepts it\n");
    assert_eq!(other.code, 0);
    assert!(other.stdout.contains("named `frr` regardless of the file name"), "{}", other.stdout);
    assert!(other.stdout.contains("rename it to frr.yaml"), "{}", other.stdout);
}

/// The block after a marker in docs/how-to/check-an-extension.md.
fn block(mark: &str) -> String {
    let text = fs::read_to_string(root().join("docs/how-to/check-an-extension.md")).unwrap();
    let rest = text.split_once(&format!("{mark}\n")).unwrap_or_else(|| panic!("no {mark}")).1;
    rest.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_output_in_the_documentation_is_current() {
    let files = ["frr/manifest.yaml", "frr/rootfs/usr/local/etc/containers/frr.yaml"];
    let texts = files.map(|file| block(&format!("```yaml\n# {file}")));
    // The first line of each is its comment.
    let texts = texts.map(|text| format!("#\n{text}"));
    let folder = folder(&[
        (files[0], &texts[0]),
        (files[1], &texts[1]),
        ("frr/rootfs/usr/local/lib/containers/frr/usr/bin/agent", ""),
        ("frr/rootfs/usr/bin/vtysh", ""),
    ]);

    for words in [
        "extension check frr --talos v1.13.9",
        "extension check frr/rootfs/usr/local/etc/containers/frr.yaml",
    ] {
        let run = ichor(folder.path(), words);
        similar(&run.all(), &block(&format!("$ ichor {words}")), words);
    }
}

fn similar(got: &str, want: &str, words: &str) {
    assert_eq!(got.trim_end(), want.trim_end(), "{words}");
}
