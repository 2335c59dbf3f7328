//! Files that gobgpd reads, and its resulting state.

use std::net::IpAddr;

use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_bgp::model::{Bfd, BgpModel, Family};
use serde_json::{Value, json};

use super::folder::Folder;
use super::policy::{From, Policies, probes};
use super::{NodeFile, answers, four, node_files, output_text, three};

/// Reads the file in a dry run.
pub const CHECK: [(&str, &str); 1] = [("CHECK", "1")];

#[test]
fn gobgpd_reads_every_file() {
    for node_file in node_files() {
        let folder = Folder::new(&format!("read-{}", node_file.name), &[("gobgpd.toml", &node_file.conf)]);
        for programs in &node_file.programs {
            let output = folder.run("gobgp-running", programs, "gobgpd.toml", &CHECK);
            assert!(
                output.status.success(),
                "{} {}: {}",
                node_file.name,
                programs.display(),
                output_text(&output)
            );
        }
    }
}

#[test]
fn an_invalid_gobgp_file_is_rejected() {
    let folder =
        Folder::new("bad", &[("gobgpd.toml", "[global.config]\nas = 65001\nroute-id = \"10.0.0.1\"\n")]);

    for programs in [three(), four()] {
        let output = folder.run("gobgp-running", &programs, "gobgpd.toml", &CHECK);

        assert!(!output.status.success(), "{}: {}", programs.display(), output_text(&output));
    }
}

/// Neither the dry run nor the start reports it, and everything is then accepted: so the running state is checked as well.
#[test]
fn an_undefined_set_is_detected_in_the_running_configuration() {
    let node_file = &node_files()[0];
    let conf = node_file.conf.replacen("prefix-set = \"node-addresses-v4\"", "prefix-set = \"nowhere\"", 1);
    let folder = Folder::new("undefined", &[("gobgpd.toml", &conf)]);

    let run = Run::of(&folder, &four());

    assert!(run.defaults() != ["REJECT", "REJECT"] || !run.policies().undefined().is_empty());
}

/// The state of a gobgpd that has read its file.
struct Run(Vec<(String, Value)>);

impl Run {
    fn of(folder: &Folder, programs: &std::path::Path) -> Self {
        Self(answers(&folder.run("gobgp-running", programs, "gobgpd.toml", &[])))
    }

    fn is(&self, what: &str) -> &Value {
        &self.0.iter().find(|(name, _)| name == what).unwrap_or_else(|| panic!("no {what}")).1
    }

    fn defaults(&self) -> Vec<&str> {
        self.0.iter().filter(|(name, _)| name == "default").filter_map(|(_, value)| value.as_str()).collect()
    }

    fn policies(&self) -> Policies<'_> {
        Policies { policies: self.is("policy"), sets: self.is("policy prefix") }
    }
}

#[test]
fn a_running_gobgpd_has_the_intended_configuration() {
    for node_file in node_files() {
        let folder = Folder::new(&format!("run-{}", node_file.name), &[("gobgpd.toml", &node_file.conf)]);
        has_everything_of(&node_file, &folder);
    }
}

/// Every suitable gobgpd has the intended state after reading the file in a folder.
pub fn has_everything_of(node_file: &NodeFile, folder: &Folder) {
    for programs in &node_file.programs {
        let run = Run::of(folder, programs);

        let name = format!("{} {}", node_file.name, programs.display());
        instance(&run, &node_file.model, &name);
        sessions(&run, node_file, &name);
        let_in(&run, &node_file.model, &name);
        let_out(&run, &node_file.model, &name);
    }
}

fn instance(run: &Run, model: &BgpModel, name: &str) {
    let global = run.is("global");
    assert_eq!(global["asn"], model.asn.0, "{name}");
    assert_eq!(global["router_id"], model.router_id.to_string(), "{name}");
    assert_eq!(global["use_multiple_paths"], true, "{name}");
    assert_eq!(run.defaults(), ["REJECT", "REJECT"], "{name}");
    assert_eq!(run.policies().undefined(), Vec::<String>::new(), "{name}");
}

fn sessions(run: &Run, node_file: &NodeFile, name: &str) {
    let model = &node_file.model;
    let running = run.is("neighbor").as_array().unwrap();
    let speakers = usize::from(model.workload.is_some());
    assert_eq!(running.len(), model.fabric.neighbors.len() + speakers, "{name}");
    let find = |found: &PeerAddress| match found {
        PeerAddress::Port { name, .. } => {
            running.iter().find(|one| one["conf"]["neighbor_interface"] == name.as_str())
        }
        PeerAddress::Address { address, .. } => by_address(running, *address),
    };
    for neighbor in &model.fabric.neighbors {
        let is = find(&neighbor.found).unwrap_or_else(|| panic!("{name}: {:?}", neighbor.found));
        session(is, node_file, neighbor, name);
    }
    if let Some(workload) = &model.workload {
        let is = by_address(running, workload.theirs.address).unwrap();
        assert_eq!(is["conf"]["peer_asn"], workload.theirs.asn.0, "{name}");
        assert_eq!(is["conf"]["local_asn"], workload.ours.asn.0, "{name}");
        assert_eq!(is["transport"]["local_address"], workload.ours.address.to_string(), "{name}");
        assert_eq!(is["transport"]["passive_mode"], true, "{name}");
        assert_eq!(families(is), workload.families, "{name}");
    }
}

fn by_address(running: &[Value], address: IpAddr) -> Option<&Value> {
    running.iter().find(|one| one["conf"]["neighbor_address"] == address.to_string())
}

