//! Merging of kubeconfigs.
//!
//! [`merge`] keeps all entries that do not concern this cluster, in their order. Comments are lost, as with `kubectl config`.
//! [`has_access`] shows whether a merge is needed: Talos issues a new certificate with every kubeconfig, and a file that works
//! is not changed.

use serde_json::{Map, Value};

use ichor_talos::document;
use ichor_talos::secrets::{Pem, ends};
use ichor_values::Moment;
use ichor_values::go_yaml::emit;
use ichor_values::go_yaml::reader::SyntaxError;

/// Why kubeconfigs cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The existing file is invalid.
    #[error("the existing file is not a kubeconfig: {0}")]
    Theirs(KubeconfigError),
    /// The kubeconfig from the cluster is invalid.
    #[error("the cluster returned an invalid kubeconfig: {0}")]
    Ours(KubeconfigError),
}

/// Why a text is not a kubeconfig.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeconfigError {
    /// Not YAML.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A map of another kind.
    #[error("`kind` is not `Config`")]
    Kind,
    /// A list or scalar.
    #[error("the document is not a map")]
    NoMap,
    /// More than one document.
    #[error("the file has several documents")]
    Documents,
    /// A list key with another value.
    #[error("`{0}` is not a list")]
    NoList(&'static str),
}

/// The lists of a kubeconfig.
const LISTS: [&str; 3] = ["clusters", "contexts", "users"];

/// Adds the entries of `ours` to `theirs`, replacing those of the same name, and makes its context the current one.
pub fn merge(theirs: &str, ours: &str) -> Result<String, MergeError> {
    let ours = parse(ours).map_err(MergeError::Ours)?;
    let mut merged = parse(theirs).map_err(MergeError::Theirs)?;
    for list in LISTS {
        let more = entries(&ours, list).cloned().collect::<Vec<_>>();
        let known = merged.entry(list).or_insert(Value::Null);
        if known.is_null() {
            *known = Value::Array(Vec::new());
        }
        let Value::Array(all) = known else {
            return Err(MergeError::Theirs(KubeconfigError::NoList(list)));
        };
        for entry in more {
            match all.iter_mut().find(|one| one.get("name") == entry.get("name")) {
                Some(known) => *known = entry,
                None => all.push(entry),
            }
        }
    }
    if let Some(current) = ours.get("current-context") {
        merged.insert("current-context".to_owned(), current.clone());
    }
    Ok(emit::emit(&Value::Object(merged)))
}

/// Whether the file has access to the cluster at `server`, with its CA and a client certificate that is valid at `now`.
pub fn has_access(text: &str, server: &str, authority: &Pem, now: Moment) -> bool {
    let Ok(file) = parse(text) else { return false };
    let data = authority.base64();
    let is_ours = |entry: &&Value| {
        entry.pointer("/cluster/server").and_then(Value::as_str) == Some(server)
            && entry.pointer("/cluster/certificate-authority-data").and_then(Value::as_str) == Some(&data)
    };
    let find_named = |list: &'static str, name: Option<&str>| {
        entries(&file, list).find(|entry| entry.get("name").and_then(Value::as_str) == name)
    };
    let is_valid = |user: &Value| {
        let data = user.pointer("/user/client-certificate-data").and_then(Value::as_str);
        data.and_then(Pem::from_base64).and_then(|pem| ends(&pem)).is_some_and(|end| end > now)
    };
    entries(&file, "clusters").filter(is_ours).any(|cluster| {
        let name = cluster.get("name").and_then(Value::as_str);
        entries(&file, "contexts")
            .filter(|context| context.pointer("/context/cluster").and_then(Value::as_str) == name)
            .filter_map(|context| {
                find_named("users", context.pointer("/context/user").and_then(Value::as_str))
            })
            .any(is_valid)
    })
}

/// Removes all entries for clusters with this CA; none without such clusters.
///
/// Users are removed unless another context names them.
pub fn remove_cluster(text: &str, authority: &Pem) -> Result<Option<String>, MergeError> {
    let mut file = parse(text).map_err(MergeError::Theirs)?;
    let data = authority.base64();
    let name = |entry: &Value| entry.get("name").and_then(Value::as_str).map(str::to_owned);
    let is_ours = |entry: &&Value| {
        entry.pointer("/cluster/certificate-authority-data").and_then(Value::as_str) == Some(&data)
    };
    let clusters: Vec<_> = entries(&file, "clusters").filter(is_ours).filter_map(name).collect();
    if clusters.is_empty() {
        return Ok(None);
    }
    let word =
        |entry: &Value, pointer: &str| entry.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let is_removed =
        |entry: &&Value| word(entry, "/context/cluster").is_some_and(|name| clusters.contains(&name));
    let contexts: Vec<_> = entries(&file, "contexts").filter(is_removed).filter_map(name).collect();
    let others: Vec<_> = entries(&file, "contexts").filter(|entry| !is_removed(entry)).collect();
    let users: Vec<_> = entries(&file, "contexts")
        .filter(is_removed)
        .filter_map(|entry| word(entry, "/context/user"))
        .filter(|user| !others.iter().any(|other| word(other, "/context/user").as_ref() == Some(user)))
        .collect();
    for (list, removed) in LISTS.into_iter().zip([&clusters, &contexts, &users]) {
        if let Some(Value::Array(all)) = file.get_mut(list) {
            all.retain(|entry| name(entry).is_none_or(|name| !removed.contains(&name)));
        }
    }
    let current = file.get("current-context").and_then(Value::as_str);
    if current.is_some_and(|current| contexts.iter().any(|removed| removed == current)) {
        file.insert("current-context".to_owned(), Value::String(String::new()));
    }
    Ok(Some(emit::emit(&Value::Object(file))))
}

