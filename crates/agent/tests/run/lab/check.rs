//! `check` and `render` on a node: they report problems and change nothing, even beside a running agent.

use super::node::Node;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::output_text;

const FILE: &str = "/usr/local/etc/frr/frr.conf";
const CONF: &str = "router bgp 65001\n bgp router-id 10.0.0.1\n neighbor 192.0.2.1 remote-as 65100\nexit\n";

/// Every file that could have been changed, with its mode and owner.
fn files(node: &Node) -> String {
    node.machine.ask("find /run /tmp /var/run /usr/local/etc -xdev -printf '%p %m %u %l\\n' | sort")
}

#[test]
fn a_check_reports_the_errors_of_the_daemon_and_changes_nothing() {
    for frr in Frr::ALL {
        let node = Node::new(frr.machine());
        for (conf, code) in [(CONF.to_owned(), 0), (CONF.replace("remote-as", "remot-as"), 1)] {
            node.machine.write(FILE, &conf);
            let before = files(&node);

            let checked = node.agent("check");
            let rendered = node.agent("render");

            assert_eq!(checked.status.code(), Some(code), "{frr:?}: {}", output_text(&checked));
            assert_eq!(
                output_text(&checked).contains("neighbor 192.0.2.1 remot-as"),
                code == 1,
                "{}",
                output_text(&checked)
            );
            assert!(output_text(&rendered).contains(&conf), "{}", output_text(&rendered));
            assert_eq!(files(&node), before, "{frr:?}");
        }

        node.machine.write(FILE, CONF);
        node.start(&[], "--port 0");
        node.wait_for("a daemon that answers", |status| status["stage"] == "running");
        let checked = node.agent("check");
        assert_eq!(checked.status.code(), Some(0), "{frr:?}: {}", output_text(&checked));
        node.stop();
    }
}
