//! Real Talos answers its API as recorded; `UPDATE_GOLDEN=1` records it again.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ichor_talos::api::PORT;
use ichor_talos::secrets::Bundle;
use nix::sched::{CloneFlags, setns};
use serde_json::Value;

use super::built::ARGUMENTS;
use super::release::TalosRelease;
use super::release::{TALOS_1_13, TALOS_1_14};
use super::vm::{TalosVm, cd, direct_boot};
use crate::common::ichor;
use crate::node_api::answers::{Release, differences};
use crate::node_api::schema::Schema;
use crate::node_api::session::Session;
use crate::node_api::{cluster, configuration, declared, release};
use ichor_testbed::lab::{LabMachine, RootFileSystem};
use ichor_testbed::parts;

const ADDRESS: &str = "10.12.1.1";
const NETWORK: &str = "{v4: 10.12.1.0/24, gateway: {v4: 10.12.1.254}}, dns: [10.12.1.254]";

/// Time limit for each state of the node.
const LIMIT: Duration = Duration::from_mins(15);

/// Compares with a recorded file, or writes it.
fn compare(release: &Release, name: &str, found: &str, differences: impl Fn(&str) -> Vec<String>) {
    let path = release.file(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let recorded = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = differences(&recorded);
    let path = path.display();
    assert!(lines.is_empty(), "{path} is not what Talos has (- recorded, + now)\n{}", lines.join("\n"));
}

fn compare_state(release: &Release, state: &str, found: &Value) {
    let read = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let lines = |recorded: &str| differences(&read(recorded), found);
    compare(release, &format!("{state}.json"), &format!("{found:#}\n"), lines);
}

/// Boots a disk image to maintenance mode, configures the node, and compares both states.
fn boots_and_answers_as_recorded(talos: TalosRelease) {
    let release = release(talos.version);
    let build = cluster(talos.version, NETWORK);
    let base = build.path().join("base");
    fs::create_dir(&base).unwrap();
    let files = talos.files();
    for file in fs::read_dir(files.path(".")).unwrap().map(|file| file.unwrap()) {
        symlink(file.path(), base.join(file.file_name())).unwrap();
    }
    let arguments = ARGUMENTS.join(" --kernel-arg ");
    let words = format!(
        "image build --talos {} --platform nocloud --base base --product disk,netboot --name node -o image \
         --kernel-arg {arguments} --kernel-arg console=ttyS0 --kernel-arg net.ifnames=0",
        talos.version
    );
    let run = ichor(build.path(), &words);
    assert_eq!(run.code, 0, "{words}: {}", run.all());
    let segment = LabMachine::new(RootFileSystem::Own);
    segment.ask("ip tuntap add eth0 mode tap && ip link set eth0 up && ip addr add 10.12.1.254/24 dev eth0");

    let image = |ending: &str| build.path().join(format!("image/node{ending}")).display().to_string();
    let line = fs::read_to_string(image(".cmdline")).unwrap();
    let node = |name: &str| build.path().join("build/lab/nodes/n1").join(name);
    let disk = format!("if=virtio,format=raw,snapshot=on,file={}", image(".raw"));
    let direct = direct_boot(&image(".vmlinuz"), &image(".initramfs.xz"), line.trim());
    let drive = ["-drive".to_owned(), disk];
    let volume = cd(node("cidata.iso").to_str().unwrap());
    let vm = TalosVm::start_for(&segment, 1800, &[&direct[..], &drive, &volume].concat());
    let valid = configuration(&build);
    let bundle = Bundle::read(&fs::read_to_string(build.path().join("talosctl.yaml")).unwrap()).unwrap();
    let session = Session { release, bundle, valid: &valid, silence: Duration::from_secs(3) };
    let found = compare_states(&segment, &session);

    if let Err(panic) = found {
        panic!("{}\n{}", vm.console(), panic.downcast_ref::<String>().map_or("", String::as_str));
    }
}

/// Compares both states, from a thread in the segment's network.
fn compare_states(segment: &LabMachine, session: &Session<'_>) -> thread::Result<()> {
    let network = File::open(Path::new("/proc").join(segment.pid()).join("ns/net")).unwrap();
    let address = SocketAddr::new(ADDRESS.parse::<IpAddr>().unwrap(), PORT);
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            setns(network, CloneFlags::CLONE_NEWNET).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                session.wait_for_maintenance(address, LIMIT).await;
                compare_state(session.release, "maintenance", &session.in_maintenance(address).await);
                session.configure(address, address, LIMIT).await;
                compare_state(session.release, "configured", &session.when_configured(address).await);
            });
        });
        inside.join()
    })
}

#[test]
fn talos_1_14_boots_and_answers_as_recorded() {
    boots_and_answers_as_recorded(TALOS_1_14);
}

#[test]
fn talos_1_13_boots_and_answers_as_recorded() {
    boots_and_answers_as_recorded(TALOS_1_13);
}

/// The recorded definitions are those of the releases.
#[test]
fn messages_are_recorded() {
    for (version, part) in [("v1.13.9", "talos-api-1.13"), ("v1.14.1", "talos-api-1.14")] {
        let text = fs::read_to_string(parts::path(part).join("messages.txt")).unwrap();
        let calls = declared::CALLS.iter().map(|(path, ..)| *path).collect();
        let inner = declared::INNER.map(|(_, theirs)| theirs);
        let found = Schema::excerpt(&text, &calls, &inner);
        let lines = |recorded: &str| {
            let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
            let (recorded, found) = (lines(recorded), lines(&found));
            let gone = recorded.difference(&found).map(|line| format!("- {line}"));
            gone.chain(found.difference(&recorded).map(|line| format!("+ {line}"))).collect()
        };
        compare(release(version), "messages.txt", &found, lines);
    }
}