fn entries<'v>(file: &'v Map<String, Value>, list: &str) -> impl Iterator<Item = &'v Value> {
    file.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// Parses a kubeconfig. An empty text is an empty kubeconfig.
fn parse(text: &str) -> Result<Map<String, Value>, KubeconfigError> {
    let mut documents = document::read(text)?;
    match documents.len() {
        0 => Ok(Map::from_iter(
            [("apiVersion", "v1"), ("kind", "Config")].map(|(key, word)| (key.to_owned(), word.into())),
        )),
        1 => match documents.remove(0) {
            Value::Object(map) if map.get("kind").is_none_or(|kind| kind == "Config") => Ok(map),
            Value::Object(_) => Err(KubeconfigError::Kind),
            _ => Err(KubeconfigError::NoMap),
        },
        _ => Err(KubeconfigError::Documents),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ichor_talos::secrets::Bundle;

    fn one(name: &str, token: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: {name}, cluster: {{server: https://{name}:6443}}}}]\n\
             contexts: [{{name: admin@{name}, context: {{cluster: {name}, user: admin@{name}}}}}]\n\
             users: [{{name: admin@{name}, user: {{token: {token}}}}}]\ncurrent-context: admin@{name}\n"
        )
    }

    #[test]
    fn other_contexts_are_kept_and_the_merged_one_becomes_current() {
        let merged = merge(&one("luna", "l"), &one("sol", "s")).unwrap();

        let value = &document::read(&merged).unwrap()[0];
        assert_eq!(value["current-context"], "admin@sol");
        assert_eq!(value["clusters"][0]["name"], "luna");
        assert_eq!(value["clusters"][1]["cluster"]["server"], "https://sol:6443");
        assert_eq!(value["users"][0]["user"]["token"], "l");
    }

    #[test]
    fn a_removed_cluster_takes_only_its_context_and_user_along() {
        let authority = Pem::new("CERTIFICATE", b"ours");
        let ours = one("sol", "s").replace(
            "https://sol:6443",
            &format!("https://sol:6443, certificate-authority-data: {}", authority.base64()),
        );
        let merged = merge(&one("luna", "l"), &ours).unwrap();

        let removed = remove_cluster(&merged, &authority).unwrap().unwrap();

        let value = &document::read(&removed).unwrap()[0];
        assert_eq!(value["current-context"], "");
        for list in LISTS {
            assert_eq!(value[list].as_array().unwrap().len(), 1, "{list}");
        }
        assert_eq!(value["users"][0]["user"]["token"], "l");
        assert_eq!(remove_cluster(&removed, &authority), Ok(None));
        // Another cluster at the same address is not removed.
        assert_eq!(remove_cluster(&merged, &Pem::new("CERTIFICATE", b"other")), Ok(None));
    }

    #[test]
    fn a_repeated_merge_changes_nothing_and_a_new_one_replaces_the_old() {
        let merged = merge(&one("luna", "l"), &one("sol", "s")).unwrap();

        assert_eq!(merge(&merged, &one("sol", "s")).unwrap(), merged);
        let renewed = merge(&merged, &one("sol", "new")).unwrap();
        assert_eq!(document::read(&renewed).unwrap()[0]["users"].as_array().unwrap().len(), 2);
        assert!(renewed.contains("new"));
    }

    #[test]
    fn missing_lists_are_added() {
        for theirs in ["", "apiVersion: v1\nkind: Config\npreferences: {}\nclusters: null\n"] {
            let merged = merge(theirs, &one("sol", "s")).unwrap();

            assert_eq!(document::read(&merged).unwrap()[0]["contexts"][0]["name"], "admin@sol", "{theirs}");
        }
    }

    #[test]
    fn other_files_are_rejected() {
        assert!(matches!(merge("- a\n", &one("sol", "s")), Err(MergeError::Theirs(_))));
        assert!(matches!(merge("kind: Pod\n", &one("sol", "s")), Err(MergeError::Theirs(_))));
        assert!(matches!(merge("clusters: 5\n", &one("sol", "s")), Err(MergeError::Theirs(_))));
        assert!(matches!(merge("", "a: ["), Err(MergeError::Ours(_))));
    }

    #[test]
    fn access_needs_the_ca_of_the_cluster_and_a_valid_certificate() {
        let bundle =
            Bundle::read(include_str!("../../../talos/tests/data/secrets-check/001-ok.yaml")).unwrap();
        let (authority, server) = (bundle.k8s.crt.base64(), "https://10.0.0.1:6443");
        let file = format!(
            "clusters: [{{name: sol, cluster: {{server: {server}, certificate-authority-data: {authority}}}}}]\n\
             contexts: [{{name: sol, context: {{cluster: sol, user: me}}}}]\n\
             users: [{{name: me, user: {{client-certificate-data: {authority}}}}}]\n"
        );
        let leads = |server: &str, year: &str| {
            let now = Moment::parse(&format!("{year}-01-01T00:00:00Z")).unwrap();
            has_access(&file, server, &bundle.k8s.crt, now)
        };

        assert!(leads(server, "2026"));
        assert!(!leads("https://10.0.0.2:6443", "2026"));
        assert!(!leads(server, "2099"));
        assert!(!has_access(&file, server, &bundle.os.crt, Moment::parse("2026-01-01T00:00:00Z").unwrap()));
    }
}
