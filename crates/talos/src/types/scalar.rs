//! The scalars of Talos' configuration: the values each type accepts, and the form in which Talos stores them.
//!
//! Not here: scalars without a type ([`word`]), and lists, maps and structs ([`load`](crate::load)).

use serde_json::Value;

use crate::go::{base64, duration, humanize, netip, url};
use ichor_values::go_yaml::reader::{YamlNode, YamlValue};
use ichor_values::go_yaml::scalar as word;
use ichor_values::go_yaml::scalar::{Leniency, ScalarValue};

/// Why a word, list or map is not a value of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScalarError {
    /// It is not a word.
    #[error("a list or map, where {wanted} is wanted")]
    Collection {
        /// The valid form.
        wanted: String,
    },
    /// Releases that distinguish dates from text take it for a date.
    #[error("want text, not a date: put it in quotes")]
    Date,
    /// The word is of another type.
    #[error("not {wanted}")]
    Mismatch {
        /// The valid form.
        wanted: String,
    },
    /// A URL in which colons end the host too early.
    #[error("an IPv6 address in a URL must be in square brackets")]
    BareAddress,
    /// A merge key of a value that is not a map.
    #[error("`<<` with something that is not a map")]
    MergeKey,
}

/// Talos' replacement of a secret that it does not show.
const REDACTED: &str = "******";

/// The type of a word or number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// Any text.
    Text,
    /// `true` or `false`.
    Bool,
    /// An integer in a range.
    Int(i64, u64),
    /// Text that Go reads and writes back in a form of its own.
    Form(Form),
    /// One of some words, the first of which is the zero value.
    Word(&'static [&'static str]),
    /// One of some words, none of which is the zero value.
    Choice(Choice),
    /// The mode of a file, which is written in octal.
    Mode,
    /// A table of routes: a number up to 252 or a name.
    RoutingTable,
    /// A port, or two with a dash.
    PortRange,
    /// The size of a partition.
    DiskSize,
    /// Anything.
    Any,
}

/// Words whose numbers in Talos do not start at 0, and Talos' output for 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    words: &'static [&'static str],
    none: &'static str,
}

/// A form of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `1m30s`
    Duration,
    /// `10.0.0.1`
    Address,
    /// `10.0.0.0/8`
    Prefix,
    /// `10.0.0.1:80`
    AddressAndPort,
    /// A URL, which may be empty.
    Url,
    /// `52:54:00:00:00:01`
    HardwareAddress,
    /// Bytes in base64.
    Base64,
    /// A key in base64, or Talos' replacement of one.
    Base64Key,
    /// `10GB`, with a minus in front to count from the end.
    Bytes,
    /// As [`Form::Bytes`], or `50%`.
    Size,
    /// `>= 10GB`
    SizeMatch,
    /// An expression of the Common Expression Language.
    Expression,
    /// A manifest, whose first lines may be empty.
    Manifest,
}

const WORDS: [(&str, &[&str]); 20] = [
    ("default-action", &["accept", "block"]),
    ("dns-protocol", &["Do53", "DoT", "DoH"]),
    ("client-identifier", &["none", "mac", "duid"]),
    (
        "bond-mode",
        &["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"],
    ),
    ("hash-policy", &["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4"]),
    ("arp-validate", &["none", "active", "backup", "all", "filter", "filter-active", "filter-backup"]),
    ("arp-all-targets", &["any", "all"]),
    ("lacp-rate", &["slow", "fast"]),
    ("fail-over-mac", &["none", "active", "follow"]),
    ("ad-select", &["stable", "bandwidth", "count"]),
    ("ad-lacp-active", &["off", "on"]),
    ("primary-reselect", &["always", "better", "failure"]),
    ("auto-hostname", &["off", "talos-addr", "stable"]),
    ("rule-action", &["unspec", "unicast", "blackhole", "unreachable", "prohibit"]),
    ("encryption-provider", &["none", "luks2"]),
    ("filesystem", &["none", "xfs", "vfat", "ext4", "iso9660", "swap", "virtiofs", "btrfs"]),
    ("volume-type", &["partition", "disk", "tmpfs", "directory", "symlink", "overlay", "external"]),
    ("raid-level", &["raid1"]),
    ("raid-metadata", &["1.0", "1.2"]),
    ("logical-volume", &["linear", "raid1", "raid0", "raid10"]),
];

