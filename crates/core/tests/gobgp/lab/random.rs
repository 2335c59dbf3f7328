//! gobgpd with random clusters.

use ichor_values::Backend;
use proptest::prelude::*;

use super::folder::Folder;
use super::running::{CHECK, has_everything_of};
use super::{NodeFile, output_text, readers};
use ichor_testbed::random::{self, holds_for};

/// Calls a function for every node of `count` clusters.
fn of_any(count: u32, ask: impl Fn(&NodeFile, &Folder) -> Result<(), TestCaseError>) {
    let old = std::cell::Cell::new(0);
    holds_for(count, Backend::Gobgp, |random| {
        for random::NodeRouting { name, model, service } in random.render_nodes()? {
            let programs = readers(service.version);
            old.set(old.get() + programs.len() - 1);
            let conf = service.files[0].text.clone();
            let folder = Folder::new(&format!("random-{count}-{name}"), &[("gobgpd.toml", &conf)]);
            let node_file = NodeFile { name, model, conf, password: random.password.clone(), programs };
            ask(&node_file, &folder)?;
        }
        Ok(())
    });
    assert!(old.get() > 0, "no file is for GoBGP 3");
}

#[test]
fn gobgpd_can_read_any_cluster() {
    of_any(40, |node_file, folder| {
        for programs in &node_file.programs {
            let output = folder.run("gobgp-running", programs, "gobgpd.toml", &CHECK);
            let read = output.status.success();
            prop_assert!(
                read,
                "{} {}: {}\n{}",
                node_file.name,
                programs.display(),
                output_text(&output),
                node_file.conf
            );
        }
        Ok(())
    });
}

#[test]
fn a_running_gobgpd_has_the_configuration_of_any_cluster() {
    of_any(8, |node_file, folder| {
        has_everything_of(node_file, folder);
        Ok(())
    });
}
