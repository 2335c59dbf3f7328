//! Bring-up on a stand-in for Proxmox, which validates every call against Proxmox's API description.

use serde_json::Value;

use super::{TALOS, hosted, power, without_dhcp_addresses, write_image};
use crate::common::{Run, command, ichor_with};
use crate::machine::proxmox::stand_in::{Machine, StandIn, TOKEN};
use crate::simulated::{Simulated, events, killed, steps};

const CREATE: &str = "POST /nodes/{node}/qemu";
const UPLOAD: &str = "POST /nodes/{node}/storage/{storage}/upload";

/// Machines on a stand-in that boot as simulated nodes.
pub struct Site {
    pub nodes: Simulated,
    pub pve: StandIn,
}

impl Site {
    pub fn new(count: usize, vm: &str) -> Self {
        let pve = StandIn::start();
        let hypervisor = format!(
            "pve: {{proxmox: {{url: '{}', token: {{env: PVE_TOKEN}}, fingerprint: '{}', iso: cephfs, disks: local-lvm}}}}",
            pve.web.url, pve.web.pin
        );
        let vm = format!("cores: 4, memory: 8GiB, guest_agent: true, {vm}");
        let nodes = Simulated::provided(count, |file| hosted(file, &hypervisor, &vm), without_dhcp_addresses);
        write_image(&nodes);
        let folder = nodes.folder();
        pve.state().switched = Some(Box::new(move |machine, on| {
            let name = &machine.settings["name"];
            let file = std::fs::read_to_string(folder.join("machines.yaml")).unwrap();
            let line = file.lines().find(|line| line.contains(&format!("name: {name},"))).unwrap();
            let address = line.split("dhcp: ").nth(1).unwrap().trim_end_matches('}').to_owned();
            // A machine with an empty disk boots from its drives, and needs both CDs.
            let is_full = |drive: &str, cd: &str| machine.settings[drive].contains(cd);
            if on && is_full("ide2", "talos.iso") && is_full("ide0", "cidata") {
                power(&folder, name, true);
                return vec![address, "fe80::1".to_owned()];
            }
            Vec::new()
        }));
        Self { nodes, pve }
    }

    pub fn ichor(&self, words: &str) -> Run {
        let run = ichor_with(&self.nodes.folder(), words, &[("PVE_TOKEN", TOKEN)]);
        assert!(!run.all().contains(TOKEN), "a secret is printed: {}", run.all());
        assert_eq!(self.pve.state().faults, [""; 0], "Proxmox refuses this");
        run
    }

    pub fn up(&self, more: &str) -> Run {
        self.ichor(&format!("up --kubeconfig kubeconfig {more}"))
    }

    pub fn up_well(&self) -> Vec<Value> {
        let run = self.up("--json");
        assert_eq!(run.code, 0, "{}", run.all());
        events(&run.stdout)
    }

    pub fn up_killed(&self, when: impl Fn(&Value) -> bool) -> bool {
        let mut up = command(&self.nodes.folder(), "up --kubeconfig kubeconfig --json");
        up.env("PVE_TOKEN", TOKEN);
        killed(up, when)
    }

    /// Asserts that a cluster is up: its machines exist once, without media, and no file contains secrets.
    pub fn assert_up(&self, ids: &[u32]) {
        self.nodes.assert_up();
        let state = self.pve.state();
        assert_eq!(state.machines.keys().copied().collect::<Vec<_>>(), ids);
        for machine in state.machines.values() {
            assert!(machine.is_on);
            for drive in ["ide0", "ide2"] {
                assert_eq!(machine.settings[drive], "none,media=cdrom", "{:?}", machine.settings["name"]);
            }
        }
        let files: Vec<_> =
            state.files.iter().map(|((_, volume), bytes)| (volume.as_str(), bytes.len())).collect();
        assert_eq!(files, [("cephfs:iso/talos.iso", TALOS.len() * 1000)]);
    }
}

