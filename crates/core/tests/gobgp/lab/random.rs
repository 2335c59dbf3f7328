//! What gobgpd makes of clusters that nobody thought of.

use ichor_values::Backend;
use proptest::prelude::*;

use super::folder::Folder;
use super::running::{CHECK, has_everything_of};
use super::{Told, readers, said};
use ichor_testbed::random::{self, holds_for};

/// Asks something of every node of `count` clusters.
fn of_any(count: u32, ask: impl Fn(&Told, &Folder) -> Result<(), TestCaseError>) {
    let old = std::cell::Cell::new(0);
    holds_for(count, Backend::Gobgp, |random| {
        for random::NodeRouting { name, model, service } in random.told()? {
            let programs = readers(service.version);
            old.set(old.get() + programs.len() - 1);
            let conf = service.files[0].text.clone();
            let folder = Folder::new(&format!("random-{count}-{name}"), &[("gobgpd.toml", &conf)]);
            let told = Told { name, model, conf, password: random.password.clone(), programs };
            ask(&told, &folder)?;
        }
        Ok(())
    });
    assert!(old.get() > 0, "no file is for GoBGP 3");
}

#[test]
fn gobgpd_can_read_any_cluster() {
    of_any(40, |told, folder| {
        for programs in &told.programs {
            let output = folder.run("gobgp-running", programs, "gobgpd.toml", &CHECK);
            let read = output.status.success();
            prop_assert!(read, "{} {}: {}\n{}", told.name, programs.display(), said(&output), told.conf);
        }
        Ok(())
    });
}

#[test]
fn a_running_gobgpd_has_everything_of_any_cluster() {
    of_any(8, |told, folder| {
        has_everything_of(told, folder);
        Ok(())
    });
}
