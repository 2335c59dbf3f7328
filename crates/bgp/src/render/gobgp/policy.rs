//! Policies: which routes are imported, and which are exported.
//!
//! gobgpd has one list of each for all neighbours, and rejects a route that no statement accepts. An undefined set
//! would make it accept everything, so a set belongs to the statement that uses it.

use ipnet::IpNet;

use super::toml::TomlWriter;
use crate::model::fabric::{ExportPolicy, ImportPolicy};
use crate::model::{BgpModel, Family, PrefixFilter, PrefixRule};
use ichor_values::{Asn, Community};

/// The neighbour set with the load balancer.
const LOAD_BALANCER: &str = "load-balancer";

/// The set of paths that originate at the load balancer.
const FROM_LOAD_BALANCER: &str = "from-load-balancer";

const STATEMENTS: &str = "policy-definitions.statements";

/// Renders all sets and both policies.
pub(crate) fn render(toml: &mut TomlWriter, model: &BgpModel) {
    toml.table("global.apply-policy.config");
    toml.key("import-policy-list", vec!["import"]).key("default-import-policy", "reject-route");
    toml.key("export-policy-list", vec!["export"]).key("default-export-policy", "reject-route");
    if let Some(workload) = &model.workload {
        let host = IpNet::from(workload.theirs.address).to_string();
        toml.next("defined-sets.neighbor-sets").key("neighbor-set-name", LOAD_BALANCER);
        toml.key("neighbor-info-list", vec![host]);
        toml.next("defined-sets.bgp-defined-sets.as-path-sets").key("as-path-set-name", FROM_LOAD_BALANCER);
        toml.key("as-path-list", paths(model, workload.theirs.asn.0));
    }
    let (imports, exports) = (import_statements(model), export_statements(model));
    // Exports are selected by the prefix sets of the imports.
    for set in imports.iter().filter_map(|statement| statement.set.as_ref()) {
        set.write(toml);
    }
    for (name, statements) in [("import", imports), ("export", exports)] {
        toml.next("policy-definitions").key("name", name);
        for statement in &statements {
            statement.write(toml, model.asn);
        }
    }
}

/// The AS paths of the load balancer's routes as the policy sees them: for an external neighbour the node's AS number
/// is already prepended, for an internal one it is not.
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

/// The routes that a statement matches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchedRoutes {
    /// All routes.
    All,
    /// Routes from the load balancer, or to it.
    LoadBalancer,
    /// Routes that the agent added.
    Local,
    /// Routes that originate at the load balancer.
    FromLoadBalancer,
}

/// A set of prefixes.
struct PrefixSet {
    name: String,
    terms: Vec<PrefixRule>,
}

/// One statement: its conditions and its actions.
struct PolicyStatement<'m> {
    name: String,
    routes: MatchedRoutes,
    /// Only the prefixes of this set; unset, all prefixes.
    set: Option<PrefixSet>,
    accept: bool,
    local_preference: Option<u32>,
    /// Whether the next hop becomes an address of the node.
    own_next_hop: bool,
    /// Attributes that are added on export.
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
    fn new(name: impl Into<String>, routes: MatchedRoutes, accept: bool) -> Self {
        let name = name.into();
        Self { name, routes, set: None, accept, local_preference: None, own_next_hop: false, outward: None }
    }

    fn write(&self, toml: &mut TomlWriter, asn: Asn) {
        toml.next(STATEMENTS).key("name", self.name.as_str());
        match self.routes {
            MatchedRoutes::All => {}
            MatchedRoutes::LoadBalancer => {
                part(toml, "conditions.match-neighbor-set").key("neighbor-set", LOAD_BALANCER);
            }
            MatchedRoutes::Local => {
                part(toml, "conditions.bgp-conditions").key("route-type", "local");
            }
            MatchedRoutes::FromLoadBalancer => {
                part(toml, "conditions.bgp-conditions.match-as-path-set")
                    .key("as-path-set", FROM_LOAD_BALANCER);
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
            add_attributes(toml, outward, asn);
        }
    }
}

/// Starts a table below the latest statement.
fn part<'t>(toml: &'t mut TomlWriter, name: &str) -> &'t mut TomlWriter {
    toml.table(&format!("{STATEMENTS}.{name}"))
}

