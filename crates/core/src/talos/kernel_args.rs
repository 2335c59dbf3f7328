//! The kernel command line of an image, as Talos' imager puts it together.
//!
//! [`Line::of`] has what every image of a release and platform has; [`Line::customize`] adds what a schematic adds, by the
//! imager's rules. A parameter that comes again stands behind its first value.
//!
//! Not here: reading a command line ([`command_line`](super::command_line)).

use std::fmt;

use super::release;
use crate::cluster::value::TalosVersion;

/// What boot loaders put on the line beside all this: GRUB its `BOOT_IMAGE=`, iPXE an `initrd=`, an ISO its
/// `talos.halt_if_installed=1`. The room kept for them is more than any of these takes.
pub const LOADER: usize = 64;

/// Arguments that take the place of what is there, where others are added.
const OVERWRITTEN: [&str; 2] = ["console", "talos.platform"];

/// A command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    parameters: Vec<(String, Vec<String>)>,
}

impl Line {
    /// What every image of a release has. Platforms other than metal and nocloud have some more of their own, which are left
    /// out: nobody else passes them a command line.
    pub fn of(talos: &TalosVersion, platform: &str, arch: &str) -> Self {
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

    /// Adds the arguments of a schematic: `-key` and `-key=value` take away what is there, and some arguments take its place.
    pub fn customize(&mut self, args: &[String]) {
        let mut added = Line::default();
        args.iter().flat_map(|arg| arg.split_whitespace()).for_each(|arg| added.add(arg));
        for (key, values) in added.parameters {
            match key.strip_prefix('-') {
                // `-` alone is an argument: what is behind it is for the first process.
                Some(gone) if !gone.is_empty() => self.remove(gone, &values),
                _ => self.put(key, values),
            }
        }
    }

    fn put(&mut self, key: String, mut values: Vec<String>) {
        match self.parameters.iter_mut().find(|(known, _)| *known == key) {
            Some((_, there)) if OVERWRITTEN.contains(&key.as_str()) => *there = values,
            Some((_, there)) => there.append(&mut values),
            None => self.parameters.push((key, values)),
        }
    }

    fn remove(&mut self, key: &str, values: &[String]) {
        let all = values.first().is_some_and(String::is_empty);
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
        _ => &[],
    }
}

/// The arguments of a release.
fn defaults(talos: &TalosVersion) -> Vec<&'static str> {
    let from = |minor: u16, arg: &'static str| release::at_least(talos, minor).then_some(arg);
    let before = |minor: u16, arg: &'static str| (!release::at_least(talos, minor)).then_some(arg);
    [
        before(14, "init_on_alloc=1"),
        Some("slab_nomerge"),
        Some("pti=on"),
        Some("consoleblank=0"),
        before(14, "nvme_core.io_timeout=4294967295"),
        Some("printk.devkmsg=on"),
        Some("selinux=1"),
        from(12, "module.sig_enforce=1"),
        from(13, "proc_mem.force_override=never"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(talos: &str, platform: &str) -> Line {
        Line::of(&TalosVersion::parse(talos).unwrap(), platform, "amd64")
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
    fn a_schematic_adds_replaces_and_takes_away() {
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
}
