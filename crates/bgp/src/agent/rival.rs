//! Another routing daemon in the node's network, which takes the node's routes for its own leftovers and removes them.
//!
//! It is most often in a container, so its process is not seen from the agent's. But the kernel lists the sockets of a network
//! whoever holds them, and every such daemon has one to be asked by.

use std::path::Path;

use ichor_values::Backend;

/// The flag of a socket that takes connections, as `/proc/net/unix` writes flags.
const LISTENS: &str = "00010000";

/// The rival of a backend's daemon, if one is there: what runs, and how it is found.
///
/// `sockets` is what `/proc/net/unix` says, `own` the socket of the node's own daemon of that kind, while that runs.
pub fn rival(backend: Backend, sockets: &str, own: Option<&str>) -> Option<String> {
    let name = sweeper(backend)?;
    let mut paths: Vec<&str> =
        sockets.lines().filter_map(listening).filter(|path| is_of(name, path)).collect();
    if let (Some(own), false) = (own, paths.is_empty()) {
        // A container has paths of its own, so another one's may be the same.
        let nth = paths.iter().position(|path| plain(path) == plain(own)).unwrap_or_default();
        paths.remove(nth);
    }
    paths.first().map(|path| format!("another {name} (its socket is {path})"))
}

/// Who removes routes of the protocol that a backend's have. zebra leaves BIRD's alone, BIRD leaves zebra's, and gobgpd writes none.
fn sweeper(backend: Backend) -> Option<&'static str> {
    match backend {
        Backend::Frr | Backend::Gobgp => Some("zebra"),
        Backend::Bird => Some("bird"),
        Backend::Native => None,
    }
}

/// The path of a socket that takes connections.
fn listening(line: &str) -> Option<&str> {
    let mut rest = line;
    let mut words = [""; 7];
    for word in &mut words {
        (*word, rest) = rest.trim_start().split_once(' ')?;
    }
    (words[3] == LISTENS && rest.starts_with('/')).then_some(rest)
}

/// Whether a socket is the one that a daemon is asked by: `zebra.vty`, `bird.ctl`, `bird6.ctl`.
fn is_of(name: &str, path: &str) -> bool {
    let path = Path::new(path);
    let [stem, end] = [path.file_stem(), path.extension()].map(|part| part.and_then(|part| part.to_str()));
    stem.is_some_and(|stem| stem.strip_suffix('6').unwrap_or(stem) == name)
        && matches!(end, Some("vty" | "ctl"))
}

/// `/var/run` is `/run`.
fn plain(path: &str) -> &str {
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
    fn the_only_zebra_is_the_nodes_own() {
        let sockets = listed(&["/run/frr/zebra.vty", "/run/frr/bgpd.vty", "/run/frr/zserv.api"]);

        assert_eq!(rival(Backend::Frr, &sockets, Some(OWN)), None);
        assert_eq!(rival(Backend::Frr, &listed(&[]), Some(OWN)), None);
    }

    #[test]
    fn a_second_zebra_is_named_by_its_socket_also_where_that_has_the_same_path() {
        let named = |path: &str| Some(format!("another zebra (its socket is {path})"));
        let beside = listed(&["/run/frr/second/zebra.vty", "/var/run/frr/zebra.vty"]);

        assert_eq!(rival(Backend::Frr, &beside, Some(OWN)), named("/run/frr/second/zebra.vty"));
        assert_eq!(rival(Backend::Frr, &listed(&[OWN, OWN]), Some(OWN)), named(OWN));
        assert_eq!(rival(Backend::Gobgp, &listed(&[OWN]), None), named(OWN));
    }

    #[test]
    fn a_socket_that_only_connected_is_nobodys() {
        let connected =
            listed(&["/run/frr/zebra.vty", "/run/frr/zebra.vty"]).replacen(LISTENS, "00000000", 1);

        assert_eq!(rival(Backend::Frr, &connected, Some(OWN)), None);
    }

    #[test]
    fn who_leaves_the_routes_of_the_daemon_alone_is_no_rival() {
        let calico = listed(&["/var/run/calico/bird.ctl", "/var/run/calico/bird6.ctl"]);

        assert_eq!(rival(Backend::Frr, &calico, None), None);
        assert_eq!(rival(Backend::Bird, &listed(&[OWN]), None), None);
        let found = rival(Backend::Bird, &calico, Some("/run/ichor/bird.ctl")).unwrap();
        assert!(found.starts_with("another bird (its socket is /var/run/calico/bird"), "{found}");
    }
}
