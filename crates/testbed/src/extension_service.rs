//! Runs an extension service as Talos does: the parts of machined, containerd and runc.
//!
//! An [`ExtensionService`] is started on a [`LabMachine`] as its definition says, with a root file system of its own and an
//! ExtensionServiceConfig; then it is stopped as Talos stops it. It has a mount, PID and UTS namespace of its own and the node's network; a
//! read-only root; the mounts of the definition with their propagation; every capability but two; no way to
//! gain privileges. Cgroups, devices and SELinux are not set up. Real Talos runs
//! the extension in the tests that boot it; this is quicker, and can look inside.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::lab::{LabMachine, output_text};

/// Talos' `/system` on the machine, whose root cannot have another folder.
const SYSTEM: &str = "/tmp/system";

/// Tenths of a second that a service has to start.
const PATIENCE: u32 = 1200;

/// runc's default masked paths.
const MASKED: [&str; 9] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/sys/firmware",
];

/// The default read-only paths.
const READ_ONLY: [&str; 5] = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// Prepares the root before the mounts of the definition. The root is mounted in `/tmp`: as with runc, the node must not see changes
/// to the root.
const BEGIN: &str = r#"
set -eu
read -r pid _ </proc/self/stat
mkdir -p /tmp/upper /tmp/work /tmp/root
mount --make-private /tmp
mount -t overlay overlay -o "lowerdir=$lower,upperdir=/tmp/upper,workdir=/tmp/work" /tmp/root
cd /tmp/root
mount -t proc -o nosuid,noexec,nodev proc proc
mount -t tmpfs -o nosuid,strictatime,mode=755,size=64m tmpfs dev
for device in null zero full random urandom tty; do
    touch "dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/shm dev/pts
mount -t tmpfs -o nosuid,noexec,nodev,mode=1777,size=64m shm dev/shm
mount -t sysfs -o "nosuid,noexec,nodev,$sysfs" sysfs sys
mount -t tmpfs -o nosuid,strictatime,mode=755,size=64m tmpfs run
place() {
    if [ -d "$1" ]; then mkdir -p "./$2"; else mkdir -p "./$(dirname "$2")"; [ -e "./$2" ] || touch "./$2"; fi
}
"#;

/// The end of the script: pivots to the root and starts the program as PID 1. Until here it was the script.
const END: &str = r#"
(cd /tmp/upper; find . | sort) >/tmp/begin
echo "$pid" >/tmp/service.pid
mount --make-private /
mount --move . /
exec env -i "$@"
"#;

/// Accepts calls on machined's socket without a response.
pub fn listen_machined(node: &LabMachine) -> UnixListener {
    let folder = format!("{SYSTEM}/run/machined");
    node.ask(&format!("mount --make-rshared / && mkdir -p {folder}"));
    UnixListener::bind(node.path(&format!("{folder}/machine.sock"))).unwrap()
}

/// A service of an extension on a node.
pub struct ExtensionService<'n> {
    node: &'n LabMachine,
    definition: Value,
    root: String,
    running: Option<Child>,
}

impl<'n> ExtensionService<'n> {
    /// A service of a definition, with its root file system at `root` on the node. It is not started yet.
    pub fn new(node: &'n LabMachine, definition: Value, root: String) -> Self {
        Self { node, definition, root, running: None }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.definition["name"].as_str().expect("a definition has a name")
    }

    /// The first dependency that is not met yet, with or without this document.
    fn waits_for(&self, document: Option<&Value>) -> Option<&Value> {
        let is_missing = |depends: &&Value| match depends["path"].as_str() {
            Some(path) => !self.node.path(&path_on_machine(path)).exists(),
            None => depends["configuration"] == true && document.is_none(),
        };
        list(&self.definition["depends"]).find(is_missing)
    }

    /// Starts it with a document, or null. Its dependencies must be met.
    pub fn start(&mut self, document: &Value) {
        let document = Some(document).filter(|document| !document.is_null());
        assert_eq!(self.waits_for(document), None);
        let document = document.unwrap_or(&Value::Null);
        let container = &self.definition["container"];
        let mut script = self.head();
        for mount in list(&container["mounts"]) {
            script += &self.mount(mount);
        }
        for file in ["/etc/hosts", "/etc/resolv.conf"] {
            script += &bind(file, file, &["rbind", "ro"]);
        }
        for file in list(&document["configFiles"]) {
            script += &self.config_file(file);
        }
        script += "mount -o remount,bind,ro .\n";
        script += &self.path_restrictions();
        self.run(&(script + END), &self.words(document));
    }

    /// Root, propagation, and whether /sys can be written to.
    fn head(&self) -> String {
        let security = &self.definition["container"]["security"];
        let propagation = security["rootfsPropagation"].as_str().unwrap_or("rslave");
        let sysfs = if security["writeableSysfs"] == true { "rw" } else { "ro" };
        assert_ne!(security["writeableRootfs"], true);
        format!("lower={}; sysfs={sysfs}\nmount --make-{propagation} /\n{BEGIN}", self.root)
    }

    /// A mount of the definition. Talos creates a missing source as a folder.
    fn mount(&self, mount: &Value) -> String {
        assert_eq!(mount["type"], "bind", "{mount}");
        let source = path_on_machine(mount["source"].as_str().unwrap());
        self.node.ask(&format!("[ -e {source} ] || (umask 077; mkdir -p {source})"));
        let options: Vec<_> = list(&mount["options"]).map(|option| option.as_str().unwrap()).collect();
        bind(&source, mount["destination"].as_str().unwrap(), &options)
    }

