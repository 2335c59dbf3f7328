//! The lock file: a rendered chart, stored beside the cluster file.

use super::ChartRequest;
use ichor_talos::digest::sha256;

/// Starts the line with the digest of the inputs.
const INPUTS: &str = "# made of: ";
/// Starts the last line of the header, with the digest of the text below it.
const TEXT: &str = "# text: ";

/// A rendered chart and the digest of its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartLock {
    inputs_digest: String,
    text: String,
}

/// Why a lock file is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartLockError {
    /// It has no header of a lock file.
    #[error("not a lock file written by `ichor build`")]
    Other,
    /// Its text does not match its digest.
    #[error("changed by hand; make changes in `cluster.cilium.values` instead")]
    Changed,
}

impl ChartLock {
    /// Creates the lock of a rendered chart.
    pub fn new(request: &ChartRequest, text: String) -> Self {
        // A text always ends with a line break.
        let text = if text.ends_with('\n') { text } else { text + "\n" };
        Self { inputs_digest: request.digest(), text }
    }

    /// Parses a lock file.
    pub fn parse(file: &str) -> Result<Self, ChartLockError> {
        let (inputs_digest, rest) = file
            .lines()
            .find_map(|line| line.strip_prefix(INPUTS))
            .zip(file.split_once(TEXT).map(|(_, rest)| rest))
            .ok_or(ChartLockError::Other)?;
        let (sum, text) = rest.split_once('\n').ok_or(ChartLockError::Other)?;
        if sha256(text.as_bytes()) != sum {
            return Err(ChartLockError::Changed);
        }
        Ok(Self { inputs_digest: inputs_digest.to_owned(), text: text.to_owned() })
    }

    /// Whether it was rendered from this request.
    pub fn matches(&self, request: &ChartRequest) -> bool {
        self.inputs_digest == request.digest()
    }

    /// The rendered manifest.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of the lock file.
    pub fn file(&self, request: &ChartRequest) -> String {
        let from = request.repository.as_ref().map(|url| format!(" from {url}")).unwrap_or_default();
        format!(
            "# Cilium, rendered by helm. `ichor build` adds it to the configurations of control planes, and renders it again when\n\
             # the chart, its release, the Kubernetes release or the values change. Keep it with the cluster file.\n\
             # chart: {} {}{from}\n{INPUTS}{}\n{TEXT}{}\n{}",
            request.chart,
            request.version,
            self.inputs_digest,
            sha256(self.text.as_bytes()),
            self.text
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(version: &str) -> ChartRequest {
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
    fn a_lock_file_survives_a_round_trip() {
        let lock = ChartLock::new(&request("1.20.1"), "---\nkind: A".to_owned());

        let read = ChartLock::parse(&lock.file(&request("1.20.1"))).unwrap();

        assert_eq!(read, lock);
        assert_eq!(read.text(), "---\nkind: A\n");
        assert!(read.matches(&request("1.20.1")) && !read.matches(&request("1.20.2")));
    }

    #[test]
    fn header_lines_within_the_text_are_part_of_it() {
        let lock = ChartLock::new(&request("1"), "# made of: b\n# text: a\n".to_owned());

        assert_eq!(ChartLock::parse(&lock.file(&request("1"))).unwrap(), lock);
    }

    #[test]
    fn a_modified_lock_file_is_rejected() {
        let file = ChartLock::new(&request("1"), "kind: A\n".to_owned()).file(&request("1"));

        assert_eq!(ChartLock::parse(&file.replace("kind: A", "kind: B")), Err(ChartLockError::Changed));
        assert_eq!(ChartLock::parse("kind: A\n"), Err(ChartLockError::Other));
        assert_eq!(ChartLock::parse(&file[..60]), Err(ChartLockError::Other));
    }
}