const CHOICES: [(&str, Choice); 3] = [
    ("protocol", Choice { words: &["icmp", "tcp", "udp", "icmpv6"], none: "Protocol(0)" }),
    ("vlan-protocol", Choice { words: &["802.1q", "802.1ad"], none: "VLANProtocol(0)" }),
    (
        "wake-on-lan",
        Choice {
            words: &["phy", "unicast", "multicast", "broadcast", "magic", "magicsecure", "filter"],
            none: "WOLMode(0)",
        },
    ),
];

impl Scalar {
    /// The type that this name has in the tables.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Scalar::Text,
            "bool" => Scalar::Bool,
            "int" => Scalar::Int(i64::MIN, i64::MAX.unsigned_abs()),
            "i32" => Scalar::Int(i32::MIN.into(), i32::MAX.unsigned_abs().into()),
            "uint" | "u64" => Scalar::Int(0, u64::MAX),
            "u32" => Scalar::Int(0, u32::MAX.into()),
            "mode" => Scalar::Mode,
            "u16" => Scalar::Int(0, u16::MAX.into()),
            "u8" => Scalar::Int(0, u8::MAX.into()),
            "duration" => Scalar::Form(Form::Duration),
            "addr" => Scalar::Form(Form::Address),
            "prefix" => Scalar::Form(Form::Prefix),
            "addrport" => Scalar::Form(Form::AddressAndPort),
            "url" | "endpoint" => Scalar::Form(Form::Url),
            "mac" => Scalar::Form(Form::HardwareAddress),
            "base64" => Scalar::Form(Form::Base64),
            "base64-key" => Scalar::Form(Form::Base64Key),
            "bytes" => Scalar::Form(Form::Bytes),
            "size" => Scalar::Form(Form::Size),
            "size-match" => Scalar::Form(Form::SizeMatch),
            "cel" => Scalar::Form(Form::Expression),
            "manifest" => Scalar::Form(Form::Manifest),
            "routing-table" => Scalar::RoutingTable,
            "port-range" => Scalar::PortRange,
            "disk-size" => Scalar::DiskSize,
            "any" => Scalar::Any,
            _ => match WORDS.iter().find(|(found, _)| *found == name) {
                Some((_, words)) => Scalar::Word(words),
                None => Scalar::Choice(CHOICES.iter().find(|(found, _)| *found == name)?.1),
            },
        })
    }

    /// Decodes a scalar as this type, or returns the valid form. The scalar is not null.
    pub fn read(self, node: &YamlNode, leniency: Leniency) -> Result<Value, ScalarError> {
        if self == Scalar::Any {
            return any(node);
        }
        let text = node.text().ok_or_else(|| ScalarError::Collection { wanted: self.expectation() })?;
        let word = node.word().unwrap_or(ScalarValue::Text);
        let read = match self {
            Scalar::Text if matches!(word, ScalarValue::Time(_)) && !leniency.dates => {
                return Err(ScalarError::Date);
            }
            Scalar::Text => Some(Value::from(text)),
            Scalar::Bool => word.flag(text).map(Value::from),
            Scalar::Int(least, most) => int(&word, least, most, leniency),
            Scalar::Mode => int(&word, 0, u32::MAX.into(), leniency),
            Scalar::Form(form) => form.read(text).map(Value::from),
            Scalar::Word(words) | Scalar::Choice(Choice { words, .. }) => {
                one_of(words, text).map(Value::from)
            }
            Scalar::RoutingTable => routing_table(text).map(Value::from),
            Scalar::PortRange => port_range(&word, text, leniency),
            Scalar::DiskSize => humanize::parse_bytes(text)
                .map(|bytes| humanize::print_bytes(bytes).map_or(Value::from(bytes), Value::from)),
            Scalar::Any => None,
        };
        read.ok_or_else(|| ScalarError::Mismatch { wanted: self.expectation() })
    }

    /// Whether a value is Go's zero value.
    pub(crate) fn is_zero(self, value: &Value) -> bool {
        match (self, value) {
            (Scalar::Word(words), Value::String(word)) => words[0] == word,
            (Scalar::Choice(choice), Value::String(word)) => choice.none == word,
            (Scalar::RoutingTable, Value::String(word)) => word == "unspec",
            (Scalar::Form(Form::Duration), Value::String(text)) => text == "0s",
            (Scalar::Any, value) => value.is_null(),
            (_, Value::String(text)) => text.is_empty(),
            (_, Value::Number(number)) => number.as_f64() == Some(0.0),
            (_, Value::Bool(value)) => !value,
            _ => false,
        }
    }

    /// The value Go starts with, as Talos writes it.
    pub(crate) fn zero(self) -> Value {
        match self {
            Scalar::Bool => Value::from(false),
            Scalar::Int(..) | Scalar::Mode | Scalar::DiskSize | Scalar::PortRange => Value::from(0),
            Scalar::Form(Form::Duration) => Value::from("0s"),
            Scalar::Word(words) => Value::from(words[0]),
            Scalar::RoutingTable => Value::from("unspec"),
            Scalar::Any => Value::Null,
            Scalar::Choice(choice) => Value::from(choice.none),
            Scalar::Text | Scalar::Form(_) => Value::from(""),
        }
    }

    fn expectation(self) -> String {
        match self {
            Scalar::Text => "text".to_owned(),
            Scalar::Bool => "`true` or `false`".to_owned(),
            Scalar::Int(i64::MIN, _) => "a whole number".to_owned(),
            Scalar::Int(least, most) => format!("a whole number from {least} to {most}"),
            Scalar::Mode => "the mode of a file such as `0o644`".to_owned(),
            Scalar::Form(form) => form.expectation().to_owned(),
            Scalar::Word(words) | Scalar::Choice(Choice { words, .. }) => {
                format!("one of `{}`", words.join("`, `"))
            }
            Scalar::RoutingTable => "a routing table: `main`, `local`, `default`, or 1 to 252".to_owned(),
            Scalar::PortRange => "a port such as `80`, or two such as `1000-2000`".to_owned(),
            Scalar::DiskSize => "a size such as `100 GB`".to_owned(),
            Scalar::Any => "a value".to_owned(),
        }
    }
}

