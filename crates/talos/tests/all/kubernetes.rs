//! Which Kubernetes a Talos release accepts and installs, compared with Talos' own answers.

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

#[test]
fn every_release_installs_the_kubernetes_of_its_own_constants() {
    let lines: Vec<_> =
        include_str!("../data/releases.txt").lines().filter(|line| !line.starts_with('#')).collect();

    assert!(lines.len() > 20);
    for line in lines {
        let (talos, kubernetes) = line.split_once(' ').unwrap();
        let default = release::default_kubernetes(&TalosVersion::parse(talos).unwrap());

        assert_eq!(default, KubernetesVersion::parse(kubernetes).ok(), "{line}");
    }
}
