//! Which package a file of the input belongs to: out of dpkg's and apk's lists.

use std::collections::BTreeMap;

use crate::oci::FileTree;

/// A package of the input.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub name: String,
    pub version: String,
    /// The package its source has, and that one's version.
    pub source: (String, String),
    /// Its licence, in SPDX' words, where its list has it.
    pub(crate) licence: Option<String>,
    pub(crate) format: PackageFormat,
}

/// The distribution of a package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PackageFormat {
    #[default]
    Deb,
    Apk,
}

impl Package {
    /// The upstream version: `8.4.4` of `1:8.4.4-1.1~deb12u2`.
    pub(super) fn upstream(&self) -> String {
        let version = self.version.split_once(':').map_or(self.version.as_str(), |(_, version)| version);
        let end = match self.format {
            PackageFormat::Deb => version.rfind('-'),
            PackageFormat::Apk => version.rfind("-r"),
        };
        let version = &version[..end.unwrap_or(version.len())];
        version.split("+dfsg").next().unwrap_or(version).to_owned()
    }

    /// The location of its sources.
    pub(super) fn sources(&self) -> String {
        let (name, version) = &self.source;
        match self.format {
            PackageFormat::Deb => format!("https://snapshot.debian.org/package/{name}/{version}/"),
            PackageFormat::Apk if version.is_empty() => {
                format!("https://git.alpinelinux.org/aports/ ({name})")
            }
            PackageFormat::Apk => format!("https://git.alpinelinux.org/aports/tree/?id={version} ({name})"),
        }
    }

    /// Its address among all packages there are.
    pub(super) fn url(&self) -> String {
        let version = self.version.replace('+', "%2B").replace('~', "%7E").replace(':', "%3A");
        match self.format {
            PackageFormat::Deb => format!("pkg:deb/debian/{}@{version}", self.name),
            PackageFormat::Apk => format!("pkg:apk/alpine/{}@{version}", self.name),
        }
    }
}

/// The packages of a root file system.
#[derive(Debug, Default)]
pub(super) struct Packages {
    owners: BTreeMap<String, Package>,
}

impl Packages {
    /// Reads the lists of a root file system.
    pub(super) fn read(root: &FileTree) -> Self {
        let mut packages = Self::default();
        packages.read_dpkg(root);
        packages.read_apk(root);
        packages
    }

    /// The package that a file belongs to.
    pub(super) fn owner(&self, path: &str) -> Option<&Package> {
        self.owners.get(path)
    }

    fn read_dpkg(&mut self, root: &FileTree) {
        let status = text(root, "var/lib/dpkg/status");
        for stanza in status.split("\n\n") {
            let field = |name: &str| {
                let lines = stanza.lines().filter_map(|line| line.split_once(": "));
                lines.filter(|(key, _)| *key == name).map(|(_, value)| value.trim().to_owned()).next()
            };
            let (Some(name), Some(version)) = (field("Package"), field("Version")) else { continue };
            let source = match field("Source") {
                None => (name.clone(), version.clone()),
                Some(source) => match source.split_once(" (") {
                    Some((source, version)) => (source.to_owned(), version.trim_end_matches(')').to_owned()),
                    None => (source, version.clone()),
                },
            };
            let arch = field("Architecture").unwrap_or_default();
            let lists = [format!("{name}.list"), format!("{name}:{arch}.list")];
            let package = Package { name, version, source, licence: None, format: PackageFormat::Deb };
            for list in lists {
                for path in text(root, &format!("var/lib/dpkg/info/{list}")).lines() {
                    self.own(root, path, &package);
                }
            }
        }
    }

