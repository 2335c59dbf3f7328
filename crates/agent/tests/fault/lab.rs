//! With real daemons.

use std::io::BufRead as _;
use std::thread;
use std::time::{Duration, Instant};

use crate::node::Node;

/// How often the agent is killed.
const ROUNDS: usize = 100;

/// Lines of its log after which a start is over: a kill after more of them is one of an agent that runs.
const LINES: usize = 40;

#[test]
fn killed_a_hundred_times_the_node_is_as_if_it_had_never_been() {
    let begin = Instant::now();
    let calm = Node::new();
    let before = calm.look();
    let agent = calm.settle();
    let meant = calm.look();
    agent.stop();
    calm.down();
    let after = calm.look();

    let node = Node::new();
    for round in 0..ROUNDS {
        let (agent, mut log) = node.start();
        let mut line = String::new();
        let mut seen = 0;
        while seen < round % LINES && log.read_line(&mut line).unwrap() > 0 {
            seen += 1;
        }
        // Between two lines as well.
        thread::sleep(Duration::from_micros(700 * (round / LINES) as u64));
        agent.kill();
        eprintln!(
            "{:?} round {round}: killed after {seen} lines: {}",
            begin.elapsed(),
            line.lines().last().unwrap_or_default()
        );
        if round % 5 == 4 {
            node.fell();
        }
    }
    let agent = node.settle();

    similar_asserts::assert_eq!(node.look(), meant, "after the last start");
    agent.stop();
    node.down();
    similar_asserts::assert_eq!(node.look(), after, "after all was taken down");
    similar_asserts::assert_eq!(after, before, "after all was taken down");
}
