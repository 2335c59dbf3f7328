//! Loading the agent's configuration: `agent.json` of a build, ready-made daemon files, or the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs, io};

use ichor_bgp::agent::config::{
    AgentConfig, ConfigError, ConfigSource, DaemonFiles, ParsedConfig, SecretText,
};
use ichor_bgp::agent::environment;
use ichor_bgp::setting::LogLevel;
use ichor_values::{Backend, Issue, NodeName};

use crate::daemon;

/// The directories that Talos mounts a service's files into, each with the daemon's own file.
const FOLDERS: [(&str, &str, Backend); 3] = [
    ("/usr/local/etc/frr", "frr.conf", Backend::Frr),
    ("/usr/local/etc/bird", "bird.conf", Backend::Bird),
    ("/usr/local/etc/gobgp", "gobgpd.toml", Backend::Gobgp),
];

/// The file that a build writes.
const FILE: &str = "agent.json";

/// The configuration cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not a valid `agent.json`.
    #[error("cannot parse {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ConfigError,
    },
    /// Environment variables are invalid.
    #[error("{}", list(.0))]
    Variables(Vec<Issue>),
    /// There is no configuration.
    #[error(
        "no configuration found: no agent.json or frr.conf in /usr/local/etc/frr, and NODE_IP and ASN_LOCAL are not set; \
         apply the ExtensionServiceConfig that `ichor build` wrote for this node"
    )]
    Nothing,
}

fn list(problems: &[Issue]) -> String {
    let each: Vec<_> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
    let count = problems.len();
    format!(
        "the environment has {count} {}{}",
        if count == 1 { "problem" } else { "problems" },
        each.concat()
    )
}

/// Loads the agent's configuration from a given file or from the default places.
#[derive(Clone, Debug)]
pub struct ConfigLoader {
    file: Option<PathBuf>,
}

/// A configuration, and warnings about its source.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// The configuration.
    pub config: AgentConfig,
    /// Warnings for the log.
    pub warnings: Vec<String>,
}

impl ConfigLoader {
    /// Loads `file`, or the first configuration in the default places.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { file }
    }

    /// Loads the configuration as it is now.
    pub fn load(&self) -> Result<LoadedConfig, LoadError> {
        let variables: BTreeMap<String, String> = env::vars().collect();
        if let Some(path) = self.path() {
            let ParsedConfig { config, warnings } =
                AgentConfig::parse(&read(&path)?).map_err(|source| LoadError::Parse { path, source })?;
            return Ok(LoadedConfig { config, warnings });
        }
        if let Some((folder, name, backend)) = find_ready_made() {
            return Ok(LoadedConfig {
                config: load_ready_made(folder, name, backend, &variables)?,
                warnings: Vec::new(),
            });
        }
        if !environment::is_configured(&variables) {
            return Err(LoadError::Nothing);
        }
        let backend = daemon::installed().unwrap_or(Backend::Frr);
        let config =
            environment::read_config(&variables, &hostname(), backend).map_err(LoadError::Variables)?;
        let misspelled = environment::misspelled_variables(&variables).into_iter();
        let warnings =
            misspelled.map(|(name, known)| format!("unknown variable {name}; did you mean {known}?"));
        Ok(LoadedConfig { config, warnings: warnings.collect() })
    }

    /// When the configuration file last changed; none for the environment.
    pub fn modified_at(&self) -> Option<SystemTime> {
        let path =
            self.path().or_else(|| find_ready_made().map(|(folder, name, _)| Path::new(folder).join(name)));
        fs::metadata(path?).and_then(|file| file.modified()).ok()
    }

    /// The path of `agent.json`.
    fn path(&self) -> Option<PathBuf> {
        let default_path =
            || FOLDERS.iter().map(|(folder, ..)| Path::new(folder).join(FILE)).find(|path| path.exists());
        self.file.clone().or_else(default_path)
    }
}

/// The first ready-made daemon file.
fn find_ready_made() -> Option<(&'static str, &'static str, Backend)> {
    FOLDERS.into_iter().find(|(folder, name, _)| Path::new(folder).join(name).exists())
}

fn load_ready_made(
    folder: &str,
    name: &str,
    backend: Backend,
    variables: &BTreeMap<String, String>,
) -> Result<AgentConfig, LoadError> {
    let daemons = Path::new(folder).join("daemons");
    let files = DaemonFiles {
        configuration: SecretText(read(&Path::new(folder).join(name))?),
        daemons: if daemons.exists() { Some(read(&daemons)?) } else { None },
        veth: environment::read_veth_pair(variables).map_err(LoadError::Variables)?,
    };
    Ok(AgentConfig {
        backend,
        source: ConfigSource::Files(Box::new(files)),
        mtu: variables.get("INTERFACE_MTU").and_then(|mtu| mtu.parse().ok()),
        extra_addresses: Vec::new(),
        health: None,
        drain: false,
        log: LogLevel::Info,
        status: None,
    })
}

fn read(path: &Path) -> Result<String, LoadError> {
    fs::read_to_string(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })
}

/// The node's host name; `node` if it is not a valid node name.
fn hostname() -> NodeName {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().split('.').next().unwrap_or_default().to_ascii_lowercase();
    NodeName::parse(&name).unwrap_or_else(|_| NodeName::parse("node").expect("a name"))
}
