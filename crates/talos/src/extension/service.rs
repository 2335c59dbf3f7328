//! A service definition: the container that an extension runs, its dependencies, and when it is restarted.
//!
//! [`Definition::read`] reports what Talos' reader and its validation reject. Likely mistakes that they accept are
//! in [`caution`].

use super::caution;
use super::reader::{self, ManifestReader};
use super::verdict::{MOST, Remark};
use ichor_values::go_yaml::reader::YamlNode;
use ichor_values::{Issue, TalosVersion, nearest};

const SPEC: [&str; 5] = ["name", "container", "depends", "restart", "logToConsole"];
const CONTAINER: [&str; 6] = ["entrypoint", "environment", "environmentFile", "args", "mounts", "security"];
const SECURITY: [&str; 5] =
    ["writeableSysfs", "maskedPaths", "readonlyPaths", "writeableRootfs", "rootfsPropagation"];
const DEPENDENCY: [&str; 5] = ["service", "path", "network", "time", "configuration"];
/// The runtime specification has no keys for YAML, so go-yaml takes its names in lower case: not `uidMappings`.
const MOUNT: [&str; 6] = ["destination", "type", "source", "options", "uidmappings", "gidmappings"];
const MAPPING: [&str; 3] = ["containerid", "hostid", "size"];

const RESTART: [&str; 3] = ["always", "never", "untilSuccess"];
const NETWORK: [&str; 4] = ["addresses", "connectivity", "hostname", "etcfiles"];

/// A service that the node runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceDefinition {
    pub name: String,
    pub(crate) entrypoint: String,
    pub(crate) environment: Vec<String>,
    pub(crate) environment_file: String,
    pub(crate) mounts: Vec<Mount>,
    pub(crate) rootfs_propagation: String,
    pub(crate) depends: Vec<Dependency>,
    restarts: bool,
}

/// A path of the node that is mounted in the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mount {
    pub key: String,
    pub source: String,
    pub(crate) destination: String,
}

/// A dependency of the service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dependency {
    pub key: String,
    pub service: String,
    pub path: String,
    network: usize,
    time: bool,
    configuration: bool,
}

/// A definition, judged.
pub(super) struct Definition {
    root: Option<YamlNode>,
    /// Its content, unless it could not be read.
    pub service: Option<ServiceDefinition>,
    /// The problems for which Talos rejects it.
    pub problems: Vec<Remark>,
    /// Likely mistakes that Talos accepts.
    pub warnings: Vec<Remark>,
}

impl Definition {
    /// Reads and judges the text of a definition.
    pub(super) fn read(file: &str, bytes: &[u8], talos: &TalosVersion) -> Definition {
        let refused =
            |problems: Vec<Remark>| Definition { root: None, service: None, problems, warnings: Vec::new() };
        let root = match reader::document(file, bytes, talos) {
            Ok(root) => root,
            Err(problem) => return refused(vec![problem]),
        };
        let mut reader = ManifestReader::new(file, talos);
        let service = ServiceDefinition::read(&mut reader, &root);
        let (service, mut warnings) = match reader.finish(service) {
            Ok(read) => read,
            Err(problems) => return refused(problems),
        };
        // Only so many are reported: the line of a further one is not worth a search.
        let place = |(nth, issue): (usize, Issue)| {
            let line = if nth < MOST { root.line_at(&issue.subject) } else { 0 };
            Remark::new(file, line, issue)
        };
        let problems = service.issues().into_iter().enumerate().map(place).collect();
        warnings.extend(caution::warnings(&service, talos).into_iter().enumerate().map(place));
        warnings.extend(reader::further_documents(file, bytes));
        warnings.sort_by_key(|warning| (warning.line == 0, warning.line));
        Definition { root: Some(root), service: Some(service), problems, warnings }
    }

    /// A remark at the line that its path leads to.
    pub(super) fn locate(&self, remark: Remark) -> Remark {
        let path = &remark.issue.subject;
        let line = self.root.as_ref().filter(|_| !path.is_empty()).map(|root| root.line_at(path));
        Remark { line: line.unwrap_or(remark.line), ..remark }
    }
}

impl ServiceDefinition {
    fn read(reader: &mut ManifestReader<'_>, root: &YamlNode) -> ServiceDefinition {
        let mut service = ServiceDefinition::default();
        for (name, path, value) in reader.fields(root, "", &SPEC) {
            match name {
                "name" => service.name = reader.text(value, &path),
                "container" => service.read_container(reader, value, &path),
                "depends" => {
                    let items = reader.items(value, &path);
                    let depends = items.into_iter().map(|(path, item)| Dependency::read(reader, item, path));
                    service.depends = depends.collect();
                }
                "restart" => service.restarts = word(reader, value, &path, &RESTART),
                _ => drop(reader.flag(value, &path)),
            }
        }
        service
    }

