//! The link to the speaker as Talos documents, for nodes without the agent.

use serde_json::{Map, Value, json};

use super::document;
use ichor_bgp::model::workload::SessionEndpoint;
use ichor_bgp::model::{RoutingDomain, Workload};
use ichor_values::Mtu;

/// A veth pair, and the VRF with the daemon's end in it.
///
/// Talos creates both in the right order, restores the addresses of an end after it joins the VRF, and loads the module.
pub fn documents(workload: &Workload, mtu: Option<Mtu>) -> Vec<Value> {
    let mut body = end(&workload.theirs, workload.prefix, mtu);
    let mut ours = end(&workload.ours, workload.prefix, mtu);
    ours.insert("name".to_owned(), json!(workload.ours.link));
    body.insert("peer".to_owned(), Value::Object(ours));
    let mut documents = vec![document("VethConfig", &workload.theirs.link, body)];
    if let RoutingDomain::Vrf { name, table } = &workload.domain {
        let mut body = Map::new();
        body.insert("up".to_owned(), json!(true));
        body.insert("table".to_owned(), json!(table.to_string()));
        body.insert("links".to_owned(), json!([workload.ours.link]));
        documents.push(document("VRFConfig", name, body));
    }
    documents
}

fn end(end: &SessionEndpoint, prefix: u8, mtu: Option<Mtu>) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("up".to_owned(), json!(true));
    if let Some(mtu) = mtu {
        body.insert("mtu".to_owned(), json!(mtu.0));
    }
    body.insert("addresses".to_owned(), json!([{"address": format!("{}/{prefix}", end.address)}]));
    body
}
