//! `ichor down` for machines on Proxmox.

use std::fs;

use super::Site;
use super::stand_in::Machine;

fn left(site: &Site) -> Vec<u32> {
    site.pve.state().machines.keys().copied().collect()
}

#[test]
fn down_lists_everything_confirms_and_deletes_what_was_created() {
    let site = Site::new();
    site.run("make");
    site.run("start");
    fs::create_dir_all(site.folder.path().join(".ichor/sol")).unwrap();
    fs::write(site.folder.path().join(".ichor/sol/up.json"), "{}").unwrap();

    let planned = site.ichor("down --dry-run --no-kubeconfig");
    let unconfirmed = site.ichor("down --no-kubeconfig");
    assert_eq!(left(&site), [311, 312, 321]);
    let done = site.ichor("down --yes --no-kubeconfig");
    let again = site.ichor("down --yes --no-kubeconfig");

    assert_eq!((planned.code, unconfirmed.code), (1, 2), "{}{}", planned.all(), unconfirmed.all());
    for text in ["solcp01", "(running), with its disks", "sol_solcp01-cidata.iso", ".ichor/sol"] {
        assert!(planned.stdout.contains(text), "{text}: {}", planned.stdout);
    }
    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(left(&site), [0; 0]);
    assert!(!site.folder.path().join(".ichor").exists());
    assert!(done.stderr.contains("the secrets are in "), "{}", done.all());
    assert_eq!(again.code, 0, "{}", again.all());
    assert!(again.stderr.contains("nothing to do"), "{}", again.all());
}

#[test]
fn down_continues_after_a_failure_and_reports_what_remains() {
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
    for text in ["left: solcp01 at ", "left: solwk01 at ", "the storage is locked"] {
        assert!(failed.stderr.contains(text), "{text}: {}", failed.all());
    }
    // A foreign machine has the name of solcp02, and is kept.
    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(left(&site), [312]);
    assert!(done.stdout.contains("kept: "), "{}", done.all());
}
