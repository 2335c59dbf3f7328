//! Expressions in Talos documents: whether Talos would take one.
//!
//! Disk and volume selectors, link aliases and the settings of the OOM killer are written in the Common Expression
//! Language. Talos reads such a text when it validates a document, not when it loads it: [`check`] parses the text
//! (`parser`) and infers its type (`checker`) from the declarations of its [`Environment`].
//!
//! Not here: the value of an expression. Only a node has the disks and links it refers to.

mod checker;
mod environment;
mod expression;
mod library;
mod parser;
mod token;
mod types;

use ichor_values::TalosVersion;

/// The place of an expression, which determines its declarations and its result type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    /// Chooses a disk: `disk`, `system_disk`.
    Disk,
    /// Chooses a volume: `volume`, `disk`.
    Volume,
    /// Chooses a link: `link`.
    Link,
    /// Decides whether memory has run out.
    OomTrigger,
    /// Ranks a cgroup; the answer is a number.
    OomRanking,
}

/// Why Talos refuses an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub(crate) struct CelError {
    /// The character at fault, counted from 1 from the start of the text.
    pub column: usize,
    /// The problem.
    pub reason: String,
}

impl CelError {
    fn new(column: usize, reason: impl Into<String>) -> Self {
        Self { column, reason: reason.into() }
    }
}

