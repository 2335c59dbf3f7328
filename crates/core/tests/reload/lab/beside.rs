//! Comparison with FRR's own `frr-reload.py`: the same files result in the same state.

use ichor_bgp::reload::{FrrConfig, compare};
use ichor_values::Backend;

use super::pairs::idle;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::output_text;
use ichor_testbed::routing::services_of_backend;
use ichor_testbed::vty::reload;

#[test]
fn frr_8_reaches_the_state_of_frr_reload() {
    let frr = Frr::V8;
    let confs: Vec<_> = services_of_backend(Backend::Frr)
        .into_iter()
        .map(|(_, service)| service.files[0].text.clone())
        .collect();
    let texts: Vec<_> = confs.iter().map(String::as_str).collect();
    let machines = [idle(frr, &texts), idle(frr, &texts)];
    for machine in &machines {
        assert!(Frr::load(machine, texts[0]).status.success());
    }
    let [ours, theirs] = &machines;
    let runs = |machine: &ichor_testbed::lab::LabMachine| {
        FrrConfig::parse(&machine.ask("vtysh -c 'show running-config'"))
    };

    for conf in &texts[1..] {
        let (_, against) = reload(ours, frr, conf);
        theirs.write("/etc/frr/frr.conf", conf);
        let done = theirs.run("/usr/lib/frr/frr-reload.py --reload --stdout /etc/frr/frr.conf");

        assert_eq!(against, Vec::<String>::new());
        let found = compare(&runs(ours), &runs(theirs));
        assert!(found.is_same(), "{found:#?}\n{}\n{conf}", output_text(&done));
    }
}