    /// A file of the document, which Talos writes and mounts read-only.
    fn config_file(&self, file: &Value) -> String {
        let target = file["mountPath"].as_str().unwrap();
        let folder = format!("{}/overlays/extensions/{}", SYSTEM, self.name());
        let path = format!("{folder}/{}", target.trim_start_matches('/').replace('/', "-"));
        self.node.ask(&format!("mkdir -p {folder}"));
        let there = self.node.path(&path);
        fs::write(&there, file["content"].as_str().unwrap()).unwrap();
        fs::set_permissions(&there, fs::Permissions::from_mode(0o644)).unwrap();
        bind(&path, target, &["rbind", "ro"])
    }

    /// Paths that cannot be read, and paths that cannot be written to.
    fn path_restrictions(&self) -> String {
        let security = &self.definition["container"]["security"];
        let paths = |key: &str, usual: &[&str]| -> Vec<String> {
            let given = security[key].as_array();
            let given =
                given.map(|paths| paths.iter().map(|path| path.as_str().unwrap().to_owned()).collect());
            given.unwrap_or_else(|| usual.iter().map(|path| (*path).to_owned()).collect())
        };
        let mut script = String::new();
        for path in paths("maskedPaths", &MASKED) {
            script += &format!(
                "if [ -d .{path} ]; then mount -t tmpfs -o ro none .{path}; elif [ -e .{path} ]; then mount --bind /dev/null .{path}; fi\n"
            );
        }
        for path in paths("readonlyPaths", &READ_ONLY) {
            script += &format!(
                "if [ -e .{path} ]; then mount --rbind .{path} .{path}; mount -o remount,bind,ro .{path}; fi\n"
            );
        }
        script
    }

    /// Environment, program and arguments. The last value of a repeated variable counts.
    fn words(&self, document: &Value) -> Vec<String> {
        let container = &self.definition["container"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned();
        let mut words = vec![path];
        words.extend(list(&container["environment"]).chain(list(&document["environment"])).map(text));
        words.extend(["/usr/sbin/chroot".to_owned(), ".".to_owned(), text(&container["entrypoint"])]);
        words.extend(list(&container["args"]).map(text));
        words
    }

    fn run(&mut self, script: &str, words: &[String]) {
        let log = fs::File::options().create(true).append(true).open(self.node.path("/tmp/log")).unwrap();
        let _ = fs::remove_file(self.node.path("/tmp/service.pid"));
        let mut command = self.node.enter();
        command.args(["unshare", "--mount", "--propagation", "unchanged", "--pid", "--uts", "--fork"]);
        command.args(["--kill-child", "setpriv", "--no-new-privs", "--bounding-set=-sys_module,-sys_boot"]);
        command.args(["bash", "-c", script, "talos"]).args(words);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.running = Some(command.spawn().unwrap());
        let pid = self.node.path("/tmp/service.pid");
        let started = (0..PATIENCE).any(|_| {
            thread::sleep(Duration::from_millis(100));
            pid.exists()
        });
        assert!(started, "the service does not start: {}", self.log());
    }

    /// Stops it: SIGTERM to every process, and SIGKILL after ten seconds.
    pub fn stop(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        self.node.ask(&format!(
            "{FIND}; kill -TERM $all; for i in $(seq 100); do find_all; [ -n \"$all\" ] || exit 0; sleep 0.1; done; \
             echo killed >>/tmp/log; kill -KILL $all"
        ));
        running.wait().unwrap();
    }

    /// Runs a program of the container there, and returns its output.
    pub fn ask(&self, program: &str, words: &str) -> String {
        let pid = fs::read_to_string(self.node.path("/tmp/service.pid")).unwrap();
        let mut command: Command = self.node.enter();
        command.args(["nsenter", "--mount", "--pid", "--net", "--target", pid.trim(), program]);
        output_text(&command.args(words.split_whitespace()).output().unwrap())
    }

    /// The changes to the root, without the mount points made here.
    pub fn root_changes(&self) -> String {
        self.node.ask("(cd /tmp/upper; find . | sort) | diff /tmp/begin - || true")
    }

    /// Its output.
    pub fn log(&self) -> String {
        self.node.ask("cat /tmp/log")
    }
}

impl Drop for ExtensionService<'_> {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.kill();
            let _ = running.wait();
        }
    }
}

/// Sets `all` to the processes of the container.
const FIND: &str = r#"
space=$(readlink /proc/$(cat /tmp/service.pid)/ns/pid)
find_all() {
    all=
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/pid" 2>/dev/null)" != "$space" ] || all="$all ${process#/proc/}"
    done
}
find_all"#;

/// The path on the machine for a path of the node.
fn path_on_machine(path: &str) -> String {
    match path.strip_prefix("/system/") {
        Some(rest) => format!("{SYSTEM}/{rest}"),
        None => path.to_owned(),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The commands of a bind mount in runc's order: the mount, its options, its propagation.
fn bind(source: &str, target: &str, options: &[&str]) -> String {
    let mut script = format!("place {source} {target}; mount --rbind {source} .{target}\n");
    if options.contains(&"ro") {
        script += &format!("mount -o remount,bind,ro .{target}\n");
    }
    let propagation = ["rshared", "rslave", "rprivate", "shared", "slave", "private"];
    for option in options.iter().filter(|option| propagation.contains(option)) {
        script += &format!("mount --make-{option} .{target}\n");
    }
    script
}
