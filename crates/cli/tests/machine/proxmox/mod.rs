//! Machines on a stand-in for Proxmox, which validates every call against Proxmox's API description.

mod down;
mod schema;
pub mod stand_in;

use std::fs;
use std::thread;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use tempfile::TempDir;

use crate::common::{Run, folder, ichor_with};
use schema::Schema;
use stand_in::{Machine, PASSWORD, StandIn, TOKEN};

/// A cluster of three machines on a stand-in, with additional settings for Proxmox and for the nodes.
struct Site {
    pve: StandIn,
    folder: TempDir,
}

const LOGIN: &str = "token: {env: PVE_TOKEN}";
const CONFIG: &str = "GET /nodes/{node}/qemu/{vmid}/config";
const TICKET: &str = "POST /access/ticket";

impl Site {
    fn new() -> Self {
        let pve = StandIn::start();
        let trust = format!("fingerprint: '{}'", pve.web.pin);
        Self::with(pve, LOGIN, &trust, "first_id: 300")
    }

    fn with(pve: StandIn, login: &str, trust: &str, vm: &str) -> Self {
        let file = format!(
            "cluster: {{name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}}\n\
             network: {{api: {{vip: 10.101.0.10}}}}\n\
             image: {{source: factory}}\n\
             hypervisors: {{pve: {{proxmox: {{url: '{}', {login}, {trust}, iso: cephfs, disks: local-lvm}}}}}}\n\
             defaults:\n  platform: nocloud\n  install: {{disk: /dev/sda}}\n  \
               vm: {{cores: 4, memory: 8GiB, guest_agent: true, tags: [sol], pool: talos, vlan: 101, {vm}}}\n\
             nodes:\n  - {{name: solcp01, role: controlplane, index: 11}}\n  \
               - {{name: solcp02, role: controlplane, index: 12}}\n  - {{name: solwk01, role: worker, index: 21}}\n",
            pve.web.url
        );
        let folder = folder(&[("ichor.yaml", &file), ("ca.pem", &pve.web.ca)]);
        for node in ["solcp01", "solcp02", "solwk01"] {
            let place = folder.path().join(format!("build/sol/nodes/{node}"));
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("cidata.iso"), format!("the secrets of {node}").repeat(5000)).unwrap();
        }
        Self { pve, folder }
    }

    fn run(&self, words: &str) -> Run {
        self.ichor(&format!("machine {words}"))
    }

    fn ichor(&self, words: &str) -> Run {
        let env = [("PVE_TOKEN", TOKEN), ("PVE_PASSWORD", PASSWORD)];
        let run = ichor_with(self.folder.path(), words, &env);
        for secret in [TOKEN, &TOKEN[15..], PASSWORD] {
            assert!(!run.all().contains(secret), "a secret is printed: {}", run.all());
        }
        assert_eq!(self.pve.state().faults, [""; 0], "Proxmox refuses this");
        run
    }

    fn setting(&self, id: u32, key: &str) -> String {
        self.pve.state().machines[&id].settings.get(key).cloned().unwrap_or_default()
    }
}

#[test]
fn machines_are_created_started_ejected_and_deleted() {
    let site = Site::new();

    let made = site.run("make");
    assert_eq!(
        (made.code, made.stdout.as_str()),
        (0, "solcp01: created\nsolcp02: created\nsolwk01: created\n"),
        "{}",
        made.all()
    );
    let again = site.run("make");
    assert_eq!(again.stdout, "solcp01: exists\nsolcp02: exists\nsolwk01: exists\n", "{}", again.all());

    {
        let state = site.pve.state();
        assert_eq!(state.machines.keys().copied().collect::<Vec<_>>(), [311, 312, 321]);
        assert_eq!(state.count("POST /nodes/{node}/qemu"), 3);
        // One shared image, and a CD with secrets per machine, uploaded each time.
        assert_eq!(state.count("POST /nodes/{node}/storage/{storage}/download-url"), 1);
        assert_eq!(state.count("POST /nodes/{node}/storage/{storage}/upload"), 6);
        let cd = &state.files[&(None, "cephfs:iso/sol_solcp02-cidata.iso".to_owned())];
        assert_eq!(*cd, "the secrets of solcp02".repeat(5000).into_bytes());
    }
    assert_eq!(site.setting(311, "ide0"), "cephfs:iso/sol_solcp01-cidata.iso,media=cdrom");
    assert!(
        site.setting(311, "ide2").contains("nocloud-amd64.iso,media=cdrom"),
        "{}",
        site.setting(311, "ide2")
    );
    assert_eq!(site.setting(311, "boot"), "order=scsi0;ide2");
    assert_eq!(site.setting(311, "net0"), "virtio=02:00:65:00:0B:00,bridge=vmbr0,tag=101");
    assert!(site.setting(311, "smbios1").contains("uuid="));

    assert_eq!(site.run("start").stdout, "solcp01: on\nsolcp02: on\nsolwk01: on\n");
    site.pve.state().machines.get_mut(&311).unwrap().addresses = vec!["10.101.0.99".into(), "fe80::1".into()];
    let list = site.run("ls --json").json();
    assert_eq!(list[0]["state"], "on");
    assert_eq!(list[0]["addresses"], serde_json::json!(["10.101.0.99"]));
    assert_eq!(list[1]["addresses"], serde_json::json!([]), "the guest agent does not answer yet");

    assert_eq!(site.run("eject").code, 0);
    assert_eq!(site.setting(311, "ide0"), "none,media=cdrom");
    let left: Vec<_> = site.pve.state().files.keys().map(|(_, volume)| volume.clone()).collect();
    assert_eq!(left.len(), 1, "secrets stay nowhere: {left:?}");

    assert_eq!(site.run("delete").code, 2, "the deletion needs a confirmation");
    assert_eq!(site.run("delete --yes --only solcp01").stdout, "solcp01: deleted\n");
    assert_eq!(site.run("stop --cut --only solwk01").stdout, "solwk01: off\n");
    assert_eq!(site.pve.state().machines.keys().copied().collect::<Vec<_>>(), [312, 321]);
    assert_eq!(site.run("ls --json --only solwk01").json()[0]["state"], "off");
}

