//! Containers that Talos runs beside Kubernetes.

use super::{mount, required};
use crate::go::humanize;
use crate::go::image;
use crate::go::image::Image;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

const LONGEST_NAME: usize = 63;

const NETWORKS: [&str; 4] = ["addresses", "connectivity", "hostname", "etcfiles"];

/// Judges one.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    name(&document.get("name"), issues);
    reference(&document.get("image"), issues);
    for variable in document.get("environment").items().filter(|variable| !variable.text().contains('=')) {
        issues.error(&variable, "want KEY=value");
    }
    mount::validate(&document.get("mounts"), issues);
    one_of(&document.at(["security", "profile"]), &["restricted", "privileged"], issues);
    capabilities(&document.at(["security", "capabilities"]), issues);
    one_of(&document.at(["network", "mode"]), &["none", "host"], issues);
    limits(&document.at(["resources", "limits"]), issues);
    dependencies(&document.get("dependsOn"), document.get("name").text(), issues);
    for id in ["uid", "gid"].map(|key| document.at(["runAs", key])) {
        if id.number() < 0 {
            issues.error(&id, format!("{} is negative", id.number()));
        }
    }
}

fn name(name: &Field<'_>, issues: &mut DocumentIssues) {
    if !required(name, issues) {
        return;
    }
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.text().len() > LONGEST_NAME || !name.text().bytes().all(allowed) {
        let want = format!("want at most {LONGEST_NAME} lower case letters, digits and '-'");
        issues.error(name, format!("{:?} is not a container name: {want}", name.text()));
    }
}

fn reference(field: &Field<'_>, issues: &mut DocumentIssues) {
    if !required(field, issues) {
        return;
    }
    match image::parse(field.text()) {
        None => issues.error(field, format!("{:?} is not an image reference", field.text())),
        Some(Image::Tag) => {
            issues.warning(field, "the image has no digest: it may change with a restart");
        }
        Some(Image::Digest) => {}
    }
}

fn one_of(field: &Field<'_>, words: &[&str], issues: &mut DocumentIssues) {
    if !field.is_empty() && !words.contains(&field.text()) {
        issues.error(field, format!("{:?} is unknown: use {}", field.text(), words.join(" or ")));
    }
}

fn capabilities(capabilities: &Field<'_>, issues: &mut DocumentIssues) {
    let (add, drop) = (capabilities.get("add"), capabilities.get("drop"));
    for field in add.items() {
        if field.text() == "ALL" {
            issues.error(&field, "use `profile: privileged` for all of them");
        } else {
            capability(&field, issues);
        }
        if drop.items().any(|dropped| dropped.text() == field.text()) {
            issues.error(&field, format!("{:?} is both added and dropped", field.text()));
        }
    }
    drop.items().filter(|field| field.text() != "ALL").for_each(|field| capability(&field, issues));
}

fn capability(field: &Field<'_>, issues: &mut DocumentIssues) {
    let name = field.text();
    let written = !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    if !written || name.starts_with("CAP_") {
        issues.error(
            field,
            format!("{name:?} is not a capability: want upper case without CAP_, such as NET_ADMIN"),
        );
    }
}

fn limits(limits: &Field<'_>, issues: &mut DocumentIssues) {
    let (memory, cpu) = (limits.get("memory"), limits.get("cpu"));
    if !memory.is_empty() && humanize::parse_bytes(memory.text()).is_none() {
        issues.error(&memory, format!("{:?} is not a size, such as 512MiB", memory.text()));
    }
    let millicores = cpu.text().strip_suffix('m').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    if !cpu.is_empty()
        && millicores.and_then(|digits| digits.parse::<u64>().ok()).is_none_or(|number| number == 0)
    {
        issues.error(&cpu, format!("{:?} is not a number of millicores, such as 1500m", cpu.text()));
    }
}

fn dependencies(depends_on: &Field<'_>, own: &str, issues: &mut DocumentIssues) {
    for path in depends_on.get("paths").items() {
        mount::absolute(&path, issues);
    }
    for network in depends_on.get("networks").items().filter(|network| !NETWORKS.contains(&network.text())) {
        issues.error(
            &network,
            format!("{:?} is not a network condition: use one of {}", network.text(), NETWORKS.join(", ")),
        );
    }
    for container in depends_on.get("containers").items() {
        if required(&container, issues) && container.text() == own {
            issues.error(&container, "a container cannot wait for itself");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_container_has_a_name_and_an_image() {
        let pinned = format!("name: a-1\nimage: ghcr.io/a/b@sha256:{}", "0".repeat(64));
        check(
            "ContainerConfig",
            &[
                (&pinned, &[]),
                ("name: a\nimage: nginx", &["?image"]),
                ("name: A\nimage: Nginx", &["!name", "!image"]),
                ("args: [a]", &["!name", "!image"]),
            ],
        );
    }

    #[test]
    fn container_security_settings_must_be_known() {
        let of = |rest: &str| format!("name: a\nimage: x/y@sha256:{}\n{rest}", "0".repeat(64));
        check(
            "ContainerConfig",
            &[
                (&of("environment: [A=b, C]"), &["!environment[1]"]),
                (&of("security: {profile: privileged, capabilities: {add: [NET_ADMIN], drop: [ALL]}}"), &[]),
                (
                    &of("security: {profile: x, capabilities: {add: [ALL, CAP_X, a, B], drop: ['', B]}}"),
                    &[
                        "!security.profile",
                        "!security.capabilities.add[0]",
                        "!security.capabilities.add[1]",
                        "!security.capabilities.add[2]",
                        "!security.capabilities.add[3]",
                        "!security.capabilities.drop[0]",
                    ],
                ),
                (&of("network: {mode: bridge}"), &["!network.mode"]),
                (&of("resources: {limits: {cpu: 1500m, memory: 512MiB}}"), &[]),
                (
                    &of("resources: {limits: {cpu: '1', memory: x}}"),
                    &["!resources.limits.memory", "!resources.limits.cpu"],
                ),
                (&of("resources: {limits: {cpu: 0m}}"), &["!resources.limits.cpu"]),
                (&of("runAs: {uid: 0, gid: -1}"), &["!runAs.gid"]),
                (
                    &of("dependsOn: {paths: [/a, b], networks: [hostname, x], containers: [b, a, '']}"),
                    &[
                        "!dependsOn.paths[1]",
                        "!dependsOn.networks[1]",
                        "!dependsOn.containers[1]",
                        "!dependsOn.containers[2]",
                    ],
                ),
            ],
        );
    }
}
