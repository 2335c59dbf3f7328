//! A stand-in for a Proxmox cluster: it accepts and rejects the same calls as Proxmox, and records them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::schema::{Call, Schema};
use crate::machine::web::{Ask, Reply, Web, form};

pub const TOKEN: &str = "ops@pve!ichor=c0ffee00-1111-2222-3333-444455556666";
pub const PASSWORD: &str = "correct horse";

/// A cluster and its web server.
pub struct StandIn {
    pub web: Web,
    state: Arc<Mutex<State>>,
}

/// State of the cluster.
pub struct State {
    pub version: String,
    /// Hosts, and whether they are online.
    pub hosts: BTreeMap<String, bool>,
    /// Storages: content types, and whether they are active and shared.
    pub storages: BTreeMap<String, (String, bool, bool)>,
    pub bridges: Vec<String>,
    pub pools: Vec<String>,
    /// Files by host (none for a shared storage) and volume.
    pub files: BTreeMap<(Option<String>, String), Vec<u8>>,
    pub machines: BTreeMap<u32, Machine>,
    /// VM numbers in use but not visible.
    pub hidden: BTreeSet<u32>,
    /// Task types that fail, with their messages.
    pub failing: BTreeMap<String, String>,
    /// Number of polls until a task ends.
    pub polls: u32,
    /// All valid calls.
    pub calls: Vec<String>,
    /// All problems of calls.
    pub faults: Vec<String>,
    /// Number of the valid ticket.
    pub ticket: u32,
    /// Called when a machine is powered on or off; returns the addresses of its guest agent.
    pub switched: Option<Switched>,
    tasks: BTreeMap<String, Task>,
}

/// Callback with the machine and its new power state.
pub type Switched = Box<dyn Fn(&Machine, bool) -> Vec<String> + Send>;

/// A machine.
#[derive(Clone, Default)]
pub struct Machine {
    pub host: String,
    pub is_on: bool,
    pub settings: BTreeMap<String, String>,
    pub addresses: Vec<String>,
}

struct Task {
    left: u32,
    failure: Option<String>,
    effect: Option<Effect>,
}

enum Effect {
    Make(u32, Machine),
    Change(u32, Machine),
    Power(u32, bool),
    Remove(u32),
    File(Option<String>, String, Vec<u8>),
    Discard(Option<String>, String),
}

/// A rejected call: status and message.
type Refusal = (u16, String);