#[test]
fn a_machine_with_a_config_server_has_its_url_in_the_serial_number() {
    let site = Site::new();
    let file = site.folder.path().join("ichor.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let text =
        text.replace("image: {", "boot: {from: nocloud-net, server: 'https://boot.sol:8443/a,b/'}\nimage: {");
    fs::write(&file, text).unwrap();

    let made = site.run("make --only solcp01");

    assert_eq!(made.stdout, "solcp01: created\n", "{}", made.all());
    let setting = site.setting(311, "smbios1");
    let parts: Vec<(&str, &str)> = setting.split(',').map(|part| part.split_once('=').unwrap()).collect();
    assert_eq!(parts.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["base64", "serial", "uuid"]);
    assert_eq!(parts[0].1, "1", "the comma in the serial number would end it");
    let serial = String::from_utf8(STANDARD.decode(parts[1].1).unwrap()).unwrap();
    assert_eq!(serial, "ds=nocloud-net;s=https://boot.sol:8443/a,b/nocloud/solcp01/");
    assert_eq!(site.setting(311, "ide0"), "", "no CD with a configuration is inserted");
    assert_eq!(site.run("make --only solcp01").stdout, "solcp01: exists\n", "its UUID is read again");
}

#[test]
fn a_disk_based_on_an_image_is_resized() {
    let site = Site::new();
    let file = site.folder.path().join("ichor.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let text = text.replace("source: factory", "source: {disk: talos.qcow2}");
    fs::write(&file, text.replace("first_id: 300", "first_id: 300, boot: [disk]")).unwrap();
    fs::write(site.folder.path().join("talos.qcow2"), "an image").unwrap();

    let run = site.run("make --only solcp01");
    assert!(run.stdout.contains("storage cephfs does not accept import; allow it with"), "{}", run.all());
    site.pve.state().storages.get_mut("cephfs").unwrap().0 = "iso,import".to_owned();
    site.pve.state().failing.insert("resize".to_owned(), "got lock timeout".to_owned());
    assert_eq!(site.run("make --only solcp01").code, 2);
    site.pve.state().failing.clear();
    let run = site.run("make --only solcp01");

    assert_eq!(run.stdout, "solcp01: exists\n", "{}", run.all());
    assert!(site.setting(311, "scsi0").ends_with("size=32G"), "{}", site.setting(311, "scsi0"));
    let state = site.pve.state();
    assert_eq!(state.files[&(None, "cephfs:import/talos.qcow2".to_owned())], b"an image");
    assert_eq!(state.count("POST /nodes/{node}/qemu"), 1);
}

#[test]
fn preflight_problems_are_reported_together_and_nothing_is_changed() {
    let site = Site::new();
    {
        let mut state = site.pve.state();
        state.version = "7.4-3".to_owned();
        state.hidden.insert(311);
        let settings = [("name".to_owned(), "mail".to_owned())].into();
        state.machines.insert(312, Machine { host: "pve2".to_owned(), settings, ..Machine::default() });
        let settings =
            [("name".to_owned(), "solwk01".to_owned()), ("smbios1".to_owned(), "uuid=1-2-3".to_owned())]
                .into();
        state.machines.insert(900, Machine { host: "pve1".to_owned(), settings, ..Machine::default() });
        state.storages.get_mut("local-lvm").unwrap().0 = "rootdir".to_owned();
        state.storages.remove("cephfs");
        state.bridges = vec!["vmbr7".to_owned()];
        state.pools.clear();
    }

    let run = site.run("check");

    assert_eq!(run.code, 1, "{}", run.all());
    for message in [
        "Proxmox VE 7.4-3 is too old; upgrade to 8.0 or newer",
        "solcp01: the ID 311 is in use by a machine that this login may not see",
        "solcp02: the ID 312 is in use by another machine, `mail` on pve2",
        "solwk01: another machine on pve1, ID 900, has its name",
        "storage local-lvm does not accept images; allow it with `pvesm set local-lvm --content rootdir,images`",
        "storage cephfs does not exist; write local in the hypervisor's `iso`",
        "bridge vmbr0 does not exist; write one of vmbr7 in `vm.bridge`",
        "resource pool talos does not exist; create it with `pvesh create /pools -poolid talos`",
    ] {
        assert!(run.stdout.contains(message), "{message}\n---\n{}", run.all());
    }
    assert_eq!(site.run("make").code, 1);
    let changing = |call: &&String| !call.starts_with("GET ");
    assert_eq!(site.pve.state().calls.iter().filter(changing).count(), 0);
}

#[test]
fn a_foreign_machine_is_never_changed() {
    let site = Site::new();
    let settings = [("name".to_owned(), "mail".to_owned())].into();
    let other = Machine { host: "pve2".to_owned(), is_on: true, settings, ..Machine::default() };
    site.pve.state().machines.insert(311, other);

    for verb in ["make", "start", "stop --cut", "eject", "delete --yes"] {
        let run = site.run(&format!("{verb} --only solcp01"));
        assert_ne!(run.code, 0, "{verb}: {}", run.all());
        assert!(run.all().contains("mail"), "{verb}: {}", run.all());
    }
    let list = site.run("ls --only solcp01");
    assert_eq!(list.code, 1);
    assert!(list.stdout.contains("other owner: VM 311 (`mail` on pve2)"), "{}", list.stdout);
    assert!(site.pve.state().machines[&311].is_on);
    let changing = |call: &&String| !call.starts_with("GET ");
    assert_eq!(site.pve.state().calls.iter().filter(changing).count(), 0);
}

#[test]
fn a_failed_task_is_reported_with_its_log() {
    let site = Site::new();
    site.pve
        .state()
        .failing
        .insert("qmcreate".to_owned(), "unable to create VM 311 - no space left".to_owned());

    let run = site.run("make --only solcp01");

    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("solcp01: cannot create its machine at https://127.0.0.1"), "{}", run.stderr);
    assert!(run.stderr.contains("TASK ERROR: unable to create VM 311 - no space left"), "{}", run.stderr);
    assert!(site.pve.state().machines.is_empty());
}

#[test]
fn a_machine_in_creation_by_an_earlier_run_is_waited_for() {
    let site = Site::new();
    site.run("make --only solcp01");
    let machine = site.pve.state().machines[&311].clone();
    let begun = [("lock".to_owned(), "create".to_owned())].into();
    site.pve.state().machines.get_mut(&311).unwrap().settings = begun;

    let run = thread::scope(|scope| {
        let calls = site.pve.state().count(CONFIG);
        let run = scope.spawn(|| site.run("make --only solcp01"));
        site.pve.until("a second look", |state| state.count(CONFIG) > calls + 1);
        site.pve.state().machines.insert(311, machine);
        run.join().unwrap()
    });

    assert_eq!(run.stdout, "solcp01: exists\n", "{}", run.all());
}

#[test]
fn a_machine_without_a_number_is_not_created_twice() {
    let pve = StandIn::start();
    let trust = format!("fingerprint: '{}'", pve.web.pin);
    let site = Site::with(pve, LOGIN, &trust, "nic: virtio");
    site.run("make --only solcp01");
    let machine = site.pve.state().machines[&100].clone();
    // Until the machine is complete, its owner is unknown.
    let begun = [("lock".to_owned(), "create".to_owned())].into();
    site.pve.state().machines.get_mut(&100).unwrap().settings = begun;

    let run = thread::scope(|scope| {
        let calls = site.pve.state().count(CONFIG);
        let run = scope.spawn(|| site.run("make --only solcp01"));
        site.pve.until("a second look", |state| state.count(CONFIG) > calls + 1);
        site.pve.state().machines.insert(100, machine);
        run.join().unwrap()
    });

    assert_eq!(run.stdout, "solcp01: exists\n", "{}", run.all());
    assert_eq!(site.pve.state().count("POST /nodes/{node}/qemu"), 1);
}

#[test]
fn machines_without_a_host_are_distributed_over_online_hosts() {
    let pve = StandIn::start();
    pve.state().hosts.insert("pve2".to_owned(), false);
    let trust = format!("fingerprint: '{}'", pve.web.pin);
    let site = Site::with(pve, LOGIN, &trust, "nic: virtio");

    let run = site.run("make");

    assert_eq!(run.code, 0, "{}", run.all());
    let state = site.pve.state();
    let hosts: Vec<_> =
        state.machines.values().map(|it| (it.settings["name"].as_str(), it.host.as_str())).collect();
    assert_eq!(hosts, [("solcp01", "pve1"), ("solcp02", "pve3"), ("solwk01", "pve1")]);
    assert_eq!(state.machines.keys().copied().collect::<Vec<_>>(), [100, 101, 102]);
}

#[test]
fn a_password_login_renews_its_ticket_when_it_expires() {
    let pve = StandIn::start();
    let trust = format!("fingerprint: '{}'", pve.web.pin);
    let login = "user: root@pam, password: {env: PVE_PASSWORD}";
    let site = Site::with(pve, login, &trust, "first_id: 300");
    site.pve.state().polls = u32::MAX;

    let run = thread::scope(|scope| {
        let run = scope.spawn(|| site.run("make --only solcp01"));
        site.pve.until("a task", |state| state.count("GET /nodes/{node}/tasks/{upid}/status") > 0);
        site.pve.state().ticket += 1;
        site.pve.until("another ticket", |state| state.count(TICKET) > 1);
        site.pve.state().hurry();
        run.join().unwrap()
    });

    assert_eq!(run.code, 0, "{}", run.all());
    assert_eq!(site.pve.state().count(TICKET), 2);
}

#[test]
fn a_wrong_login_is_reported_without_the_credentials() {
    let pve = StandIn::start();
    let trust = format!("fingerprint: '{}'", pve.web.pin);
    let site = Site::with(pve, LOGIN, &trust, "first_id: 300");

    let env = [("PVE_TOKEN", "ops@pve!ichor=wrong-secret")];
    let run = ichor_with(site.folder.path(), "machine check", &env);

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("unknown API token"), "{}", run.stdout);
    assert!(!run.all().contains("wrong-secret"));
}

