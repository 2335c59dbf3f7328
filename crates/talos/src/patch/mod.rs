//! Patches of Talos' configuration, with Talos' semantics.
//!
//! A [`Patch`] is read once and applied to as many configurations as there are: [`Patch::apply`] changes a [`Config`],
//! [`apply`] the text of one. Strategic merges are in `merge`, `$patch: delete` is in `delete`, JSON patches are in
//! `json`.

mod delete;
mod json;
mod json_value;
mod merge;

use serde_json::Value;

use super::config::{Config, Document};
use super::load::{self, LoadError, LoadProblem, Loader};
use super::types::{self, scalar};
use super::{document, encode};
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::YamlNode;
use ichor_values::{Any, TalosVersion};

use delete::Selector;
use json_value::GoYaml;

/// A patch.
#[derive(Clone, Debug)]
pub struct Patch {
    /// Its name in errors.
    pub name: String,
    change: Change,
}

#[derive(Clone, Debug)]
enum Change {
    Strategic(Vec<Edit>),
    Json(Vec<json::Operation>),
}

/// A step of a strategic merge.
#[derive(Clone, Debug)]
enum Edit {
    Delete(Selector),
    Merge(Document),
}

/// Why a patch could not be read or applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{patch}: {reason}")]
pub struct PatchError {
    /// The patch.
    pub(crate) patch: String,
    /// The place in it or in the configuration, and why.
    pub reason: PatchFailure,
}

