//! Which Kubernetes a Talos release accepts, against what Talos itself says.

use ichor_talos::release;
use ichor_values::{KubernetesVersion, TalosVersion};

#[test]
fn every_pair_of_releases_is_judged_as_talos_does() {
    let lines: Vec<_> =
        include_str!("../data/kubernetes-compat.txt").lines().filter(|line| !line.starts_with('#')).collect();

    assert_eq!(lines.len(), 60);
    for line in lines {
        let [talos, kubernetes, verdict] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let talos = TalosVersion::parse(talos).unwrap();
        let kubernetes = KubernetesVersion::parse(kubernetes).unwrap();

        assert_eq!(release::accepts_kubernetes(&talos, &kubernetes), Some(verdict == "accepted"), "{line}");
    }
}