impl Form {
    fn read(self, text: &str) -> Option<String> {
        if text.is_empty() && self != Form::Duration && self != Form::SizeMatch {
            return Some(String::new());
        }
        match self {
            Form::Duration => duration::parse(text).map(duration::print),
            Form::Address => netip::print_address(text),
            Form::Prefix => netip::print_prefix(text),
            Form::AddressAndPort => netip::print_address_and_port(text),
            Form::Url => url::print(text),
            Form::HardwareAddress => hardware_address(text),
            Form::Base64Key if text == REDACTED => Some(text.to_owned()),
            Form::Base64 | Form::Base64Key => base64::decode(text).ok().map(base64::encode),
            Form::Bytes => is_bytes(text).then(|| text.to_owned()),
            Form::Size => (is_bytes(text) || is_share(text)).then(|| text.to_owned()),
            Form::SizeMatch => is_size_match(text.trim()).then(|| text.trim().to_owned()),
            Form::Expression => Some(text.to_owned()),
            Form::Manifest => Some(text.trim_start_matches(['\t', '\n', '\x0b', '\x0c', '\r']).to_owned()),
        }
    }

    fn expectation(self) -> &'static str {
        match self {
            Form::Duration => "a duration such as `90s` or `1h30m`",
            Form::Address => "an IP address",
            Form::Prefix => "a prefix such as `10.0.0.0/24`",
            Form::AddressAndPort => "an address and a port such as `10.0.0.1:51820`",
            Form::Url => "a URL",
            Form::HardwareAddress => "a MAC address such as `52:54:00:00:00:01`",
            Form::Base64 | Form::Base64Key => "base64",
            Form::Bytes => "a size such as `10GB`",
            Form::Size => "a size such as `10GB` or `50%`",
            Form::SizeMatch => "a size such as `>= 10GB`",
            Form::Expression => "an expression",
            Form::Manifest => "a manifest",
        }
    }
}