#[test]
fn a_server_is_trusted_by_fingerprint_or_ca_only() {
    for (trust, message) in [
        ("ca: ca.pem", ""),
        ("hosts: []", "cannot reach"),
        ("fingerprint: 'PIN'", ""),
        ("fingerprint: 'OTHER'", "the certificate has the fingerprint PIN"),
    ] {
        let pve = StandIn::start();
        let pin = pve.web.pin.clone();
        let other = pin.replace(&pin[..5], "00:11");
        let trust = trust.replace("PIN", &pin).replace("OTHER", &other);
        let site = Site::with(pve, LOGIN, &trust, "first_id: 300");

        let run = site.run("check");

        assert_eq!(run.code, i32::from(!message.is_empty()), "{trust}: {}", run.all());
        assert!(run.stdout.contains(&message.replace("PIN", &pin)), "{trust}: {}", run.all());
        assert_eq!(
            site.pve.state().calls.is_empty(),
            !message.is_empty(),
            "the token is sent to no other server"
        );
    }
}

#[test]
fn a_token_is_not_sent_without_tls() {
    let site = Site::new();
    let file = site.folder.path().join("ichor.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("https://", "http://")).unwrap();

    let run = site.run("check");

    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("hypervisors.pve.url: http://127.0.0.1"), "{}", run.stderr);
    assert!(run.stderr.contains("is not encrypted"), "{}", run.stderr);
}

