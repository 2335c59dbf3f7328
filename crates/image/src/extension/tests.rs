use serde_json::Value;

use super::*;
use crate::oci::{EntryKind, MemoryStore};

use ichor_testbed::elf as elf_file;

use elf_file::{AMD64, ARM64, elf};

const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// A small system with BIRD, merged as Debian is.
fn input() -> FileTree {
    let mut root = FileTree::default();
    for (link, folder) in [("lib", "usr/lib"), ("lib64", "usr/lib64"), ("sbin", "usr/sbin")] {
        root.put(folder, TreeEntry::folder());
        root.put(link, TreeEntry::link(folder));
    }
    let library = |needed: &[&str]| TreeEntry::file(0o644, elf(AMD64, None, needed, None));
    let triple = "usr/lib/x86_64-linux-gnu";
    root.put(
        "usr/lib64/ld-linux-x86-64.so.2",
        TreeEntry::link("../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
    );
    root.put(&format!("{triple}/ld-linux-x86-64.so.2"), library(&[]));
    root.put(&format!("{triple}/libc.so.6"), library(&["ld-linux-x86-64.so.2"]));
    root.put(&format!("{triple}/libreadline.so.8"), TreeEntry::link("libreadline.so.8.2"));
    root.put(&format!("{triple}/libreadline.so.8.2"), library(&["libtinfo.so.6", "libc.so.6"]));
    root.put(&format!("{triple}/libtinfo.so.6"), library(&["libc.so.6"]));
    root.put(&format!("{triple}/libunused.so.1"), library(&[]));
    root.put("usr/bin/sh", TreeEntry::file(0o755, elf(AMD64, Some(LOADER), &["libc.so.6"], None)));
    let program = |needed: &[&str]| TreeEntry::file(0o4755, elf(AMD64, Some(LOADER), needed, None));
    root.put("usr/sbin/bird", program(&["libc.so.6"]));
    root.put("usr/sbin/birdc", program(&["libreadline.so.8", "libc.so.6"]));
    root.put(
        "usr/share/doc/bird2/copyright",
        TreeEntry::file(0o644, b"see /usr/share/common-licenses/GPL-2."),
    );
    root.put("usr/share/common-licenses/GPL-2", TreeEntry::file(0o644, b"GPL"));
    let status =
        "Package: bird2\nVersion: 2.17.1-1\nArchitecture: amd64\n\nPackage: libc6\nVersion: 2.41-1\n";
    root.put("var/lib/dpkg/status", TreeEntry::file(0o644, status.as_bytes()));
    root.put("var/lib/dpkg/info/bird2.list", TreeEntry::file(0o644, b"/usr/sbin/bird\n/usr/sbin/birdc\n"));
    let libc = b"/lib/x86_64-linux-gnu/libc.so.6\n/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n";
    root.put("var/lib/dpkg/info/libc6.list", TreeEntry::file(0o644, libc));
    root
}

fn made_of(
    input: &FileTree,
    change: impl FnOnce(&mut ExtensionRequest<'_>),
) -> Result<BuiltExtension, ExtensionBuildError> {
    let agent = elf(AMD64, None, &[], None);
    let mut order = ExtensionRequest {
        backend: Backend::Bird,
        arch: Arch::Amd64,
        name: "bird",
        version: None,
        input,
        origin: "a test",
        agent: &agent,
        waits: true,
        created: Moment::from_unix(0).unwrap(),
    };
    change(&mut order);
    build_extension(&order)
}

fn text(tree: &FileTree, path: &str) -> String {
    let bytes = tree.read(path).unwrap_or_else(|| panic!("no {path}"));
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn elf_headers_list_loader_and_libraries() {
    let read =
        Elf::read(&elf(ARM64, Some("/lib/ld.so"), &["liba.so", "libb.so"], Some("/a:$ORIGIN"))).unwrap();

    assert_eq!((read.arch(), read.interpreter.as_deref()), (Some(Arch::Arm64), Some("/lib/ld.so")));
    assert_eq!(read.needed, ["liba.so", "libb.so"]);
    assert_eq!(read.runpath, ["/a", "$ORIGIN"]);
}

#[test]
fn the_container_has_only_the_files_that_the_daemon_needs() {
    let extension = made_of(&input(), |_| {}).unwrap();

    let files =
        extension.tree.iter().filter(|(_, entry)| entry.kind != EntryKind::Folder).map(|(path, _)| path);
    let inside: Vec<_> =
        files.filter_map(|path| path.strip_prefix("rootfs/usr/local/lib/containers/bird/")).collect();
    assert_eq!(
        inside,
        [
            "etc/group",
            "etc/ichor/release",
            "etc/nsswitch.conf",
            "etc/passwd",
            "lib",
            "lib64",
            "usr/bin/ichor-agent",
            "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
            "usr/lib/x86_64-linux-gnu/libc.so.6",
            "usr/lib/x86_64-linux-gnu/libreadline.so.8",
            "usr/lib/x86_64-linux-gnu/libreadline.so.8.2",
            "usr/lib/x86_64-linux-gnu/libtinfo.so.6",
            "usr/lib64/ld-linux-x86-64.so.2",
            "usr/sbin/bird",
            "usr/sbin/birdc",
            "var/run",
        ]
    );
    let program = extension.tree.get("rootfs/usr/local/lib/containers/bird/usr/sbin/bird").unwrap();
    assert_eq!(program.mode, 0o755, "set-user bits do nothing there");
    assert_eq!(extension.version, "2.17.1");
}

#[test]
fn the_release_file_contains_the_version_of_the_daemon() {
    let path = "rootfs/usr/local/lib/containers/bird/etc/ichor/release";
    let mut unknown = input();
    unknown.remove("var");

    let named = made_of(&input(), |order| order.version = Some("7")).unwrap();
    let unknown = made_of(&unknown, |order| order.version = Some("7")).unwrap();

    assert_eq!(text(&named.tree, path), "bird 2.17.1\n");
    assert!(unknown.tree.get(path).is_none(), "the agent asks the program");
}

#[test]
fn builds_are_reproducible() {
    let (one, two) = (made_of(&input(), |_| {}).unwrap(), made_of(&input(), |_| {}).unwrap());

    assert_eq!(one.tree, two.tree);
    let layer = |tree: &FileTree| crate::oci::layer(tree, &mut MemoryStore::default()).unwrap().content;
    assert_eq!(layer(&one.tree), layer(&two.tree));
}

#[test]
fn the_service_does_not_depend_on_an_installation() {
    let path = "rootfs/usr/local/etc/containers/bird.yaml";
    let waiting = text(&made_of(&input(), |_| {}).unwrap().tree, path);
    let starting = text(&made_of(&input(), |order| order.waits = false).unwrap().tree, path);

    assert!(waiting.contains("- configuration: true"), "{waiting}");
    assert_eq!(waiting.replace("    - configuration: true\n", ""), starting);
    for late in ["cri", "network:", "/var", "time:"] {
        assert!(!starting.contains(late), "{starting}");
    }
}

#[test]
fn licences_and_source_locations_are_included() {
    let extension = made_of(&input(), |_| {}).unwrap();

    let folder = "rootfs/usr/local/share/doc/bird";
    assert_eq!(text(&extension.tree, &format!("{folder}/common-licenses/GPL-2")), "GPL");
    assert!(text(&extension.tree, &format!("{folder}/bird2/copyright")).contains("GPL-2"));
    let sources = text(&extension.tree, &format!("{folder}/SOURCES"));
    assert!(sources.contains("https://snapshot.debian.org/package/bird2/2.17.1-1/"), "{sources}");
    assert!(sources.contains("of no package: /usr/lib/x86_64-linux-gnu/libreadline.so.8.2"), "{sources}");
    assert_eq!(extension.unlicensed, ["libc6"]);
}

#[test]
fn the_sbom_lists_every_file_once() {
    let extension = made_of(&input(), |_| {}).unwrap();

    let list: Value = serde_json::from_slice(&extension.sbom).unwrap();
    assert_eq!(list["spdxVersion"], "SPDX-2.3");
    let packages = list["packages"].as_array().unwrap();
    let files: Vec<_> = packages.iter().filter_map(|it| it["packageFileName"].as_str()).collect();
    assert_eq!(files.len(), 7, "{files:?}");
    let bird = packages.iter().find(|it| it["name"] == "bird2").unwrap();
    assert_eq!(
        (&bird["versionInfo"], &bird["licenseDeclared"]),
        (&"2.17.1-1".into(), &"GPL-2.0-or-later".into())
    );
    let mut ids: Vec<_> = packages.iter().map(|it| it["SPDXID"].as_str().unwrap()).collect();
    let related = list["relationships"].as_array().unwrap();
    assert!(ids.iter().all(|id| related.iter().any(|it| it["relatedSpdxElement"] == *id)), "{related:?}");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), packages.len());
    assert_eq!(
        text(&extension.tree, "rootfs/usr/local/share/spdx/bird.spdx.json").as_bytes(),
        extension.sbom
    );
}

#[test]
fn component_sizes_add_up_to_the_extension() {
    let extension = made_of(&input(), |_| {}).unwrap();

    let all = extension.tree.iter().filter(|(_, entry)| matches!(entry.kind, EntryKind::File(_))).count();
    let counts: Vec<_> = extension.parts.iter().map(|part| (part.share.word(), part.files)).collect();
    assert_eq!(counts, [("agent", 1), ("daemons", 2), ("libraries", 4), ("data", 4), ("documents", 6)]);
    assert_eq!(extension.parts.iter().map(|part| part.files).sum::<usize>(), all);
}

#[test]
fn missing_libraries_are_reported_with_their_users() {
    let refused = |input: &FileTree| made_of(input, |_| {}).unwrap_err().to_string();
    let mut root = input();
    root.remove("usr/lib/x86_64-linux-gnu/libtinfo.so.6");
    assert!(
        refused(&root).contains("libtinfo.so.6 (needed by /usr/lib/x86_64-linux-gnu/libreadline.so.8.2)")
    );

    let mut root = input();
    root.remove("usr/lib64/ld-linux-x86-64.so.2");
    assert!(refused(&root).contains("/lib64/ld-linux-x86-64.so.2 (needed by /usr/sbin/bird)"));

    let mut root = input();
    root.remove("usr/sbin/birdc");
    assert!(refused(&root).contains("birdc not found in a test"));

    let mut root = input();
    root.put("usr/sbin/birdc", TreeEntry::file(0o755, b"#!/bin/sh"));
    assert!(refused(&root).contains("cannot use /usr/sbin/birdc"));

    let mut root = input();
    root.put("usr/sbin/birdc", TreeEntry::file(0o755, elf(ARM64, None, &[], None)));
    assert!(refused(&root).contains("is for arm64, but the extension is for amd64"));
}

#[test]
fn invalid_requests_are_rejected() {
    let refused = |change: fn(&mut ExtensionRequest<'_>)| made_of(&input(), change).unwrap_err().to_string();
    assert!(refused(|order| order.backend = Backend::Native).contains("needs no extension"));
    assert!(refused(|order| order.name = "../bird").contains("not a service name"));
    assert!(refused(|order| order.name = "").contains("not a service name"));
    assert!(refused(|order| order.version = Some("a b")).contains("not a version"));
    assert!(refused(|order| order.agent = b"#!").contains("cannot use the agent"));
    assert!(refused(|order| order.arch = Arch::Arm64).contains("for amd64"));
    let dynamic = elf(AMD64, Some(LOADER), &["libc.so.6"], None);
    let mut root = input();
    root.remove("var");
    assert!(made_of(&root, |_| {}).unwrap_err().to_string().contains("--version"));
    let agent =
        |order: &ExtensionRequest<'_>| build_extension(&ExtensionRequest { agent: &dynamic, ..*order });
    let mut message = String::new();
    let _ = made_of(&input(), |order| message = agent(order).unwrap_err().to_string());
    assert!(message.contains("link it statically"), "{message}");
}

#[test]
fn libraries_are_found_in_the_search_order_of_the_loader() {
    let mut root = input();
    let birdc = elf(AMD64, Some(LOADER), &["libown.so", "libc.so.6"], Some("$ORIGIN/../lib/bird:/opt/none"));
    root.put("usr/sbin/birdc", TreeEntry::file(0o755, birdc));
    root.put("usr/lib/x86_64-linux-gnu/libown.so", TreeEntry::file(0o644, elf(AMD64, None, &[], None)));
    root.put("usr/lib/bird/libown.so", TreeEntry::file(0o644, elf(AMD64, None, &["libconf.so"], None)));
    root.put("opt/lib/libconf.so", TreeEntry::file(0o644, elf(AMD64, None, &[], None)));

    let missing = made_of(&root, |_| {}).unwrap_err().to_string();
    assert!(
        missing.contains("libconf.so"),
        "without glibc's list its folders are not looked into: {missing}"
    );

    root.put("etc/ld.so.conf.d/opt.conf", TreeEntry::file(0o644, b"# ours\n/opt/lib\n"));
    root.put("etc/ld.so.cache", TreeEntry::file(0o644, b"list"));
    let extension = made_of(&root, |_| {}).unwrap();

    let folder = "rootfs/usr/local/lib/containers/bird";
    for (path, is_there) in [
        ("usr/lib/bird/libown.so", true),
        ("opt/lib/libconf.so", true),
        ("etc/ld.so.cache", true),
        ("usr/lib/x86_64-linux-gnu/libown.so", false),
    ] {
        assert_eq!(extension.tree.get(&format!("{folder}/{path}")).is_some(), is_there, "{path}");
    }
}

#[test]
fn programs_in_other_folders_get_a_link_for_the_agent() {
    let mut root = input();
    let moved = root.get("usr/sbin/bird").unwrap().clone();
    root.remove("usr/sbin/bird");
    root.put("usr/local/sbin/bird", moved);

    let extension = made_of(&root, |order| order.version = Some("2")).unwrap();

    let link = extension.tree.get("rootfs/usr/local/lib/containers/bird/usr/sbin/bird").unwrap();
    assert_eq!(link.kind, EntryKind::Link("/usr/local/sbin/bird".to_owned()));
}
