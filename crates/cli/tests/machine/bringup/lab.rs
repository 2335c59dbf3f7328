//! What takes longer: runs that are killed at every step with machines.

use super::proxmox::Site;

const STEPS: [&str; 4] = ["make", "attach", "start", "eject"];

#[test]
fn killed_at_every_step_with_machines_it_goes_on_and_makes_none_twice() {
    // With numbers of their own, and with whichever are free.
    for (vm, ids) in [("first_id: 300", [311, 312]), ("nic: virtio", [100, 101])] {
        for step in STEPS {
            for state in ["begun", "done"] {
                let site = Site::new(2, vm);
                site.pve.state().patience = 3;

                let came = site.up_killed(|event| event["step"] == step && event["state"] == state);
                site.up_well();

                assert!(came, "{vm}: {step} {state}");
                site.assert_up(&ids);
            }
        }
    }
}