/// Decodes any node without a type.
pub(crate) fn any(node: &YamlNode) -> Result<Value, ScalarError> {
    Ok(match &node.body {
        YamlValue::Text(text) => Value::from(text.as_str()),
        YamlValue::Plain(word) => plain(word),
        YamlValue::List(items) => Value::Array(items.iter().map(any).collect::<Result<_, _>>()?),
        YamlValue::Map(entries) => Value::Object(tree(entries)?),
    })
}

/// Decodes a plain scalar without a type. Infinite numbers, which JSON does not have, are text, and dates as Go writes them.
pub fn plain(word: &str) -> Value {
    match word::read(word) {
        ScalarValue::Null => Value::Null,
        ScalarValue::Bool(value) => Value::from(value),
        ScalarValue::Int(number) => Value::from(number),
        ScalarValue::Uint(number) => Value::from(number),
        ScalarValue::Float(number) => {
            serde_json::Number::from_f64(number).map_or(Value::from(word), Value::Number)
        }
        ScalarValue::Time(moment) => Value::from(moment),
        ScalarValue::Text | ScalarValue::Merge => Value::from(word),
    }
}

/// An untyped map with its merge keys expanded.
pub fn tree(entries: &[(YamlNode, YamlNode)]) -> Result<serde_json::Map<String, Value>, ScalarError> {
    let mut map = serde_json::Map::new();
    let mut merged = Vec::new();
    for (key, value) in entries {
        if key.is_merge() {
            merged.push(value);
            continue;
        }
        map.insert(key.text().unwrap_or_default().to_owned(), any(value)?);
    }
    for source in merged.into_iter().flat_map(YamlNode::sources) {
        let entries = source.entries().ok_or(ScalarError::MergeKey)?;
        for (key, value) in tree(entries)? {
            map.entry(key).or_insert(value);
        }
    }
    Ok(map)
}

fn int(word: &ScalarValue, least: i64, most: u64, leniency: Leniency) -> Option<Value> {
    let fits = |number: &i128| i128::from(least) <= *number && *number <= i128::from(most);
    let number = word.integer(leniency).filter(fits)?;
    i64::try_from(number).map(Value::from).or_else(|_| u64::try_from(number).map(Value::from)).ok()
}

