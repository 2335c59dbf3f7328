//! MAC addresses that are given twice, or that no port can have.

use super::duplicate::{DuplicateValue, numbered, one_index, repeated, tell};
use crate::plan::{Decided, NodePlan};
use crate::rules::roll::AffectedNodes;
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
    check: |context, found| {
        let is = |mac: Mac| mac.is_multicast() && !is_none(mac);
        every(context, found, is, "is a multicast address");
    },
};

const ZERO: Rule = Rule {
    id: "mac-zero",
    severity: Severity::Error,
    summary: "a MAC address is all zeros or all ones",
    failure: "No port has such an address, so the link is never configured and its BGP session never comes up.",
    fix: "write the MAC address that the port really has",
    check: |context, found| every(context, found, is_none, "is not a valid port address"),
};

fn is_none(mac: Mac) -> bool {
    mac.0 == [0; 6] || mac.0 == [0xff; 6]
}

fn macs(node: &NodePlan) -> impl Iterator<Item = &Decided<Mac>> {
    node.ports.iter().filter_map(|port| port.mac.as_ref())
}

fn check_duplicate(context: &RuleContext<'_>, found: &mut Findings) {
    let plan = context.plan;
    let can_be = |mac: &Mac| !mac.is_multicast() && !is_none(*mac);
    let all = numbered(plan, |node| macs(node).map(|mac| mac.value).filter(can_be));
    let doubles = repeated(all).into_iter().filter_map(|(mac, numbers)| {
        let nodes = numbers.iter().map(|&nth| &plan.nodes[nth as usize]);
        let having = |node| macs(node).filter(move |has| has.value == mac).map(move |has| (node, has.origin));
        let ports: Vec<_> = nodes.flat_map(having).collect();
        if one_index(ports.iter().map(|(node, origin)| (node.index, *origin))) {
            return None;
        }
        let roll = ports.into_iter().map(|(node, origin)| (node, node.place_of(origin))).collect();
        Some(DuplicateValue { key: "macs".to_owned(), roll, what: mac.to_string() })
    });
    tell(found, doubles);
}

fn every(context: &RuleContext<'_>, found: &mut Findings, is: impl Fn(Mac) -> bool, why: &str) {
    let mut roll = AffectedNodes::default();
    let mut first = None;
    for node in &context.plan.nodes {
        for mac in macs(node).filter(|mac| is(mac.value)) {
            first.get_or_insert(mac.value);
            roll.add(node, node.place_of(mac.origin));
        }
    }
    if let Some(mac) = first {
        found.at(roll.path("macs"), roll.place(), format!("{mac} {why} ({roll})"));
    }
}
