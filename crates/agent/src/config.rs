//! Loading the agent's configuration: the file of a build, a daemon's own ready files, or the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs, io};

use ichor_bgp::agent::config::{AgentConfig, ConfigError, ConfigSource, DaemonFiles, Hidden, ParsedConfig};
use ichor_bgp::agent::environment;
use ichor_bgp::setting::LogLevel;
use ichor_values::{Backend, Issue, NodeName};

use crate::daemon;

/// The folders that Talos mounts a service's files into, each with the daemon's own file.
const FOLDERS: [(&str, &str, Backend); 3] = [
    ("/usr/local/etc/frr", "frr.conf", Backend::Frr),
    ("/usr/local/etc/bird", "bird.conf", Backend::Bird),
    ("/usr/local/etc/gobgp", "gobgpd.toml", Backend::Gobgp),
];

/// The name of a build's file.
const FILE: &str = "agent.json";

/// The agent has no configuration, or none that can be understood.
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
    /// A file is not what a build writes.
    #[error("cannot understand {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ConfigError,
    },
    /// Variables are wrong.
    #[error("{}", list(.0))]
    Variables(Vec<Issue>),
    /// There is nothing.
    #[error(
        "nobody says what to do: there is no agent.json and no frr.conf in /usr/local/etc/frr, and neither NODE_IP nor \
         ASN_LOCAL is set; put what `ichor build` wrote into the service's ExtensionServiceConfig"
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

/// Loads the agent's configuration from a file or from the usual places.
#[derive(Clone, Debug)]
pub struct ConfigLoader {
    file: Option<PathBuf>,
}

/// A configuration and what is wrong with its source.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// The configuration.
    pub duty: AgentConfig,
    /// Warnings for the log.
    pub remarks: Vec<String>,
}

impl ConfigLoader {
    /// The file that is named, else whatever is there.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { file }
    }

    /// Loads the configuration as it is now.
    pub fn load(&self) -> Result<LoadedConfig, LoadError> {
        let variables: BTreeMap<String, String> = env::vars().collect();
        if let Some(path) = self.path() {
            let ParsedConfig { config, warnings } =
                AgentConfig::parse(&read(&path)?).map_err(|source| LoadError::Parse { path, source })?;
            return Ok(LoadedConfig { duty: config, remarks: warnings });
        }
        if let Some((folder, name, backend)) = ready() {
            return Ok(LoadedConfig {
                duty: as_it_is(folder, name, backend, &variables)?,
                remarks: Vec::new(),
            });
        }
        if !environment::is_told(&variables) {
            return Err(LoadError::Nothing);
        }
        let backend = daemon::installed().unwrap_or(Backend::Frr);
        let duty = environment::read(&variables, &hostname(), backend).map_err(LoadError::Variables)?;
        let misspelt = environment::misspelt(&variables).into_iter();
        let remarks = misspelt.map(|(name, meant)| format!("{name} is no variable of the agent; {meant} is"));
        Ok(LoadedConfig { duty, remarks: remarks.collect() })
    }

    /// When the file of the configuration last changed; none for the environment.
    pub fn stamp(&self) -> Option<SystemTime> {
        let path = self.path().or_else(|| ready().map(|(folder, name, _)| Path::new(folder).join(name)));
        fs::metadata(path?).and_then(|file| file.modified()).ok()
    }

    /// The file of a build.
    fn path(&self) -> Option<PathBuf> {
        let usual =
            || FOLDERS.iter().map(|(folder, ..)| Path::new(folder).join(FILE)).find(|path| path.exists());
        self.file.clone().or_else(usual)
    }
}

/// A daemon's own file that is ready.
fn ready() -> Option<(&'static str, &'static str, Backend)> {
    FOLDERS.into_iter().find(|(folder, name, _)| Path::new(folder).join(name).exists())
}

fn as_it_is(
    folder: &str,
    name: &str,
    backend: Backend,
    variables: &BTreeMap<String, String>,
) -> Result<AgentConfig, LoadError> {
    let daemons = Path::new(folder).join("daemons");
    let ready = DaemonFiles {
        configuration: Hidden(read(&Path::new(folder).join(name))?),
        daemons: if daemons.exists() { Some(read(&daemons)?) } else { None },
        veth: environment::veth(variables).map_err(LoadError::Variables)?,
    };
    Ok(AgentConfig {
        backend,
        source: ConfigSource::Files(Box::new(ready)),
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

/// The node's name, as far as the kernel knows one that can stand in a configuration.
fn hostname() -> NodeName {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim().split('.').next().unwrap_or_default().to_ascii_lowercase();
    NodeName::parse(&name).unwrap_or_else(|_| NodeName::parse("node").expect("a name"))
}
