//! Answers of a node, normalized: what one boot has and another has not is replaced by placeholders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use ichor_talos::api::method;
use ichor_talos::document;
use ichor_talos::resource::machine_config;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::calls::Call;
use super::declared::Declared;
use super::schema::{Schema, unhex};
use super::wire::RawAnswer;

/// Texts that differ between boots, and their placeholders.
static VOLATILE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)", "<time>"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
        (r"\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b", "<mac>"),
        (r"\b\d+\.\d+\.\d+\.\d+(/\d+)?(:\d+)?\b", "<ip>"),
        (r"\b([0-9a-f]{1,4}:){2,7}(:?[0-9a-f]{1,4})+(/\d+)?\b|\b([0-9a-f]{1,4}:)+:(/\d+)?", "<ip>"),
        (r"\bv\d+\.\d+\.\d+(-[a-z0-9.]+)?\b", "<version>"),
        (r"\btalos-[a-z0-9]{3}-[a-z0-9]{3}\b", "<hostname>"),
        (r"\b[0-9a-f]{16,}\b", "<hex>"),
        (r"\b\d+(\.\d+)?(ms|µs|s)\b", "<duration>"),
        (r"(?s)(Config diff|diff):\n.*", "$1:\n<diff>"),
    ]
    .map(|(pattern, placeholder)| (Regex::new(pattern).unwrap(), placeholder))
    .into()
});

/// Kinds of resources of which every machine has others.
const OF_HARDWARE: [&str; 4] = [
    "AddressStatuses.net.talos.dev",
    "RouteStatuses.net.talos.dev",
    "LinkStatuses.net.talos.dev",
    "Disks.block.talos.dev",
];

/// Kinds of resources whose values are those of every machine in this state.
const OF_STATE: [&str; 2] = ["MachineStatuses.runtime.talos.dev", "Services.v1alpha1.talos.dev"];

/// A release and what is recorded of it.
#[derive(Debug)]
pub struct Release {
    pub version: &'static str,
}

impl Release {
    /// The file with a record.
    pub fn file(&self, name: &str) -> PathBuf {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/node_api/data");
        PathBuf::from(folder).join(self.version).join(name)
    }

    /// The recorded definitions of messages.
    pub fn schema(&self) -> Schema {
        let path = self.file("messages.txt");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Schema::parse(&text)
    }

    /// A recorded state.
    pub fn recorded(&self, state: &str) -> Value {
        let path = self.file(&format!("{state}.json"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap()
    }
}

/// Answers to calls, as they are recorded.
pub struct Recorder {
    schema: Schema,
    read: BTreeSet<(String, u32)>,
    answers: Map<String, Value>,
    unread: BTreeSet<String>,
}

impl Recorder {
    /// Decodes messages by these definitions.
    pub fn new(schema: Schema) -> Self {
        let (read, _) = Declared::read().compare(&schema);
        Self { schema, read, answers: Map::new(), unread: BTreeSet::new() }
    }

    /// Records the answer to a call.
    pub fn add(&mut self, call: &Call, answer: Result<RawAnswer, String>) {
        let recorded = match answer {
            Err(error) => json!({"connection": normal_text(&error)}),
            Ok(answer) => {
                let mut recorded = self.messages(call, &answer.messages);
                recorded["status"] = match &answer.status {
                    None => json!("the stream stays open"),
                    Some((code, _)) => json!(code_name(*code)),
                };
                if let Some((_, text)) = answer.status.filter(|(_, text)| !text.is_empty()) {
                    recorded["error"] = json!(normal_text(text.trim_end()));
                }
                recorded
            }
        };
        assert!(self.answers.insert(call.name.clone(), recorded).is_none(), "{} twice", call.name);
    }

    /// All answers, and the fields in them that ichor does not read.
    pub fn finish(mut self) -> Value {
        // Whether a watch sends earlier contents depends on the moment.
        self.unread.retain(|field| !field.starts_with("cosi.resource.Event."));
        json!({"answers": self.answers, "fields that ichor does not read": self.unread})
    }

    fn messages(&mut self, call: &Call, messages: &[Vec<u8>]) -> Value {
        let Some((_, response)) = self.schema.calls.get(&call.path) else {
            assert!(messages.is_empty(), "{}: answered", call.name);
            return json!({});
        };
        let (schema, unread) = (&self.schema, &mut self.unread);
        let decoded: Vec<Value> = messages
            .iter()
            .map(|bytes| {
                schema
                    .decode(response, bytes, &self.read, unread)
                    .unwrap_or_else(|error| panic!("{}: {error}", call.name))
            })
            .collect();
        match call.path.as_str() {
            method::STATE_GET => {
                json!({"resource": decoded.iter().map(|it| state_of(&it["resource"])).collect::<Vec<_>>()})
            }
            method::STATE_LIST => resources(decoded.iter().map(|message| &message["resource"])),
            method::STATE_WATCH => watched(&decoded),
            method::SERVICE_LIST => services(&decoded),
            method::EVENTS => events(&decoded),
            method::LOGS | method::READ | method::KUBECONFIG => data(&decoded),
            method::DMESG => dmesg(&decoded),
            _ => json!({"messages": decoded.into_iter().map(|it| normal(&it)).collect::<Vec<_>>()}),
        }
    }
}

/// The name that gRPC gives a code.
fn code_name(code: i32) -> String {
    format!("{:?}", tonic::Code::from(code))
}

/// A text without what is volatile.
fn normal_text(text: &str) -> String {
    VOLATILE.iter().fold(text.to_owned(), |text, (pattern, placeholder)| {
        pattern.replace_all(&text, *placeholder).into_owned()
    })
}

/// A value without what is volatile.
fn normal(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(normal_text(text)),
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), normal(value))).collect(),
        other => other.clone(),
    }
}

