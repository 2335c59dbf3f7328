//! An agent that cannot do its work reports why, waits, and does no harm.

use std::thread;
use std::time::Duration;

use crate::fault::node::Node;
use ichor_testbed::lab::output_text;

/// Long enough to detect a busy loop.
const WHILE: Duration = Duration::from_secs(6);

/// Failures: the commands that cause one, a wrapper of the agent, its arguments, and its message.
const WRONG: [(&str, &str, &str, &str); 5] = [
    ("mount -t tmpfs none /usr/lib/frr", "env ICHOR_BACKEND=frr", "run", "FRR is not installed"),
    (
        "mkdir /tmp/full; mount -t tmpfs -o size=4k none /tmp/full; dd if=/dev/zero of=/tmp/full/all bs=4k count=1",
        "",
        "run --run /tmp/full",
        "cannot write /tmp/full/frr.conf.tried: No space left",
    ),
    (
        "true",
        "setpriv --bounding-set -net_admin --inh-caps -net_admin",
        "run",
        "the agent needs CAP_NET_ADMIN",
    ),
    ("true", "", "run --machined /tmp/look", "cannot connect to machined: "),
    ("mkdir /run/ichor; touch /run/ichor/status.sock /run/ichor/status.new", "", "run", "running"),
];

#[test]
fn failures_are_reported_and_awaited() {
    let started = WRONG.map(|(wrong, by, words, want)| {
        let node = Node::without_leaf();
        node.machine.ask(wrong);
        let (agent, log) = node.start_by(by, words);
        (node, agent, log, want)
    });
    thread::sleep(WHILE);

    for (_node, agent, log, want) in started {
        let used = agent.used();
        let lines: Vec<String> = log.try_iter().collect();
        let all = lines.join("\n");
        assert!(all.contains(want), "{want}: not logged:\n{all}");
        assert!(!all.contains("panicked"), "{want}:\n{all}");
        let events = lines.iter().filter(|line| !line.starts_with("debug: ")).count();
        assert!(events < 20, "{want}: logs too much:\n{all}");
        assert!(used < Duration::from_millis(400), "{want}: used {used:?}");
        agent.kill();
    }
}

#[test]
fn a_second_agent_exits_and_changes_nothing() {
    let node = Node::without_leaf();
    let (agent, log) = node.start();
    thread::sleep(Duration::from_secs(3));
    let before = node.snapshot();

    let second = node.command("run").output().unwrap();

    assert_eq!(second.status.code(), Some(2));
    assert!(
        output_text(&second).contains("another agent uses run directory /run/ichor; stop it first"),
        "{second:?}"
    );
    similar_asserts::assert_eq!(node.snapshot(), before);
    let status = node.command("status").output().unwrap();
    assert!(
        output_text(&status).contains("zebra"),
        "{}: {:?}",
        output_text(&status),
        log.try_iter().collect::<Vec<_>>()
    );
    agent.stop();
}

#[test]
fn an_unwritable_directory_is_reported() {
    let node = Node::without_leaf();
    node.machine.ask("mkdir /tmp/closed; mount -t tmpfs -o ro none /tmp/closed");

    let output = node.command("run --run /tmp/closed").output().unwrap();

    assert_eq!(output.status.code(), Some(2));
    assert!(
        output_text(&output).contains("cannot use run directory /tmp/closed: Read-only file system"),
        "{output:?}"
    );
}
