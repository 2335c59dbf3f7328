//! An agent that is killed repeatedly.

use std::thread;
use std::time::{Duration, Instant};

use crate::fault::node::Node;

/// How often the agent is killed.
const ROUNDS: usize = 100;

/// Log lines until a session is established, and a few more: the agent is killed after any of them.
const LINES: usize = 16;

/// How long a log line is awaited: a silent agent is done, and is killed while it runs.
const PATIENCE: Duration = Duration::from_millis(800);

#[test]
fn an_agent_that_was_killed_a_hundred_times_leaves_the_same_state() {
    let begin = Instant::now();
    let calm = Node::new();
    let before = calm.snapshot();
    let agent = calm.start_and_wait();
    let running = calm.snapshot();
    agent.stop();
    calm.down();
    let after = calm.snapshot();

    let node = Node::new();
    for round in 0..ROUNDS {
        let (agent, log) = node.start();
        let lines: Vec<String> =
            (0..(round + 12) % LINES).map_while(|_| log.recv_timeout(PATIENCE).ok()).collect();
        // Also between two lines.
        thread::sleep(Duration::from_millis(3 * (round / LINES) as u64));
        agent.kill();
        eprintln!("{:?}: killed after {lines:#?}", begin.elapsed());
        // The last rounds leave daemons without an agent.
        if round % 10 == 5 {
            node.kill_all();
        }
    }
    let agent = node.start_and_wait();

    similar_asserts::assert_eq!(node.snapshot(), running, "after the last start");
    agent.stop();
    node.down();
    similar_asserts::assert_eq!(node.snapshot(), after, "after the removal");
    similar_asserts::assert_eq!(created(&after), created(&before), "after the removal");
}

/// What `down` removes. The agent's files stay, and sysctls with their effects in the kernel, and the routes of a node
/// that comes back.
fn created(seen: &[String]) -> Vec<&String> {
    let stays = ["file ", "node switch "];
    let of_others = ["proto bgp", "node route anycast"];
    let is_made = |line: &&String| {
        !stays.iter().any(|start| line.starts_with(start))
            && !of_others.iter().any(|word| line.contains(word))
    };
    seen.iter().filter(is_made).collect()
}
