//! What helm rendered, kept beside the cluster file.

use super::ChartRequest;
use ichor_talos::digest::sha256;

/// Starts the line with the sum of what it was made of.
const MADE_OF: &str = "# made of: ";
/// Starts the line with the sum of what follows it, the last of the head.
const TEXT: &str = "# text: ";

/// A chart as it was rendered, and what it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartLock {
    made_of: String,
    text: String,
}

/// Why a lock is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartLockError {
    /// It is something else.
    #[error("it is not what `ichor build` writes there")]
    Other,
    /// Its text is not the one it was written with.
    #[error("somebody changed it; changes belong in `cluster.cilium.values`")]
    Changed,
}

impl ChartLock {
    /// What helm made of an order.
    pub fn new(order: &ChartRequest, text: String) -> Self {
        // A head that ends in the middle of a line would be another's.
        let text = if text.ends_with('\n') { text } else { text + "\n" };
        Self { made_of: order.sum(), text }
    }

    /// Reads a lock.
    pub fn read(file: &str) -> Result<Self, ChartLockError> {
        let (made_of, rest) = file
            .lines()
            .find_map(|line| line.strip_prefix(MADE_OF))
            .zip(file.split_once(TEXT).map(|(_, rest)| rest))
            .ok_or(ChartLockError::Other)?;
        let (sum, text) = rest.split_once('\n').ok_or(ChartLockError::Other)?;
        if sha256(text.as_bytes()) != sum {
            return Err(ChartLockError::Changed);
        }
        Ok(Self { made_of: made_of.to_owned(), text: text.to_owned() })
    }

    /// Whether it is what this order would give.
    pub fn is_of(&self, order: &ChartRequest) -> bool {
        self.made_of == order.sum()
    }

    /// The objects.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The lock as a file.
    pub fn file(&self, order: &ChartRequest) -> String {
        let from = order.repository.as_ref().map(|url| format!(" from {url}")).unwrap_or_default();
        format!(
            "# Cilium as helm rendered it. `ichor build` puts it into the configurations of control planes, and renders it anew\n\
             # when the chart, its release, Kubernetes' or the values are others. Keep it with the cluster file.\n\
             # chart: {} {}{from}\n{MADE_OF}{}\n{TEXT}{}\n{}",
            order.chart,
            order.version,
            self.made_of,
            sha256(self.text.as_bytes()),
            self.text
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn order(version: &str) -> ChartRequest {
        ChartRequest {
            chart: "cilium".to_owned(),
            repository: Some("https://helm.cilium.io/".to_owned()),
            version: version.to_owned(),
            kubernetes: None,
            values: json!({}),
            own: None,
        }
    }

    #[test]
    fn a_lock_is_read_as_it_was_written() {
        let lock = ChartLock::new(&order("1.20.1"), "---\nkind: A".to_owned());

        let read = ChartLock::read(&lock.file(&order("1.20.1"))).unwrap();

        assert_eq!(read, lock);
        assert_eq!(read.text(), "---\nkind: A\n");
        assert!(read.is_of(&order("1.20.1")) && !read.is_of(&order("1.20.2")));
    }

    #[test]
    fn a_text_with_lines_like_the_heads_is_read_too() {
        let lock = ChartLock::new(&order("1"), "# made of: b\n# text: a\n".to_owned());

        assert_eq!(ChartLock::read(&lock.file(&order("1"))).unwrap(), lock);
    }

    #[test]
    fn a_lock_that_somebody_changed_is_none() {
        let file = ChartLock::new(&order("1"), "kind: A\n".to_owned()).file(&order("1"));

        assert_eq!(ChartLock::read(&file.replace("kind: A", "kind: B")), Err(ChartLockError::Changed));
        assert_eq!(ChartLock::read("kind: A\n"), Err(ChartLockError::Other));
        assert_eq!(ChartLock::read(&file[..60]), Err(ChartLockError::Other));
    }
}
