//! Names of machines.

use super::required;
use crate::go::netip;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Judges the name of this machine.
pub(crate) fn validate(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let (auto, name) = (document.get("auto"), document.get("hostname"));
    let off = ["", "off"].contains(&auto.text());
    // 1.12 takes `auto: off` without a name for an empty document.
    let nothing = if setting.at_least(13) { !auto.is_set() } else { off };
    if nothing && name.is_empty() {
        issues.error(&name, "set either `auto` or `hostname`");
    }
    if !off && !name.is_empty() {
        issues.error(&auto, "`auto` makes a name and `hostname` gives one: remove one of the two");
    }
    if !off && auto.text() != "stable" {
        issues.error(&auto, format!("{:?} is not for this place: use stable or off", auto.text()));
    }
    if !name.is_empty() {
        lengths(&name, issues);
    }
}

fn lengths(name: &Field<'_>, issues: &mut DocumentIssues) {
    let first = name.text().split('.').next().unwrap_or_default();
    if name.text().len() > 253 {
        issues.error(name, "a name with its domain has at most 253 bytes");
    }
    if first.is_empty() || first.len() > 63 {
        issues.error(name, format!("{first:?} is not a host name: want 1 to 63 bytes before the first dot"));
    }
}

/// Judges names of another machine.
pub(crate) fn static_host(document: &Field<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    if required(&name, issues) && !netip::is_address(name.text()) {
        issues.error(
            &name,
            format!("{:?} is not an IP address: the name is the machine's address", name.text()),
        );
    }
    required(&document.get("hostnames"), issues);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_by};

    #[test]
    fn a_hostname_is_generated_or_given() {
        let long = format!("hostname: {}", "a".repeat(64));
        let longer = format!("hostname: a.{}", "a".repeat(253));
        check(
            "HostnameConfig",
            &[
                ("auto: stable", &[]),
                ("hostname: a.example.com", &[]),
                ("auto: off", &[]),
                ("auto: off\nhostname: a", &[]),
                ("", &["!hostname"]),
                ("auto: stable\nhostname: a", &["!auto"]),
                ("auto: talos-addr", &["!auto"]),
                ("hostname: .a", &["!hostname"]),
                (&long, &["!hostname"]),
                (&longer, &["!hostname"]),
            ],
        );
        check_by(
            "v1.12.4",
            "HostnameConfig",
            &[("auto: off", &["!hostname"]), ("auto: off\nhostname: a", &[])],
        );
    }

    #[test]
    fn a_static_host_has_an_address_and_names() {
        check(
            "StaticHostConfig",
            &[
                ("name: 10.0.0.1\nhostnames: [a]", &[]),
                ("name: a", &["!name", "!hostnames"]),
                ("hostnames: [a]", &["!name"]),
            ],
        );
    }
}