    fn read_apk(&mut self, root: &FileTree) {
        // If `/lib` is a link, both are the same file.
        let list = [text(root, "lib/apk/db/installed"), text(root, "usr/lib/apk/db/installed")];
        let list = list.iter().find(|list| !list.is_empty()).map_or("", String::as_str);
        for stanza in list.split("\n\n") {
            let mut package = Package { format: PackageFormat::Apk, ..Package::default() };
            let mut folder = String::new();
            for (key, value) in stanza.lines().filter_map(|line| line.split_once(':')) {
                match key {
                    "P" => value.clone_into(&mut package.name),
                    "V" => value.clone_into(&mut package.version),
                    "o" => value.clone_into(&mut package.source.0),
                    "c" => value.clone_into(&mut package.source.1),
                    "L" => package.licence = Some(value.to_owned()).filter(|it| is_expression(it)),
                    "F" => value.clone_into(&mut folder),
                    "R" => self.own(root, &format!("{folder}/{value}"), &package),
                    _ => {}
                }
            }
        }
    }

    /// Lists are older than links such as `/lib`: a file is identified by its resolved path.
    fn own(&mut self, root: &FileTree, path: &str, package: &Package) {
        let Some((folder, name)) = path.trim_start_matches('/').rsplit_once('/') else { return };
        let Some(walk) = root.follow(folder) else { return };
        let path = if walk.target.is_empty() { name.to_owned() } else { format!("{}/{name}", walk.target) };
        self.owners.entry(path).or_insert_with(|| package.clone());
    }
}

fn text(root: &FileTree, path: &str) -> String {
    root.read(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}

/// Whether a licence is an expression in SPDX' words: apk's lists have others as well.
fn is_expression(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
    let words = text.split([' ', '(', ')']).filter(|word| !word.is_empty());
    let mut wants_name = true;
    for word in words {
        let is_operator = ["AND", "OR", "WITH"].contains(&word);
        if is_operator == wants_name || !word.bytes().all(is_letter) {
            return false;
        }
        wants_name = is_operator;
    }
    !wants_name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::TreeEntry;

    #[test]
    fn files_are_mapped_to_packages_by_their_resolved_path() {
        let mut root = FileTree::default();
        root.put("usr/lib/x/libc.so.6", TreeEntry::file(0o755, b""));
        root.put("lib", TreeEntry::link("usr/lib"));
        let status = "Package: libc6\nArchitecture: amd64\nSource: glibc (2.36-9)\nVersion: 2.36-9+b1\n\n\
                      Package: frr\nArchitecture: amd64\nVersion: 1:8.4.4-1.1~deb12u2\n";
        root.put("var/lib/dpkg/status", TreeEntry::file(0o644, status.as_bytes()));
        root.put(
            "var/lib/dpkg/info/libc6:amd64.list",
            TreeEntry::file(0o644, b"/.\n/lib\n/lib/x/libc.so.6\n"),
        );
        let apk = "P:musl\nV:1.2.5-r0\nL:MIT\no:musl\nc:abc\nF:lib\nR:ld-musl.so\n";
        root.put("usr/lib/apk/db/installed", TreeEntry::file(0o644, apk.as_bytes()));

        let packages = Packages::read(&root);

        let libc = packages.owner("usr/lib/x/libc.so.6").unwrap();
        assert_eq!(
            (libc.name.as_str(), libc.sources().as_str()),
            ("libc6", "https://snapshot.debian.org/package/glibc/2.36-9/")
        );
        let musl = packages.owner("usr/lib/ld-musl.so").unwrap();
        assert_eq!((musl.upstream().as_str(), musl.licence.as_deref()), ("1.2.5", Some("MIT")));
        let frr = Package { version: "1:8.4.4-1.1~deb12u2".to_owned(), ..Package::default() };
        assert_eq!(frr.upstream(), "8.4.4");
    }

    #[test]
    fn only_expressions_are_licences() {
        for good in ["MIT", "GPL-2.0-or-later AND MIT", "(MIT OR Apache-2.0) AND BSD-3-Clause"] {
            assert!(is_expression(good), "{good}");
        }
        for bad in ["", "custom:x", "GPL MIT", "AND", "MIT AND", "see file"] {
            assert!(!is_expression(bad), "{bad}");
        }
    }
}
