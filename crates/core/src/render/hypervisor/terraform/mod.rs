//! Modules for Terraform and OpenTofu, in their JSON form.
//!
//! Strings there are templates, so what comes from the file goes through `literal`. No secret is in a module: credentials
//! come from the providers' own variables, configurations are read from the files beside it.

pub mod gcp;
pub mod proxmox;

use serde_json::Value;

/// A text that stands for itself, whatever signs are in it.
fn literal(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// The name of a resource for something: letters, digits, `-` and `_`, none of the digits and `-` at the front.
fn label(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let label: String = name.chars().map(plain).collect();
    if label.starts_with(|first: char| first.is_ascii_alphabetic()) { label } else { format!("_{label}") }
}

/// A file of the build, from a module two folders below the cluster's.
fn built(path: &str) -> String {
    format!("${{path.module}}/../../{}", literal(path))
}

/// A module as text.
fn text(module: &Value) -> String {
    format!("{module:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_file_is_no_template() {
        assert_eq!(literal("a ${b} %{c} $d"), "a $${b} %%{c} $d");
    }

    #[test]
    fn a_label_is_one_that_terraform_takes() {
        assert_eq!(label("solcp01"), "solcp01");
        assert_eq!(label("3rd-node"), "_3rd-node");
        assert_eq!(label("talos-v1.13.9"), "talos-v1_13_9");
    }
}
