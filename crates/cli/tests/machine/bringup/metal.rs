//! A physical machine, from its BMC to a healthy cluster.

use super::power;
use crate::common::{Run, ichor_with};
use crate::machine::redfish::{Controller, IMAGE, PASSWORD, USER};
use crate::simulated::{Simulated, events, steps};

struct Site {
    nodes: Simulated,
    controller: Controller,
}

impl Site {
    fn new() -> Self {
        let controller = Controller::start(true);
        let login = format!(
            "power: {{redfish: '{}', user: {USER}, password: {{env: BMC}}, fingerprint: '{}'}}, macs:",
            controller.web.url, controller.web.pin
        );
        let file = |file: &str| {
            file.replace(
                "boot: {from: apply}",
                &format!("boot: {{from: apply}}\nimage: {{source: {{iso: '{IMAGE}'}}}}"),
            )
            .replace("macs:", &login)
        };
        let nodes = Simulated::provided(1, file, str::to_owned);
        let folder = nodes.folder();
        controller.state().switched = Some(Box::new(move |on| power(&folder, "cp1", on)));
        Self { nodes, controller }
    }

    fn ichor(&self, words: &str) -> Run {
        let run = ichor_with(&self.nodes.folder(), words, &[("BMC", PASSWORD)]);
        assert!(!run.all().contains(PASSWORD), "a secret is printed: {}", run.all());
        let state = self.controller.state();
        assert_eq!(state.faults, [""; 0], "rejected by the BMC");
        assert_eq!(state.sessions, [""; 0], "every session is closed");
        run
    }
}

#[test]
fn a_physical_machine_boots_its_cd_and_becomes_a_cluster() {
    let site = Site::new();

    let run = site.ichor("up --kubeconfig kubeconfig --json");

    assert_eq!(run.code, 0, "{}", run.all());
    let event_log = events(&run.stdout);
    let own: Vec<_> =
        steps(&event_log).into_iter().filter(|(node, _)| *node == "cp1").map(|(_, step)| step).collect();
    assert_eq!(own[..5], ["attach", "start", "apply", "bootstrap", "health"]);
    assert!(own.contains(&"eject") && own.contains(&"kubeconfig"), "{own:?}");
    site.nodes.assert_up();
    {
        let state = site.controller.state();
        assert_eq!(
            (state.images[0].clone(), &state.boot["BootSourceOverrideEnabled"]),
            (None, &"Once".into())
        );
        assert_eq!(state.resets, ["On"]);
    }
    let again = site.ichor("up --kubeconfig kubeconfig");
    assert!(again.stderr.contains("nothing to do"), "{}", again.all());
    let down = site.ichor("down --yes --no-kubeconfig");
    assert_eq!(down.code, 0, "{}", down.all());
    assert_eq!(site.controller.state().resets, ["On"], "the machine is kept and stays on");
}

#[test]
fn a_cd_that_a_bmc_boots_every_time_is_reported() {
    let site = Site::new();
    let up = site.ichor("up --kubeconfig kubeconfig");
    assert_eq!(up.code, 0, "{}", up.all());

    let well = site.ichor("verify --json");
    {
        let mut state = site.controller.state();
        state.images[0] = Some(IMAGE.to_owned());
        state.boot["BootSourceOverrideEnabled"] = "Continuous".into();
    }
    let first = site.ichor("verify --json");

    assert_eq!((well.code, first.code), (0, 1), "{}{}", well.all(), first.all());
    let drives = |run: &Run| {
        let report = run.json();
        let checks = report["nodes"][0]["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|outcome| outcome["check"] == "drives").unwrap()
    };
    assert_eq!(drives(&well)["evidence"], "the machine boots its disk first; no media are inserted");
    let evidence = format!("drive 0 has {IMAGE} (boots Talos); the machine boots it before its disk");
    assert_eq!(drives(&first)["evidence"], evidence.as_str());
}
