//! Options of FRR's daemons.

use std::net::IpAddr;

use super::session::bgp_groups;
use crate::cluster::section::NodeSettings;
use crate::model::layer;
use crate::plan::RoutingPlan;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Isolation;
use ichor_values::Backend;
use ichor_values::Text;
use ichor_values::key::List;

pub(super) const RULES: &[Rule] = &[NETNS_VRF, VTY_OPEN];

const NETNS_VRF: Rule = Rule {
    id: "zebra-netns-vrf",
    severity: Severity::Error,
    summary: "an option turns VRFs into network namespaces, and the speaker is in a VRF",
    failure: "With `-n`, FRR looks for VRFs among the network namespaces and ignores VRF devices. The instance toward \
              the speaker stays inactive, and no service address is announced.",
    fix: "remove `-n` and `-w`, or set `isolation: netns`",
    check: check_netns_vrf,
};

const VTY_OPEN: Rule = Rule {
    id: "vty-open",
    severity: Severity::Warning,
    summary: "a daemon's TCP console is open to the network",
    failure: "With `-P` the console listens on every address of the node. Anyone who has the password can withdraw \
              every route.",
    fix: "remove `-P` and `-A`, because vtysh and the agent use local sockets, or add `-A 127.0.0.1`",
    check: check_vty_open,
};

fn check_netns_vrf(context: &RuleContext<'_>, findings: &mut Findings) {
    report(
        context,
        findings,
        |routing, name, options| {
            let vrf =
                routing.workload.as_ref().is_some_and(|workload| workload.isolation.value == Isolation::Vrf);
            let flag = words(options)
                .find(|word| matches!(*word, "-w" | "--vrfwnetns") || (name == "zebra" && *word == "-n"));
            flag.filter(|_| vrf)
        },
        |name, flag| {
            format!("with `{flag}` {name} uses network namespaces as VRFs, but the speaker is in a VRF")
        },
    );
}

fn check_vty_open(context: &RuleContext<'_>, findings: &mut Findings) {
    report(
        context,
        findings,
        |_, _, options| {
            let port = option_value(options, "-P", "--vty_port");
            let address = option_value(options, "-A", "--vty_addr");
            let local = address.is_some_and(|address| {
                address == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
            });
            if local || port == Some("0") { None } else { port.or(address) }
        },
        |name, value| format!("`{value}` opens the TCP console of {name} to the network"),
    );
}

/// Reports the options that `wrong` returns, each once for all nodes.
fn report<'c>(
    context: &RuleContext<'c>,
    findings: &mut Findings,
    wrong: impl Fn(&RoutingPlan, &str, &'c List<Text>) -> Option<&'c str>,
    message: impl Fn(&str, &str) -> String,
) {
    let mut problems = NodesByProblem::new(context.plan);
    for (nodes, node, routing) in
        bgp_groups(context).filter(|(_, _, routing)| routing.backend.value == Backend::Frr)
    {
        let Some(daemons) = node.written().routing.get().and_then(|routing| routing.daemons.get()) else {
            continue;
        };
        for (name, options) in daemons.iter() {
            if let Some(option) = wrong(routing, name.as_str(), options.value) {
                problems.add((options.place, name.as_str(), option), nodes, options.place);
            }
        }
    }
    for ((place, name, option), affected) in problems {
        let key = format!("routing.daemons.{name}");
        let at = |settings: &NodeSettings| Some(settings.routing.get()?.daemons.get()?.get(name)?.place);
        findings.add(
            layer::setting_path(context.cluster, affected.first().nth, &key, place, at),
            place,
            message(name, option),
        );
    }
}

fn words(options: &List<Text>) -> impl Iterator<Item = &str> {
    options.values().flat_map(|option| option.as_str().split_ascii_whitespace())
}

/// The value of an option: the next word, joined to it, or after `=`.
fn option_value<'o>(options: &'o List<Text>, short: &str, long: &str) -> Option<&'o str> {
    let mut words = words(options);
    while let Some(word) = words.next() {
        if word == short || word == long {
            return words.next();
        }
        let joined = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        if let Some(value) = joined.or_else(|| word.strip_prefix(short)) {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_values::Location;
    use ichor_values::key::Spanned;

    #[test]
    fn options_are_found_in_every_spelling() {
        for text in ["-P 2605", "-P2605", "--vty_port=2605", "--vty_port 2605", "-s 90000 -P 2605"] {
            let options =
                List(vec![Spanned { value: Text::parse(text).unwrap(), place: Location::default() }]);

            assert_eq!(option_value(&options, "-P", "--vty_port"), Some("2605"), "{text}");
        }
    }
}