impl StandIn {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::new()));
        let (shared, schema) = (Arc::clone(&state), Schema::new());
        let web = Web::start(move |ask| answer(&mut shared.lock().unwrap(), &schema, ask));
        Self { web, state }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Waits until a condition holds.
    pub fn until(&self, what: &str, so: impl Fn(&State) -> bool) {
        let end = Instant::now() + Duration::from_secs(40);
        while !so(&self.state()) {
            assert!(Instant::now() < end, "{what}: never seen; {:?}", self.state().calls);
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl State {
    fn new() -> Self {
        let storage = |content: &str, shared| (content.to_owned(), true, shared);
        Self {
            version: "9.1.3".to_owned(),
            hosts: [("pve1", true), ("pve2", true), ("pve3", true)]
                .map(|(name, on)| (name.to_owned(), on))
                .into(),
            storages: [
                ("local".to_owned(), storage("iso,vztmpl,backup", false)),
                ("local-lvm".to_owned(), storage("images,rootdir", false)),
                ("cephfs".to_owned(), storage("iso,backup", true)),
            ]
            .into(),
            bridges: vec!["vmbr0".to_owned()],
            pools: vec!["talos".to_owned()],
            files: BTreeMap::new(),
            machines: BTreeMap::new(),
            hidden: BTreeSet::new(),
            failing: BTreeMap::new(),
            polls: 1,
            calls: Vec::new(),
            faults: Vec::new(),
            ticket: 0,
            switched: None,
            tasks: BTreeMap::new(),
        }
    }

    /// Number of calls of a method.
    pub fn count(&self, name: &str) -> usize {
        self.calls.iter().filter(|call| *call == name).count()
    }

    /// Lets all current and future tasks end at the next poll.
    pub fn hurry(&mut self) {
        self.polls = 0;
        self.tasks.values_mut().for_each(|task| task.left = 0);
    }

    fn task(&mut self, host: &str, kind: &str, effect: Effect) -> Value {
        let upid =
            format!("UPID:{host}:0000{:04X}:00ABCDEF:65AB01CD:{kind}::ops@pve!ichor:", self.tasks.len());
        let failure = self.failing.get(kind).cloned();
        self.tasks.insert(upid.clone(), Task { left: self.polls, failure, effect: Some(effect) });
        upid.into()
    }

    fn end(&mut self, upid: &str) {
        let Some(task) = self.tasks.get_mut(upid) else { return };
        if task.failure.is_some() {
            // An incomplete machine is removed.
            if let Some(Effect::Make(id, _)) = task.effect.take() {
                self.machines.remove(&id);
            }
            return;
        }
        match task.effect.take() {
            Some(Effect::Make(id, machine) | Effect::Change(id, machine)) => {
                drop(self.machines.insert(id, machine));
            }
            Some(Effect::Power(id, on)) => self.switch(id, on),
            Some(Effect::Remove(id)) => drop(self.machines.remove(&id)),
            Some(Effect::File(host, volume, bytes)) => drop(self.files.insert((host, volume), bytes)),
            Some(Effect::Discard(host, volume)) => drop(self.files.remove(&(host, volume))),
            None => {}
        }
    }

    fn switch(&mut self, id: u32, on: bool) {
        let machine = self.machines.get_mut(&id).unwrap();
        machine.is_on = on;
        if let Some(switched) = &self.switched {
            machine.addresses = switched(machine, on);
        }
    }

    /// Advances tasks, even if they are not polled.
    fn tick(&mut self) {
        let due = self.tasks.iter_mut().filter(|(_, task)| task.effect.is_some());
        let due: Vec<_> = due
            .filter_map(|(upid, task)| {
                task.left = task.left.saturating_sub(1);
                (task.left == 0).then(|| upid.clone())
            })
            .collect();
        for upid in due {
            self.end(&upid);
        }
    }

    /// Host of a storage's volume; none if it is shared.
    fn volume_host(&self, host: &str, storage: &str) -> Option<String> {
        let shared = self.storages.get(storage).is_some_and(|(_, _, shared)| *shared);
        (!shared).then(|| host.to_owned())
    }
}

fn answer(state: &mut State, schema: &Schema, ask: &Ask) -> Reply {
    if let Some(refused) = authenticate(state, ask) {
        return refused;
    }
    let upload = ask.headers.get("content-type").is_some_and(|kind| kind.starts_with("multipart/form-data"));
    let (mut given, mut file) = (ask.query.clone(), Vec::new());
    if upload {
        let (parts, bytes) = parts(ask);
        given.extend(parts);
        file = bytes;
    } else if matches!(ask.method.as_str(), "POST" | "PUT") {
        assert_eq!(ask.headers["content-type"], "application/x-www-form-urlencoded");
        given.extend(form(std::str::from_utf8(&ask.body).unwrap()));
    }
    assert_eq!(ask.path[..2], ["api2", "extjs"], "{ask:?}");
    let Some(call) = schema.find(&ask.method, &ask.path[2..], &given) else {
        state.faults.push(format!("{} {:?}: there is no such method", ask.method, ask.path));
        return refusal(501, "Method not implemented", &json!({}));
    };
    state.calls.push(call.name.clone());
    if !call.name.contains("/tasks/") {
        state.tick();
    }
    let faults = schema.faults(&call);
    if !faults.is_empty() {
        state.faults.push(format!("{}: {faults:?}", call.name));
        return refusal(400, "Parameter verification failed.\n", &faults.into());
    }
    match act(state, &call, &file) {
        Ok(data) => Reply::new(200, json!({"data": data, "success": 1})),
        Err((status, message)) => refusal(status, &message, &json!({})),
    }
}

fn refusal(status: u16, message: &str, errors: &Value) -> Reply {
    Reply::new(
        200,
        json!({"data": null, "success": 0, "status": status, "message": message, "errors": errors}),
    )
}

fn authenticate(state: &State, ask: &Ask) -> Option<Reply> {
    let is = |name: &str, want: &str| ask.headers.get(name).is_some_and(|value| value == want);
    let token = is("authorization", &format!("PVEAPIToken={TOKEN}"));
    let ticket = state.ticket > 0
        && is("cookie", &format!("PVEAuthCookie=PVE:root@pam:{}", state.ticket))
        && (ask.method == "GET" || is("csrfpreventiontoken", &format!("guard{}", state.ticket)));
    let login = ask.path[2..] == ["access", "ticket"];
    (!token && !ticket && !login).then(|| Reply::new(401, ""))
}

/// Parts of a form, and its file.
fn parts(ask: &Ask) -> (Vec<(String, String)>, Vec<u8>) {
    let boundary = ask.headers["content-type"].split_once("boundary=").unwrap().1;
    let (mut rest, mut given) = (ask.body.as_slice(), Vec::new());
    loop {
        let start = format!("--{boundary}\r\n");
        rest = rest.strip_prefix(start.as_bytes()).expect("a part begins");
        let end = rest.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
        let head = std::str::from_utf8(&rest[..end]).unwrap();
        rest = &rest[end + 4..];
        let quoted = |key: &str| {
            head.split_once(&format!("; {key}=\""))
                .map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        };
        let name = quoted("name").unwrap();
        if let Some(file) = quoted("filename") {
            given.push((name, file));
            let end = rest
                .strip_suffix(format!("\r\n--{boundary}--\r\n").as_bytes())
                .expect("the file is the last part");
            return (given, end.to_owned());
        }
        let end = rest.windows(2).position(|it| it == b"\r\n").unwrap();
        given.push((name, std::str::from_utf8(&rest[..end]).unwrap().to_owned()));
        rest = &rest[end + 2..];
    }
}

fn act(state: &mut State, call: &Call, file: &[u8]) -> Result<Value, Refusal> {
    let get = |key: &str| call.get(key).unwrap_or_default().to_owned();
    let (host, storage) = (get("node"), get("storage"));
    if !host.is_empty() && state.hosts.get(&host) != Some(&true) {
        return Err((595, "No route to host".to_owned()));
    }
    match call.name.as_str() {
        "GET /version" => Ok(json!({"version": state.version, "release": "9.1", "repoid": "0123abcd"})),
        "POST /access/ticket" => ticket(state, &get("username"), &get("password")),
        "GET /nodes" => Ok(state.hosts.iter().map(|(name, on)| json!({"node": name, "status": if *on { "online" } else { "offline" }, "maxmem": 1_u64 << 36, "mem": 1_u64 << 30})).collect()),
        "GET /cluster/resources" => Ok(resources(state)),
        "GET /cluster/nextid" => next_id(state, call.get("vmid")),
        "GET /pools" => Ok(state.pools.iter().map(|pool| json!({"poolid": pool})).collect()),
        "GET /nodes/{node}/storage" => Ok(state.storages.iter().map(|(name, (content, active, shared))| json!({"storage": name, "content": content, "active": u8::from(*active), "enabled": 1, "shared": u8::from(*shared)})).collect()),
        "GET /nodes/{node}/network" => Ok(state.bridges.iter().map(|name| json!({"iface": name, "type": "bridge"})).collect()),
        "GET /nodes/{node}/storage/{storage}/content" => contents(state, &host, &storage),
        "POST /nodes/{node}/storage/{storage}/upload" => upload(state, call, &host, &storage, file),
        "POST /nodes/{node}/storage/{storage}/download-url" => {
            let volume = format!("{storage}:{}/{}", get("content"), get("filename"));
            let host_key = state.volume_host(&host, &storage);
            if state.files.contains_key(&(host_key.clone(), volume.clone())) {
                return Err((500, format!("refusing to override existing file '{volume}'")));
            }
            Ok(state.task(&host, "download", Effect::File(host_key, volume, get("url").into_bytes())))
        }
        "DELETE /nodes/{node}/storage/{storage}/content/{volume}" => {
            let host_key = state.volume_host(&host, &storage);
            Ok(state.task(&host, "imgdel", Effect::Discard(host_key, get("volume"))))
        }
        "GET /nodes/{node}/tasks/{upid}/status" => task_status(state, &get("upid")),
        "GET /nodes/{node}/tasks/{upid}/log" => task_log(state, call),
        "POST /nodes/{node}/qemu" => create(state, call, &host),
        _ => machine(state, call, &host),
    }
}

fn ticket(state: &mut State, user: &str, password: &str) -> Result<Value, Refusal> {
    if (user, password) != ("root@pam", PASSWORD) {
        return Err((401, "authentication failure".to_owned()));
    }
    state.ticket += 1;
    let ticket = state.ticket;
    Ok(
        json!({"username": user, "ticket": format!("PVE:root@pam:{ticket}"), "CSRFPreventionToken": format!("guard{ticket}")}),
    )
}

fn resources(state: &State) -> Value {
    let entry = |(id, machine): (&u32, &Machine)| {
        let status = if machine.is_on { "running" } else { "stopped" };
        let name = machine.settings.get("name").cloned().unwrap_or_else(|| format!("VM {id}"));
        json!({"id": format!("qemu/{id}"), "type": "qemu", "vmid": id, "name": name, "node": machine.host, "status": status,
            "lock": machine.settings.get("lock")})
    };
    state.machines.iter().map(entry).collect()
}

fn next_id(state: &State, id: Option<&str>) -> Result<Value, Refusal> {
    let is_free = |id: &u32| !state.machines.contains_key(id) && !state.hidden.contains(id);
    match id.map(|id| id.parse().unwrap()) {
        Some(id) if is_free(&id) => Ok(id.into()),
        Some(id) => Err((400, format!("VM {id} already exists"))),
        None => Ok((100..=999_999_999).find(is_free).unwrap().to_string().into()),
    }
}

fn contents(state: &State, host: &str, storage: &str) -> Result<Value, Refusal> {
    if !state.storages.contains_key(storage) {
        return Err((500, format!("storage '{storage}' does not exist")));
    }
    let (host_key, prefix) = (state.volume_host(host, storage), format!("{storage}:"));
    let volumes =
        state.files.iter().filter(|((owner, volume), _)| *owner == host_key && volume.starts_with(&prefix));
    Ok(volumes
        .map(|((_, volume), bytes)| json!({"volid": volume, "format": "iso", "size": bytes.len()}))
        .collect())
}

fn upload(state: &mut State, call: &Call, host: &str, storage: &str, file: &[u8]) -> Result<Value, Refusal> {
    let kind = call.get("content").unwrap();
    if !state.storages.get(storage).is_some_and(|(content, ..)| content.split(',').any(|it| it == kind)) {
        return Err((500, format!("storage '{storage}' does not support '{kind}' content")));
    }
    let sum = Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    assert_eq!(call.get("checksum"), Some(sum.as_str()));
    let volume = format!("{storage}:{kind}/{}", call.get("filename").unwrap());
    let host_key = state.volume_host(host, storage);
    Ok(state.task(host, "imgcopy", Effect::File(host_key, volume, file.to_owned())))
}

fn task_status(state: &mut State, upid: &str) -> Result<Value, Refusal> {
    let Some(task) = state.tasks.get_mut(upid) else { return Err((500, "no such task".to_owned())) };
    if task.left > 0 {
        task.left -= 1;
        return Ok(json!({"status": "running", "upid": upid}));
    }
    let failure = task.failure.clone();
    state.end(upid);
    Ok(json!({"status": "stopped", "upid": upid, "exitstatus": failure.unwrap_or("OK".to_owned())}))
}

fn task_log(state: &State, call: &Call) -> Result<Value, Refusal> {
    let Some(task) = state.tasks.get(call.get("upid").unwrap()) else {
        return Err((500, "no such task".to_owned()));
    };
    let mut lines = vec!["begin".to_owned()];
    lines.extend(task.failure.iter().map(|message| format!("TASK ERROR: {message}")));
    let from: usize = call.get("start").map_or(0, |start| start.parse().unwrap());
    Ok(lines.iter().enumerate().skip(from).map(|(nth, line)| json!({"n": nth + 1, "t": line})).collect())
}

fn create(state: &mut State, call: &Call, host: &str) -> Result<Value, Refusal> {
    let id: u32 = call.get("vmid").unwrap().parse().unwrap();
    if state.machines.contains_key(&id) || state.hidden.contains(&id) {
        return Err((500, format!("unable to create VM {id}: VM {id} already exists")));
    }
    let mut settings: BTreeMap<_, _> = call.parameters.iter().cloned().collect();
    for key in ["vmid", "node", "pool"] {
        settings.remove(key);
    }
    for (key, value) in &settings {
        check_drive(state, host, key, value)?;
    }
    // A disk based on an image has the size of the image.
    if settings.get("scsi0").is_some_and(|disk| disk.contains("import-from=")) {
        settings.insert("scsi0".to_owned(), format!("local-lvm:vm-{id}-disk-0,discard=on,size=1252M"));
    }
    // The number is reserved immediately; other properties are unknown until the machine is complete.
    let begun = [("lock".to_owned(), "create".to_owned())].into();
    let begun = Machine { host: host.to_owned(), settings: begun, ..Machine::default() };
    let machine = Machine { settings, ..begun.clone() };
    state.machines.insert(id, begun);
    Ok(state.task(host, "qmcreate", Effect::Make(id, machine)))
}

/// Checks that the storage of a drive supports its content type, and that its CD exists.
fn check_drive(state: &State, host: &str, key: &str, value: &str) -> Result<(), Refusal> {
    if !["ide", "scsi", "efidisk", "tpmstate"].iter().any(|kind| key.starts_with(kind)) || key == "scsihw" {
        return Ok(());
    }
    let volume = value.split(',').next().unwrap();
    let Some((storage, name)) = volume.split_once(':') else { return Ok(()) };
    let Some((content, ..)) = state.storages.get(storage) else {
        return Err((500, format!("storage '{storage}' does not exist")));
    };
    let is_cd = value.contains("media=cdrom");
    let want = if is_cd { "iso" } else { "images" };
    if !content.split(',').any(|it| it == want) {
        return Err((500, format!("storage '{storage}' does not support content-type '{want}'")));
    }
    if is_cd && !state.files.contains_key(&(state.volume_host(host, storage), volume.to_owned())) {
        return Err((500, format!("volume '{storage}:{name}' does not exist")));
    }
    if let Some(from) = value.split(',').find_map(|part| part.strip_prefix("import-from=")) {
        let host_key = state.volume_host(host, from.split(':').next().unwrap());
        if name != "0" || !state.files.contains_key(&(host_key, from.to_owned())) {
            return Err((500, format!("cannot import from '{from}'")));
        }
    }
    Ok(())
}

fn machine(state: &mut State, call: &Call, host: &str) -> Result<Value, Refusal> {
    let id: u32 = call.get("vmid").unwrap().parse().unwrap();
    let gone = || (500, format!("Configuration file 'nodes/{host}/qemu-server/{id}.conf' does not exist"));
    let machine = state.machines.get(&id).filter(|machine| machine.host == host).cloned().ok_or_else(gone)?;
    match call.name.as_str() {
        "GET /nodes/{node}/qemu/{vmid}/config" => Ok(json!(machine.settings)),
        "PUT /nodes/{node}/qemu/{vmid}/config" => {
            for (key, value) in call.parameters.iter().filter(|(key, _)| key != "node" && key != "vmid") {
                check_drive(state, host, key, value)?;
                state.machines.get_mut(&id).unwrap().settings.insert(key.clone(), value.clone());
            }
            Ok(Value::Null)
        }
        "PUT /nodes/{node}/qemu/{vmid}/resize" => {
            let disk = format!("local-lvm:vm-{id}-disk-0,discard=on,size={}", call.get("size").unwrap());
            let mut larger = machine;
            larger.settings.insert(call.get("disk").unwrap().to_owned(), disk);
            Ok(state.task(host, "resize", Effect::Change(id, larger)))
        }
        "POST /nodes/{node}/qemu/{vmid}/status/start" if machine.is_on => {
            Err((500, format!("VM {id} already running")))
        }
        "POST /nodes/{node}/qemu/{vmid}/status/start" => {
            Ok(state.task(host, "qmstart", Effect::Power(id, true)))
        }
        "POST /nodes/{node}/qemu/{vmid}/status/stop" => {
            Ok(state.task(host, "qmstop", Effect::Power(id, false)))
        }
        "POST /nodes/{node}/qemu/{vmid}/status/shutdown" => {
            Ok(state.task(host, "qmshutdown", Effect::Power(id, false)))
        }
        "DELETE /nodes/{node}/qemu/{vmid}" if machine.is_on => {
            Err((500, format!("VM {id} is running - destroy failed")))
        }
        "DELETE /nodes/{node}/qemu/{vmid}" => Ok(state.task(host, "qmdestroy", Effect::Remove(id))),
        "GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces" => {
            if machine.addresses.is_empty() {
                return Err((500, "QEMU guest agent is not running".to_owned()));
            }
            let mac =
                machine.settings["net0"].split(',').next().unwrap().split_once('=').unwrap().1.to_lowercase();
            let addresses: Vec<_> = machine.addresses.iter().map(|it| json!({"ip-address": it})).collect();
            Ok(json!({"result": [{"name": "eth0", "hardware-address": mac, "ip-addresses": addresses}]}))
        }
        other => panic!("{other} is in the schema but not implemented"),
    }
}