#[test]
fn invalid_api_calls_are_detected() {
    let schema = Schema::new();
    let faults = |method: &str, path: &str, given: &[(&str, &str)]| {
        let path: Vec<_> = path.split('/').skip(1).map(ToOwned::to_owned).collect();
        let given: Vec<_> =
            given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        schema
            .find(method, &path, &given)
            .map(|call| schema.faults(&call).keys().cloned().collect::<Vec<_>>().join(" "))
    };

    assert_eq!(faults("POST", "/nodes/pve1/qemu", &[("vmid", "311")]).unwrap(), "");
    assert_eq!(faults("POST", "/nodes/pve1/qemu", &[]).unwrap(), "vmid");
    assert_eq!(faults("POST", "/nodes/pve_1/qemu", &[("vmid", "99")]).unwrap(), "vmid node");
    assert_eq!(
        faults("POST", "/nodes/pve1/qemu", &[("vmid", "311"), ("bios", "uefi"), ("disk", "1")]).unwrap(),
        "bios disk"
    );
    let upload = "/nodes/pve1/storage/local/upload";
    assert_eq!(
        faults("POST", upload, &[("content", "iso"), ("filename", "a"), ("checksum", "0")]).unwrap(),
        "checksum"
    );
    assert_eq!(faults("PATCH", upload, &[]), None);
    assert_eq!(faults("GET", "/cluster/resources", &[("type", "machines")]).unwrap(), "type");
}
