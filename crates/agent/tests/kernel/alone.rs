//! A test by itself: started a second time as root of a user namespace, with network and mounts of its own.

use std::any::type_name;
use std::env;
use std::future::Future;
use std::process::Command;

const ALONE: &str = "ICHOR_TEST_ALONE";

/// Does by itself what a test does, which must be a closure within that test: so its name is known.
pub fn alone<F: FnOnce() -> R, R: Future<Output = ()>>(test: F) {
    apart(&["--user", "--map-root-user", "--net", "--mount"], type_name::<F>(), || {
        let run = nix::mount::mount(
            Some("none"),
            "/run",
            Some("tmpfs"),
            nix::mount::MsFlags::empty(),
            None::<&str>,
        );
        run.unwrap();
        block_on(test());
    });
}

/// The same, with no right to anything of the network it is in.
pub fn powerless<F: FnOnce() -> R, R: Future<Output = ()>>(test: F) {
    apart(&["--user", "--map-root-user"], type_name::<F>(), || block_on(test()));
}

/// Waits for what a test does.
pub fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

fn apart(how: &[&str], name: &str, test: impl FnOnce()) {
    if env::var_os(ALONE).is_some() {
        return test();
    }
    let name = name.strip_suffix("::{{closure}}").unwrap().split_once("::").unwrap().1;
    let mut command = Command::new("unshare");
    command.args(how).arg("--").arg(env::current_exe().unwrap());
    let output = command.args(["--exact", name, "--nocapture"]).env(ALONE, "yes").output().unwrap();
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(said.contains("test result: ok. 1 passed"), "{name}, by itself:\n{said}");
}