    fn read_container(&mut self, reader: &mut ManifestReader<'_>, node: &YamlNode, path: &str) {
        for (name, path, value) in reader.fields(node, path, &CONTAINER) {
            match name {
                "entrypoint" => self.entrypoint = reader.text(value, &path),
                "environment" => self.environment = reader.texts(value, &path),
                "environmentFile" => self.environment_file = reader.text(value, &path),
                "args" => drop(reader.texts(value, &path)),
                "mounts" => {
                    let items = reader.items(value, &path);
                    self.mounts =
                        items.into_iter().map(|(path, item)| Mount::read(reader, item, path)).collect();
                }
                _ => self.read_security(reader, value, &path),
            }
        }
    }

    fn read_security(&mut self, reader: &mut ManifestReader<'_>, node: &YamlNode, path: &str) {
        for (name, path, value) in reader.fields(node, path, &SECURITY) {
            match name {
                "maskedPaths" | "readonlyPaths" => drop(reader.texts(value, &path)),
                "rootfsPropagation" => self.rootfs_propagation = reader.text(value, &path),
                _ => drop(reader.flag(value, &path)),
            }
        }
    }

    /// The issues for which Talos' validation rejects it.
    fn issues(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        let mut refuse =
            |path: &str, message: String, fix: &str| issues.push(Issue::error(path, message).with_help(fix));
        let is_letter =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if self.name.is_empty() {
            refuse("name", "missing: the service has no name".to_owned(), "give it one, such as `name: frr`");
        } else if !self.name.bytes().all(is_letter) {
            let message = format!("`{}` is not a service name", self.name);
            refuse("name", message, "use lower case letters, digits, `-` and `_` alone");
        }
        if !self.restarts {
            let fix = "write `restart: always`, `never` or `untilSuccess`";
            refuse("restart", "missing: Talos does not know when to start the service again".to_owned(), fix);
        }
        if self.entrypoint.is_empty() {
            let fix =
                "give the path of the program in the container, such as `entrypoint: /usr/bin/ichor-agent`";
            refuse("container.entrypoint", "missing: there is nothing to start".to_owned(), fix);
        }
        issues.extend(self.depends.iter().flat_map(Dependency::issues));
        issues
    }
}

impl Mount {
    fn read(reader: &mut ManifestReader<'_>, node: &YamlNode, key: String) -> Mount {
        let mut mount = Mount::default();
        for (name, path, value) in reader.fields(node, &key, &MOUNT) {
            match name {
                "destination" => mount.destination = reader.text(value, &path),
                "source" => mount.source = reader.text(value, &path),
                "type" => drop(reader.text(value, &path)),
                "options" => drop(reader.texts(value, &path)),
                _ => {
                    for (path, item) in reader.items(value, &path) {
                        for (_, path, value) in reader.fields(item, &path, &MAPPING) {
                            reader.number(value, &path);
                        }
                    }
                }
            }
        }
        Mount { key, ..mount }
    }
}

impl Dependency {
    fn read(reader: &mut ManifestReader<'_>, node: &YamlNode, key: String) -> Dependency {
        let mut dependency = Dependency::default();
        for (name, path, value) in reader.fields(node, &key, &DEPENDENCY) {
            match name {
                "service" => dependency.service = reader.text(value, &path),
                "path" => dependency.path = reader.text(value, &path),
                "network" => {
                    let items = reader.items(value, &path);
                    let known = items.iter().filter(|(path, item)| word(reader, item, path, &NETWORK));
                    dependency.network = known.count();
                }
                "time" => dependency.time = reader.flag(value, &path),
                _ => dependency.configuration = reader.flag(value, &path),
            }
        }
        Dependency { key, ..dependency }
    }

    fn issues(&self) -> Vec<Issue> {
        let mut issues = Vec::new();
        if !self.path.is_empty() && !self.path.starts_with('/') {
            let message = format!("`{}` is not an absolute path", self.path);
            issues
                .push(Issue::error(format!("{}.path", self.key), message).with_help("begin it with a slash"));
        }
        let set = [
            !self.service.is_empty(),
            !self.path.is_empty(),
            self.network > 0,
            self.time,
            self.configuration,
        ];
        match set.iter().filter(|set| **set).count() {
            0 => {
                let fix = "name a service, path or network, write `time: true` or `configuration: true`, or remove it";
                issues.push(Issue::error(&self.key, "it waits for nothing").with_help(fix));
            }
            1 => {}
            _ => {
                let message = "it waits for more than one thing";
                issues.push(Issue::error(&self.key, message).with_help("write one item for each"));
            }
        }
        issues
    }
}

