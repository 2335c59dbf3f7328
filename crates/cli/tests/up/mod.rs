//! `ichor up` on simulated nodes: from nothing to healthy, also with faults and interruptions.

mod dhcp;
mod lab;
mod live;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::common::{GOOD, folder, ichor};
use crate::simulated::{Simulated, events, is_private, steps};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn five_machines_without_a_configuration_become_a_healthy_cluster() {
    let nodes = Simulated::start(5, "");

    let event_log = nodes.up_well("");

    nodes.assert_up();
    let steps = steps(&event_log);
    let applied: Vec<_> = steps.iter().filter(|(_, step)| *step == "apply").map(|(node, _)| *node).collect();
    let control_planes: Vec<_> = applied.iter().filter(|node| node.starts_with("cp")).copied().collect();
    assert_eq!((applied.len(), control_planes), (5, vec!["cp1", "cp2", "cp3"]));
    let cluster: Vec<_> = steps.iter().filter(|(_, step)| *step != "apply").map(|(_, step)| *step).collect();
    assert_eq!(cluster, ["bootstrap", "endpoint", "health", "kubeconfig"]);
    let messages = event_log.iter().filter(|event| event["event"] == "message").count();
    assert!(messages > 5, "health checks are reported");
    assert!(is_private(&nodes.folder().join("kubeconfig")));
    assert!(is_private(&nodes.folder().join(".ichor/simulated/up.json")));
}

#[test]
fn addresses_are_reported_with_their_stage() {
    let nodes = Simulated::start(1, "");

    let event_log = nodes.up_well("");

    let at = |state: &str| {
        event_log.iter().find(|event| event["state"] == state && event["node"] == "cp1").unwrap()
    };
    let begun =
        event_log.iter().find(|event| event["step"] == "apply" && event["state"] == "started").unwrap();
    assert_eq!(begun["address_stage"], "dhcp");
    assert_eq!(at("running")["address_stage"], "static");
    assert_ne!(at("running")["address"], begun["address"]);
}

#[test]
fn a_second_run_reports_that_nothing_is_to_do() {
    let nodes = Simulated::start(3, "");
    let before = nodes.up("--dry-run");
    nodes.up_well("");
    let kubeconfig = nodes.kubeconfig();

    let planned = nodes.up("--dry-run");
    let again = nodes.up("");

    assert_eq!((before.code, planned.code, again.code), (1, 0, 0), "{}", again.all());
    assert!(before.stdout.contains("bootstrap etcd on cp1"), "{}", before.stdout);
    assert!(planned.stderr.contains("nothing to do"), "{}", planned.all());
    assert!(again.stderr.contains("nothing to do"), "{}", again.all());
    assert_eq!(nodes.calls("/ApplyConfiguration").len(), 3);
    assert_eq!(nodes.kubeconfig(), kubeconfig);
    nodes.assert_up();
}

#[test]
fn other_clusters_are_kept_in_the_kubeconfig() {
    let nodes = Simulated::start(1, "");
    let other = "apiVersion: v1\nkind: Config\nclusters: [{name: luna, cluster: {server: \"https://luna\"}}]\ncontexts: [{name: luna, context: {cluster: luna, user: me}}]\nusers: [{name: me, user: {token: t}}]\n";
    fs::write(nodes.folder().join("kubeconfig"), other).unwrap();

    nodes.up_well("");

    let merged = nodes.kubeconfig();
    assert!(
        merged.contains("https://luna") && merged.contains("current-context: admin@simulated"),
        "{merged}"
    );
}

#[test]
fn a_node_added_to_the_file_joins_the_cluster() {
    let nodes = Simulated::start(5, "");
    let file = nodes.file();
    let without: Vec<_> = file.lines().filter(|line| !line.contains("name: worker2")).collect();
    nodes.write(&without.join("\n"));
    nodes.up_well("");
    nodes.write(&file);

    let planned = nodes.up("--dry-run --json");
    let event_log = nodes.up_well("");

    let plan = &events(&planned.stdout)[0];
    let busy = plan["nodes"].as_array().unwrap().iter().filter(|node| node["steps"] != serde_json::json!([]));
    assert_eq!(busy.map(|node| node["node"].as_str().unwrap()).collect::<Vec<_>>(), ["worker2"]);
    let mut done = steps(&event_log);
    done.sort_unstable();
    assert_eq!(done, [("cluster", "endpoint"), ("cp1", "health"), ("worker2", "apply")]);
    nodes.assert_up();
}

