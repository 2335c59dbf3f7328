//! Parsing `agent.json`, in every version of the format that is still supported.

use super::{AgentConfig, v0, v1};
use ichor_values::format::{Document, FormatError, UnknownKey, Versioned};

/// A parsed configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedConfig {
    /// The configuration.
    pub config: AgentConfig,
    /// Warnings to log: keys of a newer minor version, which were ignored.
    pub warnings: Vec<String>,
}

/// Why a file is not a valid configuration of the agent. It repeats no value of the file, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}{remedy}", remedy = remedy(.0))]
pub struct ConfigError(FormatError);

impl From<FormatError> for ConfigError {
    fn from(error: FormatError) -> Self {
        Self(error)
    }
}

fn remedy(error: &FormatError) -> &'static str {
    match error {
        FormatError::TooNew { .. } => {
            "; install the extension of the ichor release that built the configuration, or build it with the release of this extension"
        }
        _ => "",
    }
}

impl AgentConfig {
    /// The file, in the newest version of the format.
    pub fn text(&self) -> String {
        let file = Versioned::new(v1::VERSION, v1::AgentConfigV1::from(self));
        serde_json::to_string_pretty(&file).expect("all keys are texts") + "\n"
    }

    /// Parses a file of the newest version, of an older one, or of a newer minor one, of which unknown keys are ignored
    /// and listed as warnings.
    pub fn parse(text: &str) -> Result<ParsedConfig, ConfigError> {
        let document = Document::parse(text, v1::VERSION)?;
        let version = document.version();
        let (config, unknown) = if version.major == v0::VERSION.major {
            let (config, unknown) = document.read::<v0::AgentConfigV0>()?;
            (config.upgrade(), unknown)
        } else {
            document.read::<v1::AgentConfigV1>()?
        };
        let ignored = |key: UnknownKey| {
            format!(
                "the configuration has format version {version}, newer than this agent's {newest}: its key {path} is ignored",
                newest = v1::VERSION,
                path = key.path
            )
        };
        Ok(ParsedConfig {
            config: config.try_into().map_err(FormatError::from)?,
            warnings: unknown.into_iter().map(ignored).collect(),
        })
    }
}

#[cfg(test)]
mod tests;
