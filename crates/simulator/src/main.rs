//! The first process of a machine that boots an image of the simulator: see the library.

use std::path::Path;
use std::{fs, panic, process, thread, time::Duration};

use ichor_simulator::boot::{init, machined};

fn main() {
    assert_eq!(process::id(), 1, "this is the first process of a machine");
    let role = if Path::new("/rootfs.sqsh").exists() { init::run } else { machined::run };
    if panic::catch_unwind(role).is_err() {
        println!("simulator: failed; the machine is switched off");
        let _ = fs::write("/proc/sysrq-trigger", "o");
        thread::sleep(Duration::from_mins(1));
    }
}