#[test]
fn a_changed_file_is_applied_to_control_planes_one_by_one() {
    let nodes = Simulated::start(4, "");
    nodes.up_well("");
    nodes.write(
        &nodes
            .file()
            .replace("defaults: {", "defaults: {kernel: {sysctls: {vm.max_map_count: \"262144\"}}, "),
    );

    let planned = nodes.up("--dry-run");
    let event_log = nodes.up_well("");

    assert!(planned.stdout.contains("machine.sysctls"), "{}", planned.all());
    let begun = |event: &&serde_json::Value| event["step"] == "reconfigure";
    let order: Vec<_> =
        event_log.iter().filter(begun).map(|event| (event["node"].clone(), event["state"].clone())).collect();
    assert_eq!(order.len(), 8);
    let control_planes: Vec<_> = order
        .iter()
        .filter(|(node, _)| node != "worker1")
        .map(|(_, state)| state.as_str().unwrap())
        .collect();
    assert_eq!(control_planes, ["started", "done"].repeat(3));
    nodes.assert_up();
    assert_eq!(nodes.up("--dry-run").code, 0);
}

#[test]
fn other_nodes_than_the_selected_ones_are_not_changed() {
    let nodes = Simulated::start(4, "");

    let event_log = nodes.up_well("--only cp1 --only cp2 --only cp3");
    let later = nodes.up_well("");

    assert!(steps(&event_log).iter().all(|(node, _)| *node != "worker1"));
    let applied: Vec<_> = steps(&later).into_iter().filter(|(_, step)| *step == "apply").collect();
    assert_eq!(applied, [("worker1", "apply")]);
    nodes.assert_up();
}

#[test]
fn a_missing_bootstrap_node_prevents_the_bootstrap() {
    let nodes = Simulated::start(3, "");

    let run = nodes.up("--only cp2");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stderr.contains("--only cp1"), "{}", run.all());
    assert!(nodes.calls("/Bootstrap").is_empty());
}

#[test]
fn a_machine_with_another_identity_is_refused_and_the_others_come_up() {
    let nodes = Simulated::start(4, "--fault worker1:other-identity");

    let run = nodes.up("");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stderr.contains("the machine is not worker1"), "{}", run.all());
    assert!(run.stderr.contains("`macs` of the node"), "{}", run.all());
    assert!(nodes.asked("/ApplyConfiguration").iter().all(|(node, _)| node != "worker1"));
    assert_eq!(nodes.calls("/Bootstrap"), ["cp1"]);
}

#[test]
fn a_machine_of_another_cluster_is_refused_and_never_reset() {
    let nodes = Simulated::start(3, "--fault cp3:other-ca");

    let run = nodes.up("");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stderr.contains("not of this cluster"), "{}", run.all());
    assert!(run.stderr.contains("ichor resets nothing automatically"), "{}", run.all());
    assert!(nodes.asked("/Reset").is_empty());
    assert!(nodes.asked("/ApplyConfiguration").iter().all(|(node, _)| node != "cp3"));
    // It is unknown whether etcd of this cluster runs there.
    assert!(nodes.asked("/Bootstrap").is_empty());
}

#[test]
fn a_rejected_configuration_is_reported_and_the_others_come_up() {
    let nodes = Simulated::start(4, "--fault worker1:refuse-config:no-such-disk");

    let run = nodes.up("");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stderr.contains("no-such-disk"), "{}", run.all());
    assert_eq!(nodes.asked("/ApplyConfiguration").iter().filter(|(node, _)| node == "worker1").count(), 1);
    let stages: Vec<_> =
        nodes.status()["nodes"].as_array().unwrap().iter().map(|node| node["stage"].clone()).collect();
    assert_eq!(stages, ["running", "running", "running", "maintenance"]);

    nodes.heal("worker1");
    let event_log = nodes.up_well("");

    assert!(steps(&event_log).contains(&("worker1", "apply")));
    nodes.assert_up();
}

