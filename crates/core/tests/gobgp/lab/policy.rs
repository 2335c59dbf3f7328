//! Evaluates the policies of a running gobgpd as gobgpd does.

use ichor_bgp::model::{PrefixFilter, PrefixRule};
use ipnet::IpNet;
use serde_json::Value;

/// Source or target of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    Fabric,
    Speaker,
    Agent,
}

/// The output of `gobgp -j policy` and `gobgp -j policy prefix`.
pub struct Policies<'v> {
    pub policies: &'v Value,
    pub sets: &'v Value,
}

fn named<'v>(list: &'v Value, name: &Value) -> Option<&'v Value> {
    list.as_array()?.iter().find(|one| one["name"] == *name)
}

impl Policies<'_> {
    /// The actions of the import statement that accepts a route; none if it is rejected.
    pub fn inward(&self, from: From, net: IpNet) -> Option<&Value> {
        let policy = named(self.policies, &"import".into()).expect("the policy `import`");
        let statement = policy["statements"].as_array()?.iter().find(|one| {
            let conditions = &one["conditions"];
            let speaker = conditions.get("neighbor_set").is_some();
            // 3 is local.
            let local = conditions["route_type"] == 3;
            (!speaker || from == From::Speaker)
                && (!local || from == From::Agent)
                && self.lies_in(conditions, net)
        })?;
        // 1 accepts.
        (statement["actions"]["route_action"] == 1).then_some(&statement["actions"])
    }

    /// Every set that statements refer to exists.
    pub fn undefined(&self) -> Vec<String> {
        let policies = self.policies.as_array().into_iter().flatten();
        let statements = policies.flat_map(|policy| policy["statements"].as_array().into_iter().flatten());
        let used = statements.filter_map(|statement| statement["conditions"].get("prefix_set"));
        let missing = used.filter(|set| named(self.sets, &set["name"]).is_none());
        missing.map(|set| set["name"].to_string()).collect()
    }

    fn lies_in(&self, conditions: &Value, net: IpNet) -> bool {
        let Some(set) = conditions.get("prefix_set") else { return true };
        let set = named(self.sets, &set["name"]).unwrap_or_else(|| panic!("{set} is not defined"));
        set["prefixes"].as_array().into_iter().flatten().any(|prefix| {
            let length = |key: &str| u8::try_from(prefix[key].as_u64().unwrap_or(0)).unwrap();
            let within: IpNet = prefix["ip_prefix"].as_str().unwrap().parse().unwrap();
            let lengths = length("mask_length_min")..=length("mask_length_max");
            within.contains(&net) && lengths.contains(&net.prefix_len())
        })
    }
}

/// Prefixes at the edges of a filter.
pub fn probes(filter: &PrefixFilter) -> Vec<IpNet> {
    let around = |term: &PrefixRule| {
        let (net, most) = (term.net, term.net.max_prefix_len());
        let lengths = [0, net.prefix_len().saturating_sub(1), net.prefix_len(), term.least, term.most, most];
        let of_length = move |length: u8| IpNet::new(net.addr(), length).unwrap().trunc();
        let last = IpNet::new(net.broadcast(), most).unwrap();
        lengths.into_iter().map(of_length).chain([last])
    };
    filter.0.iter().flat_map(around).collect()
}
