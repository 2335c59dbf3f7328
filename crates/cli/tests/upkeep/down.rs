use super::{cluster, run, told};

#[test]
fn machines_that_nobody_made_are_left_alone_unless_they_are_to_be_reset() {
    let nodes = cluster(3, "");

    let left = run(&nodes, "down --yes --kubeconfig kubeconfig");

    assert_eq!(left.code, 0, "{}", left.all());
    assert!(left.stdout.contains("left alone: nobody made it"), "{}", left.all());
    assert!(nodes.asked("/Reset").is_empty());
    assert!(nodes.kubeconfig().contains("admin@simulated"));
}

#[test]
fn reset_ends_the_cluster_keeps_the_secrets_and_can_be_done_again() {
    let nodes = cluster(4, "");

    let planned = run(&nodes, "down --reset --dry-run --kubeconfig kubeconfig");
    let asked = run(&nodes, "down --reset --kubeconfig kubeconfig");
    let done = run(&nodes, "down --reset --yes --kubeconfig kubeconfig");
    let again = run(&nodes, "down --reset --yes --kubeconfig kubeconfig");

    assert_eq!((planned.code, asked.code), (1, 2), "{}{}", planned.all(), asked.all());
    assert_eq!(done.code, 0, "{}", done.all());
    for node in ["cp1", "cp2", "cp3", "worker1"] {
        assert_eq!(told(&nodes, node, "stage"), "maintenance");
    }
    assert!(!nodes.kubeconfig().contains("admin@simulated"), "{}", nodes.kubeconfig());
    assert!(!nodes.folder().join(".ichor").exists());
    assert!(nodes.folder().join("secrets.yaml").exists() && done.stderr.contains("secrets.yaml"));
    assert_eq!(again.code, 0, "{}", again.all());
    nodes.up_well("");
}
