//! Containers that Talos runs beside Kubernetes.

use super::{mount, required};
use crate::go::humanize;
use crate::go::image;
use crate::go::image::Image;
use crate::validate::Flaws;
use crate::validate::field::Field;

const LONGEST_NAME: usize = 63;

const NETWORKS: [&str; 4] = ["addresses", "connectivity", "hostname", "etcfiles"];

/// Judges one.
pub fn validate(document: &Field<'_>, flaws: &mut Flaws) {
    name(&document.get("name"), flaws);
    reference(&document.get("image"), flaws);
    for variable in document.get("environment").items().filter(|variable| !variable.text().contains('=')) {
        flaws.error(&variable, "want KEY=value");
    }
    mount::validate(&document.get("mounts"), flaws);
    one_of(&document.at(["security", "profile"]), &["restricted", "privileged"], flaws);
    capabilities(&document.at(["security", "capabilities"]), flaws);
    one_of(&document.at(["network", "mode"]), &["none", "host"], flaws);
    limits(&document.at(["resources", "limits"]), flaws);
    dependencies(&document.get("dependsOn"), document.get("name").text(), flaws);
    for id in ["uid", "gid"].map(|key| document.at(["runAs", key])) {
        if id.number() < 0 {
            flaws.error(&id, format!("{} is negative", id.number()));
        }
    }
}

fn name(name: &Field<'_>, flaws: &mut Flaws) {
    if !required(name, flaws) {
        return;
    }
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.text().len() > LONGEST_NAME || !name.text().bytes().all(allowed) {
        let want = format!("want at most {LONGEST_NAME} lower case letters, digits and '-'");
        flaws.error(name, format!("{:?} is no name of a container: {want}", name.text()));
    }
}

fn reference(field: &Field<'_>, flaws: &mut Flaws) {
    if !required(field, flaws) {
        return;
    }
    match image::parse(field.text()) {
        None => flaws.error(field, format!("{:?} is no reference to an image", field.text())),
        Some(Image::Tag) => {
            flaws.warning(field, "the image has no digest: what runs may change with a restart");
        }
        Some(Image::Digest) => {}
    }
}

fn one_of(field: &Field<'_>, words: &[&str], flaws: &mut Flaws) {
    if !field.is_empty() && !words.contains(&field.text()) {
        flaws.error(field, format!("{:?} is unknown: use {}", field.text(), words.join(" or ")));
    }
}

fn capabilities(capabilities: &Field<'_>, flaws: &mut Flaws) {
    let (add, drop) = (capabilities.get("add"), capabilities.get("drop"));
    for field in add.items() {
        if field.text() == "ALL" {
            flaws.error(&field, "use `profile: privileged` for all of them");
        } else {
            capability(&field, flaws);
        }
        if drop.items().any(|dropped| dropped.text() == field.text()) {
            flaws.error(&field, format!("{:?} is both added and dropped", field.text()));
        }
    }
    drop.items().filter(|field| field.text() != "ALL").for_each(|field| capability(&field, flaws));
}

fn capability(field: &Field<'_>, flaws: &mut Flaws) {
    let name = field.text();
    let written = !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    if !written || name.starts_with("CAP_") {
        flaws.error(
            field,
            format!("{name:?} is no capability: want upper case without CAP_, such as NET_ADMIN"),
        );
    }
}

fn limits(limits: &Field<'_>, flaws: &mut Flaws) {
    let (memory, cpu) = (limits.get("memory"), limits.get("cpu"));
    if !memory.is_empty() && humanize::parse_bytes(memory.text()).is_none() {
        flaws.error(&memory, format!("{:?} is no size, such as 512MiB", memory.text()));
    }
    let millicores = cpu.text().strip_suffix('m').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    if !cpu.is_empty()
        && millicores.and_then(|digits| digits.parse::<u64>().ok()).is_none_or(|number| number == 0)
    {
        flaws.error(&cpu, format!("{:?} is no number of millicores, such as 1500m", cpu.text()));
    }
}

fn dependencies(depends_on: &Field<'_>, own: &str, flaws: &mut Flaws) {
    for path in depends_on.get("paths").items() {
        mount::absolute(&path, flaws);
    }
    for network in depends_on.get("networks").items().filter(|network| !NETWORKS.contains(&network.text())) {
        flaws.error(
            &network,
            format!("{:?} is nothing to wait for: use one of {}", network.text(), NETWORKS.join(", ")),
        );
    }
    for container in depends_on.get("containers").items() {
        if required(&container, flaws) && container.text() == own {
            flaws.error(&container, "a container cannot wait for itself");
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
    fn settings_are_among_those_there_are() {
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
