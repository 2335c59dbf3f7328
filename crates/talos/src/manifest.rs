//! Manifests of Kubernetes, as far as Talos checks them before it applies them.
//!
//! If one document is not an object, Talos applies nothing of its manifest.

use serde_json::Value;

use super::document;
use ichor_values::go_yaml::reader::SyntaxError;

/// Why Talos would apply nothing of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is not YAML.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A document is not an object of Kubernetes.
    #[error("document {nth} has no `{key}`: it is not a Kubernetes object")]
    NoObject {
        /// Which document, counted from 1.
        nth: usize,
        /// The key that every object has.
        key: &'static str,
    },
}

/// The objects of a manifest. Lists are unwrapped when they are applied, and count as one here.
pub fn read(text: &str) -> Result<Vec<Value>, ManifestError> {
    let documents = document::read(text)?;
    let objects: Vec<Value> =
        documents.into_iter().filter(|it| it.as_object().is_none_or(|map| !map.is_empty())).collect();
    for (nth, object) in objects.iter().enumerate() {
        let missing = ["apiVersion", "kind"].into_iter().find(|key| !object[*key].is_string());
        if let Some(key) = missing {
            return Err(ManifestError::NoObject { nth: nth + 1, key });
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_documents_are_dropped() {
        let objects = read("---\n# a comment\n---\n{}\n---\napiVersion: v1\nkind: Namespace\n").unwrap();

        assert_eq!(objects.len(), 1);
    }

    #[test]
    fn documents_that_are_not_objects_are_rejected() {
        assert_eq!(
            read("apiVersion: v1\nkind: A\n---\nhello\n").unwrap_err().to_string(),
            "document 2 has no `apiVersion`: it is not a Kubernetes object"
        );
        assert!(read("a: [\n").is_err());
    }
}
