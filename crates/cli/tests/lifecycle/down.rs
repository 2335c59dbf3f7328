use super::{cluster, power, run, status_value};
use crate::simulated::{events, steps};

#[test]
fn machines_of_other_owners_are_kept_unless_reset_is_requested() {
    let nodes = cluster(3, "");

    let left = run(&nodes, "down --yes --kubeconfig kubeconfig");

    assert_eq!(left.code, 0, "{}", left.all());
    assert!(left.stdout.contains("kept: ichor did not create it"), "{}", left.all());
    assert!(nodes.asked("/Reset").is_empty());
    assert!(nodes.kubeconfig().contains("admin@simulated"));
}

#[test]
fn down_with_reset_keeps_the_secrets_and_is_repeatable() {
    let nodes = cluster(4, "");

    let planned = run(&nodes, "down --reset --dry-run --kubeconfig kubeconfig");
    let unconfirmed = run(&nodes, "down --reset --kubeconfig kubeconfig");
    let done = run(&nodes, "down --reset --yes --kubeconfig kubeconfig");
    let again = run(&nodes, "down --reset --yes --kubeconfig kubeconfig");

    assert_eq!((planned.code, unconfirmed.code), (1, 2), "{}{}", planned.all(), unconfirmed.all());
    assert_eq!(done.code, 0, "{}", done.all());
    for node in ["cp1", "cp2", "cp3", "worker1"] {
        assert_eq!(status_value(&nodes, node, "stage"), "maintenance");
    }
    assert!(!nodes.kubeconfig().contains("admin@simulated"), "{}", nodes.kubeconfig());
    assert!(!nodes.folder().join(".ichor").exists());
    assert!(nodes.folder().join("secrets.yaml").exists() && done.stderr.contains("secrets.yaml"));
    assert_eq!(again.code, 0, "{}", again.all());
    nodes.up_well("");
}

#[test]
fn the_plan_and_the_remains_are_reported_as_json() {
    let nodes = cluster(3, "");
    power(&nodes, "cp3", "off");

    let planned = run(&nodes, "down --reset --dry-run --json --kubeconfig kubeconfig");
    let part = run(&nodes, "down --reset --yes --json --kubeconfig kubeconfig");
    power(&nodes, "cp3", "on");
    while run(&nodes, "logs cp3 --json").code != 0 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let rest = run(&nodes, "down --reset --yes --json --kubeconfig kubeconfig");

    assert_eq!((planned.code, part.code, rest.code), (1, 1, 0), "{}{}", part.all(), rest.all());
    let plan = &events(&planned.stdout)[0];
    assert_eq!((&plan["event"], &plan["nodes"][0]["action"]), (&"plan".into(), &"reset".into()));
    assert!(plan["secrets_file"].as_str().unwrap().ends_with("secrets.yaml"), "{plan}");
    assert!(plan["record_folder"].is_string() && plan["kubeconfig_file"] == "kubeconfig", "{plan}");
    let event_log = events(&part.stdout);
    let mut done = steps(&event_log);
    done.sort_unstable();
    assert_eq!(done, [("cp1", "reset"), ("cp2", "reset")]);
    let end = event_log.last().unwrap();
    assert_eq!((&end["event"], &end["ok"]), (&"end".into(), &false.into()));
    assert!(end["leftovers"][0].as_str().unwrap().starts_with("cp3 was not reset"), "{end}");
    assert_eq!(events(&rest.stdout).last().unwrap()["leftovers"], serde_json::json!([]));
    assert!(!nodes.folder().join(".ichor").exists());
}