/// Whether a release of Talos takes an expression.
pub(crate) fn check(text: &str, environment: Environment, talos: &TalosVersion) -> Result<(), CelError> {
    let expression = parser::parse(text, environment.has_optionals())?;
    let found = checker::check(&expression, environment, talos)?;
    let wanted = environment.answer();
    if found != wanted {
        return Err(CelError::new(1, format!("the answer is of type {found}, and {wanted} is wanted")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORDS: [&str; 34] = [
        "disk",
        ".size",
        "link",
        "mac(",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        "?",
        ":",
        ",",
        "-",
        "!",
        "==",
        "in ",
        "&&",
        "+",
        "1",
        "1u",
        "0x",
        "1.5e",
        "'a'",
        "r\"",
        "\\",
        "\u{e9}",
        " ",
        "has(",
        ".all(",
        "x,",
        "optional.of(",
        "google.protobuf.",
    ];

    fn check_for_release(release: &str, environment: Environment, text: &str) -> Result<(), CelError> {
        check(text, environment, &TalosVersion::parse(release).unwrap())
    }

    #[test]
    fn documented_expressions_are_accepted() {
        use Environment::{Disk, Link, OomRanking, OomTrigger, Volume};
        let taken = [
            (Disk, "disk.size > 120u * GB && disk.size < 1u * TB"),
            (Disk, "disk.transport == 'sata' && !disk.rotational && !system_disk"),
            (Disk, "disk.dev_path == '/dev/sda' || glob(\"nvme*\", disk.serial)"),
            (Disk, "'/dev/disk/by-id/ata-x' in disk.symlinks"),
            (Disk, "disk.symlinks.exists(s, s.startsWith('/dev/disk/by-id/'))"),
            (Disk, "disk.symlinks.filter(s, glob('*x', s)).size() == 1"),
            (Disk, "disk.symlinks.map(s, s.size()).exists_one(n, n > 3)"),
            (Disk, "size(disk.model) > 0 ? disk.model.matches('^Sam') : true"),
            (Disk, "has(disk.serial) && disk.serial != \"\" // a comment"),
            (Disk, "disk.size in [1u, 2u * GiB]"),
            (Disk, "double(disk.size) / 1e9 > 1.5 && int(disk.size) % 2 == 0"),
            (Disk, "{'a': disk.size}.a == 0x10u"),
            (Disk, "type(disk.size) == uint"),
            (Disk, "[1, 'a', 2.0].size() == 3"),
            (Disk, "true"),
            (Volume, "volume.partition_label == 'MY-DATA' && disk.transport == 'usb'"),
            (Volume, "volume.name == r'xfs' && volume.size > 10u * MiB"),
            (Link, "mac(link.permanent_addr) == '00:1a:2b:33:44:55'"),
            (Link, "glob('00:1a:2b:*', mac(link.permanent_addr)) && link.driver == 'virtio_net'"),
            (Link, "link.type == 1 && link.mtu >= 1500u && link.bond_master.mode == 4"),
            (Link, "link.wireguard.peers.all(p, p.persistent_keepalive_interval < duration('1m'))"),
            (
                OomTrigger,
                "memory_full_avg10 > 12.0 && d_memory_full_avg10 > 0.0 && time_since_trigger > duration('500ms')",
            ),
            (
                OomTrigger,
                "multiply_qos_vectors(d_qos_memory_full_total, {System: 8.0, Podruntime: 4.0}) > 3000.0 \
                 || (qos_memory_some_avg10[?Burstable].orValue(0.0) > 1.0)",
            ),
            (OomRanking, "memory_max.hasValue() ? 0.0 : {Besteffort: 1.0, Burstable: 0.5}[class]"),
            (OomRanking, "double(memory_current.orValue(0u)) * (path.contains('x') ? 1.0 : 0.5)"),
            (OomRanking, "memory_peak.optMap(m, double(m)).orValue(0.0)"),
            (OomRanking, "memory_peak.optFlatMap(m, memory_max).hasValue() ? 1.0 : -1.0"),
        ];

        for (environment, text) in taken {
            assert_eq!(check_for_release("v1.14.0", environment, text), Ok(()), "{text}");
        }
    }

    #[test]
    fn expressions_that_talos_rejects_are_rejected_with_their_location() {
        use Environment::{Disk, Link, OomRanking, OomTrigger, Volume};
        let refused = [
            (Disk, "disk.size > 120 * GB", 17),
            (Disk, "disk.size > 100", 11),
            (Disk, "disk.size == 1", 11),
            (Disk, "(system_disk ? disk.model : disk.size) == ''", 14),
            (Disk, "disk.sise > 1u", 5),
            (Disk, "disks.size > 1u", 1),
            (Disk, "disk.size", 1),
            (Disk, "disk.size > 1u &&", 18),
            (Disk, "disk.size = 1u", 11),
            (Disk, "(disk.size > 1u", 16),
            (Disk, "disk.model == 'a", 15),
            (Disk, "disk.model == '\\q'", 15),
            (Disk, "disk.model.contains(1)", 11),
            (Disk, "disk.model.upper() == 'A'", 11),
            (Disk, "mac(disk.model) == ''", 4),
            (Disk, "glob('x')", 5),
            (Disk, "disk.size && true", 5),
            (Disk, "disk.model.name == ''", 11),
            (Disk, "if == 1", 1),
            (Disk, "99999999999999999999 > 1", 1),
            (Disk, "disk[?'a'] == 1", 6),
            (Disk, "dyn(true)", 1),
            (Disk, "has(disk)", 5),
            (Disk, "disk.symlinks.all(s.x, true)", 20),
            (Disk, "true true", 6),
            (Disk, "", 1),
            (Disk, "-1u < 2u", 1),
            (Volume, "system_disk", 1),
            (Volume, "glob('a', volume.name)", 5),
            (Link, "link.permanent_addr == '00:11'", 21),
            (Link, "link.mtu > 1u * KiB", 17),
            (OomTrigger, "memory_full_avg10 > 12", 19),
            (OomTrigger, "memory_max > 1u", 1),
            (OomRanking, "memory_max.hasValue()", 1),
            (OomRanking, "1", 1),
        ];

        for (environment, text, column) in refused {
            let error = check_for_release("v1.14.0", environment, text).expect_err(text);
            assert_eq!(error.column, column, "{text}: {error}");
        }
    }

    #[test]
    fn a_field_exists_from_its_release_on() {
        let cases = [
            (Environment::Disk, "disk.firmware_version == '1'", "v1.13.9", "v1.14.0"),
            (Environment::Volume, "volume.offset > 1u", "v1.11.5", "v1.12.0"),
            (Environment::Link, "link.vrf_master.table == 1", "v1.12.4", "v1.13.0"),
            (Environment::Link, "link.veth.peer_name == ''", "v1.13.9", "v1.14.0"),
        ];

        for (environment, text, older, newer) in cases {
            assert!(check_for_release(older, environment, text).is_err(), "{text}");
            assert_eq!(check_for_release(newer, environment, text), Ok(()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_checked_without_a_panic(words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..20)) {
            for environment in [Environment::Disk, Environment::Link, Environment::OomTrigger] {
                let _ = check_for_release("v1.14.0", environment, &words.concat());
            }
        }
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        let deep = format!("{}true{}", "(".repeat(10_000), ")".repeat(10_000));
        let long = format!("disk{}", ".size".repeat(9_000));
        let wide = vec!["disk.model == 'x'"; 2_000].join(" || ");
        let nested = format!("{}true{}", "(".repeat(99), ")".repeat(99));
        let sum = format!("{}1 == 1", "1 + ".repeat(240));

        assert_eq!(check_for_release("v1.14.0", Environment::Disk, &nested), Ok(()));
        assert_eq!(check_for_release("v1.14.0", Environment::Disk, &sum), Ok(()));
        assert!(check_for_release("v1.14.0", Environment::Disk, &deep).is_err());
        assert!(check_for_release("v1.14.0", Environment::Disk, &long).is_err());
        assert_eq!(check_for_release("v1.14.0", Environment::Disk, &wide), Ok(()));
    }
}
