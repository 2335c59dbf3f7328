//! Policies: what is let in, and what is let out.
//!
//! gobgpd has one list of each for all neighbours, and what no statement accepts is rejected. A set that nobody defines would
//! make it accept everything, so a set belongs to the statement that uses it.

use ipnet::IpNet;

use super::toml::TomlWriter;
use crate::model::fabric::{ExportPolicy, ImportPolicy};
use crate::model::{BgpModel, Family, PrefixFilter, PrefixRule};
use ichor_values::{Asn, Community};

/// The set with the speaker in it.
const SPEAKER: &str = "load-balancer";

/// The set of paths that start at the speaker.
const BEHIND: &str = "from-load-balancer";

const STATEMENTS: &str = "policy-definitions.statements";

/// All sets and both policies.
pub(crate) fn render(toml: &mut TomlWriter, model: &BgpModel) {
    toml.table("global.apply-policy.config");
    toml.key("import-policy-list", vec!["import"]).key("default-import-policy", "reject-route");
    toml.key("export-policy-list", vec!["export"]).key("default-export-policy", "reject-route");
    if let Some(workload) = &model.workload {
        let host = IpNet::from(workload.theirs.address).to_string();
        toml.next("defined-sets.neighbor-sets").key("neighbor-set-name", SPEAKER);
        toml.key("neighbor-info-list", vec![host]);
        toml.next("defined-sets.bgp-defined-sets.as-path-sets").key("as-path-set-name", BEHIND);
        toml.key("as-path-list", paths(model, workload.theirs.asn.0));
    }
    let (inward, outward) = (inward(model), outward(model));
    // What goes out is told apart by no other sets than what comes in.
    for set in inward.iter().filter_map(|statement| statement.set.as_ref()) {
        set.write(toml);
    }
    for (name, statements) in [("import", inward), ("export", outward)] {
        toml.next("policy-definitions").key("name", name);
        for statement in &statements {
            statement.write(toml, model.asn);
        }
    }
}

/// The paths of the speaker's routes as the policy sees them: the own number is already in front for a neighbour outside, and
/// is not for one inside.
fn paths(model: &BgpModel, speaker: u32) -> Vec<String> {
    let mut paths = vec![format!("^{}_{speaker}$", model.asn)];
    if has_internal(model) {
        paths.push(format!("^{speaker}$"));
    }
    paths
}

fn has_internal(model: &BgpModel) -> bool {
    model.fabric.neighbors.iter().any(|neighbor| neighbor.asn == Some(model.asn))
}

/// Which routes a statement looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchedRoutes {
    /// All of them.
    Anybody,
    /// From the speaker, or to it.
    Speaker,
    /// What the agent added.
    Local,
    /// What starts at the speaker.
    Behind,
}

/// A set of prefixes.
struct PrefixSet {
    name: String,
    terms: Vec<PrefixRule>,
}

/// One statement: what it looks for, and what becomes of it.
struct PolicyStatement<'m> {
    name: String,
    of: MatchedRoutes,
    /// Only the prefixes of this set; all if there is none.
    set: Option<PrefixSet>,
    accept: bool,
    local_preference: Option<u32>,
    /// Whether the next hop becomes an address of the node.
    own_next_hop: bool,
    /// What is added on the way out.
    outward: Option<&'m ExportPolicy>,
}

impl PrefixSet {
    fn write(&self, toml: &mut TomlWriter) {
        toml.next("defined-sets.prefix-sets").key("prefix-set-name", self.name.as_str());
        for PrefixRule { net, least, most, .. } in &self.terms {
            toml.next("defined-sets.prefix-sets.prefix-list").key("ip-prefix", net.to_string());
            toml.key("masklength-range", format!("{least}..{most}"));
        }
    }
}

impl PolicyStatement<'_> {
    fn new(name: impl Into<String>, of: MatchedRoutes, accept: bool) -> Self {
        let name = name.into();
        Self { name, of, set: None, accept, local_preference: None, own_next_hop: false, outward: None }
    }

    fn write(&self, toml: &mut TomlWriter, asn: Asn) {
        toml.next(STATEMENTS).key("name", self.name.as_str());
        match self.of {
            MatchedRoutes::Anybody => {}
            MatchedRoutes::Speaker => {
                part(toml, "conditions.match-neighbor-set").key("neighbor-set", SPEAKER);
            }
            MatchedRoutes::Local => {
                part(toml, "conditions.bgp-conditions").key("route-type", "local");
            }
            MatchedRoutes::Behind => {
                part(toml, "conditions.bgp-conditions.match-as-path-set").key("as-path-set", BEHIND);
            }
        }
        if let Some(set) = &self.set {
            part(toml, "conditions.match-prefix-set").key("prefix-set", set.name.as_str());
        }
        let disposition = if self.accept { "accept-route" } else { "reject-route" };
        part(toml, "actions").key("route-disposition", disposition);
        if let Some(preference) = self.local_preference {
            part(toml, "actions.bgp-actions").key("set-local-pref", preference);
        }
        if self.own_next_hop {
            part(toml, "actions.bgp-actions").key("set-next-hop", "self");
        }
        if let Some(outward) = self.outward {
            leave(toml, outward, asn);
        }
    }
}

