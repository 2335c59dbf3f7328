//! Detection of a conflicting routing daemon: one in the node's network that removes the node's routes as its own leftovers.
//!
//! It usually runs in a container, so the agent cannot see its process. But the kernel lists the Unix sockets of a network
//! namespace for all processes, and every such daemon has a control socket.

use std::path::Path;

use ichor_values::Backend;

/// The flags of a listening socket in `/proc/net/unix`.
const LISTENS: &str = "00010000";

/// The name and the socket of a daemon that conflicts with a backend's daemon, if one runs.
///
/// `sockets` is the text of `/proc/net/unix`, `own` the socket of the node's own daemon while it runs.
pub fn find_conflicting_daemon(backend: Backend, sockets: &str, own: Option<&str>) -> Option<String> {
    let name = conflicting_program(backend)?;
    let mut paths: Vec<&str> =
        sockets.lines().filter_map(listening_path).filter(|path| is_control_socket(name, path)).collect();
    if let (Some(own), false) = (own, paths.is_empty()) {
        // A container has its own file system, so another daemon may have the same path.
        let nth = paths.iter().position(|path| canonical(path) == canonical(own)).unwrap_or_default();
        paths.remove(nth);
    }
    paths.first().map(|path| format!("another {name} (its socket is {path})"))
}

/// The daemon that removes routes of a backend's route protocol. zebra and BIRD ignore each other's routes, gobgpd installs none.
fn conflicting_program(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::Frr | Backend::Gobgp => Some("zebra"),
        Backend::Bird => Some("bird"),
        Backend::Native => None,
    }
}

/// The path of a listening socket.
fn listening_path(line: &str) -> Option<&str> {
    let mut rest = line;
    let mut words = [""; 7];
    for word in &mut words {
        (*word, rest) = rest.trim_start().split_once(' ')?;
    }
    (words[3] == LISTENS && rest.starts_with('/')).then_some(rest)
}

/// Whether a socket is the control socket of a daemon: `zebra.vty`, `bird.ctl`, `bird6.ctl`.
fn is_control_socket(name: &str, path: &str) -> bool {
    let path = Path::new(path);
    let [stem, end] = [path.file_stem(), path.extension()].map(|part| part.and_then(|part| part.to_str()));
    stem.is_some_and(|stem| stem.strip_suffix('6').unwrap_or(stem) == name)
        && matches!(end, Some("vty" | "ctl"))
}

/// `/var/run` is `/run`.
fn canonical(path: &str) -> &str {
    path.strip_prefix("/var").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Num       RefCount Protocol Flags    Type St Inode Path\n";
    const OWN: &str = "/var/run/frr/zebra.vty";

    fn listed(paths: &[&str]) -> String {
        let line =
            |path: &&str| format!("0000000000000000: 00000002 00000000 00010000 0001 01 70011 {path}\n");
        let nameless = "0000000000000000: 00000003 00000000 00000000 0001 03 70012\n";
        HEAD.to_owned() + nameless + &paths.iter().map(line).collect::<String>()
    }

    #[test]
    fn the_nodes_own_zebra_is_no_conflict() {
        let sockets = listed(&["/run/frr/zebra.vty", "/run/frr/bgpd.vty", "/run/frr/zserv.api"]);

        assert_eq!(find_conflicting_daemon(Backend::Frr, &sockets, Some(OWN)), None);
        assert_eq!(find_conflicting_daemon(Backend::Frr, &listed(&[]), Some(OWN)), None);
    }

    #[test]
    fn a_second_zebra_is_detected_by_its_socket_even_at_the_same_path() {
        let named = |path: &str| Some(format!("another zebra (its socket is {path})"));
        let beside = listed(&["/run/frr/second/zebra.vty", "/var/run/frr/zebra.vty"]);

        assert_eq!(
            find_conflicting_daemon(Backend::Frr, &beside, Some(OWN)),
            named("/run/frr/second/zebra.vty")
        );
        assert_eq!(find_conflicting_daemon(Backend::Frr, &listed(&[OWN, OWN]), Some(OWN)), named(OWN));
        assert_eq!(find_conflicting_daemon(Backend::Gobgp, &listed(&[OWN]), None), named(OWN));
    }

    #[test]
    fn a_connected_socket_is_not_a_daemon() {
        let connected =
            listed(&["/run/frr/zebra.vty", "/run/frr/zebra.vty"]).replacen(LISTENS, "00000000", 1);

        assert_eq!(find_conflicting_daemon(Backend::Frr, &connected, Some(OWN)), None);
    }

    #[test]
    fn a_daemon_of_another_route_protocol_is_no_conflict() {
        let calico = listed(&["/var/run/calico/bird.ctl", "/var/run/calico/bird6.ctl"]);

        assert_eq!(find_conflicting_daemon(Backend::Frr, &calico, None), None);
        assert_eq!(find_conflicting_daemon(Backend::Bird, &listed(&[OWN]), None), None);
        let found = find_conflicting_daemon(Backend::Bird, &calico, Some("/run/ichor/bird.ctl")).unwrap();
        assert!(found.starts_with("another bird (its socket is /var/run/calico/bird"), "{found}");
    }
}
