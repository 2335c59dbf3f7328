//! Texts of a schematic that the Image Factory does not treat as ichor does.
//!
//! [`Schematic::factory_issues`] lists them. The ID of a schematic is the hash of the text that the factory's go-yaml writes.
//! go-yaml 4.0.0-rc.5 changed the quotes of some texts, so another release of the factory computes another ID:
//! [`Schematic::older_id`].

use ichor_values::go_yaml::emit::{self, EmitContext};

use super::{OptionValue, Schematic};
use crate::digest;

/// A text of a schematic that the Image Factory does not treat as ichor does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactoryIssue {
    /// The ID depends on the release of the factory.
    #[error("`{path}`: Image Factory 0.9 to 1.4 quotes `{text}` differently and computes another ID")]
    OtherId {
        /// Key path of the text.
        path: String,
        /// The text.
        text: String,
    },
    /// The factory cannot read what it stores.
    #[error("`{path}`: the Image Factory cannot read this text from the schematic that it stores")]
    Unreadable {
        /// Key path of the text.
        path: String,
    },
}

impl FactoryIssue {
    /// The same issue of a text that has another key path in the user's file.
    #[must_use]
    pub fn at(self, path: impl Into<String>) -> Self {
        let path = path.into();
        match self {
            Self::OtherId { text, .. } => Self::OtherId { path, text },
            Self::Unreadable { .. } => Self::Unreadable { path },
        }
    }
}

impl Schematic {
    /// The texts that the Image Factory does not treat as ichor does.
    pub fn factory_issues(&self) -> Vec<FactoryIssue> {
        let mut issues = Vec::new();
        add_issues(&self.tree(), EmitContext::Document, "", &mut issues);
        issues
    }

    /// The ID at an Image Factory 0.9 to 1.4, if it differs from [`Schematic::id`].
    pub fn older_id(&self) -> Option<String> {
        let older = emit::as_older_go(&self.tree());
        (older != self.canonical()).then(|| digest::sha256(older.as_bytes()))
    }
}

fn add_issues(value: &OptionValue, inside: EmitContext, path: &str, issues: &mut Vec<FactoryIssue>) {
    let column = inside.block();
    match value {
        OptionValue::Word(_) => {}
        OptionValue::Text(text) => add_text_issues(text, inside, path, issues),
        OptionValue::List(items) => {
            for (nth, item) in items.iter().enumerate() {
                add_issues(item, EmitContext::List(column), &format!("{path}[{nth}]"), issues);
            }
        }
        OptionValue::Map(entries) => {
            for (key, value) in entries {
                // A key of several lines must not break the line of a message.
                let name = key.escape_debug();
                let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
                add_text_issues(key, EmitContext::Map(column), &path, issues);
                add_issues(value, EmitContext::Map(column), &path, issues);
            }
        }
    }
}

fn add_text_issues(text: &str, inside: EmitContext, path: &str, issues: &mut Vec<FactoryIssue>) {
    let path = path.to_owned();
    if emit::quotes_vary(text) {
        issues.push(FactoryIssue::OtherId { path, text: text.to_owned() });
    } else if !emit::reads_back(text, inside) {
        issues.push(FactoryIssue::Unreadable { path });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issues(text: &str) -> Vec<String> {
        Schematic::read(text).unwrap().factory_issues().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_of_yaml_1_1_have_another_id_at_older_factories() {
        let text = "overlay: {name: n1, image: i, options: {y: 1, list: ['12:30:45', '1', true]}}\n\
                    customization: {extraKernelArgs: [a=yes, 'on'], meta: [{key: 10, value: '<<'}]}\n";

        let issues = issues(text);

        let want = [
            ("overlay.options.list[0]", "12:30:45"),
            ("overlay.options.y", "y"),
            ("customization.extraKernelArgs[1]", "on"),
            ("customization.meta[0].value", "<<"),
        ];
        let want = want.map(|(path, text)| {
            format!("`{path}`: Image Factory 0.9 to 1.4 quotes `{text}` differently and computes another ID")
        });
        assert_eq!(issues, want);
    }

    #[test]
    fn an_older_factory_hashes_double_quotes() {
        let plain = Schematic::read("customization: {extraKernelArgs: [a=yes]}").unwrap();
        let word = Schematic::read("customization: {extraKernelArgs: ['yes']}").unwrap();

        let text = "customization:\n    extraKernelArgs:\n        - \"yes\"\n";
        assert_eq!(word.older_id(), Some(digest::sha256(text.as_bytes())));
        assert_eq!(plain.older_id(), None);
    }

    #[test]
    fn text_that_the_factory_cannot_read_back_is_reported() {
        let meta = |value: &str| issues(&format!("customization: {{meta: [{{key: 10, value: {value}}}]}}"));

        let want = "`customization.meta[0].value`: the Image Factory cannot read this text from the schematic that it stores";
        for unreadable in ["\"  a\\nb\\n\"", "\"\\ta\\nb\"", "\"\\n  a\\nb\""] {
            assert_eq!(meta(unreadable), [want], "{unreadable}");
        }
        for readable in ["\"a\\u2028b\"", "\"a\\n  b\\n\"", "'  a'", "\"a \\nb\"", "\"\\na\\n\""] {
            assert_eq!(meta(readable), [""; 0], "{readable}");
        }
        assert_eq!(issues("customization: {embeddedMachineConfiguration: \"  a\\n  b\\n\"}"), [""; 0]);
    }
}
