//! The kernel command line of an image, as Talos' imager composes it.
//!
//! [`Line::defaults`] has the arguments of every image of a release and platform; [`Line::customize`] adds those of a schematic, by the
//! imager's rules. A repeated parameter is written after its first value.
//!
//! Not here: reading a command line ([`command_line`](super::command_line)).

use std::fmt;

use super::{meta, release};
use ichor_values::TalosVersion;

/// Space for arguments that boot loaders add: GRUB its `BOOT_IMAGE=`, iPXE an `initrd=`, an ISO its
/// `talos.halt_if_installed=1`. It is larger than any of these.
pub const LOADER: usize = 64;

/// Arguments that replace an existing value, where others are added.
const OVERWRITTEN: [&str; 2] = ["console", "talos.platform"];

/// The argument of an ISO.
const HALT: (&str, &str) = ("talos.halt_if_installed", "1");

/// Arguments of Talos, the minor release that added them, and the one that removed them.
const DEFAULTS: [(&str, u16, u16); 9] = [
    ("init_on_alloc=1", 0, 14),
    ("slab_nomerge", 0, NEVER),
    ("pti=on", 0, NEVER),
    ("consoleblank=0", 0, NEVER),
    ("nvme_core.io_timeout=4294967295", 0, 14),
    ("printk.devkmsg=on", 0, NEVER),
    ("selinux=1", 0, NEVER),
    ("module.sig_enforce=1", 12, NEVER),
    ("proc_mem.force_override=never", 13, NEVER),
];
const NEVER: u16 = u16::MAX;

/// Arguments that Talos requires, with this value first: without them, its start ends and the machine reboots in a loop.
const REQUIRED: [(&str, &str); 2] = [("slab_nomerge", ""), ("pti", "on")];

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    parameters: Vec<(String, Vec<String>)>,
}

impl Line {
    /// The arguments of every image of a release. Platforms other than metal, nocloud and gcp have additional ones, which are
    /// omitted: ichor makes no command lines for them.
    pub fn defaults(talos: &TalosVersion, platform: &str, arch: &str) -> Self {
        let mut line = Line::default();
        line.add(&format!("talos.platform={platform}"));
        own(platform, arch).iter().chain(&defaults(talos)).for_each(|arg| line.add(arg));
        line
    }

    /// Adds an argument.
    pub fn add(&mut self, arg: &str) {
        let (key, value) = arg.split_once('=').unwrap_or((arg, ""));
        match self.parameters.iter_mut().find(|(known, _)| known == key) {
            Some((_, values)) => values.push(value.to_owned()),
            None => self.parameters.push((key.to_owned(), vec![value.to_owned()])),
        }
    }

    /// Adds the arguments of a schematic: `-key` and `-key=value` remove existing ones, and some arguments replace them.
    pub fn customize(&mut self, args: &[String]) {
        let mut added = Line::default();
        args.iter().flat_map(|arg| arg.split_whitespace()).for_each(|arg| added.add(arg));
        for (key, values) in added.parameters {
            match key.strip_prefix('-') {
                // `-` alone is an argument: those after it are for the first process.
                Some(gone) if !gone.is_empty() => self.remove(gone, &values),
                _ => self.set_or_append(key, values),
            }
        }
    }

    /// Adds the argument of an ISO that keeps it from booting on a machine with Talos on its disk. It precedes Talos' own
    /// arguments; if it was removed, it is not added again.
    pub fn halt_if_installed(&mut self) {
        let (key, value) = HALT;
        let first =
            self.parameters.iter().position(|(key, _)| is_default(key)).unwrap_or(self.parameters.len());
        match self.parameters.iter_mut().find(|(known, _)| known == key) {
            Some((_, values)) if values.is_empty() => {}
            Some((_, values)) => values.insert(0, value.to_owned()),
            None => self.parameters.insert(first, (key.to_owned(), vec![value.to_owned()])),
        }
    }

    /// Adds the values of META, for an installer to write them. They follow Talos' own arguments.
    pub fn carry_meta(&mut self, values: &[meta::Value]) {
        if values.is_empty() {
            return;
        }
        let argument = meta::kernel_argument(&meta::encode(values, true));
        let (key, value) = argument.split_once('=').unwrap_or((&argument, ""));
        let after = self.parameters.iter().rposition(|(key, _)| is_default(key)).map_or(0, |last| last + 1);
        match self.parameters.iter_mut().find(|(known, _)| known == key) {
            Some((_, values)) => values.insert(0, value.to_owned()),
            None => self.parameters.insert(after, (key.to_owned(), vec![value.to_owned()])),
        }
    }

    /// The arguments that Talos requires and this command line lacks, such as `pti=on`.
    pub fn missing_requirements(&self) -> impl Iterator<Item = String> {
        let first = |key| self.parameters.iter().find(|(known, _)| known == key)?.1.first();
        let missing =
            REQUIRED.into_iter().filter(move |(key, value)| first(*key).is_none_or(|it| it != value));
        missing.map(|(key, value)| if value.is_empty() { key.to_owned() } else { format!("{key}={value}") })
    }

    fn set_or_append(&mut self, key: String, mut values: Vec<String>) {
        match self.parameters.iter_mut().find(|(known, _)| *known == key) {
            Some((_, there)) if OVERWRITTEN.contains(&key.as_str()) => *there = values,
            Some((_, there)) => there.append(&mut values),
            None => self.parameters.push((key, values)),
        }
    }

