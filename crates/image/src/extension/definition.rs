//! The service definition: what the node starts, and when.
//!
//! It waits for nothing that comes only with an installation: routing may be what brings the node's addresses up.

use serde_json::{Value, json};

use super::container::AGENT;
use ichor_values::go_yaml::emit::emit;

/// machined's socket, over which the agent learns that the node is leaving.
const SOCKET: &str = "/system/run/machined/machine.sock";

/// The text of the definition of a service. `waits` is whether it is started only with an ExtensionServiceConfig.
pub(super) fn text(name: &str, waits: bool) -> String {
    // A socket that is not there yet would be made as a folder.
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
            // Nothing else can be written to.
            "environment": ["TMPDIR=/run"],
            "mounts": [
                mount(SOCKET, SOCKET, &["rshared", "rbind", "ro"]),
                // Sockets of the daemons, and the files that the agent writes for them. /var is read-only before an installation.
                // Shared, what is mounted below would be mounted on the node too, once more with every start.
                mount(&format!("/run/ichor/{name}"), "/run", &["rprivate", "rbind", "rw"]),
                // Namespaces are seen by the node only from where it looks for them.
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
