//! `talosconfig`: endpoints and credentials of Talos' API, as `talosctl` writes it.
//!
//! Not here: the certificate of the administrator ([`secrets`](super::secrets)).

use serde_json::{Map, Value, json};

use super::secrets::{Pair, Pem};
use ichor_values::go_yaml::emit;

/// Writes a talosconfig with one context, which is the current one.
///
/// `ca` is the certificate of Talos' authority, `admin` the administrator's.
pub fn talosconfig(name: &str, endpoints: &[String], nodes: &[String], ca: &Pem, admin: &Pair) -> String {
    let mut context = Map::new();
    context.insert("endpoints".to_owned(), endpoints.into());
    // talosctl omits an empty list of nodes, and always writes endpoints.
    if !nodes.is_empty() {
        context.insert("nodes".to_owned(), nodes.into());
    }
    for (key, pem) in [("ca", ca), ("crt", &admin.crt), ("key", &admin.key)] {
        context.insert(key.to_owned(), pem.base64().into());
    }
    let contexts = Map::from_iter([(name.to_owned(), Value::Object(context))]);
    emit::emit(&json!({"context": name, "contexts": contexts}))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::document;
    use crate::secrets::Bundle;

    #[test]
    fn a_talosconfig_has_one_context() {
        let bundle = Bundle::read(include_str!("../tests/data/secrets-check/001-ok.yaml")).unwrap();
        let addresses = ["10.0.0.1".to_owned(), "fd00::1".to_owned()];

        let text = talosconfig("sol", &addresses, &addresses[..1], &bundle.os.crt, &bundle.k8s);

        let (ca, crt, key) = (bundle.os.crt.base64(), bundle.k8s.crt.base64(), bundle.k8s.key.base64());
        let context =
            json!({"endpoints": addresses, "nodes": ["10.0.0.1"], "ca": ca, "crt": crt, "key": key});
        assert_eq!(document::read(&text).unwrap(), [json!({"context": "sol", "contexts": {"sol": context}})]);
    }

    #[test]
    fn a_name_that_looks_like_a_number_stays_a_name() {
        let bundle = Bundle::read(include_str!("../tests/data/secrets-check/001-ok.yaml")).unwrap();

        let text = talosconfig("007", &[], &[], &bundle.os.crt, &bundle.os);

        let document = &document::read(&text).unwrap()[0];
        assert_eq!(document["context"], "007");
        assert_eq!(document["contexts"]["007"]["endpoints"], json!([]));
    }
}