/// Why a patch fails, or the configuration it changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchFailure {
    /// The text is not YAML.
    #[error(transparent)]
    Syntax(#[from] yaml::SyntaxError),
    /// A value has another type than Talos wants.
    #[error(transparent)]
    Value(#[from] scalar::ScalarError),
    /// The release does not understand the documents to merge, or the configuration.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A JSON patch is wrong, or one of its operations cannot be done.
    #[error(transparent)]
    Json(#[from] json::JsonPatchError),
    /// Talos would not merge a document.
    #[error(transparent)]
    Merge(#[from] merge::MergeError),
    /// A deletion failed.
    #[error("{selector}: {reason}")]
    Deletion {
        /// The selector of the deletion.
        selector: String,
        /// The reason.
        reason: delete::DeletionError,
    },
    /// A document to delete is missing.
    #[error("{selector}: no such document; Talos before 1.14 fails on it")]
    NoDocument {
        /// The selector of the deletion.
        selector: String,
    },
    /// A patch without anything, and a configuration of several documents.
    #[error("it is empty, which Talos takes for a configuration of one document only: leave it out")]
    Empty,
    /// A JSON patch, and a configuration of several documents.
    #[error(
        "a JSON patch cannot change a configuration of several documents: write it as documents to merge"
    )]
    SeveralDocuments,
}

impl PatchError {
    fn new(patch: &str, reason: impl Into<PatchFailure>) -> Self {
        Self { patch: patch.to_owned(), reason: reason.into() }
    }
}

/// A configuration between two patches: as Talos holds it, or as it was last written.
enum State {
    Config(Config),
    Values(Vec<Value>),
}

impl Patch {
    /// Reads a patch as a release does: as documents to merge, else as a JSON patch in JSON or YAML.
    pub fn read(name: &str, text: &str, talos: &TalosVersion) -> Result<Self, PatchError> {
        let strategic = match read_edits(text, talos) {
            Ok(edits) if !edits.is_empty() => return Ok(Patch::new(name, Change::Strategic(edits))),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        match (json::read(text), strategic) {
            (Ok(operations), _) => Ok(Patch::new(name, Change::Json(operations))),
            (Err(error), None) => Err(PatchError::new(name, error)),
            (Err(error), Some(_)) if text.trim_start().starts_with(['[', '-']) => {
                Err(PatchError::new(name, error))
            }
            (Err(_), Some(error)) => Err(PatchError::new(name, error)),
        }
    }

    /// Reads a patch in the cluster file, with its scalars as written.
    pub fn inline(name: &str, any: &Any, talos: &TalosVersion) -> Result<Self, PatchError> {
        if let Any::List(_) = any {
            let operations =
                json::from_value(document::from_any(any)).map_err(|error| PatchError::new(name, error))?;
            return Ok(Patch::new(name, Change::Json(operations)));
        }
        let edits = edits(vec![YamlNode::from(any)], talos).map_err(|error| PatchError::new(name, error))?;
        Ok(Patch::new(name, Change::Strategic(edits)))
    }

    /// A patch that merges documents.
    pub fn merging(name: &str, config: Config) -> Self {
        Patch::new(name, Change::Strategic(config.documents.into_iter().map(Edit::Merge).collect()))
    }

    fn new(name: &str, change: Change) -> Self {
        Patch { name: name.to_owned(), change }
    }

    /// Changes a configuration.
    pub fn apply(&self, config: &mut Config, talos: &TalosVersion) -> Result<(), PatchError> {
        let state = self.apply_to(State::Config(std::mem::take(config)), talos)?;
        *config = self.name_failure(state.config(talos))?;
        Ok(())
    }

    fn apply_to(&self, state: State, talos: &TalosVersion) -> Result<State, PatchError> {
        match &self.change {
            Change::Strategic(edits) => {
                let mut config = self.name_failure(state.config(talos))?;
                for edit in edits {
                    self.name_failure(apply_edit(edit, &mut config, talos))?;
                }
                self.name_failure(load::check_clashes(&config, talos))?;
                Ok(State::Config(config))
            }
            Change::Json(operations) => {
                let mut values = state.values(talos);
                let [value] = &mut values[..] else {
                    let failure = if operations.is_empty() {
                        PatchFailure::Empty
                    } else {
                        PatchFailure::SeveralDocuments
                    };
                    return Err(PatchError::new(&self.name, failure));
                };
                self.name_failure(json::apply(operations, value))?;
                Ok(State::Values(values))
            }
        }
    }

    fn name_failure<T>(&self, result: Result<T, impl Into<PatchFailure>>) -> Result<T, PatchError> {
        result.map_err(|failure| PatchError::new(&self.name, failure))
    }
}

impl State {
    fn config(self, talos: &TalosVersion) -> Result<Config, LoadError> {
        match self {
            State::Config(config) => Ok(config),
            State::Values(values) => load::load_values(&values, talos),
        }
    }

    fn values(self, talos: &TalosVersion) -> Vec<Value> {
        match self {
            State::Config(config) => encode::encode(&config, talos),
            State::Values(values) => values,
        }
    }
}

/// Applies patches to the text of a configuration in sequence, and returns its documents.
pub fn apply(text: &str, patches: &[Patch], talos: &TalosVersion) -> Result<Vec<Value>, PatchError> {
    let base = "the configuration";
    let mut state = match patches.first().map(|patch| &patch.change) {
        Some(Change::Json(_)) => {
            let documents = yaml::parse(text).map_err(|error| PatchError::new(base, error))?;
            // Empty ones count: with them there are several.
            let read = |document| json_value::read(document, GoYaml::V2);
            let values = documents.iter().map(read).collect::<Result<_, _>>();
            State::Values(values.map_err(|error| PatchError::new(base, error))?)
        }
        _ => State::Config(load_lossless(text, talos).map_err(|error| PatchError::new(base, error))?),
    };
    for patch in patches {
        state = patch.apply_to(state, talos)?;
    }
    Ok(state.values(talos))
}

/// Applies patches to generated documents, and returns them as Talos writes them, after a JSON patch too.
pub fn apply_to_documents(
    documents: &[Value],
    patches: &[Patch],
    talos: &TalosVersion,
) -> Result<Vec<Value>, PatchError> {
    let loaded = load::load_values(documents, talos);
    let mut config = loaded.map_err(|error| PatchError::new("the configuration", error))?;
    for patch in patches {
        patch.apply(&mut config, talos)?;
    }
    Ok(encode::encode(&config, talos))
}

/// Reads a configuration of which nothing is lost.
fn load_lossless(text: &str, talos: &TalosVersion) -> Result<Config, LoadError> {
    let config = load::load(text, talos)?;
    check_lost_keys(&yaml::parse(text)?, talos)?;
    Ok(config)
}

fn check_lost_keys(nodes: &[YamlNode], talos: &TalosVersion) -> Result<(), LoadError> {
    let problems = load::lost_keys(nodes, talos);
    if problems.is_empty() { Ok(()) } else { Err(LoadError { problems }) }
}

/// The problems of a strategic merge patch for a release.
pub fn faults(documents: &[YamlNode], talos: &TalosVersion) -> Vec<LoadProblem> {
    edits(documents.to_vec(), talos).err().map_or_else(Vec::new, |error| error.problems)
}

fn read_edits(text: &str, talos: &TalosVersion) -> Result<Vec<Edit>, LoadError> {
    edits(yaml::parse(text)?, talos)
}

fn edits(documents: Vec<YamlNode>, talos: &TalosVersion) -> Result<Vec<Edit>, LoadError> {
    let mut edits = Vec::new();
    let mut loader = Loader::new(talos);
    let mut identities = Vec::new();
    let mut merged = Vec::new();
    for mut node in documents {
        let (selectors, rest) = delete::extract(&mut node)?;
        edits.extend(selectors.into_iter().map(Edit::Delete));
        if !rest {
            continue;
        }
        if let Some(document) = loader.document(&node) {
            let identity = identity(&document);
            if types::minor(talos) < 14 && identities.contains(&identity) {
                loader.refuse(&node, "a document stands twice in one patch, which Talos refuses before 1.14");
            }
            identities.push(identity);
            edits.push(Edit::Merge(document));
            merged.push(node);
        }
    }
    let edits = loader.finish(edits)?;
    check_lost_keys(&merged, talos)?;
    Ok(edits)
}

fn identity(document: &Document) -> (&'static str, String) {
    match document.kind {
        Some(kind) if kind.named => (kind.name, document.name().to_owned()),
        Some(kind) => (kind.name, String::new()),
        None => ("", String::new()),
    }
}

fn apply_edit(edit: &Edit, config: &mut Config, talos: &TalosVersion) -> Result<(), PatchFailure> {
    match edit {
        Edit::Delete(selector) => {
            let identity = selector.identity();
            match config.documents.iter().position(|document| self::identity(document) == identity) {
                Some(place) => {
                    if selector.is_document() {
                        config.documents.remove(place);
                        return Ok(());
                    }
                    selector
                        .apply(&mut config.documents[place], talos)
                        .map_err(|reason| PatchFailure::Deletion { selector: selector.to_string(), reason })
                }
                None if types::minor(talos) >= 14 => Ok(()),
                None => Err(PatchFailure::NoDocument { selector: selector.to_string() }),
            }
        }
        Edit::Merge(right) => {
            let identity = identity(right);
            match config.documents.iter_mut().find(|document| self::identity(document) == identity) {
                Some(left) => Ok(merge::merge(left, right, talos)?),
                None => {
                    config.documents.push(right.clone());
                    Ok(())
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TALOS: [&str; 4] = ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"];

    fn patched(base: &str, patch: &str, talos: &str) -> Result<Vec<Value>, PatchError> {
        let talos = TalosVersion::parse(talos).unwrap();
        apply(base, &[Patch::read("patch", patch, &talos)?], &talos)
    }

    #[test]
    fn json_operations_do_what_the_library_of_talos_does() {
        let base = "machine: {type: worker, sysctls: {a: b}}\n";
        for (operation, want) in [
            (
                "{op: replace, path: /machine/token, value: x}",
                Some(json!({"type": "worker", "sysctls": {"a": "b"}, "token": "x"})),
            ),
            (
                "{op: copy, from: /machine/none, path: /machine/env}",
                Some(json!({"type": "worker", "sysctls": {"a": "b"}, "env": null})),
            ),
            (
                "{op: test, path: /machine/none, value: null}",
                Some(json!({"type": "worker", "sysctls": {"a": "b"}})),
            ),
            ("{op: test, path: /cluster/none, value: null}", None),
            ("{op: add, path: \"\", value: {}}", None),
            ("{op: remove, path: /machine/none}", None),
        ] {
            let got = patched(base, &format!("[{operation}]"), TALOS[1]).ok();
            assert_eq!(got.map(|documents| documents[0]["machine"].clone()), want, "{operation}");
        }
        assert!(
            patched("machine: {}\n---\n", "[{op: add, path: /machine/a, value: 1}]", TALOS[1]).is_err(),
            "two documents"
        );
    }

    #[test]
    fn the_machine_document_comes_first_and_empty_ones_are_ignored() {
        let base =
            "{apiVersion: v1alpha1, kind: HostnameConfig, auto: stable}\n---\nmachine: {type: worker}\n";

        let got = patched(base, "{}\n---\nmachine: {token: x}\n", TALOS[1]).unwrap();

        assert_eq!(
            (got.len(), &got[0]["machine"]["token"], &got[1]["kind"]),
            (2, &json!("x"), &json!("HostnameConfig"))
        );
    }

    #[test]
    fn items_with_the_same_key_are_merged_in_a_new_list() {
        let patch =
            "machine: {network: {interfaces: [{interface: eth0, mtu: 9000}, {interface: eth0, dhcp: true}]}}";

        let got = patched("machine: {network: {}}", patch, TALOS[2]).unwrap();

        let want = json!([{"interface": "eth0", "mtu": 9000, "dhcp": true}]);
        assert_eq!(got[0]["machine"]["network"]["interfaces"], want);
    }

    #[test]
    fn merging_and_lookup_differ_between_releases() {
        let base = "machine: {network: {kubespan: {mtu: 1400}}}";
        let mtu = |talos| {
            patched(base, "machine: {network: {kubespan: {mtu: 0}}}", talos).unwrap()[0]["machine"]["network"]
                ["kubespan"]["mtu"]
                .clone()
        };
        assert_eq!((mtu(TALOS[0]), mtu(TALOS[1])), (json!(1400), json!(0)));

        let rule = "{apiVersion: v1alpha1, kind: RoutingRuleConfig, name: \"10\", table: \"88\"}";
        assert!(patched(rule, rule, TALOS[2]).is_err() && patched(rule, rule, TALOS[3]).is_ok());

        let base = "machine: {ca: {crt: YQ==, key: Yg==}, logging: {destinations: [{endpoint: \"udp://10.0.0.1:514\", format: json_lines}]}}";
        let key = "machine: {ca: {key: {$patch: delete}}}";
        assert!(TALOS.iter().all(|talos| patched(base, key, talos).is_err()));
        let item = "machine: {logging: {destinations: [{endpoint: \"udp://10.0.0.1:514\", $patch: delete}]}}";
        assert!(patched(base, item, TALOS[2]).is_err() && patched(base, item, TALOS[3]).is_ok());
    }

    #[test]
    fn new_rules_of_one_image_stay_apart() {
        let rules = |rules: &str| {
            format!("{{apiVersion: v1alpha1, kind: ImageVerificationConfig, rules: [{rules}]}}")
        };
        let twice = rules("{image: a, skip: true}, {image: a, deny: true}");

        let merged = |base: &str| patched(&rules(base), &twice, TALOS[2]).unwrap()[0]["rules"].clone();

        let (skip, deny) = (json!({"image": "a", "skip": true}), json!({"image": "a", "deny": true}));
        assert_eq!(merged(""), json!([skip, deny]));
        assert_eq!(merged("{image: a}, {image: a}"), json!([{"image": "a"}, deny]));
    }

    #[test]
    fn two_urls_with_a_user_cannot_be_merged() {
        let document = "{apiVersion: v1alpha1, kind: KmsgLogConfig, name: a, url: \"udp://u@a:1\"}";

        assert!(TALOS.iter().all(|talos| patched(document, document, talos).is_err()));
        assert!(patched(document, &document.replace("u@", ""), TALOS[3]).is_ok());
    }

    #[test]
    fn a_selector_without_version_or_name_deletes_nothing() {
        let document = "{apiVersion: v1alpha1, kind: KmsgLogConfig}";
        let kept = |selector| patched(document, selector, TALOS[3]).unwrap().len() == 1;

        assert!(kept("{apiVersion: v1alpha1, kind: KmsgLogConfig, $patch: delete}"));
        assert!(kept("{apiVersion: other, kind: KmsgLogConfig, name: a, $patch: delete}"));
        let named = document.replace('}', ", name: a}");
        let selector = "{apiVersion: v1alpha1, kind: KmsgLogConfig, name: a, $patch: delete}";
        assert!(patched(&named, selector, TALOS[3]).unwrap().is_empty());
    }

    const ONE: &str = "machine: {type: worker}\ncluster: {}\n";
    const SEVERAL: &str =
        "machine: {type: worker}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n";

    #[test]
    fn an_empty_patch_is_reported() {
        for empty in ["", "# nothing\n", "---\n"] {
            assert!(patched(ONE, empty, TALOS[2]).is_ok(), "{empty:?}");
            let error = patched(SEVERAL, empty, TALOS[2]).unwrap_err().to_string();
            assert!(error.starts_with("patch: it is empty"), "{empty:?}: {error}");
        }
        let error = patched(SEVERAL, "[{op: remove, path: /machine}]", TALOS[2]).unwrap_err().to_string();
        assert!(error.contains("a JSON patch cannot change"), "{error}");
    }

    #[test]
    fn a_value_hidden_by_an_alias_is_kept() {
        let hidden = "machine: {sysctls: &args {typo: b}, kubelet: *args}\n";

        for (base, patch) in [(ONE, hidden), (hidden, ONE)] {
            let error = patched(base, patch, TALOS[2]).unwrap_err().to_string();
            assert!(error.contains("machine.kubelet.typo: Talos 1.13 knows no such key"), "{error}");
        }
    }
}