#[test]
fn machines_are_created_booted_found_configured_and_ejected() {
    let site = Site::new(4, "first_id: 300");

    let planned = site.up("--dry-run");
    let event_log = site.up_well();

    assert_eq!(planned.code, 1, "{}", planned.all());
    assert!(planned.stdout.contains("create its machine"), "{}", planned.stdout);
    site.assert_up(&[311, 312, 313, 314]);
    let of = |node: &str| -> Vec<String> {
        let own = steps(&event_log).into_iter().filter(|(name, _)| *name == node);
        own.map(|(_, step)| step.to_owned()).collect()
    };
    assert_eq!(of("worker1"), ["make", "attach", "start", "apply", "eject"]);
    {
        let state = site.pve.state();
        assert_eq!(state.count(CREATE), 4);
        // One shared image, and a CD with secrets per machine.
        assert_eq!(state.count(UPLOAD), 5);
    }
    let found =
        event_log.iter().filter(|event| event["event"] == "discovered" && event["source"] == "hypervisor");
    assert_eq!(found.count(), 4, "only the guest agent reports addresses");
    let progress = event_log.iter().filter(|event| event["event"] == "message");
    let progress: Vec<_> = progress.filter_map(|event| event["message"].as_str()).collect();
    assert!(progress.contains(&"talos.iso: 100 %"), "{progress:?}");

    let calls = site.pve.state().calls.len();
    let again = site.up("");
    assert_eq!(again.code, 0, "{}", again.all());
    assert!(again.stderr.contains("nothing to do"), "{}", again.all());
    let state = site.pve.state();
    assert_eq!(state.calls[calls..].iter().filter(|call| !call.starts_with("GET ")).count(), 0);
}

#[test]
fn a_foreign_machine_with_the_same_name_is_not_configured() {
    let site = Site::new(1, "first_id: 300");
    let run = site.ichor("lab nodes fault cp1:other-identity -o .");
    assert_eq!(run.code, 0, "{}", run.all());

    let refused = site.up("");

    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.stderr.contains("the machine is not cp1"), "{}", refused.all());
    assert!(site.nodes.asked("/ApplyConfiguration").is_empty());
}

#[test]
fn preflight_problems_are_reported_before_machines_are_created() {
    let site = Site::new(2, "first_id: 300");
    let settings = [("name".to_owned(), "mail".to_owned())].into();
    let mail = Machine { host: "pve2".to_owned(), is_on: true, settings, ..Machine::default() };
    site.pve.state().machines.insert(311, mail);
    site.pve.state().storages.get_mut("cephfs").unwrap().0 = "backup".to_owned();

    let run = site.up("");

    assert_eq!(run.code, 1, "{}", run.all());
    for message in [
        "cp1: the ID 311 is in use by another machine, `mail` on pve2; write another `vm.id`",
        "storage cephfs does not accept iso; allow it with `pvesm set cephfs --content backup,iso`",
    ] {
        assert!(run.stdout.contains(message), "{message}\n{}", run.all());
    }
    assert!(run.stderr.contains("nothing was changed"), "{}", run.all());
    let event_log = site.up("--json");
    assert_eq!(event_log.code, 1, "{}", event_log.all());
    let event_log = events(&event_log.stdout);
    let refused = event_log.iter().find(|event| event["node"] == "cp1").unwrap();
    assert_eq!(refused["event"], "refused");
    assert!(refused["help"].as_str().unwrap().starts_with("write another `vm.id`"), "{refused}");
    let end = &event_log[event_log.len() - 1];
    assert_eq!(
        (&end["event"], &end["ok"], &end["nodes_refused"]),
        (&"end".into(), &false.into(), &(event_log.len() - 1).into())
    );
    assert!(
        event_log.iter().all(|event| event["time"].is_string() && event["elapsed_seconds"].is_number()),
        "{event_log:?}"
    );
    let state = site.pve.state();
    assert_eq!(state.calls.iter().filter(|call| !call.starts_with("GET ")).count(), 0);
    assert!(state.machines[&311].is_on);
}

#[test]
fn a_failed_task_is_reported_with_its_log_and_the_next_run_resumes() {
    let site = Site::new(2, "first_id: 300");
    for (task, message) in
        [("qmcreate", "no space left"), ("imgcopy", "broken pipe"), ("qmstart", "out of memory")]
    {
        site.pve.state().failing.insert(task.to_owned(), message.to_owned());

        let run = site.up("");

        assert_eq!(run.code, 1, "{}", run.all());
        assert!(run.stderr.contains(&format!("TASK ERROR: {message}")), "{task}: {}", run.all());
        assert!(run.stderr.contains("hint:"), "{task}: {}", run.all());
        site.pve.state().failing.clear();
    }

    site.up_well();

    site.assert_up(&[311, 312]);
    assert_eq!(site.pve.state().count(CREATE), 4, "two that failed, and two");
}