#[test]
fn a_cluster_without_quorum_is_reported_and_comes_up_later() {
    let nodes = Simulated::start(3, "--fault cp1:lose-quorum");

    let never = nodes.up("--node-timeout 3s");

    assert_eq!(never.code, 1, "{}", never.all());
    assert!(never.stderr.contains("error: ") && never.stderr.contains("hint: "), "{}", never.all());
    assert_eq!(nodes.calls("/Bootstrap"), ["cp1"]);
    assert!(!nodes.folder().join("kubeconfig").exists(), "the API is not ready");

    nodes.heal("cp1");
    nodes.up_well("");

    nodes.assert_up();
}

#[test]
fn a_cluster_that_lost_its_quorum_is_not_bootstrapped_again() {
    let nodes = Simulated::start(3, "");
    nodes.up_well("");
    nodes.fault("cp2:lose-quorum");

    let lost = nodes.up("--node-timeout 3s");

    assert_eq!(lost.code, 1, "{}", lost.all());
    assert_eq!(nodes.asked("/Bootstrap").len(), 1);
    assert!(nodes.asked("/Reset").is_empty());

    nodes.heal("cp2");
    nodes.up_well("");

    nodes.assert_up();
}

#[test]
fn broken_connections_are_reopened() {
    let nodes = Simulated::start(3, "--fault cp1:reset-mid-stream:3 --fault cp2:reset-mid-stream:2");

    nodes.up_well("");

    nodes.assert_up();
}

#[test]
fn slow_nodes_and_late_reboots_are_waited_for() {
    let nodes = Simulated::start(3, "--fault cp2:slow:40ms --fault cp3:late-reboot:600ms");

    nodes.up_well("");

    nodes.assert_up();
}

#[test]
fn a_node_that_never_answers_fails_with_the_tried_addresses() {
    let nodes = Simulated::start(2, "--fault worker1:late-reboot:600s");

    let run = nodes.up("--node-timeout 2s");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stderr.contains("timed out after 2 s waiting for "), "{}", run.all());
    assert!(run.stderr.contains("(dhcp)") && run.stderr.contains("(static)"), "{}", run.all());
    assert_eq!(nodes.calls("/Bootstrap"), ["cp1"]);
}

#[test]
fn a_concurrent_run_is_refused() {
    let nodes = Simulated::start(1, "");
    let file = nodes.folder().join(".ichor/simulated/lock");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let lock = fs::File::create(&file).unwrap();
    lock.lock().unwrap();

    let run = nodes.up("");

    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("another `ichor up` is running for this cluster"), "{}", run.all());
}

#[test]
fn a_terminated_run_reports_the_interruption_in_its_last_event() {
    let nodes = Simulated::start(2, "--fault worker1:late-reboot:600s");
    let mut up = nodes.command("--json").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map(Result::unwrap);
    let bootstrapped = |line: &String| line.contains("\"bootstrap\"") && line.contains("\"done\"");
    assert!(lines.any(|line| bootstrapped(&line)));

    kill(Pid::from_raw(up.id().cast_signed()), Signal::SIGTERM).unwrap();
    let rest: Vec<String> = lines.collect();

    assert_eq!(up.wait().unwrap().code(), Some(1));
    let event_log = events(&rest.join("\n"));
    let end = event_log.last().unwrap();
    assert_eq!((&end["event"], &end["ok"]), (&"end".into(), &false.into()), "{end}");
    assert!(end["message"].as_str().unwrap().contains("run `ichor up` again"), "{end}");
    assert!(
        event_log.iter().all(|event| event["time"].is_string() && event["elapsed_seconds"].is_number()),
        "{event_log:?}"
    );
}

