//! `daemons`: which of FRR's daemons run, and with which options.

use std::fmt::Write;

use crate::model::{BgpModel, RoutingDomain};
use crate::render::{DaemonOptions, daemon_options};
use ichor_values::Issue;

/// The FRR daemons that a node may need.
const NAMES: [&str; 5] = ["mgmtd", "zebra", "bgpd", "bfdd", "staticd"];

/// Without this, each daemon has a VTY on a TCP port of every address.
const CLOSED: &str = "-P 0";

/// Bytes in zebra's netlink receive buffer; with fewer, it misses changes in a burst.
const NETLINK_BUFFER: &str = "16777216";

/// The file for a ready-made configuration.
pub(crate) fn default_daemons(configuration: &str, version: (u16, u16)) -> String {
    let bfd = configuration.lines().any(|line| line.split_whitespace().any(|word| word == "bfd"));
    let runs = |name| match name {
        "mgmtd" => version.0 >= 9,
        "bfdd" => bfd,
        _ => true,
    };
    let line = |name| format!("{name}=yes\n{name}_options=\"{CLOSED}\"\n");
    NAMES.into_iter().filter(|name| runs(name)).map(line).collect()
}

/// Renders the file; problems with the configured options are added to `issues`.
pub(crate) fn render(
    model: &BgpModel,
    written: &DaemonOptions,
    version: (u16, u16),
    issues: &mut Vec<Issue>,
) -> String {
    let mut text = format!("# {}: written by ichor\n", model.name);
    for name in NAMES {
        let runs = match name {
            "mgmtd" => version.0 >= 9,
            "bfdd" => !model.bfd().is_empty(),
            _ => true,
        };
        let more = daemon_options(written, name, issues);
        if !runs && !more.is_empty() {
            let reason = format!("`{name}` does not run here, so it takes no options");
            issues.push(Issue::error("routing.daemons", reason));
        }
        let mut options = options(model, name, version);
        options.extend_from_slice(more);
        let _ = writeln!(text, "{name}={}", if runs { "yes" } else { "no" });
        if runs {
            let _ = writeln!(text, "{name}_options=\"{}\"", options.join(" "));
        }
    }
    text + "vtysh_enable=yes\n"
}

fn options(model: &BgpModel, name: &str, version: (u16, u16)) -> Vec<String> {
    let mut options = vec![CLOSED.to_owned()];
    if name == "zebra" {
        options.push(format!("-s {NETLINK_BUFFER}"));
        if let Some(time) = model.fabric.graceful_restart {
            // Routes stay in the kernel while zebra is down, and are removed if it does not learn them again in time.
            options.push(format!("-r -K {}", u32::from(time) * 2));
        }
    }
    let namespaces = model
        .workload
        .as_ref()
        .is_some_and(|workload| matches!(workload.domain, RoutingDomain::Namespace { .. }));
    // With these options, a VRF is a network namespace instead of a VRF device: never both.
    match version.0 {
        ..=8 if namespaces && name == "zebra" => options.push("-n".to_owned()),
        9.. if namespaces => options.push("-w".to_owned()),
        _ => {}
    }
    options
}