/// Whether a node is one of some words, in any case; other words are faults, and an empty node is false.
fn word(reader: &mut ManifestReader<'_>, node: &YamlNode, path: &str, words: &[&str]) -> bool {
    if node.is_null() {
        return false;
    }
    let Some(text) = node.text() else {
        reader.fault(node, format_args!("`{path}` takes one of {}", words.join(", ")));
        return false;
    };
    let is_known = words.iter().any(|known| known.to_lowercase() == text.to_lowercase());
    if !is_known {
        let near = nearest(text, words.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
        let near = near.unwrap_or_default();
        reader.fault(node, format_args!("`{path}` takes one of {}, not `{text}`{near}", words.join(", ")));
    }
    is_known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, talos: &str) -> Definition {
        Definition::read("frr.yaml", text.as_bytes(), &TalosVersion::parse(talos).unwrap())
    }

    fn problems(text: &str) -> Vec<String> {
        let problems = read(text, "1.13").problems;
        problems
            .into_iter()
            .map(|it| format!("{}:{} {}", it.line, it.issue.subject, it.issue.message))
            .collect()
    }

    const GOOD: &str = "name: frr\ncontainer: {entrypoint: /x}\nrestart: always\n";

    #[test]
    fn words_match_in_any_case_and_null_is_empty() {
        for more in
            ["depends: [~]", "depends: ~", "depends: [{network: [Addresses, ~]}]", "container2: {a: 1, a: 2}"]
        {
            assert_eq!(problems(&format!("{GOOD}{more}\n")), [""; 0], "{more}");
        }
        assert_eq!(problems(&GOOD.replace("always", "UNTILSUCCESS")), [""; 0]);
        assert_eq!(problems(&GOOD.replace("frr", "123")), [""; 0]);
        for (more, warnings) in [
            ("depends: [{network: [~]}]", "waits for nothing"),
            ("depends: [{}]", "waits for nothing"),
            ("depends: [{network: [adresses]}]", "did you mean `addresses`?"),
            ("depends: [{network: addresses}]", "takes a list"),
            ("depends: {service: cri}", "takes a list"),
            ("depends: [{time: 1}]", "true or false"),
            ("depends: [{service: cri, time: yes}]", "more than one"),
            ("name: x", "written twice"),
            ("logToConsole: maybe", "true or false"),
        ] {
            let problems = problems(&format!("{GOOD}{more}\n"));
            assert!(problems.len() == 1 && problems[0].contains(warnings), "{more}: {problems:?}");
        }
    }

    #[test]
    fn every_problem_has_its_line() {
        let text = "name: F R R\ncontainer: {}\ndepends:\n  - path: a\n    service: b\nrestart: ~\n";

        let problems = problems(text);

        assert_eq!(problems.len(), 5, "{problems:?}");
        assert!(problems[0].starts_with("1:name `F R R`"), "{problems:?}");
        assert!(problems[3].starts_with("4:depends[0].path `a`"), "{problems:?}");
    }

    #[test]
    fn ignored_keys_of_a_definition_are_warnings() {
        let text = format!(
            "{}depend: []\n",
            GOOD.replace("/x}", "/x, security: {writableRootfs: true}, mounts: [{source: /a, destination: /a, uidMappings: []}]}")
        );

        let definition = read(&text, "1.13");

        assert!(definition.problems.is_empty());
        let warnings: Vec<_> =
            definition.warnings.iter().map(|it| (it.issue.subject.as_str(), it.fix())).collect();
        assert_eq!(
            warnings,
            [
                ("container.security.writableRootfs", "did you mean `writeableRootfs`?"),
                ("container.mounts[0].uidMappings", "did you mean `uidmappings`?"),
                ("depend", "did you mean `depends`?"),
            ]
        );
    }

    #[test]
    fn a_date_is_not_text_from_1_14_on() {
        let text = GOOD.replace("/x", "2001-01-01");

        assert!(read(&text, "1.13").problems.is_empty());
        assert_eq!(read(&text, "1.14").problems.len(), 1);
    }

    #[test]
    fn invalid_yaml_is_a_problem() {
        for (bytes, warnings) in [
            (&b"name: \xff"[..], "UTF-8"),
            (b"name: [", "not YAML"),
            (b"# nothing\n", "empty"),
            (b"name: \x01\n", "control character"),
            (b"x\n", "takes a map"),
        ] {
            let definition = Definition::read("x", bytes, &TalosVersion::parse("1.12").unwrap());
            assert!(definition.problems[0].issue.message.contains(warnings), "{:?}", definition.problems);
        }
    }
}
