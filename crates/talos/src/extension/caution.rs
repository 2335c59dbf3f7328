//! Likely mistakes in a service definition: Talos accepts them, and the service does not run or not as intended.

use super::service::ServiceDefinition;
use super::tree::ending;
use crate::release;
use ichor_values::{Issue, TalosVersion, nearest};

/// Talos' own services, with the minor release that first has them. Those of extensions begin with `ext-`.
const SERVICES: [(&str, u16); 13] = [
    ("apid", 11),
    ("auditd", 11),
    ("containerd", 11),
    ("cri", 11),
    ("dashboard", 11),
    ("etcd", 11),
    ("kubelet", 11),
    ("machined", 11),
    ("registryd", 11),
    ("sandboxd", 14),
    ("syslogd", 11),
    ("trustd", 11),
    ("udevd", 11),
];

/// The propagations that runc accepts for a root file system.
const PROPAGATION: [&str; 8] =
    ["private", "rprivate", "slave", "rslave", "shared", "rshared", "unbindable", "runbindable"];

/// Everything of that kind.
pub(super) fn warnings(service: &ServiceDefinition, talos: &TalosVersion) -> Vec<Issue> {
    let mut warnings = Vec::new();
    if let Some(rest) = service.name.strip_prefix("ext-") {
        let message = format!("Talos adds the prefix `ext-`: the service is called `ext-{}`", service.name);
        warnings.push(Issue::warning("name", message).with_help(format!("write `name: {rest}`")));
    }
    let propagation = service.rootfs_propagation.as_str();
    if !propagation.is_empty() && !PROPAGATION.contains(&propagation) {
        let message = format!("`{propagation}` is not a propagation mode that containerd supports");
        let fix = format!("write one of {}", PROPAGATION.join(", "));
        warnings.push(Issue::warning("container.security.rootfsPropagation", message).with_help(fix));
    }
    if !service.environment_file.is_empty() && !service.environment_file.starts_with('/') {
        let message = "a relative path: Talos waits for it in the node's root folder";
        warnings
            .push(Issue::warning("container.environmentFile", message).with_help("begin it with a slash"));
    }
    environment(service, &mut warnings);
    mounts(service, &mut warnings);
    dependencies(service, talos, &mut warnings);
    warnings
}

fn environment(service: &ServiceDefinition, warnings: &mut Vec<Issue>) {
    for (nth, variable) in service.environment.iter().enumerate() {
        let path = format!("container.environment[{nth}]");
        match variable.split_once('=') {
            None => warnings.push(
                Issue::warning(path, "no `=` in it: nothing is set").with_help("write it as NAME=VALUE"),
            ),
            Some((_, value)) if value.contains('$') => {
                let message = "`$` is not expanded: no shell reads it";
                warnings.push(Issue::warning(path, message).with_help("write the value itself"));
            }
            Some(_) => {}
        }
    }
}

fn mounts(service: &ServiceDefinition, warnings: &mut Vec<Issue>) {
    for mount in &service.mounts {
        let mut warn = |key: &str, message: &str, fix: &str| {
            warnings.push(Issue::warning(format!("{}.{key}", mount.key), message).with_help(fix));
        };
        if !mount.destination.starts_with('/') {
            warn(
                "destination",
                "not an absolute path: the container is not started with it",
                "begin it with a slash",
            );
        }
        // Before each start Talos makes the folders that are missing, whatever the type of the mount, and its own root
        // file system is read-only.
        if mount.source.is_empty() {
            let message =
                "missing: Talos fails to make a folder of that name, and does not start the service";
            warn(
                "source",
                message,
                "name a folder of the node; a tmpfs needs one although it does not use it: `/tmp`",
            );
        } else if !mount.source.starts_with('/') {
            let message =
                "not an absolute path: Talos makes a folder of that name in its root, which is read-only";
            warn(
                "source",
                message,
                "name a folder of the node; a tmpfs needs one although it does not use it: `/tmp`",
            );
        } else if ending(&mount.source) == "sock" && !service.depends.iter().any(|it| it.path == mount.source)
        {
            let message = "a socket that is not there yet is made as a folder, and stays one";
            warn("source", message, &format!("add `- path: {}` to `depends`", mount.source));
        }
    }
}

fn dependencies(service: &ServiceDefinition, talos: &TalosVersion, warnings: &mut Vec<Issue>) {
    for dependency in service.depends.iter().filter(|dependency| !dependency.service.is_empty()) {
        let (path, wanted) = (format!("{}.service", dependency.key), dependency.service.as_str());
        if wanted.strip_prefix("ext-") == Some(&service.name) {
            warnings.push(
                Issue::warning(path, "it waits for itself, and so does the boot of the node")
                    .with_help("remove it"),
            );
            continue;
        }
        let mut known =
            SERVICES.iter().filter(|(_, since)| release::at_least(talos, *since)).map(|(name, _)| *name);
        if wanted.starts_with("ext-") || known.clone().any(|name| name == wanted) {
            continue;
        }
        let message = format!(
            "Talos {talos} has no service `{wanted}`: the service never starts, and the boot waits for it"
        );
        let fix = match nearest(wanted, &mut known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("a service of an extension is called `ext-{wanted}`"),
        };
        warnings.push(Issue::warning(path, message).with_help(fix));
    }
}

#[cfg(test)]
mod tests {
    use super::super::service::Definition;
    use super::*;

    fn paths(more: &str) -> Vec<String> {
        let text = format!("name: frr\nrestart: always\n{more}\n");
        let definition = Definition::read("frr.yaml", text.as_bytes(), &TalosVersion::parse("1.13").unwrap());
        assert!(definition.problems.is_empty(), "{more}: {:?}", definition.problems);
        definition.warnings.into_iter().map(|warning| warning.issue.subject).collect()
    }

    #[test]
    fn unlikely_settings_are_reported() {
        for (container, path) in [
            ("environment: [PATH]", "container.environment[0]"),
            ("environment: ['A=1', 'PATH=$PATH:/x']", "container.environment[1]"),
            ("environmentFile: var/x", "container.environmentFile"),
            ("mounts: [{source: /a, destination: b}]", "container.mounts[0].destination"),
            ("mounts: [{destination: /tmp, type: tmpfs}]", "container.mounts[0].source"),
            ("mounts: [{source: tmpfs, destination: /tmp}]", "container.mounts[0].source"),
            ("mounts: [{source: /run/x.sock, destination: /x}]", "container.mounts[0].source"),
            ("security: {rootfsPropagation: shard}", "container.security.rootfsPropagation"),
        ] {
            assert_eq!(paths(&format!("container: {{entrypoint: /x, {container}}}")), [path], "{container}");
        }
        for depends in ["ext-frr", "frr2", "kubelt", "sandboxd"] {
            let text = format!("container: {{entrypoint: /x}}\ndepends: [{{service: {depends}}}]");
            assert_eq!(paths(&text), ["depends[0].service"], "{depends}");
        }
    }

    #[test]
    fn plausible_settings_are_not_reported() {
        let text = "container:\n  entrypoint: /x\n  environment: [A=]\n  environmentFile: /var/x\n  \
                    mounts: [{source: /run/x.sock, destination: /x}]\n  security: {rootfsPropagation: rslave}\n\
                    depends: [{path: /run/x.sock}, {service: ext-other}, {service: cri}]";

        assert_eq!(paths(text), [""; 0]);
    }
}