    fn remove(&mut self, key: &str, values: &[String]) {
        let all = values.first().is_some_and(String::is_empty);
        if !self.parameters.iter().any(|(known, _)| known == key) {
            // It may be added later.
            self.parameters.push((key.to_owned(), Vec::new()));
        }
        for (_, there) in self.parameters.iter_mut().filter(|(known, _)| known == key) {
            there.retain(|value| !all && !values.contains(value));
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all =
            self.parameters.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        for (nth, (key, value)) in all.enumerate() {
            let (blank, equals) = (if nth == 0 { "" } else { " " }, if value.is_empty() { "" } else { "=" });
            write!(f, "{blank}{key}{equals}{value}")?;
        }
        Ok(())
    }
}

/// The arguments of a platform.
fn own(platform: &str, arch: &str) -> &'static [&'static str] {
    match (platform, arch) {
        ("metal", "arm64") => &["console=ttyAMA0", "console=tty0"],
        ("metal", _) => &["console=tty0"],
        ("nocloud", _) => &["console=tty1", "console=ttyS0", "net.ifnames=0"],
        ("gcp", _) => &[
            "console=ttyS0",
            "net.ifnames=0",
            "talos.dashboard.disabled=1",
            "sysctl.kernel.kexec_load_disabled=1",
        ],
        _ => &[],
    }
}

/// The arguments of a release.
fn defaults(talos: &TalosVersion) -> Vec<&'static str> {
    let has = |since: u16, before: u16| release::at_least(talos, since) && !release::at_least(talos, before);
    DEFAULTS.iter().filter(|(_, since, before)| has(*since, *before)).map(|(arg, ..)| *arg).collect()
}

fn is_default(key: &str) -> bool {
    DEFAULTS.iter().any(|(arg, ..)| arg.split('=').next() == Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(talos: &str, platform: &str) -> Line {
        Line::defaults(&TalosVersion::parse(talos).unwrap(), platform, "amd64")
    }

    #[test]
    fn removed_and_replaced_requirements_are_missing() {
        let missing = |args: &[&str]| {
            let mut line = line("v1.14.1", "metal");
            line.customize(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
            line.missing_requirements().collect::<Vec<_>>()
        };

        assert_eq!(missing(&[]), Vec::<String>::new());
        assert_eq!(missing(&["pti=off", "-init_on_alloc"]), Vec::<String>::new(), "the first value counts");
        assert_eq!(missing(&["-pti", "pti=off"]), ["pti=on"]);
        assert_eq!(missing(&["-slab_nomerge", "-pti=on"]), ["slab_nomerge", "pti=on"]);
    }

    #[test]
    fn a_release_has_its_own_arguments() {
        let common = "slab_nomerge pti=on consoleblank=0";
        let old = "nvme_core.io_timeout=4294967295 printk.devkmsg=on selinux=1";

        assert_eq!(
            line("v1.11.6", "metal").to_string(),
            format!("talos.platform=metal console=tty0 init_on_alloc=1 {common} {old}")
        );
        assert_eq!(
            line("v1.12.4", "metal").to_string(),
            format!("talos.platform=metal console=tty0 init_on_alloc=1 {common} {old} module.sig_enforce=1")
        );
        assert_eq!(
            line("v1.14.0-rc.1", "nocloud").to_string(),
            format!(
                "talos.platform=nocloud console=tty1 console=ttyS0 net.ifnames=0 {common} printk.devkmsg=on selinux=1 \
                 module.sig_enforce=1 proc_mem.force_override=never"
            )
        );
    }

    #[test]
    fn a_schematic_adds_replaces_and_removes_arguments() {
        let mut line = line("v1.14.0", "metal");
        let before = line.to_string();

        line.customize(&[
            "console=ttyS1 console=ttyS0".into(),
            "-selinux".into(),
            "-pti=off".into(),
            "-consoleblank=0".into(),
            "a=1".into(),
            "b".into(),
            "a=2".into(),
        ]);

        let after = before.replace("console=tty0", "console=ttyS1 console=ttyS0");
        let after = after.replace(" selinux=1", "").replace(" consoleblank=0", "");
        assert_eq!(line.to_string(), format!("{after} a=1 a=2 b"));
    }
    #[test]
    fn arguments_of_an_iso_precede_and_of_meta_follow_the_defaults() {
        let plain = || line("v1.14.0", "nocloud");
        let mut with = plain();
        with.customize(&["-slab_nomerge".into(), "talos.environment=A=B".into(), "last".into()]);

        with.halt_if_installed();
        with.carry_meta(&[meta::Value { key: 10, value: "x".to_owned() }]);

        let expected = plain().to_string().replace(" slab_nomerge", " talos.halt_if_installed=1");
        let meta = "talos.environment=INSTALLER_META_BASE64=MHhhPXg=";
        assert_eq!(with.to_string(), format!("{expected} {meta} talos.environment=A=B last"));
        let mut with = plain();
        with.carry_meta(&[meta::Value { key: 10, value: "x".to_owned() }]);
        with.customize(&["last".into()]);
        assert_eq!(with.to_string(), format!("{} {meta} last", plain()));
    }

    #[test]
    fn a_removed_argument_is_not_added_by_an_iso() {
        let mut without = line("v1.14.0", "metal");
        without.customize(&["-talos.halt_if_installed".into()]);

        without.halt_if_installed();

        assert_eq!(without.to_string(), line("v1.14.0", "metal").to_string());
    }
}
