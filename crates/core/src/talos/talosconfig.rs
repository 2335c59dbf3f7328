//! `talosconfig`: where Talos' API answers and what to show there, as `talosctl` reads it.

use serde_json::Value;

use super::document::one_line;
use super::secrets::{Pair, Pem};

/// Writes a talosconfig with one context, which is the current one.
///
/// `ca` is the certificate of Talos' authority, `admin` what the administrator shows.
pub fn talosconfig(name: &str, endpoints: &[String], nodes: &[String], ca: &Pem, admin: &Pair) -> String {
    let name = one_line(&Value::from(name));
    let mut text = format!("context: {name}\ncontexts:\n    {name}:\n");
    text.push_str(&list("endpoints", endpoints));
    // talosctl leaves out nodes that are not there, and writes endpoints always.
    if !nodes.is_empty() {
        text.push_str(&list("nodes", nodes));
    }
    for (key, pem) in [("ca", ca), ("crt", &admin.crt), ("key", &admin.key)] {
        text.push_str(&format!("        {key}: {}\n", pem.base64()));
    }
    text
}

fn list(key: &str, items: &[String]) -> String {
    if items.is_empty() {
        return format!("        {key}: []\n");
    }
    let mut text = format!("        {key}:\n");
    for item in items {
        text.push_str(&format!("            - {}\n", one_line(&Value::from(item.as_str()))));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::talos::document;
    use crate::talos::secrets::Bundle;

    #[test]
    fn it_holds_one_context() {
        let bundle = Bundle::read(include_str!("../../tests/talos/secrets-check/001-ok.yaml")).unwrap();
        let addresses = ["10.0.0.1".to_owned(), "fd00::1".to_owned()];

        let text = talosconfig("sol", &addresses, &addresses[..1], &bundle.os.crt, &bundle.k8s);

        let (ca, crt, key) = (bundle.os.crt.base64(), bundle.k8s.crt.base64(), bundle.k8s.key.base64());
        let context =
            json!({"endpoints": addresses, "nodes": ["10.0.0.1"], "ca": ca, "crt": crt, "key": key});
        assert_eq!(document::read(&text).unwrap(), [json!({"context": "sol", "contexts": {"sol": context}})]);
    }

    #[test]
    fn a_name_that_looks_like_a_number_stays_a_name() {
        let bundle = Bundle::read(include_str!("../../tests/talos/secrets-check/001-ok.yaml")).unwrap();

        let text = talosconfig("007", &[], &[], &bundle.os.crt, &bundle.os);

        let document = &document::read(&text).unwrap()[0];
        assert_eq!(document["context"], "007");
        assert_eq!(document["contexts"]["007"]["endpoints"], json!([]));
    }
}
