//! Modules for Terraform and OpenTofu, in JSON syntax.
//!
//! Strings are templates there, so values of the file go through `literal`. A module contains no secrets: credentials come from
//! the providers' environment variables, configurations from files beside it.

pub mod gcp;
pub mod proxmox;

use serde_json::Value;

/// Escapes template syntax in a text.
fn literal(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// The name of a resource: letters, digits, `-` and `_`, without a leading digit or `-`.
fn label(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let label: String = name.chars().map(plain).collect();
    if label.starts_with(|first: char| first.is_ascii_alphabetic()) { label } else { format!("_{label}") }
}

/// The path of a file of the build, from a module two folders below the cluster's.
fn build_path(path: &str) -> String {
    format!("${{path.module}}/../../{}", literal(path))
}

/// The text of a module.
fn text(module: &Value) -> String {
    format!("{module:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_syntax_is_escaped() {
        assert_eq!(literal("a ${b} %{c} $d"), "a $${b} %%{c} $d");
    }

    #[test]
    fn labels_are_valid_in_terraform() {
        assert_eq!(label("solcp01"), "solcp01");
        assert_eq!(label("3rd-node"), "_3rd-node");
        assert_eq!(label("talos-v1.13.9"), "talos-v1_13_9");
    }
}