/// The types of all values at each place, instead of the values; keys that only some have are marked if that matters.
fn shape(values: &[&Value], marked: bool) -> Value {
    let objects: Vec<_> = values.iter().filter_map(|value| value.as_object()).collect();
    let items: Vec<_> = values.iter().filter_map(|value| value.as_array()).flatten().collect();
    let mut kinds = BTreeSet::new();
    for value in values {
        kinds.insert(match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "list",
            Value::Object(_) => "object",
        });
    }
    match kinds.iter().copied().collect::<Vec<_>>()[..] {
        ["object"] => {
            let keys: BTreeSet<_> = objects.iter().flat_map(|map| map.keys()).collect();
            let shapes = keys.into_iter().map(|key| {
                let found: Vec<_> = objects.iter().filter_map(|map| map.get(key)).collect();
                let optional = if marked && found.len() < objects.len() { "?" } else { "" };
                (format!("{key}{optional}"), shape(&found, marked))
            });
            Value::Object(shapes.collect())
        }
        ["list"] if items.is_empty() => json!([]),
        ["list"] => json!([shape(&items, marked)]),
        _ => json!(kinds.into_iter().collect::<Vec<_>>().join(" or ")),
    }
}

/// The specification of a resource, as it is printed; the encoded one only if there is no other.
fn spec(resource: &Value) -> Value {
    let text = resource["spec"]["yaml_spec"].as_str().unwrap_or_default();
    match &document::read(text).map(|mut documents| documents.pop()) {
        Ok(Some(read)) => read.clone(),
        Ok(None) => Value::Null,
        Err(error) => panic!("{error}: {text}"),
    }
}

/// A resource whose values belong to the state.
fn state_of(resource: &Value) -> Value {
    let metadata = normal(&resource["metadata"]);
    let spec = spec(resource);
    let spec = if metadata["type"] == machine_config::TYPE { shape(&[&spec], true) } else { normal(&spec) };
    json!({"metadata": shape(&[&metadata], true), "namespace": metadata["namespace"], "type": metadata["type"],
        "id": metadata["id"], "spec": spec})
}

/// Resources of one kind.
fn resources<'v>(all: impl Iterator<Item = &'v Value>) -> Value {
    let all: Vec<_> = all.collect();
    let Some(kind) = all.first().and_then(|it| it["metadata"]["type"].as_str()) else {
        return json!({"resources": "none"});
    };
    let ids: Vec<_> = all.iter().map(|it| normal(&it["metadata"]["id"])).collect();
    let metadata: Vec<_> = all.iter().map(|it| &it["metadata"]).collect();
    let specs: Vec<_> = all.iter().map(|it| spec(it)).collect();
    let has_encoded = all.iter().all(|it| it["spec"]["proto_spec"].is_string());
    let mut recorded = json!({"metadata": shape(&metadata, true), "encoded": has_encoded});
    let mut sorted = all.iter().map(|it| it["metadata"]["id"].as_str().unwrap()).collect::<Vec<_>>();
    sorted.sort_unstable();
    recorded["sorted"] = json!(
        sorted.iter().eq(all
            .iter()
            .map(|it| it["metadata"]["id"].as_str().unwrap())
            .collect::<Vec<_>>()
            .iter())
    );
    if !OF_HARDWARE.contains(&kind) {
        recorded["ids"] = json!(ids);
    }
    recorded["specs"] = if OF_STATE.contains(&kind) {
        let named = all.iter().zip(&specs);
        Value::Object(
            named
                .map(|(it, spec)| (it["metadata"]["id"].as_str().unwrap().to_owned(), normal(spec)))
                .collect(),
        )
    } else {
        shape(&specs.iter().collect::<Vec<_>>(), !OF_HARDWARE.contains(&kind))
    };
    recorded
}