#[test]
fn a_machine_at_another_address_is_found_by_option() {
    let nodes = Simulated::start(1, "");
    let file = nodes.file();
    let dhcp = file.split("dhcp: ").nth(1).unwrap().split('}').next().unwrap();
    nodes.write(&file.replace(&format!(", address: {{dhcp: {dhcp}}}"), ""));
    let terraform = format!("{{\"dhcp_addresses\": {{\"value\": {{\"cp1\": \"{dhcp}\"}}}}}}");
    fs::write(nodes.folder().join("outputs.json"), terraform).unwrap();

    let nowhere = nodes.up("--dry-run");
    let given = nodes.up(&format!("--dry-run --node-address cp1={dhcp}"));
    let event_log = nodes.up_well("--terraform outputs.json");

    assert!(nowhere.stdout.contains("wait until its machine answers"), "{}", nowhere.all());
    assert!(given.stdout.contains(&format!("{dhcp} (dhcp, from the command line)")), "{}", given.all());
    assert!(steps(&event_log).contains(&("cp1", "apply")));
    nodes.assert_up();
}

#[test]
fn machines_are_found_by_current_and_later_leases() {
    let nodes = Simulated::start(2, "");
    let (file, mut leases) = (nodes.file(), Vec::new());
    let mut without = file.clone();
    for line in file.lines().filter(|line| line.contains("dhcp: ")) {
        let dhcp = line.split("dhcp: ").nth(1).unwrap().split('}').next().unwrap();
        let mac = line.split("macs: [\"").nth(1).unwrap().split('"').next().unwrap();
        without = without.replace(&format!(", address: {{dhcp: {dhcp}}}"), "");
        leases.push(format!("4102444800 {mac} {dhcp} * 01:{mac}\n"));
    }
    nodes.write(&without);
    let path = nodes.folder().join("dnsmasq.leases");
    let old = leases[1].replace("4102444800", "1700000000");
    fs::write(&path, format!("{}{old}not a lease\n", leases[0])).unwrap();

    let planned = nodes.up("--dry-run --leases dnsmasq.leases");
    let found = ichor(&nodes.folder(), "discover --json --leases dnsmasq.leases");
    let mut up = nodes.command("--json --leases dnsmasq.leases");
    let mut up = up.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("\"event\":\"plan\""));
    // A machine that boots later gets its lease later.
    fs::write(&path, leases.concat()).unwrap();
    let event_log: Vec<String> = lines.collect();
    assert!(up.wait().unwrap().success());

    assert!(planned.stdout.contains("(dhcp, from a DHCP lease)"), "{}", planned.all());
    assert!(planned.stdout.contains("wait until its machine answers"), "{}", planned.all());
    assert!(planned.stderr.contains("dnsmasq.leases: line 3: "), "{}", planned.all());
    assert_eq!(found.json().as_array().unwrap().len(), 1, "{}", found.all());
    let event_log = events(&event_log.join("\n"));
    let later = event_log.iter().find(|event| event["event"] == "discovered").unwrap();
    assert_eq!((&later["node"], &later["source"]), (&"worker1".into(), &"leases".into()), "{later}");
    nodes.assert_up();
}

#[test]
fn a_file_that_is_not_a_lease_file_is_refused_by_name() {
    let nodes = Simulated::start(1, "");

    let run = nodes.up("--leases ichor.yaml");

    assert_eq!(run.code, 2, "{}", run.all());
    assert!(run.stderr.contains("ichor.yaml") && run.stderr.contains("not a lease file"), "{}", run.all());
}

#[test]
fn an_unidentifiable_machine_needs_a_fingerprint() {
    let nodes = Simulated::start(1, "");
    let file = nodes.file();
    let macs = file.split(", macs: ").nth(1).unwrap().split(", address").next().unwrap();
    nodes.write(&file.replace(&format!(", macs: {macs}"), ""));

    let refused = nodes.up("--json");

    let event_log = events(&refused.stdout);
    let reason = event_log.iter().find(|event| event["event"] == "refused").unwrap();
    assert_eq!(refused.code, 1);
    assert!(reason["help"].as_str().unwrap().contains("--fingerprint cp1="), "{reason}");
    assert!(nodes.calls("/ApplyConfiguration").is_empty());
}

#[test]
fn missing_secrets_are_reported_with_the_command_to_create_them() {
    let desk = folder(&[("ichor.yaml", GOOD)]);

    let run = ichor(desk.path(), "up --no-kubeconfig --dry-run");

    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("`ichor secrets new`"), "{}", run.all());
}
