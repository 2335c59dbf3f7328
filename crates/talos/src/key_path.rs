//! The keys that lead to a place in a document, such as `machine.network.interfaces[0].mtu`.
//!
//! Not here: pointers of JSON patches, which are written with slashes.

use std::fmt;

/// A step of a key path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a map.
    Key(String),
    /// Into a list, counted from 0.
    Item(usize),
}

/// The steps from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(pub Vec<Step>);

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if nth == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_path_has_dots_and_brackets() {
        let path = KeyPath(vec![Step::Key("a".to_owned()), Step::Item(1), Step::Key("b".to_owned())]);

        assert_eq!(path.to_string(), "a[1].b");
        assert_eq!(KeyPath::default().to_string(), "");
    }
}
