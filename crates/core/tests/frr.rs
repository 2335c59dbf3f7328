//! What FRR itself says of what it is told. It must be installed: `scripts/tools frr`.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "real daemons read files")]

mod common;

mod lab {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::PathBuf;
    use std::process::{Command, Output};

    use ichor_core::cluster::section::Backend;

    /// A file for a daemon to read, gone with the test.
    struct Conf(PathBuf);

    impl Conf {
        fn new(name: &str, text: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ichor-{}-{name}.conf", std::process::id()));
            fs::write(&path, text).unwrap();
            Self(path)
        }

        fn fed_to(&self, program: &str) -> Output {
            let run = Command::new(program).arg("-C").arg("-f").arg(&self.0).output();
            run.unwrap_or_else(|error| panic!("{program}: {error}; install FRR with `scripts/tools frr`"))
        }
    }

    impl Drop for Conf {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.0);
        }
    }

    fn said(output: &Output) -> String {
        String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
    }

    /// The lines that concern bgpd: others end its reading.
    fn of_bgpd(conf: &str) -> String {
        let mut told = String::new();
        let mut skipping = false;
        for line in conf.lines() {
            skipping |= line == "bfd" || line.starts_with("interface ");
            let zebra = line.starts_with(" set src") || line.contains(" protocol bgp route-map ");
            if !skipping && !zebra {
                told += line;
                told.push('\n');
            }
            skipping &= line != "exit";
        }
        told
    }

    /// Every file of every case.
    fn files() -> Vec<(String, String)> {
        super::common::routing::confs(Backend::Frr)
    }

    #[test]
    fn the_grammar_of_every_file_is_frrs() {
        for (name, conf) in files() {
            let output = Conf::new(&name, &conf).fed_to("vtysh");
            assert!(output.status.success() && said(&output).is_empty(), "{name}: {}", said(&output));
        }
    }

    #[test]
    fn a_file_that_is_not_frrs_is_noticed() {
        let output =
            Conf::new("bad", "router bgp 65001\n neighbour 10.0.0.1 remote-as 65002\n").fed_to("vtysh");

        assert!(!output.status.success(), "{}", said(&output));
    }

    /// bgpd sees neighbours without AS number, unknown groups and a second AS number, which the grammar does not, and always
    /// exits with 0.
    #[test]
    fn bgpd_has_nothing_to_say_against_any_file() {
        for (name, conf) in files() {
            let output = Conf::new(&format!("{name}-bgpd"), &of_bgpd(&conf)).fed_to("/usr/lib/frr/bgpd");
            let said = said(&output);
            let harmless = |line: &str| line.starts_with("Graceful restart configuration changed");
            let against: Vec<_> = said.lines().filter(|line| !harmless(line)).collect();
            assert!(output.status.success() && against.is_empty(), "{name}: {against:#?}");
        }
    }

    #[test]
    fn a_file_that_bgpd_does_not_take_is_noticed() {
        let text = "router bgp 65001\n neighbor 10.0.0.1 timers 3 9\n";

        let output = Conf::new("bad-bgpd", text).fed_to("/usr/lib/frr/bgpd");

        assert!(!said(&output).is_empty());
    }

    /// Each line with the lines it stands below.
    fn lines(conf: &str) -> BTreeSet<String> {
        let mut above: Vec<(usize, &str)> = Vec::new();
        let mut found = BTreeSet::new();
        for line in conf.lines().filter(|line| !line.trim_start().starts_with('!') && !line.is_empty()) {
            let text = line.trim_start();
            let depth = line.len() - text.len();
            above.retain(|(other, _)| *other < depth);
            above.push((depth, text));
            if !text.starts_with("exit") {
                found.insert(above.iter().map(|(_, text)| *text).collect::<Vec<_>>().join(" / "));
            }
        }
        found
    }

    /// What FRR does anyway and therefore does not repeat; a port is a name without dots and colons.
    fn goes_without_saying(line: &str) -> bool {
        let unnumbered = |text: &str| {
            let port = text
                .split_once(" / neighbor ")
                .and_then(|(_, rest)| rest.strip_suffix(" capability extended-nexthop"));
            port.is_some_and(|port| {
                !port.contains([':', '.']) && port.chars().any(|c| c.is_ascii_lowercase())
            })
        };
        let defaults = ["/ detect-multiplier 3", "/ receive-interval 300", "/ transmit-interval 300"];
        line.starts_with("hostname ")
            || unnumbered(line)
            || defaults.iter().any(|default| line.ends_with(default))
    }

    /// Grammar is not enough: a daemon can refuse a line or take it for another. Needs root.
    #[test]
    fn running_daemons_have_every_line() {
        let script = super::common::folder("lab/frr-running");
        for (name, conf) in files() {
            let file = Conf::new(&format!("{name}-running"), &conf);
            let output = Command::new(&script).arg(&file.0).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{name}: {errors}; this test needs root, and `scripts/tools frr`"
            );
            let running = lines(&String::from_utf8_lossy(&output.stdout));
            let meant = lines(&conf);
            let lost: Vec<_> = meant.difference(&running).filter(|line| !goes_without_saying(line)).collect();
            assert!(lost.is_empty(), "{name}: {lost:#?}\n{errors}");
        }
    }
}