/// Starts a table below the statement that was started last.
fn part<'t>(toml: &'t mut TomlWriter, name: &str) -> &'t mut TomlWriter {
    toml.table(&format!("{STATEMENTS}.{name}"))
}

fn leave(toml: &mut TomlWriter, outward: &ExportPolicy, asn: Asn) {
    if outward.prepend > 0 {
        let prepend = part(toml, "actions.bgp-actions.set-as-path-prepend");
        prepend.key("as", asn.to_string()).key("repeat-n", outward.prepend);
    }
    let is_large = |community: &&Community| community.as_str().split(':').count() == 3;
    let (large, plain): (Vec<_>, Vec<_>) = outward.communities.iter().partition(is_large);
    for (action, list) in [("set-community", plain), ("set-large-community", large)] {
        if !list.is_empty() {
            let words: Vec<&str> = list.into_iter().map(word).collect();
            part(toml, &format!("actions.bgp-actions.{action}")).key("options", "add");
            let method = format!("actions.bgp-actions.{action}.{action}-method");
            part(toml, &method).key("communities-list", words);
        }
    }
}

/// gobgpd's word for a community.
fn word(community: &Community) -> &str {
    match community.as_str() {
        "local-as" => "no-export-subconfed",
        "graceful-shutdown" => "65535:0",
        other => other,
    }
}

/// What is let in. gobgpd asks this of what the agent adds, too.
fn inward(model: &BgpModel) -> Vec<PolicyStatement<'_>> {
    let mut statements = own(model, "import-node-addresses", None);
    if let Some(workload) = &model.workload {
        statements.extend(gate(
            "load-balancer",
            MatchedRoutes::Speaker,
            &workload.filter,
            &workload.families,
        ));
        statements.push(PolicyStatement::new("load-balancer-reject-rest", MatchedRoutes::Speaker, false));
    }
    let ImportPolicy { filter, local_preference, .. } = &model.fabric.inward;
    for mut statement in gate("fabric", MatchedRoutes::Anybody, filter, &Family::ALL) {
        statement.local_preference = local_preference.filter(|_| statement.accept);
        statements.push(statement);
    }
    statements
}

/// What is let out: nothing to the speaker, and to others only what starts here or at the speaker, whatever the prefix. Else a
/// node between two leafs is transit.
fn outward(model: &BgpModel) -> Vec<PolicyStatement<'_>> {
    let outward = Some(&model.fabric.outward);
    let own = own(model, "export-node-addresses", outward);
    if model.workload.is_none() {
        return own;
    }
    let mut statements =
        vec![PolicyStatement::new("no-export-to-load-balancer", MatchedRoutes::Speaker, false)];
    statements.extend(own);
    // Inside one AS the next hop is kept, and the speaker's is known on this node alone.
    let own_next_hop = has_internal(model);
    statements.push(PolicyStatement {
        own_next_hop,
        outward,
        ..PolicyStatement::new("export-load-balancer-routes", MatchedRoutes::Behind, true)
    });
    statements
}

/// The node's own addresses: added by the agent, and among those that are announced.
fn own<'m>(model: &BgpModel, name: &str, outward: Option<&'m ExportPolicy>) -> Vec<PolicyStatement<'m>> {
    let of = |family: Family| {
        let nets = model.fabric.announced.iter().map(|announced| announced.net);
        let nets = nets.filter(|net| Family::of(*net) == family);
        let terms: Vec<_> = nets.map(|net| PrefixRule::exactly(true, net)).collect();
        let statement =
            PolicyStatement::new(format!("{name}-{}", suffix(family)), MatchedRoutes::Local, true);
        let set = PrefixSet { name: format!("node-addresses-{}", suffix(family)), terms };
        (!set.terms.is_empty()).then_some(PolicyStatement { set: Some(set), outward, ..statement })
    };
    Family::ALL.into_iter().filter_map(of).collect()
}

/// Statements that let through what a filter does, each with the terms that can be told in one set.
fn gate(
    name: &str,
    of: MatchedRoutes,
    filter: &PrefixFilter,
    families: &[Family],
) -> Vec<PolicyStatement<'static>> {
    let mut statements = Vec::new();
    for &family in families {
        let mut runs: Vec<Vec<PrefixRule>> = Vec::new();
        for &term in filter.of(family) {
            match runs.last_mut().filter(|run| goes_with(run, &term)) {
                Some(run) => run.push(term),
                None => runs.push(vec![term]),
            }
        }
        for (nth, terms) in runs.into_iter().enumerate() {
            let name = format!("{name}-{}-{}", suffix(family), nth + 1);
            let permit = terms.first().is_some_and(|term| term.permit);
            let set = Some(PrefixSet { name: name.clone(), terms });
            statements.push(PolicyStatement { set, ..PolicyStatement::new(name, of, permit) });
        }
    }
    statements
}

/// A set has no order and no refusals; and GoBGP 3 looks only at the longest prefix of a set that a route lies in.
fn goes_with(run: &[PrefixRule], term: &PrefixRule) -> bool {
    run.iter().all(|other| {
        let (a, b) = (other.net, term.net);
        other.permit == term.permit && (a == b || !(a.contains(&b) || b.contains(&a)))
    })
}

fn suffix(family: Family) -> &'static str {
    match family {
        Family::V4 => "v4",
        Family::V6 => "v6",
    }
}