/// The events of a watch until all existing resources were sent.
fn watched(messages: &[Value]) -> Value {
    let nothing = Vec::new();
    let events = messages.iter().flat_map(|message| message["event"].as_array().unwrap_or(&nothing));
    let mut recorded = Vec::new();
    for event in events {
        let kind = event["event_type"].as_str().unwrap_or("CREATED").to_owned();
        let is_last = kind == "BOOTSTRAPPED";
        let mut one = json!({"event": kind, "resource": event["resource"]["metadata"]["id"]});
        if event["error"].is_string() {
            one["error"] = normal(&event["error"]);
        }
        recorded.push(one);
        if is_last {
            break;
        }
    }
    json!({"events": recorded})
}

/// The states of services.
fn services(messages: &[Value]) -> Value {
    let nothing = Vec::new();
    let all: Vec<_> = messages
        .iter()
        .flat_map(|message| message["messages"].as_array().unwrap_or(&nothing))
        .flat_map(|list| list["services"].as_array().unwrap_or(&nothing))
        .collect();
    let state = |service: &&Value| {
        let mut one = normal(service);
        let events: Vec<_> = service["events"]["events"].as_array().unwrap_or(&nothing).iter().collect();
        one["events"] = if events.is_empty() { json!("none") } else { shape(&events, true) };
        one
    };
    json!({"services": all.iter().map(state).collect::<Vec<_>>()})
}

/// Sequences and stages, each in their order. Other events, and repetitions of a stage, are left out.
fn events(messages: &[Value]) -> Value {
    let (mut sequences, mut stages) = (Vec::new(), Vec::new());
    let mut kinds = BTreeSet::new();
    let first = messages.first().is_some_and(|message| !message["data"]["type_url"].is_string());
    for message in messages {
        let data = &message["data"];
        let Some(url) = data["type_url"].as_str() else { continue };
        kinds.insert(url);
        let stage = &data["value"]["stage"];
        match url.rsplit('.').next().unwrap_or_default() {
            "SequenceEvent" => sequences.push(normal(&data["value"])),
            // Whether it is ready changes often while services start.
            "MachineStatusEvent" if stage.is_string() && stages.last() != Some(stage) => {
                stages.push(stage.clone());
            }
            _ => {}
        }
    }
    json!({"first message is empty": first, "sequences": sequences, "stages": stages, "kinds": kinds})
}

/// Bytes, of which only their form is recorded.
fn data(messages: &[Value]) -> Value {
    let bytes: Vec<u8> =
        messages.iter().flat_map(|message| unhex(message["bytes"].as_str().unwrap_or_default())).collect();
    let form = match std::str::from_utf8(&bytes) {
        Ok("") => "nothing",
        Ok(text) if text.ends_with('\n') => "lines",
        Ok(_) => "text without an end of line",
        Err(_) => "bytes",
    };
    json!({"bytes": form})
}

/// The form of the lines of a kernel log.
fn dmesg(messages: &[Value]) -> Value {
    static LINE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[a-z]+\d?: +[a-z]+: \[<time>\]: (?s:.*)\n$").unwrap());
    let texts: Vec<_> = messages
        .iter()
        .map(|message| {
            normal_text(&String::from_utf8_lossy(&unhex(message["bytes"].as_str().unwrap_or_default())))
        })
        .collect();
    let mut forms: BTreeMap<bool, &str> = BTreeMap::new();
    for text in &texts {
        forms.entry(LINE.is_match(text)).or_insert(text);
    }
    json!({"messages": if texts.is_empty() { "none" } else { "some" },
        "facility, level, time and text": !forms.contains_key(&false), "other": forms.get(&false)})
}

/// Differences of two records, as lines with the path of a value.
pub fn differences(real: &Value, simulated: &Value) -> Vec<String> {
    let (mut ours, mut theirs) = (BTreeSet::new(), BTreeSet::new());
    flatten("", real, &mut theirs);
    flatten("", simulated, &mut ours);
    let missing = theirs.difference(&ours).map(|line| format!("- {line}"));
    let additional = ours.difference(&theirs).map(|line| format!("+ {line}"));
    missing.chain(additional).collect()
}

fn flatten(path: &str, value: &Value, lines: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                flatten(&format!("{path}/{key}"), value, lines);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (nth, value) in items.iter().enumerate() {
                flatten(&format!("{path}/{nth}"), value, lines);
            }
        }
        value => {
            lines.insert(format!("{path} = {value}"));
        }
    }
}
