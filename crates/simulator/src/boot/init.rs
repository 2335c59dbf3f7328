//! Simulates Talos' init: assembles the root file system from layers and switches to it.
//!
//! The layers of `/extensions.yaml` are stacked on `/rootfs.sqsh`, later ones over earlier ones, and mounted read-only.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use ichor_talos::document;
use serde_json::Value;

use crate::boot::console::print;
use crate::boot::payload::Payload;

/// The folder of its own files.
const OWN: &str = "/simulator";

/// The mount point of the new root.
const ROOT: &str = "/root";

/// The list of layers.
const LIST: &str = "/extensions.yaml";

/// Brings the machine from its first program to the program of its root file system.
pub fn run() {
    let packed = fs::read("/init").expect("the kernel starts /init");
    Payload::find(&packed).expect("its tests packed it").unpack(Path::new(OWN)).unwrap();
    for (kind, place) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        fs::create_dir_all(place).unwrap();
        busybox(&["mount", "-t", kind, kind, place]);
    }
    load_modules();
    mount_root();
    print("entering the root file system");
    for place in ["/proc", "/sys", "/dev"] {
        busybox(&["mount", "-o", "move", place, &format!("{ROOT}{place}")]);
    }
    let error = Command::new(format!("{OWN}/busybox")).args(["switch_root", ROOT, "/sbin/init"]).exec();
    panic!("cannot enter the root file system: {error}");
}

fn load_modules() {
    let folder = fs::read_dir(format!("{OWN}/modules")).unwrap();
    let mut modules: Vec<_> = folder.map(|entry| entry.unwrap().path().display().to_string()).collect();
    modules.sort();
    for module in modules {
        busybox(&["insmod", &module]);
    }
}

fn mount_root() {
    fs::create_dir_all(ROOT).unwrap();
    let layers = layers();
    if layers.is_empty() {
        mount_layer("rootfs.sqsh", ROOT);
        return;
    }
    // The first of an overlay's folders is the uppermost.
    let mut folders = vec![format!("{OWN}/root")];
    mount_layer("rootfs.sqsh", &folders[0]);
    for (nth, layer) in layers.iter().enumerate() {
        let [image, name, version] =
            ["/image", "/metadata/name", "/metadata/version"].map(|key| text(layer, key));
        print(&format!("extension {name} {version} layer {image}"));
        folders.insert(0, format!("{OWN}/layer{nth}"));
        mount_layer(image, &folders[0]);
    }
    let options = format!("ro,lowerdir={}", folders.join(":"));
    busybox(&["mount", "-t", "overlay", "-o", &options, "overlay", ROOT]);
    for folder in &folders {
        busybox(&["umount", folder]);
    }
    bind(LIST, "/etc/extensions.yaml");
    if Path::new("/usr/lib/firmware").exists() {
        bind("/usr/lib/firmware", "/usr/lib/firmware");
    }
}

fn layers() -> Vec<Value> {
    let Ok(list) = fs::read_to_string(LIST) else { return Vec::new() };
    let list = document::read(&list).unwrap_or_else(|error| panic!("{LIST}: {error}"));
    list.first().and_then(|list| list["layers"].as_array()).cloned().unwrap_or_default()
}

fn text<'v>(layer: &'v Value, key: &str) -> &'v str {
    let text = layer.pointer(key).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{LIST}: no {key} in {layer}"))
}

fn mount_layer(image: &str, folder: &str) {
    fs::create_dir_all(folder).unwrap();
    busybox(&["mount", "-t", "squashfs", "-o", "loop,ro", &format!("/{image}"), folder]);
}

fn bind(source: &str, target: &str) {
    let target = format!("{ROOT}{target}");
    busybox(&["mount", "-o", "bind", source, &target]);
    busybox(&["mount", "-o", "bind,remount,ro", source, &target]);
}

fn busybox(words: &[&str]) {
    let status = Command::new(format!("{OWN}/busybox")).args(words).status().unwrap();
    assert!(status.success(), "{}: {status}", words.join(" "));
}
