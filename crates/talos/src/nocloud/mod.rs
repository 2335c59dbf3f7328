//! The nocloud platform: how Talos reads the files of a `cidata` volume.
//!
//! [`network`] returns the network of a machine with certain [`Link`]s by `network-config`, `meta-data` and `user-data`: the
//! platform's network configuration in Talos' own field names, or why it has none. [`UserData`] is how Talos interprets
//! `user-data`, and [`passed_over`] lists the keys it ignores.
//!
//! In the order they are used: `config` decodes `network-config`, `metadata` the names of the machine, `first` and
//! `second` apply the two versions of the format, with the records of `spec`.
//!
//! Not here: finding and opening the volume, and the configuration in `user-data`, which is judged by
//! [`validate`](super::validate).

mod bond;
mod config;
mod first;
mod metadata;
mod passed_over;
mod second;
mod spec;
mod user_data;

use serde_json::{Map, Value, json};

use self::config::NetworkConfig;
use self::metadata::NocloudMetadata;
pub use self::passed_over::passed_over;
pub use self::user_data::{IncludeError, UserData};
use super::platform_network;
use ichor_values::go_yaml::reader::SyntaxError;
use ichor_values::{Mac, TalosVersion};

/// The labels a volume may have to be found: of its file system or of its partition. Nothing in between counts.
pub const LABELS: [&str; 2] = ["cidata", "CIDATA"];

/// The files of a volume, as far as they exist.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files<'f> {
    /// `meta-data`
    pub meta_data: Option<&'f [u8]>,
    /// `network-config`
    pub network_config: Option<&'f [u8]>,
    /// `user-data`
    pub user_data: Option<&'f [u8]>,
}

/// A physical link of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its kernel name.
    pub name: String,
    /// Its permanent address.
    pub mac: Mac,
}

/// A network that Talos has from its platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// The configuration in Talos' field names.
    pub config: Value,
    /// Whether a link with some MAC address is missing, so that Talos keeps retrying.
    pub needs_reconcile: bool,
}

/// Why Talos has no network from the files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NocloudNetworkError {
    /// It is not text.
    #[error("network-config is not UTF-8 text")]
    NotText,
    /// It is not YAML.
    #[error("network-config is not YAML: {0}")]
    NotYaml(#[from] SyntaxError),
    /// A value has a form that Talos rejects.
    #[error("network-config: {}", .0.join("; "))]
    Faults(Vec<String>),
    /// Neither form of it exists.
    #[error("network-config has neither `version` nor `network`: {}; want at least `version: 2`", keys(.0))]
    NoVersion(Vec<String>),
    /// A version that Talos does not know.
    #[error("network-config has version {0}, and Talos reads 1 and 2")]
    Version(i64),
    /// A value that Talos does not take.
    #[error("network-config: {what} `{value}` is not {want}")]
    Value {
        /// The setting.
        what: String,
        /// Its value.
        value: String,
        /// The valid form.
        want: &'static str,
    },
    /// A route requires an address that its link does not have.
    #[error(
        "network-config: {0} has a route with `on-link` and no address, which Talos before 1.13 cannot read"
    )]
    NoSource(String),
    /// The name of the machine is too long or empty.
    #[error(
        "the hostname `{0}` has a first part that is empty or longer than 63 bytes, or is longer than 253 bytes"
    )]
    Hostname(String),
}

fn keys(found: &[String]) -> String {
    if found.is_empty() { "it is empty".to_owned() } else { format!("it has {}", found.join(", ")) }
}

/// The network of a machine with these links. Without a `network-config` Talos has none, whatever the other files.
pub fn network(
    files: Files<'_>,
    links: &[Link],
    talos: &TalosVersion,
) -> Result<Option<Network>, NocloudNetworkError> {
    let Some(config) = files.network_config else { return Ok(None) };
    let text = std::str::from_utf8(config).map_err(|_| NocloudNetworkError::NotText)?;
    let config = NetworkConfig::read(text, talos)?;
    let metadata = NocloudMetadata::from_files(files, talos);
    let mut draft = NetworkBuilder::new(links, talos);
    if !metadata.name().is_empty() {
        draft.add("hostnames", spec::hostname(metadata.name())?);
    }
    match config.version {
        1 => first::apply(&config, &mut draft)?,
        2 => second::apply(&config, &mut draft)?,
        other => return Err(NocloudNetworkError::Version(other)),
    }
    Ok(Some(draft.finish(&metadata)))
}

/// A network that is being made.
struct NetworkBuilder<'d> {
    links: Vec<&'d Link>,
    talos: &'d TalosVersion,
    lists: Map<String, Value>,
    needs_reconcile: bool,
}

impl<'d> NetworkBuilder<'d> {
    fn new(links: &'d [Link], talos: &'d TalosVersion) -> Self {
        let mut links: Vec<&Link> = links.iter().collect();
        // Talos sorts them by name.
        links.sort_by(|a, b| a.name.cmp(&b.name));
        NetworkBuilder { links, talos, lists: Map::new(), needs_reconcile: false }
    }

    fn add(&mut self, list: &str, item: Value) {
        if let Some(items) = self.lists.entry(list).or_insert_with(|| json!([])).as_array_mut() {
            items.push(item);
        }
    }

    /// The links added until now.
    fn links_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.lists.get_mut("links").and_then(Value::as_array_mut).into_iter().flatten()
    }

    /// The name of the link with this MAC address; `name` if the address is empty or no link has it.
    fn name_of(&mut self, mac: &str, name: &str) -> String {
        if mac.is_empty() {
            return name.to_owned();
        }
        // Talos compares texts, so that an address with dashes is the address of nothing.
        match self.links.iter().find(|link| link.mac.to_string().eq_ignore_ascii_case(mac)) {
            Some(link) => link.name.clone(),
            None => {
                self.needs_reconcile = true;
                name.to_owned()
            }
        }
    }

    fn resolvers(&mut self, servers: &[String]) {
        let described = |server: &String| json!({"addr": server, "protocol": "Do53"});
        let described: Vec<_> = servers.iter().map(described).collect();
        self.add("resolvers", json!({"dnsServers": servers, "nameServers": described, "layer": spec::LAYER}));
    }

    fn finish(mut self, metadata: &NocloudMetadata) -> Network {
        self.lists.insert("metadata".to_owned(), metadata.value());
        Network {
            config: platform_network::shape(&self.lists, self.talos),
            needs_reconcile: self.needs_reconcile,
        }
    }
}

#[cfg(test)]
mod tests;
