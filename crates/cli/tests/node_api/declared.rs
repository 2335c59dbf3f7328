//! The messages that `ichor_talos::api` declares, read from its source, and their counterparts in Talos' definitions.

use std::collections::{BTreeMap, BTreeSet};

use ichor_talos::api::method;

use super::schema::Schema;

const SOURCES: [&str; 8] = [
    include_str!("../../../talos/src/api/mod.rs"),
    include_str!("../../../talos/src/api/cluster.rs"),
    include_str!("../../../talos/src/api/common.rs"),
    include_str!("../../../talos/src/api/config.rs"),
    include_str!("../../../talos/src/api/cosi.rs"),
    include_str!("../../../talos/src/api/image.rs"),
    include_str!("../../../talos/src/api/lifecycle.rs"),
    include_str!("../../../talos/src/api/machine.rs"),
];

/// The types of request and response of each call.
pub const CALLS: [(&str, &str, &str); 31] = [
    (method::VERSION, "Empty", "VersionResponse"),
    (method::APPLY_CONFIGURATION, "ApplyConfigurationRequest", "ApplyConfigurationResponse"),
    (method::BOOTSTRAP, "Empty", "PlainResponse"),
    (method::KUBECONFIG, "Empty", "Data"),
    (method::SERVICE_LIST, "Empty", "ServiceListResponse"),
    (method::SERVICE_START, "ServiceRequest", "PlainResponse"),
    (method::SERVICE_STOP, "ServiceRequest", "PlainResponse"),
    (method::SERVICE_RESTART, "ServiceRequest", "PlainResponse"),
    (method::LOGS, "LogsRequest", "Data"),
    (method::DMESG, "DmesgRequest", "Data"),
    (method::READ, "ReadRequest", "Data"),
    (method::EVENTS, "EventsRequest", "MachineEvent"),
    (method::RESET, "ResetRequest", "ActionResponse"),
    (method::REBOOT, "RebootRequest", "ActionResponse"),
    (method::SHUTDOWN, "ShutdownRequest", "ActionResponse"),
    (method::UPGRADE, "UpgradeRequest", "UpgradeResponse"),
    (method::META_WRITE, "MetaWriteRequest", "PlainResponse"),
    (method::META_DELETE, "MetaDeleteRequest", "PlainResponse"),
    (method::ETCD_MEMBER_LIST, "Empty", "EtcdMemberListResponse"),
    (method::ETCD_STATUS, "Empty", "EtcdStatusResponse"),
    (method::ETCD_LEAVE_CLUSTER, "Empty", "PlainResponse"),
    (method::ETCD_FORFEIT_LEADERSHIP, "Empty", "EtcdForfeitLeadershipResponse"),
    (method::ETCD_REMOVE_MEMBER_BY_ID, "EtcdRemoveMemberByIdRequest", "PlainResponse"),
    (method::ETCD_ALARM_LIST, "Empty", "EtcdAlarmListResponse"),
    (method::LIFECYCLE_UPGRADE, "LifecycleUpgradeRequest", "LifecycleUpgradeResponse"),
    (method::IMAGE_PULL, "PullRequest", "PullResponse"),
    (method::IMAGE_IMPORT, "ImportRequest", "ImportResponse"),
    (method::HEALTH_CHECK, "HealthCheckRequest", "HealthCheckProgress"),
    (method::STATE_GET, "GetRequest", "GetResponse"),
    (method::STATE_LIST, "ListRequest", "ListResponse"),
    (method::STATE_WATCH, "WatchRequest", "WatchResponse"),
];

/// Messages inside of others, which no call names.
pub const INNER: [(&str, &str); 3] = [
    ("MachineStatusEvent", "machine.MachineStatusEvent"),
    ("SequenceEvent", "machine.SequenceEvent"),
    ("MachineConfigSpec", "resource.config.MachineConfigSpec"),
];

/// A field as ichor declares it.
#[derive(Clone, Debug)]
struct DeclaredField {
    name: String,
    /// The words of its attribute, without the number: `message`, `optional`, `enumeration = "Mode"`.
    words: Vec<String>,
    /// The message type, if it is one.
    of: String,
}

/// All messages and enumerations that ichor declares.
#[derive(Default)]
pub struct Declared {
    messages: BTreeMap<String, BTreeMap<u32, DeclaredField>>,
    enumerations: BTreeMap<String, BTreeMap<i64, String>>,
}

impl Declared {
    /// Reads the source.
    pub fn read() -> Self {
        let mut declared = Self::default();
        let mut oneofs = Vec::new();
        for source in SOURCES {
            let code = source.split("#[cfg(test)]").next().unwrap();
            declared.read_source(code, &mut oneofs);
        }
        // The variants of a oneof are fields of the message around it.
        for (message, of) in oneofs {
            let variants = declared.messages.remove(&of).unwrap_or_else(|| panic!("no oneof {of}"));
            declared.messages.get_mut(&message).unwrap().extend(variants);
        }
        declared
    }

