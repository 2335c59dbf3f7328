//! Duplicate and invalid MAC addresses.

use super::duplicate::{DuplicateValue, find_duplicates, report_duplicates, share_index, values_by_node};
use crate::plan::{Decided, NodePlan};
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_values::Mac;

pub(super) const RULES: &[Rule] = &[DUPLICATE, MULTICAST, ZERO];

const DUPLICATE: Rule = Rule {
    id: "duplicate-mac",
    severity: Severity::Error,
    summary: "a MAC address is assigned twice",
    failure: "A boot server identifies machines by MAC address and gives both the same configuration: the second \
              machine joins under the first one's name.",
    fix: "write the MAC address that each port really has; leave `macs` out on virtual machines to have them derived",
    check: check_duplicate,
};

const MULTICAST: Rule = Rule {
    id: "mac-multicast",
    severity: Severity::Error,
    summary: "a MAC address is a multicast address",
    failure: "QEMU rejects a machine whose MAC address has the multicast bit. Where a hypervisor accepts it, the \
              switch floods every frame for the machine to all ports.",
    fix: "use an address with an even second digit; addresses that begin with 02 are locally administered",
    check: |context, findings| {
        let is_wrong = |mac: Mac| mac.is_multicast() && !is_null(mac);
        report_macs(context, findings, is_wrong, "is a multicast address");
    },
};

const ZERO: Rule = Rule {
    id: "mac-zero",
    severity: Severity::Error,
    summary: "a MAC address is all zeros or all ones",
    failure: "No port has such an address, so the link is never configured and its BGP session never comes up.",
    fix: "write the MAC address that the port really has",
    check: |context, findings| report_macs(context, findings, is_null, "is not a valid port address"),
};

fn is_null(mac: Mac) -> bool {
    mac.0 == [0; 6] || mac.0 == [0xff; 6]
}

fn macs(node: &NodePlan) -> impl Iterator<Item = &Decided<Mac>> {
    node.ports.iter().filter_map(|port| port.mac.as_ref())
}

fn check_duplicate(context: &RuleContext<'_>, findings: &mut Findings) {
    let plan = context.plan;
    let is_valid = |mac: &Mac| !mac.is_multicast() && !is_null(*mac);
    let all = values_by_node(plan, |node| macs(node).map(|mac| mac.value).filter(is_valid));
    let duplicates = find_duplicates(all).into_iter().filter_map(|(mac, numbers)| {
        let nodes = numbers.iter().map(|&nth| &plan.nodes[nth as usize]);
        let ports_with =
            |node| macs(node).filter(move |own| own.value == mac).map(move |own| (node, own.origin));
        let ports: Vec<_> = nodes.flat_map(ports_with).collect();
        if share_index(ports.iter().map(|(node, origin)| (node.index, *origin))) {
            return None;
        }
        let affected = ports.into_iter().map(|(node, origin)| (node, node.place_of(origin))).collect();
        Some(DuplicateValue { key: "macs".to_owned(), affected, what: mac.to_string() })
    });
    report_duplicates(findings, duplicates);
}

fn report_macs(
    context: &RuleContext<'_>,
    findings: &mut Findings,
    is_wrong: impl Fn(Mac) -> bool,
    why: &str,
) {
    let mut affected = AffectedNodes::default();
    let mut first = None;
    for node in &context.plan.nodes {
        for mac in macs(node).filter(|mac| is_wrong(mac.value)) {
            first.get_or_insert(mac.value);
            affected.add(node, node.place_of(mac.origin));
        }
    }
    if let Some(mac) = first {
        findings.add(affected.path("macs"), affected.place(), format!("{mac} {why} ({affected})"));
    }
}