fn session(is: &Value, node_file: &NodeFile, neighbor: &Neighbor, name: &str) {
    let model = &node_file.model;
    let or_null = |value: Option<Value>| value.unwrap_or(Value::Null);
    let conf = &is["conf"];
    assert_eq!(conf["peer_asn"], or_null(neighbor.asn.map(|asn| json!(asn.0))), "{name}");
    assert_eq!(conf["local_asn"], model.asn.0, "{name}");
    let password = neighbor.password.as_ref().map(|_| json!(node_file.password));
    assert_eq!(conf["auth_password"], or_null(password), "{name}");
    assert_eq!(is["transport"]["passive_mode"], or_null(neighbor.passive.then(|| json!(true))), "{name}");
    if let PeerAddress::Address { source: Some(source), .. } = neighbor.found {
        assert_eq!(is["transport"]["local_address"], source.to_string(), "{name}");
    }
    let timers = &is["timers"]["config"];
    assert_eq!(
        (&timers["keepalive_interval"], &timers["hold_time"]),
        (&json!(neighbor.timers.0), &json!(neighbor.timers.1))
    );
    assert_eq!((&timers["connect_retry"], &timers["idle_hold_time_after_reset"]), (&json!(3), &json!(1)));
    assert_eq!(families(is), neighbor.families, "{name}");
    let restart = &is["graceful_restart"];
    assert_eq!(
        restart["restart_time"],
        or_null(model.fabric.graceful_restart.map(|time| json!(time))),
        "{name}"
    );
    assert_eq!(restart["enabled"] == true, model.fabric.graceful_restart.is_some(), "{name}");
    for family in is["afi_safis"].as_array().unwrap() {
        let kept = family["mp_graceful_restart"]["config"]["enabled"] == true;
        assert_eq!(kept, model.fabric.graceful_restart.is_some(), "{name}");
        let most = model.fabric.inward.max_prefixes.map(|most| json!(most));
        assert_eq!(family["prefix_limits"]["max_prefixes"], or_null(most), "{name}");
    }
    assert_eq!(bfd(&is["bfd"]), neighbor.bfd, "{name}");
}

fn bfd(is: &Value) -> Option<Bfd> {
    let microseconds = is["desired_minimum_tx_interval"].as_u64()?;
    assert_eq!(is["required_minimum_receive"], microseconds);
    let multiplier = u8::try_from(is["detection_multiplier"].as_u64()?).unwrap();
    let interval = u32::try_from(microseconds / 1000).unwrap();
    (is["enabled"] == true).then_some(Bfd { interval, multiplier })
}

fn families(is: &Value) -> Vec<Family> {
    let family = |one: &Value| match one["config"]["family"]["afi"].as_u64() {
        Some(1) => Family::V4,
        _ => Family::V6,
    };
    is["afi_safis"].as_array().unwrap().iter().map(family).collect()
}

/// Each prefix at an edge of a filter passes as in the model, by the running policy.
fn let_in(run: &Run, model: &BgpModel, name: &str) {
    let policies = run.policies();
    let inward = &model.fabric.inward;
    let mut tried = 0;
    for net in probes(&inward.filter) {
        let actions = policies.inward(From::Fabric, net);
        assert_eq!(actions.is_some(), inward.filter.admits(net), "{name}: {net} from the fabric");
        if let Some(actions) = actions {
            let preference = inward.local_preference.map_or(Value::Null, |number| json!(number));
            assert_eq!(actions["local_pref"]["value"], preference, "{name}: {net}");
        }
        tried += 1;
    }
    if let Some(workload) = &model.workload {
        for net in probes(&workload.filter).into_iter().chain(probes(&inward.filter)) {
            let carried = workload.families.contains(&Family::of(net));
            let passes = policies.inward(From::Speaker, net).is_some();
            assert_eq!(passes, carried && workload.filter.admits(net), "{name}: {net} from the speaker");
        }
    }
    for announced in &model.fabric.announced {
        assert!(policies.inward(From::Agent, announced.net).is_some(), "{name}: {}", announced.net);
    }
    assert!(tried > 0, "{name}");
}

/// All exported routes are marked as in the model, and none is exported to the speaker.
fn let_out(run: &Run, model: &BgpModel, name: &str) {
    let policies = run.is("policy").as_array().unwrap();
    let out = policies.iter().find(|policy| policy["name"] == "export").unwrap();
    // Without announcements, nothing is exported.
    let statements = out["statements"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(
        statements.is_empty(),
        model.fabric.announced.is_empty() && model.workload.is_none(),
        "{name}"
    );
    if model.workload.is_some() {
        assert!(statements[0]["conditions"].get("neighbor_set").is_some(), "{name}");
        assert_eq!(statements[0]["actions"]["route_action"], 2, "{name}");
    }
    let outward = &model.fabric.outward;
    for statement in statements.iter().filter(|one| one["actions"]["route_action"] == 1) {
        let actions = &statement["actions"];
        let count = |key: &str| actions[key]["communities"].as_array().map_or(0, Vec::len);
        assert_eq!(count("community") + count("large_community"), outward.communities.len(), "{name}");
        assert_eq!(
            actions["as_prepend"]["repeat"].as_u64().unwrap_or(0),
            u64::from(outward.prepend),
            "{name}"
        );
        let conditions = &statement["conditions"];
        // Local and announced, or originated by the speaker.
        let own = conditions["route_type"] == 3 && conditions.get("prefix_set").is_some();
        assert!(own || conditions.get("as_path_set").is_some(), "{name}: {statement}");
    }
}