fn add_attributes(toml: &mut TomlWriter, outward: &ExportPolicy, asn: Asn) {
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

/// gobgpd's name of a community.
fn word(community: &Community) -> &str {
    match community.as_str() {
        "local-as" => "no-export-subconfed",
        "graceful-shutdown" => "65535:0",
        other => other,
    }
}

/// The import statements. gobgpd also applies them to routes that the agent adds.
fn import_statements(model: &BgpModel) -> Vec<PolicyStatement<'_>> {
    let mut statements = node_address_statements(model, "import-node-addresses", None);
    if let Some(workload) = &model.workload {
        statements.extend(prefix_statements(
            "load-balancer",
            MatchedRoutes::LoadBalancer,
            &workload.filter,
            &workload.families,
        ));
        statements.push(PolicyStatement::new(
            "load-balancer-reject-rest",
            MatchedRoutes::LoadBalancer,
            false,
        ));
    }
    let ImportPolicy { filter, local_preference, .. } = &model.fabric.inward;
    for mut statement in prefix_statements("fabric", MatchedRoutes::All, filter, &Family::ALL) {
        statement.local_preference = local_preference.filter(|_| statement.accept);
        statements.push(statement);
    }
    statements
}

/// The export statements: nothing to the load balancer, and to others only routes that originate on this node or at its
/// load balancer, whatever their prefix. Otherwise a node between two leafs would provide transit.
fn export_statements(model: &BgpModel) -> Vec<PolicyStatement<'_>> {
    let outward = Some(&model.fabric.outward);
    let own = node_address_statements(model, "export-node-addresses", outward);
    if model.workload.is_none() {
        return own;
    }
    let mut statements =
        vec![PolicyStatement::new("no-export-to-load-balancer", MatchedRoutes::LoadBalancer, false)];
    statements.extend(own);
    // Within one AS the next hop is kept, and the load balancer's is known on this node only.
    let own_next_hop = has_internal(model);
    statements.push(PolicyStatement {
        own_next_hop,
        outward,
        ..PolicyStatement::new("export-load-balancer-routes", MatchedRoutes::FromLoadBalancer, true)
    });
    statements
}

/// The node's own addresses: added by the agent, and among those that are announced.
fn node_address_statements<'m>(
    model: &BgpModel,
    name: &str,
    outward: Option<&'m ExportPolicy>,
) -> Vec<PolicyStatement<'m>> {
    let statement_for = |family: Family| {
        let nets = model.fabric.announced.iter().map(|announced| announced.net);
        let nets = nets.filter(|net| Family::of(*net) == family);
        let terms: Vec<_> = nets.map(|net| PrefixRule::exactly(true, net)).collect();
        let statement =
            PolicyStatement::new(format!("{name}-{}", suffix(family)), MatchedRoutes::Local, true);
        let set = PrefixSet { name: format!("node-addresses-{}", suffix(family)), terms };
        (!set.terms.is_empty()).then_some(PolicyStatement { set: Some(set), outward, ..statement })
    };
    Family::ALL.into_iter().filter_map(statement_for).collect()
}

/// Statements that permit what a filter does, each with the rules that fit into one set.
fn prefix_statements(
    name: &str,
    routes: MatchedRoutes,
    filter: &PrefixFilter,
    families: &[Family],
) -> Vec<PolicyStatement<'static>> {
    let mut statements = Vec::new();
    for &family in families {
        let mut runs: Vec<Vec<PrefixRule>> = Vec::new();
        for &term in filter.rules_for(family) {
            match runs.last_mut().filter(|run| fits_into(run, &term)) {
                Some(run) => run.push(term),
                None => runs.push(vec![term]),
            }
        }
        for (nth, terms) in runs.into_iter().enumerate() {
            let name = format!("{name}-{}-{}", suffix(family), nth + 1);
            let permit = terms.first().is_some_and(|term| term.permit);
            let set = Some(PrefixSet { name: name.clone(), terms });
            statements.push(PolicyStatement { set, ..PolicyStatement::new(name, routes, permit) });
        }
    }
    statements
}

/// A set has no order and no denials; and GoBGP 3 considers only the longest prefix of a set that contains a route.
fn fits_into(run: &[PrefixRule], term: &PrefixRule) -> bool {
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