fn one_of(words: &[&'static str], text: &str) -> Option<&'static str> {
    words.iter().find(|word| word.eq_ignore_ascii_case(text)).copied()
}

/// A routing table, by its name or its number, as Talos writes it.
pub(crate) fn routing_table(text: &str) -> Option<String> {
    let names = ["unspec", "default", "main", "local"];
    let number =
        text.parse::<u8>().ok().filter(|number| (1..=252).contains(number) && !text.starts_with(['0', '+']));
    one_of(&names, text).map(str::to_owned).or_else(|| number.map(|number| number.to_string()))
}

fn port_range(word: &ScalarValue, text: &str, leniency: Leniency) -> Option<Value> {
    if let Some(port) = int(word, 0, u16::MAX.into(), leniency) {
        return Some(port);
    }
    let (low, high) = text.split_once('-')?;
    let port = |text: &str| (!text.starts_with('+')).then(|| text.parse::<u16>().ok())?;
    let (low, high) = (port(low)?, port(high)?);
    Some(if low == high { Value::from(low) } else { Value::from(format!("{low}-{high}")) })
}

/// A hardware address: hex digits, with colons anywhere.
pub(crate) fn hardware_address(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b':').collect();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let pairs = digits.chunks(2).map(|pair| String::from_utf8_lossy(pair).to_ascii_lowercase());
    Some(pairs.collect::<Vec<_>>().join(":"))
}

fn is_bytes(text: &str) -> bool {
    humanize::parse_bytes(text.strip_prefix('-').unwrap_or(text)).is_some()
}

fn is_share(text: &str) -> bool {
    let number = text.strip_suffix('%').map(|text| text.strip_prefix('-').unwrap_or(text));
    number.and_then(|number| number.parse::<f64>().ok()).is_some_and(|share| (0.0..=100.0).contains(&share))
}

fn is_size_match(text: &str) -> bool {
    let operators = [">=", "<=", "==", ">", "<"];
    let size = operators.iter().find_map(|operator| text.strip_prefix(operator)).unwrap_or(text);
    humanize::parse_bytes(size.trim()).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use ichor_values::go_yaml::reader as yaml;

    fn read(kind: &str, text: &str) -> Result<Value, ScalarError> {
        let node = yaml::parse(&format!("key: {text}")).unwrap().remove(0);
        Scalar::by_name(kind).unwrap().read(node.get("key").unwrap(), Leniency::for_minor(12))
    }

    #[test]
    fn base64_is_written_without_stray_bits() {
        assert_eq!(read("base64", "aGVsbG9="), Ok(json!("aGVsbG8=")));
    }

    #[test]
    fn a_redacted_certificate_is_no_certificate() {
        assert!(read("base64-key", "'******'").is_ok());
        assert!(read("base64", "'******'").is_err());
    }

    #[test]
    fn a_word_is_read_by_its_type() {
        for (kind, text, want) in [
            ("string", "0644", json!("0644")),
            ("string", "true", json!("true")),
            ("bool", "on", json!(true)),
            ("bool", "\"no\"", json!(false)),
            ("u16", "0x10", json!(16)),
            ("int", "1.9", json!(1)),
            ("mode", "0644", json!(420)),
            ("duration", "90s", json!("1m30s")),
            ("prefix", "FD00::/64", json!("fd00::/64")),
            ("bond-mode", "802.3AD", json!("802.3ad")),
            ("routing-table", "88", json!("88")),
            ("port-range", "80", json!(80)),
            ("port-range", "80-80", json!(80)),
            ("port-range", "1000-2000", json!("1000-2000")),
            ("mac", "52:54:00:AB:cd:01", json!("52:54:00:ab:cd:01")),
            ("size", "50%", json!("50%")),
            ("bytes", "-1GiB", json!("-1GiB")),
            ("disk-size", "100000000", json!("100 MB")),
        ] {
            assert_eq!(read(kind, text), Ok(want), "{kind} {text}");
        }
    }

    #[test]
    fn later_releases_accept_less() {
        let read = |kind: &str, text: &str, minor| {
            let node = yaml::parse(text).unwrap().remove(0);
            Scalar::by_name(kind).unwrap().read(&node, Leniency::for_minor(minor)).is_ok()
        };

        assert_eq!([12, 13, 14].map(|minor| read("int", "1.5", minor)), [true, false, false]);
        assert_eq!([12, 13, 14].map(|minor| read("string", "2001-01-01", minor)), [true, true, false]);
        assert_eq!([12, 13, 14].map(|minor| read("string", "'2001-01-01'", minor)), [true; 3]);
        assert_eq!([12, 13, 14].map(|minor| read("u64", "1e19", minor)), [true; 3]);
    }

    #[test]
    fn an_unfit_scalar_is_rejected() {
        for (kind, text) in [
            ("bool", "1"),
            ("bool", "\"true\""),
            ("u8", "256"),
            ("u32", "-1"),
            ("int", "\"5\""),
            ("duration", "90"),
            ("prefix", "10.0.0.1"),
            ("bond-mode", "lacp"),
            ("routing-table", "253"),
            ("routing-table", "0"),
            ("port-range", "80-"),
            ("size", "150%"),
            ("bytes", "50%"),
            ("string", "[a]"),
            ("base64", "a b"),
        ] {
            assert!(read(kind, text).is_err(), "{kind} {text}");
        }
    }
}