    fn read_source(&mut self, code: &str, oneofs: &mut Vec<(String, String)>) {
        let (mut derive, mut name, mut attribute) = ("", String::new(), None::<Vec<String>>);
        for line in code.lines().map(str::trim) {
            if line.starts_with("#[derive") {
                derive = line;
            } else if let Some(rest) =
                line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))
            {
                let end = rest.find([' ', '{']).unwrap_or(rest.len());
                rest[..end].clone_into(&mut name);
                if derive.contains("Enumeration") {
                    assert!(
                        self.enumerations.insert(name.clone(), BTreeMap::new()).is_none(),
                        "{name} twice"
                    );
                } else {
                    assert!(self.messages.insert(name.clone(), BTreeMap::new()).is_none(), "{name} twice");
                }
            } else if let Some(inner) = line.strip_prefix("#[prost(").and_then(|rest| rest.strip_suffix(")]"))
            {
                attribute = Some(inner.split(", ").map(str::to_owned).collect());
            } else if let Some(words) = attribute.take() {
                self.read_field(&name, line, words, oneofs);
            } else if let Some((variant, number)) =
                line.strip_suffix(',').and_then(|line| line.split_once(" = "))
                && let Some(values) = self.enumerations.get_mut(&name)
            {
                values.insert(number.parse().unwrap(), variant.to_owned());
            }
        }
    }

    fn read_field(
        &mut self,
        message: &str,
        line: &str,
        words: Vec<String>,
        oneofs: &mut Vec<(String, String)>,
    ) {
        let quoted = |word: &String| word.split('"').nth(1).map(str::to_owned);
        if let Some(of) = words.iter().find(|word| word.starts_with("oneof = ")) {
            oneofs.push((message.to_owned(), quoted(of).unwrap()));
            return;
        }
        let tag = words.iter().find(|word| word.starts_with("tag = ")).and_then(quoted);
        let number: u32 = tag.unwrap_or_else(|| panic!("{message}: no tag: {line}")).parse().unwrap();
        let (name, r#type) = match line.strip_prefix("pub ") {
            Some(field) => field.split_once(": ").unwrap(),
            None => line.split_once('(').unwrap(),
        };
        let of = r#type.trim_end_matches([',', '>', ')']).rsplit(['<', ':']).next().unwrap().to_owned();
        let words = words.into_iter().filter(|word| !word.starts_with("tag = ")).collect();
        let field = DeclaredField { name: snake_case(name.trim_start_matches("r#")), words, of };
        self.messages.get_mut(message).unwrap().insert(number, field);
    }

    /// Pairs messages with those of a release from the calls on; returns the fields that ichor reads or writes, and all mismatches.
    pub fn compare(&self, schema: &Schema) -> (BTreeSet<(String, u32)>, Vec<String>) {
        let mut wrong = Vec::new();
        let mut open: Vec<(String, String)> = Vec::new();
        for (path, request, response) in CALLS {
            match schema.calls.get(path) {
                Some((theirs, answer)) => {
                    open.push((request.to_owned(), theirs.clone()));
                    open.push((response.to_owned(), answer.clone()));
                }
                None => wrong.push(format!("{path} does not exist")),
            }
        }
        open.extend(INNER.map(|(own, theirs)| (own.to_owned(), theirs.to_owned())));
        let (mut seen, mut fields) = (BTreeSet::new(), BTreeSet::new());
        while let Some(pair) = open.pop() {
            if !seen.insert(pair.clone()) {
                continue;
            }
            let (own, theirs) = pair;
            for (number, field) in &self.messages[&own] {
                fields.insert((theirs.clone(), *number));
                match schema.messages.get(&theirs).and_then(|fields| fields.get(number)) {
                    None => wrong.push(format!("{own}.{}: {theirs} has no field {number}", field.name)),
                    Some(real) => {
                        let mut mismatch = |what: String| wrong.push(format!("{own}.{}: {what}", field.name));
                        if real.name != field.name {
                            mismatch(format!("{theirs} names field {number} {}", real.name));
                        }
                        let is_list = field.words.iter().any(|word| word == "repeated");
                        if is_list != (real.cardinality == "repeated") {
                            mismatch(format!("{theirs} has it {}", real.cardinality));
                        }
                        let kind = field.words[0].split(' ').next().unwrap();
                        let kind = if kind == "enumeration" { "enum" } else { kind };
                        // An `int32` reads the numbers of an enumeration.
                        if kind != real.kind && [kind, &real.kind] != ["int32", "enum"] {
                            mismatch(format!("{theirs} has a {}", real.kind));
                        } else if kind == "message" {
                            open.push((field.of.clone(), real.of.clone()));
                        } else if kind == "enum" {
                            let own = field.words[0].split('"').nth(1).unwrap().rsplit(':').next().unwrap();
                            self.compare_values(own, &real.of, schema, &mut wrong);
                        }
                    }
                }
            }
        }
        let paired: BTreeSet<_> = seen.iter().map(|(own, _)| own).collect();
        let left = self.messages.keys().filter(|name| !paired.contains(name));
        wrong.extend(left.map(|name| format!("{name}: no call uses it")));
        (fields, wrong)
    }

    fn compare_values(&self, own: &str, theirs: &str, schema: &Schema, wrong: &mut Vec<String>) {
        for (number, variant) in &self.enumerations[own] {
            let name = snake_case(variant);
            let real = schema.values.get(theirs).and_then(|values| values.get(number));
            if !real.is_some_and(|real| real.ends_with(&name.to_uppercase())) {
                wrong.push(format!("{own}::{variant}: {theirs} has {real:?} as {number}"));
            }
        }
    }
}

/// `exit_code` for `ExitCode`.
fn snake_case(name: &str) -> String {
    let letters = name.char_indices().map(|(at, letter)| {
        let separator = if at > 0 && letter.is_uppercase() { "_" } else { "" };
        format!("{separator}{}", letter.to_lowercase())
    });
    letters.collect()
}
