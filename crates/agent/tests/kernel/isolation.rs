//! Isolation of a test: it is started again as root of a user namespace, with separate network and mounts.

use std::any::type_name;
use std::env;
use std::future::Future;
use std::process::Command;

const ISOLATED: &str = "ICHOR_TEST_ALONE";

/// Runs a test in isolation. It must be a closure within the test function, whose name is thus known.
pub fn isolated<F: FnOnce() -> R, R: Future<Output = ()>>(test: F) {
    run_isolated(&["--user", "--map-root-user", "--net", "--mount"], type_name::<F>(), || {
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

/// The same, without any privileges in its network.
pub fn unprivileged<F: FnOnce() -> R, R: Future<Output = ()>>(test: F) {
    run_isolated(&["--user", "--map-root-user"], type_name::<F>(), || block_on(test()));
}

/// Runs the future of a test.
pub fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

fn run_isolated(how: &[&str], name: &str, test: impl FnOnce()) {
    if env::var_os(ISOLATED).is_some() {
        return test();
    }
    let name = name.strip_suffix("::{{closure}}").unwrap().split_once("::").unwrap().1;
    let mut command = Command::new("unshare");
    command.args(how).arg("--").arg(env::current_exe().unwrap());
    let output = command.args(["--exact", name, "--nocapture"]).env(ISOLATED, "yes").output().unwrap();
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(text.contains("test result: ok. 1 passed"), "{name}, isolated:\n{text}");
}
