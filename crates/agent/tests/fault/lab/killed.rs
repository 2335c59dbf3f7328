//! An agent that is killed, again and again.

use std::thread;
use std::time::{Duration, Instant};

use crate::fault::node::Node;

/// How often the agent is killed.
const ROUNDS: usize = 100;

/// Lines that it says until a session is established, and a few more: each is a place to be killed at.
const LINES: usize = 16;

/// How long a line is waited for: an agent that says no more is done, and is killed while it runs.
const PATIENCE: Duration = Duration::from_millis(800);

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
        let (agent, log) = node.start();
        let said: Vec<String> =
            (0..(round + 12) % LINES).map_while(|_| log.recv_timeout(PATIENCE).ok()).collect();
        // Between two lines as well.
        thread::sleep(Duration::from_millis(3 * (round / LINES) as u64));
        agent.kill();
        eprintln!("{:?}: killed after {said:#?}", begin.elapsed());
        // The last rounds leave daemons without an agent.
        if round % 10 == 5 {
            node.fell();
        }
    }
    let agent = node.settle();

    similar_asserts::assert_eq!(node.look(), meant, "after the last start");
    agent.stop();
    node.down();
    similar_asserts::assert_eq!(node.look(), after, "after all was taken down");
    similar_asserts::assert_eq!(made(&after), made(&before), "after all was taken down");
}

/// What `down` takes away. The agent's files stay, and switches with what the kernel makes of them, and the routes of a node that
/// comes back.
fn made(seen: &[String]) -> Vec<&String> {
    let stays = ["file ", "node switch "];
    let of_others = ["proto bgp", "node route anycast"];
    let is_made = |line: &&String| {
        !stays.iter().any(|start| line.starts_with(start))
            && !of_others.iter().any(|word| line.contains(word))
    };
    seen.iter().filter(is_made).collect()
}
