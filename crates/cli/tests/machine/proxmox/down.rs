//! `ichor down` where machines were made on Proxmox.

use std::fs;

use super::Site;
use super::stand_in::Machine;

fn left(site: &Site) -> Vec<u32> {
    site.pve.state().machines.keys().copied().collect()
}

#[test]
fn down_names_everything_asks_and_deletes_what_was_made() {
    let site = Site::new();
    site.run("make");
    site.run("start");
    fs::create_dir_all(site.folder.path().join(".ichor/sol")).unwrap();
    fs::write(site.folder.path().join(".ichor/sol/up.json"), "{}").unwrap();

    let planned = site.ichor("down --dry-run --no-kubeconfig");
    let asked = site.ichor("down --no-kubeconfig");
    assert_eq!(left(&site), [311, 312, 321]);
    let done = site.ichor("down --yes --no-kubeconfig");
    let again = site.ichor("down --yes --no-kubeconfig");

    assert_eq!((planned.code, asked.code), (1, 2), "{}{}", planned.all(), asked.all());
    for said in ["solcp01", "(running), with its disks", "sol_solcp01-cidata.iso", ".ichor/sol"] {
        assert!(planned.stdout.contains(said), "{said}: {}", planned.stdout);
    }
    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(left(&site), [0; 0]);
    assert!(!site.folder.path().join(".ichor").exists());
    assert!(done.stderr.contains("secrets.sops.yaml are kept"), "{}", done.all());
    assert_eq!(again.code, 0, "{}", again.all());
    assert!(again.stderr.contains("nothing to do"), "{}", again.all());
}

#[test]
fn down_goes_on_after_a_failure_and_tells_what_is_left() {
    let site = Site::new();
    site.run("make");
    let settings = [("name".to_owned(), "mail".to_owned())].into();
    site.pve
        .state()
        .machines
        .insert(312, Machine { host: "pve2".to_owned(), settings, ..Machine::default() });
    site.pve.state().failing.insert("qmdestroy".to_owned(), "the storage is locked".to_owned());

    let failed = site.ichor("down --yes --no-kubeconfig");
    site.pve.state().failing.clear();
    let done = site.ichor("down --yes --no-kubeconfig");

    assert_eq!(failed.code, 1, "{}", failed.all());
    for said in ["left: solcp01 at ", "left: solwk01 at ", "the storage is locked"] {
        assert!(failed.stderr.contains(said), "{said}: {}", failed.all());
    }
    // A machine of somebody else is in the place of solcp02, and stays.
    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(left(&site), [312]);
    assert!(done.stdout.contains("left alone"), "{}", done.all());
}
