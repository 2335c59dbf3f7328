//! A node without Kubernetes, from its installation to its reset. There is no image of the kubelet, so Talos waits for it in
//! stage booting, and ichor must report that.

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::cluster::{ADDRESS, DISK_SIZE, TestCluster};
use super::up_run::UpRun;
use crate::image_boot::lab::release::TALOS_1_13;
use crate::image_boot::lab::vm::{PORT, TalosVm};
use ichor_testbed::parts;

/// Whether an event is of some kind.
type IsEvent = fn(&Value) -> bool;

/// When a run of `ichor up` is killed: at most so many milliseconds after the first event of this kind or of a later one.
const KILLS: [(&str, IsEvent, u64); 6] = [
    ("the plan", |event| event["event"] == "plan", 300),
    ("the start of the first configuration", |event| is_step(event, "apply", "started"), 300),
    ("the first configuration", |event| is_step(event, "apply", "done"), 1_000),
    (
        "the installation",
        |event| is_state(event, "installing") || is_wait(event, "the installation to finish"),
        20_000,
    ),
    ("the boot from the disk", |event| is_state(event, "booting"), 100),
    ("the bootstrap of etcd", |event| is_step(event, "bootstrap", "started"), 1_500),
];

fn is_step(event: &Value, step: &str, state: &str) -> bool {
    event["event"] == "step" && event["step"] == step && event["state"] == state
}

fn is_state(event: &Value, state: &str) -> bool {
    event["event"] == "node_state" && event["state"] == state
}

fn is_wait(event: &Value, reason: &str) -> bool {
    event["event"] == "waiting" && event["reason"] == reason
}

/// Random numbers of a seed (xorshift).
struct Random(u64);

