//! Links in Talos' documents: those a document expects to exist, and those it creates.
//!
//! Not here: the links of the cluster file, and their settings.

use serde_json::Value;

use super::document;

/// A link that a document expects to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRef<'v> {
    /// The key that names it, such as `machine.network.interfaces[0].interface`.
    pub key: String,
    /// Its name.
    pub name: &'v str,
}

/// The links a document expects to be there.
pub fn expected(document: &Value) -> Vec<LinkRef<'_>> {
    let mut refs = Vec::new();
    for (nth, interface) in document::items(document, "/machine/network/interfaces") {
        let key = format!("machine.network.interfaces[{nth}]");
        let members = ["bond", "bridge"].map(|master| (master, format!("/{master}/interfaces")));
        if members.iter().all(|(_, pointer)| document::value_at(interface, pointer).is_none())
            && document::value_at(interface, "/dummy") != Some(&Value::Bool(true))
        {
            add(&mut refs, format!("{key}.interface"), document::value_at(interface, "/interface"));
        }
        for (master, pointer) in members {
            for name in document::texts(interface, &pointer) {
                refs.push(LinkRef { key: format!("{key}.{master}.interfaces"), name });
            }
        }
    }
    for (list, key) in [
        ("/cluster/network/cni/flannel/extraArgs", "cluster.network.cni.flannel.extraArgs"),
        ("/extraArgs", "KubeFlannelCNIConfig.extraArgs"),
    ] {
        let names = document::texts(document, list).filter_map(|arg| arg.strip_prefix("--iface="));
        refs.extend(names.map(|name| LinkRef { key: key.to_owned(), name }));
    }
    if let Some(kind) = document::kind(document) {
        of_kind(&mut refs, kind, document);
    }
    refs
}

fn add<'v>(refs: &mut Vec<LinkRef<'v>>, key: String, name: Option<&'v Value>) {
    if let Some(name) = name.and_then(Value::as_str) {
        refs.push(LinkRef { key, name });
    }
}

fn of_kind<'v>(refs: &mut Vec<LinkRef<'v>>, kind: &str, document: &'v Value) {
    let mut field = |field: &str| add(refs, format!("{kind}.{field}"), document.get(field));
    match kind {
        "LinkConfig" | "EthernetConfig" | "DHCPv4Config" | "DHCPv6Config" => field("name"),
        "Layer2VIPConfig" | "HCloudVIPConfig" => field("link"),
        "VLANConfig" => field("parent"),
        "BondConfig" | "BridgeConfig" | "VRFConfig" => {
            for name in document::texts(document, "/links") {
                refs.push(LinkRef { key: format!("{kind}.links"), name });
            }
        }
        "BGPInstanceConfig" => {
            for (nth, neighbor) in document::items(document, "/neighbors") {
                add(refs, format!("{kind}.neighbors[{nth}].link"), neighbor.get("link"));
            }
        }
        _ => {}
    }
}

/// The names of links that a document makes, or gives to ports.
pub fn made(document: &Value) -> Vec<&str> {
    let of_kind = match document::kind(document) {
        Some(
            "LinkAliasConfig" | "DummyLinkConfig" | "VLANConfig" | "BondConfig" | "BridgeConfig"
            | "VRFConfig" | "WireguardConfig" | "VethConfig",
        ) => document::name(document),
        _ => None,
    };
    let peer = document::value_at(document, "/peer/name").and_then(Value::as_str);
    let legacy = document::items(document, "/machine/network/interfaces")
        .filter_map(|(_, interface)| document::value_at(interface, "/interface")?.as_str());
    of_kind.into_iter().chain(peer).chain(legacy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, String)> {
        let documents = document::read(text).unwrap();
        let refs = documents.iter().flat_map(expected);
        refs.map(|link| (link.key, link.name.to_owned())).collect()
    }

    #[test]
    fn a_bond_is_made_and_its_ports_are_expected() {
        let text =
            "machine: {network: {interfaces: [{interface: bond0, bond: {interfaces: [ens18, ens19]}}]}}";

        let found = names(text);

        let key = "machine.network.interfaces[0].bond.interfaces".to_owned();
        assert_eq!(found, [(key.clone(), "ens18".to_owned()), (key, "ens19".to_owned())]);
        assert_eq!(made(&document::read(text).unwrap()[0]), ["bond0"]);
    }

    #[test]
    fn documents_name_links_each_in_its_own_way() {
        let text = "{apiVersion: v1alpha1, kind: VLANConfig, name: v20, parent: ens18}\n---\n{apiVersion: v1alpha1, kind: \
                    BGPInstanceConfig, name: fabric, neighbors: [{address: 10.0.0.1}, {link: fab0}]}";

        let found = names(text);

        let want = [("VLANConfig.parent", "ens18"), ("BGPInstanceConfig.neighbors[1].link", "fab0")];
        assert_eq!(found, want.map(|(key, name)| (key.to_owned(), name.to_owned())));
    }
}