#[test]
fn down_deletes_only_what_up_has_created() {
    let site = Site::new(2, "first_id: 300");
    let settings = [("name".to_owned(), "mail".to_owned())].into();
    site.pve
        .state()
        .machines
        .insert(900, Machine { host: "pve2".to_owned(), settings, ..Machine::default() });
    let foreign = (None, "cephfs:iso/other_cp1-cidata.iso".to_owned());
    site.pve.state().files.insert(foreign.clone(), b"theirs".to_vec());
    site.up_killed(|event| event["step"] == "bootstrap" && event["state"] == "done");

    let down = site.ichor("down --yes --no-kubeconfig");

    assert_eq!(down.code, 0, "{}", down.all());
    let state = site.pve.state();
    assert_eq!(state.machines.keys().copied().collect::<Vec<_>>(), [900]);
    // The image is shared and contains nothing of this cluster.
    let files: Vec<_> = state.files.keys().map(|(_, volume)| volume.as_str()).collect();
    assert_eq!(files, ["cephfs:iso/other_cp1-cidata.iso", "cephfs:iso/talos.iso"]);
    assert!(!site.nodes.folder().join(".ichor").exists());
    assert!(site.nodes.folder().join("secrets.yaml").exists());
}

/// Result of a node's check.
fn outcome(run: &Run, node: &str, check: &str) -> Value {
    let report = run.json();
    let nodes = report["nodes"].as_array().unwrap();
    let checks = &nodes.iter().find(|it| it["node"] == node).unwrap()["checks"];
    let found = checks.as_array().unwrap().iter().find(|outcome| outcome["check"] == check);
    found.unwrap_or_else(|| panic!("{check} does not concern {node}: {checks:#}")).clone()
}

#[test]
fn media_are_checked_in_the_drives_and_on_the_node() {
    let site = Site::new(1, "first_id: 300");
    let change = |key: &str, value: &str| {
        let mut state = site.pve.state();
        state.machines.get_mut(&311).unwrap().settings.insert(key.to_owned(), value.to_owned());
    };
    // An unconfigured machine has its DHCP address.
    site.ichor("lab nodes fault cp1:refuse-config -o .");
    assert_eq!(site.up("").code, 1);
    let at = site.pve.state().machines[&311].addresses[0].clone();
    let early = "verify --json";
    let read = site.ichor(early);
    let found = outcome(&read, "cp1", "talos-api")["evidence"].clone();
    assert_eq!(
        found,
        format!("answers at {at} (dhcp, from the hypervisor), in maintenance mode"),
        "{}",
        read.all()
    );
    assert_eq!(outcome(&read, "cp1", "drives")["result"], "passed", "{}", read.all());
    assert_eq!(
        outcome(&read, "cp1", "medium")["evidence"],
        "Talos read the boot media of cp1",
        "{}",
        read.all()
    );

    site.ichor("lab nodes fault cp1:no-medium -o .");
    let unread = site.ichor(early);
    let medium = outcome(&unread, "cp1", "medium");
    assert_eq!(medium["result"], "failed", "{}", unread.all());
    assert!(
        medium["evidence"].as_str().unwrap().starts_with("the platform metadata name no boot media"),
        "{medium}"
    );

    change("ide0", "none,media=cdrom");
    let missing = site.ichor(early);
    let drives = outcome(&missing, "cp1", "drives");
    assert_eq!(
        drives["evidence"],
        "boot media are missing: cephfs:iso/simulated_cp1-cidata.iso (its configuration); ide2 has cephfs:iso/talos.iso (boots Talos)"
    );
    assert!(drives["help"].as_str().unwrap().contains("ichor machine make --only cp1"), "{drives}");
    assert_eq!(outcome(&missing, "cp1", "medium")["caused_by"]["check"], "drives");
    site.ichor("lab nodes heal cp1 -o .");

    site.up_well();
    let well = site.ichor("verify --json");
    assert_eq!(
        (well.code, outcome(&well, "cp1", "drives")["result"].as_str()),
        (0, Some("passed")),
        "{}",
        well.all()
    );
    change("ide2", "cephfs:iso/talos.iso,media=cdrom");
    change("boot", "order=ide2;scsi0");
    let first = site.ichor("verify --json");
    assert_eq!(first.code, 1, "{}", first.all());
    let drives = outcome(&first, "cp1", "drives");
    assert_eq!(
        drives["evidence"],
        "ide2 has cephfs:iso/talos.iso (boots Talos); the machine boots it before its disk"
    );
}

#[test]
fn clusters_with_equal_node_names_do_not_share_media() {
    let site = Site::new(1, "first_id: 300");
    let foreign = (None, "cephfs:iso/other_cp1-cidata.iso".to_owned());
    site.pve.state().files.insert(foreign.clone(), b"theirs".to_vec());

    site.up_well();
    let down = site.ichor("down --yes --no-kubeconfig");

    assert_eq!(down.code, 0, "{}", down.all());
    assert_eq!(site.pve.state().files[&foreign], b"theirs");
}