impl Random {
    /// Random numbers of another seed in each run. The seed is printed.
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
        let given = std::env::var("ICHOR_KILL_SEED").map(|seed| seed.parse().unwrap());
        let seed = given.unwrap_or(u64::try_from(now).unwrap()) | 1;
        println!("ICHOR_KILL_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn a_node_is_installed_by_killed_runs_and_reset() {
    let cluster = TestCluster::new(TALOS_1_13);
    cluster.push_programs("etcd:v3.6.12", &[("usr/local/bin/etcd", parts::path("etcd/etcd"))]);
    let mut vm = cluster.boot("2560M");
    vm.wait_for_maintenance(ADDRESS);

    is_discovered(&cluster, &vm);
    bring_up_with_kills(&cluster);
    etcd_is_bootstrapped_once(&cluster);
    status_tells_what_talos_tells(&cluster);
    verify_names_the_first_cause(&cluster);
    the_configuration_does_not_differ(&cluster);
    logs_are_those_of_talos(&cluster);
    is_reset(&cluster, &mut vm);
    nothing_is_left(&cluster);
}

/// The machine is found in maintenance mode with what its console and qemu tell.
fn is_discovered(cluster: &TestCluster, vm: &TalosVm<'_>) {
    let found = cluster.succeeds("discover --json").json();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found:#}");
    let machine = &found[0];
    for (key, wanted) in [
        ("state", "maintenance"),
        ("node", "n1"),
        ("address", ADDRESS),
        ("talos_version", cluster.release.version),
    ] {
        assert_eq!(machine[key], wanted, "{found:#}");
    }
    assert_eq!(machine["ports"][0]["mac"], PORT, "{found:#}");
    let disk = machine["disks"].as_array().unwrap().iter().find(|disk| disk["path"] == "/dev/vda").unwrap();
    assert_eq!(disk["size_bytes"], DISK_SIZE, "{found:#}");
    let fingerprint = machine["fingerprint"].as_str().unwrap();
    assert!(vm.console().contains(fingerprint), "{fingerprint} is not on the console\n{}", vm.console());
}

/// Each run is killed at a random time, and the next one goes on. The last one is interrupted as by Ctrl-C.
fn bring_up_with_kills(cluster: &TestCluster) {
    let mut random = Random::new();
    for (nth, (what, _, limit)) in KILLS.into_iter().enumerate() {
        let mut run = UpRun::start(cluster, "--no-kubeconfig");
        // A killed run may have done more than its last event tells.
        let is_due = |event: &Value| KILLS[nth..].iter().any(|(_, is_it, _)| is_it(event));
        run.wait_for(what, |event| is_due(event) || is_step(event, "endpoint", "started"));
        let pause = random.below(limit);
        thread::sleep(Duration::from_millis(pause));
        println!("killed {pause} ms after {what}");
        run.kill();
    }
    let mut run = UpRun::start(cluster, "--no-kubeconfig");
    run.wait_for("etcd", |event| is_step(event, "endpoint", "started"));
    let (code, events) = run.interrupt();
    assert_eq!(code, Some(1));
    let end = events.last().unwrap();
    assert!(end["message"].as_str().unwrap().contains("run `ichor up` again"), "{end:#}");

    let (code, events) = UpRun::start(cluster, "--no-kubeconfig --node-timeout 5s").finish();
    assert_eq!(code, Some(1));
    let end = events.last().unwrap();
    assert!(end["message"].as_str().unwrap().contains("https://10.12.1.1:6443"), "{events:#?}");
    let is_blamed = |event: &Value| event.to_string().contains("kubelet");
    assert!(events.iter().any(is_blamed), "{events:#?}");
}

fn etcd_is_bootstrapped_once(cluster: &TestCluster) {
    let bootstrap = &cluster.record()["bootstrap"];
    assert_eq!(bootstrap["node"], "n1", "{bootstrap:#}");
    assert!(bootstrap["completed_at"].is_string(), "{bootstrap:#}");
    let members = cluster.talosctl("etcd members");
    assert_eq!(members.lines().count(), 2, "{members}");
    assert!(members.contains("https://10.12.1.1:2380"), "{members}");
    let service = cluster.talosctl("service etcd");
    assert!(service.contains("Running") && service.contains("OK"), "{service}");
    let log = cluster.talosctl("logs etcd");
    assert_eq!(log.matches("\"msg\":\"starting an etcd server\"").count(), 1, "{log}");
    assert!(log.contains("\"initial-cluster-state\":\"new\""), "{log}");
}

/// Talos is configured and etcd runs, but Talos waits for the kubelet.
fn status_tells_what_talos_tells(cluster: &TestCluster) {
    let run = cluster.ichor("status --json");
    assert_eq!(run.code, 1, "{}", run.all());
    let status = run.json();
    let node = &status["nodes"][0];
    assert_eq!(node["state"], "configured", "{status:#}");
    assert_eq!(node["talos_version"], cluster.release.version, "{status:#}");
    assert_eq!(node["etcd"], json!({"leader": true, "learner": false}), "{status:#}");
    assert_eq!(node["config_drift"], json!([]), "{status:#}");
    assert_eq!(status["etcd"], json!({"reported_by": "n1", "members": ["n1"]}), "{status:#}");
    let talos: Value = serde_json::from_str(&cluster.talosctl("get machinestatus -o json")).unwrap();
    let spec = &talos["spec"];
    assert_eq!(node["stage"], spec["stage"], "{talos:#}");
    assert_eq!(node["ready"], spec["status"]["ready"], "{talos:#}");
    let unmet = spec["status"]["unmetConditions"].to_string();
    assert!(
        unmet.contains("kubelet") && node["unmet_conditions"].to_string().contains("kubelet"),
        "{status:#}{talos:#}"
    );
}

fn verify_names_the_first_cause(cluster: &TestCluster) {
    let run = cluster.ichor("verify --json");
    assert_eq!(run.code, 1, "{}", run.all());
    let report = run.json();
    let checks = |of: &Value, result: &str| -> Vec<String> {
        let checks = of["checks"].as_array().unwrap().iter().filter(|check| check["result"] == result);
        checks.map(|check| check["check"].as_str().unwrap().to_owned()).collect()
    };
    let passed = checks(&report["nodes"][0], "passed");
    for check in [
        "talos-api",
        "identity",
        "release",
        "configuration",
        "links",
        "addresses",
        "configured",
        "etcd-member",
    ] {
        assert!(passed.iter().any(|passed| passed == check), "{check}: {report:#}");
    }
    assert_eq!(checks(&report["nodes"][0], "failed"), Vec::<String>::new(), "{report:#}");
    assert_eq!(checks(&report, "passed"), ["etcd"], "{report:#}");
    assert_eq!(checks(&report, "failed"), ["kubernetes-api"], "{report:#}");
}

fn the_configuration_does_not_differ(cluster: &TestCluster) {
    let differences = cluster.succeeds("diff --json").json();
    assert_eq!(differences, json!([{"node": "n1", "differences": []}]));
}

fn logs_are_those_of_talos(cluster: &TestCluster) {
    let services = cluster.succeeds("logs n1 --json").json();
    let talos = cluster.talosctl("services");
    for service in services.as_array().unwrap() {
        let text = |key: &str| service[key].as_str().unwrap();
        let line = talos.lines().find(|line| line.split_whitespace().nth(1) == Some(text("service")));
        assert!(line.is_some_and(|line| line.contains(text("state"))), "{service:#}\n{talos}");
    }
    assert_eq!(services.as_array().unwrap().len() + 1, talos.lines().count(), "{services:#}\n{talos}");
    let etcd = services.as_array().unwrap().iter().find(|service| service["service"] == "etcd").unwrap();
    assert_eq!((&etcd["state"], &etcd["healthy"]), (&json!("Running"), &json!(true)), "{etcd:#}");

    let log = cluster.succeeds("logs n1 etcd").stdout;
    // Each line begins with the address of the node there. etcd continues to write.
    let talos = cluster.talosctl("logs etcd").replace(&format!("{ADDRESS}: "), "");
    assert!(talos.starts_with(&log) && log.lines().count() > 20, "{log}\ninstead of\n{talos}");
    let kernel = cluster.succeeds("logs n1 --dmesg").stdout;
    assert!(kernel.contains("Linux version") && kernel.contains("[talos]"), "{kernel}");
}

fn is_reset(cluster: &TestCluster, vm: &mut TalosVm<'_>) {
    let refused = cluster.ichor("reset n1 --yes");
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.all().contains("--destroy-cluster"), "{}", refused.all());
    let run = cluster.succeeds("reset n1 --destroy-cluster --yes --json");
    println!("{}", run.all());
    vm.wait_for_maintenance(ADDRESS);
    is_discovered(cluster, vm);
    for volume in vm.resources(ADDRESS, "discoveredvolumes") {
        let spec = &volume["spec"];
        let is_wiped = ["STATE", "EPHEMERAL"].contains(&spec["partitionLabel"].as_str().unwrap_or_default());
        assert!(!is_wiped || spec["name"].as_str().unwrap_or_default().is_empty(), "{volume:#}");
    }

    // The next cluster begins with a bootstrap of its own.
    let plan = cluster.ichor("up --dry-run --json --no-kubeconfig");
    assert!(plan.stdout.contains("bootstrap etcd on n1"), "{}", plan.all());
}

fn nothing_is_left(cluster: &TestCluster) {
    let run = cluster.succeeds("down --reset --yes --json --no-kubeconfig");
    assert!(!cluster.folder().join(".ichor").exists(), "{}", run.all());
    assert!(cluster.folder().join("secrets.yaml").exists());
}
