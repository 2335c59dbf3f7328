//! A kubeconfig with one cluster more.
//!
//! [`merge`] keeps everything of the file that is not about this cluster, in its order. Comments are lost, as with
//! `kubectl config`. [`leads_to`] says whether that is needed at all: every kubeconfig that Talos gives out has a fresh
//! certificate, and a file that works is left alone.

use serde_json::{Map, Value};

use ichor_talos::document;
use ichor_talos::secrets::{Pem, ends};
use ichor_values::Moment;
use ichor_values::go_yaml::emit;
use ichor_values::go_yaml::reader::SyntaxError;

/// Why kubeconfigs cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The file is none.
    #[error("the existing file is not a kubeconfig: {0}")]
    Theirs(KubeconfigError),
    /// The one from the cluster is none.
    #[error("the cluster returned an invalid kubeconfig: {0}")]
    Ours(KubeconfigError),
}

/// Why a text is no kubeconfig.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeconfigError {
    /// It is not YAML.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// It is a map of another kind.
    #[error("`kind` is not `Config`")]
    Kind,
    /// It is a list or a word.
    #[error("the document is not a map")]
    NoMap,
    /// It is more than one document.
    #[error("the file has several documents")]
    Documents,
    /// A key that holds a list has another value.
    #[error("`{0}` is not a list")]
    NoList(&'static str),
}

/// The lists of a kubeconfig.
const LISTS: [&str; 3] = ["clusters", "contexts", "users"];

/// `theirs` with the context of `ours` added, or put in the place of the one with its name, and made the current one.
pub fn merge(theirs: &str, ours: &str) -> Result<String, MergeError> {
    let ours = read(ours).map_err(MergeError::Ours)?;
    let mut merged = read(theirs).map_err(MergeError::Theirs)?;
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

/// Whether the file has a way to the cluster behind `server`, by its authority and with a certificate that still holds at
/// `now`.
pub fn leads_to(text: &str, server: &str, authority: &Pem, now: Moment) -> bool {
    let Ok(file) = read(text) else { return false };
    let data = authority.base64();
    let is_ours = |entry: &&Value| {
        entry.pointer("/cluster/server").and_then(Value::as_str) == Some(server)
            && entry.pointer("/cluster/certificate-authority-data").and_then(Value::as_str) == Some(&data)
    };
    let named = |list: &'static str, name: Option<&str>| {
        entries(&file, list).find(|entry| entry.get("name").and_then(Value::as_str) == name)
    };
    let holds = |user: &Value| {
        let data = user.pointer("/user/client-certificate-data").and_then(Value::as_str);
        data.and_then(Pem::from_base64).and_then(|pem| ends(&pem)).is_some_and(|end| end > now)
    };
    entries(&file, "clusters").filter(is_ours).any(|cluster| {
        let name = cluster.get("name").and_then(Value::as_str);
        entries(&file, "contexts")
            .filter(|context| context.pointer("/context/cluster").and_then(Value::as_str) == name)
            .filter_map(|context| named("users", context.pointer("/context/user").and_then(Value::as_str)))
            .any(holds)
    })
}

/// The file without every way to the cluster of this authority, wherever it leads; none where there is no such way.
///
/// Users go with the contexts that alone name them.
pub fn remove(text: &str, authority: &Pem) -> Result<Option<String>, MergeError> {
    let mut file = read(text).map_err(MergeError::Theirs)?;
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
    let leads = |entry: &&Value| word(entry, "/context/cluster").is_some_and(|name| clusters.contains(&name));
    let contexts: Vec<_> = entries(&file, "contexts").filter(leads).filter_map(name).collect();
    let others: Vec<_> = entries(&file, "contexts").filter(|entry| !leads(entry)).collect();
    let users: Vec<_> = entries(&file, "contexts")
        .filter(leads)
        .filter_map(|entry| word(entry, "/context/user"))
        .filter(|user| !others.iter().any(|other| word(other, "/context/user").as_ref() == Some(user)))
        .collect();
    for (list, gone) in LISTS.into_iter().zip([&clusters, &contexts, &users]) {
        if let Some(Value::Array(all)) = file.get_mut(list) {
            all.retain(|entry| name(entry).is_none_or(|name| !gone.contains(&name)));
        }
    }
    let current = file.get("current-context").and_then(Value::as_str);
    if current.is_some_and(|current| contexts.iter().any(|gone| gone == current)) {
        file.insert("current-context".to_owned(), Value::String(String::new()));
    }
    Ok(Some(emit::emit(&Value::Object(file))))
}

