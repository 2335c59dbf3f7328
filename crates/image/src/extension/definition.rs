//! The service definition: the command that the node starts, and its dependencies.
//!
//! It depends on nothing that only an installation has: routing may bring the node's addresses up.

use serde_json::{Value, json};

use super::container::AGENT;
use ichor_values::go_yaml::emit::emit;

/// machined's socket, over which the agent learns that the node is leaving.
const SOCKET: &str = "/system/run/machined/machine.sock";

/// The text of the definition of a service. `waits` is whether it is started only with an ExtensionServiceConfig.
pub(super) fn text(name: &str, waits: bool) -> String {
    // A missing socket would be created as a folder.
    let mut depends = vec![json!({"path": SOCKET})];
    if waits {
        // The first document of a service that runs already does not start it again.
        depends.push(json!({"configuration": true}));
    }
    emit(&json!({
        "name": name,
        "container": {
            "entrypoint": format!("/{AGENT}"),
            "args": ["run"],
            // The container has no other writable folder.
            "environment": ["TMPDIR=/run"],
            "mounts": [
                mount(SOCKET, SOCKET, &["rshared", "rbind", "ro"]),
                // Sockets of the daemons, and the files that the agent writes for them. /var is read-only before an installation.
                // With shared propagation, mounts below would appear on the node, once more with every start.
                mount(&format!("/run/ichor/{name}"), "/run", &["rprivate", "rbind", "rw"]),
                // The node finds network namespaces only in this folder.
                mount("/run/netns", "/run/netns", &["rshared", "rbind", "rw"]),
            ],
            "security": {
                // The agent sets sysctls, which are read-only otherwise.
                "writeableSysfs": true,
                "maskedPaths": [],
                "readonlyPaths": [],
                // Without, runc makes every mount a slave of the node's, whatever its options say: the node would not see a
                // namespace that the agent makes, and it would be gone with the container.
                "rootfsPropagation": "shared",
            },
        },
        "depends": depends,
        "restart": "always",
    }))
}

fn mount(source: &str, destination: &str, options: &[&str]) -> Value {
    json!({"source": source, "destination": destination, "type": "bind", "options": options})
}