fn entries<'v>(file: &'v Map<String, Value>, list: &str) -> impl Iterator<Item = &'v Value> {
    file.get(list).and_then(Value::as_array).into_iter().flatten()
}

/// A kubeconfig; an empty text is one with nothing in it.
fn read(text: &str) -> Result<Map<String, Value>, KubeconfigError> {
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
    fn other_contexts_are_kept_and_ours_becomes_the_current_one() {
        let merged = merge(&one("luna", "l"), &one("sol", "s")).unwrap();

        let value = &document::read(&merged).unwrap()[0];
        assert_eq!(value["current-context"], "admin@sol");
        assert_eq!(value["clusters"][0]["name"], "luna");
        assert_eq!(value["clusters"][1]["cluster"]["server"], "https://sol:6443");
        assert_eq!(value["users"][0]["user"]["token"], "l");
    }

    #[test]
    fn a_cluster_that_is_gone_takes_its_context_and_user_along_and_nothing_else() {
        let authority = Pem::new("CERTIFICATE", b"ours");
        let ours = one("sol", "s").replace(
            "https://sol:6443",
            &format!("https://sol:6443, certificate-authority-data: {}", authority.base64()),
        );
        let merged = merge(&one("luna", "l"), &ours).unwrap();

        let removed = remove(&merged, &authority).unwrap().unwrap();

        let value = &document::read(&removed).unwrap()[0];
        assert_eq!(value["current-context"], "");
        for list in LISTS {
            assert_eq!(value[list].as_array().unwrap().len(), 1, "{list}");
        }
        assert_eq!(value["users"][0]["user"]["token"], "l");
        assert_eq!(remove(&removed, &authority), Ok(None));
        // Another cluster at the same address is somebody else's.
        assert_eq!(remove(&merged, &Pem::new("CERTIFICATE", b"other")), Ok(None));
    }

    #[test]
    fn twice_gives_the_same_file_and_a_new_one_takes_the_place_of_the_old() {
        let merged = merge(&one("luna", "l"), &one("sol", "s")).unwrap();

        assert_eq!(merge(&merged, &one("sol", "s")).unwrap(), merged);
        let renewed = merge(&merged, &one("sol", "new")).unwrap();
        assert_eq!(document::read(&renewed).unwrap()[0]["users"].as_array().unwrap().len(), 2);
        assert!(renewed.contains("new"));
    }

    #[test]
    fn a_file_that_is_empty_or_has_no_lists_gets_them() {
        for theirs in ["", "apiVersion: v1\nkind: Config\npreferences: {}\nclusters: null\n"] {
            let merged = merge(theirs, &one("sol", "s")).unwrap();

            assert_eq!(document::read(&merged).unwrap()[0]["contexts"][0]["name"], "admin@sol", "{theirs}");
        }
    }

    #[test]
    fn what_is_no_kubeconfig_is_left_alone() {
        assert!(matches!(merge("- a\n", &one("sol", "s")), Err(MergeError::Theirs(_))));
        assert!(matches!(merge("kind: Pod\n", &one("sol", "s")), Err(MergeError::Theirs(_))));
        assert!(matches!(merge("clusters: 5\n", &one("sol", "s")), Err(MergeError::Theirs(_))));
        assert!(matches!(merge("", "a: ["), Err(MergeError::Ours(_))));
    }

    #[test]
    fn a_way_to_the_cluster_needs_its_authority_and_a_certificate_that_holds() {
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
            leads_to(&file, server, &bundle.k8s.crt, now)
        };

        assert!(leads(server, "2026"));
        assert!(!leads("https://10.0.0.2:6443", "2026"));
        assert!(!leads(server, "2099"));
        assert!(!leads_to(&file, server, &bundle.os.crt, Moment::parse("2026-01-01T00:00:00Z").unwrap()));
    }
}
