//! Physical machines with a stand-in for a BMC, which follows DMTF's schemas (ServiceRoot, Session, ComputerSystem,
//! Manager, VirtualMedia) and rejects unknown properties.

use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Run, folder, ichor_with};
use crate::machine::web::{Ask, Reply, Web};

pub const USER: &str = "admin";
pub const PASSWORD: &str = "calvin and hobbes";
pub const IMAGE: &str = "https://images.sol/talos.iso";

/// State of the BMC, and its recorded calls.
pub struct State {
    /// Whether it supports sessions and media actions; otherwise basic authentication and PATCH on drives.
    is_modern: bool,
    systems: Vec<&'static str>,
    drives: usize,
    pub power: &'static str,
    /// Number of polls until a power change completes.
    lag: u32,
    pending: Option<&'static str>,
    pub images: Vec<Option<String>>,
    pub boot: Value,
    pub sessions: Vec<String>,
    opened: u32,
    pub resets: Vec<String>,
    pub faults: Vec<String>,
    /// Called when the machine is powered on or off.
    pub switched: Option<Box<dyn Fn(bool) + Send>>,
}

pub struct Controller {
    pub web: Web,
    state: Arc<Mutex<State>>,
}

impl Controller {
    pub fn start(is_modern: bool) -> Self {
        let state = Arc::new(Mutex::new(State {
            is_modern,
            systems: vec!["1"],
            drives: 1,
            power: "Off",
            lag: 0,
            pending: None,
            images: vec![None, None],
            boot: json!({"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"}),
            sessions: Vec::new(),
            opened: 0,
            resets: Vec::new(),
            faults: Vec::new(),
            switched: None,
        }));
        let shared = Arc::clone(&state);
        Self { web: Web::start(move |ask| shared.lock().unwrap().answer(ask)), state }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn answer(&mut self, ask: &Ask) -> Reply {
        let path = format!("/{}", ask.path.join("/"));
        let body = serde_json::from_slice::<Value>(&ask.body).unwrap_or(Value::Null);
        if path == "/redfish/v1/" && ask.method == "GET" {
            return Reply::new(200, self.root());
        }
        if path == "/redfish/v1/SessionService/Sessions" && ask.method == "POST" && self.is_modern {
            return self.log_in(&body);
        }
        if !self.is_known(ask) {
            return refuse(401, "The request requires authentication.");
        }
        match (ask.method.as_str(), path.as_str()) {
            ("DELETE", path) if path.starts_with("/redfish/v1/SessionService/Sessions/") => {
                self.sessions.retain(|token| !path.ends_with(token.as_str()));
                Reply::new(204, "")
            }
            ("GET", "/redfish/v1/Systems") => {
                Reply::new(200, collection(self.systems.iter().map(|id| format!("/redfish/v1/Systems/{id}"))))
            }
            ("GET", "/redfish/v1/Systems/1") => Reply::new(200, self.system()),
            ("PATCH", "/redfish/v1/Systems/1") => self.set_boot(ask, &body),
            ("POST", "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset") => self.reset(&body),
            ("GET", "/redfish/v1/Managers/1") => Reply::new(
                200,
                json!({"Id": "1", "VirtualMedia": {"@odata.id": "/redfish/v1/Managers/1/VirtualMedia"}}),
            ),
            ("GET", "/redfish/v1/Managers/1/VirtualMedia") => {
                let floppy = "/redfish/v1/Managers/1/VirtualMedia/Floppy".to_owned();
                let drives = (0..self.drives).map(|nth| format!("/redfish/v1/Managers/1/VirtualMedia/{nth}"));
                Reply::new(200, collection(std::iter::once(floppy).chain(drives)))
            }
            ("GET", "/redfish/v1/Managers/1/VirtualMedia/Floppy") => Reply::new(
                200,
                json!({"Id": "Floppy", "MediaTypes": ["Floppy", "USBStick"], "Inserted": false}),
            ),
            (method, path) => match path.strip_prefix("/redfish/v1/Managers/1/VirtualMedia/") {
                Some(rest) => self.media(method, rest, &body),
                None => self.fault(404, format!("{method} {path}")),
            },
        }
    }

    fn fault(&mut self, status: u16, what: String) -> Reply {
        let reply = refuse(status, &what);
        self.faults.push(what);
        reply
    }

    fn root(&self) -> Value {
        let mut root = json!({
            "@odata.id": "/redfish/v1/", "@odata.type": "#ServiceRoot.v1_9_0.ServiceRoot", "Id": "RootService", "Name": "Root",
            "RedfishVersion": "1.11.0", "Systems": {"@odata.id": "/redfish/v1/Systems"}, "Managers": {"@odata.id": "/redfish/v1/Managers"},
        });
        if self.is_modern {
            root["Links"] = json!({"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions"}});
        }
        root
    }

    fn log_in(&mut self, body: &Value) -> Reply {
        if *body != json!({"UserName": USER, "Password": PASSWORD}) {
            return refuse(401, "The user name or password is wrong.");
        }
        self.opened += 1;
        let token = format!("token{}", self.opened);
        self.sessions.push(token.clone());
        let location = format!("/redfish/v1/SessionService/Sessions/{token}");
        Reply::new(201, json!({"Id": token})).with("X-Auth-Token", &token).with("Location", location)
    }

    fn is_known(&self, ask: &Ask) -> bool {
        if self.is_modern {
            return ask.headers.get("x-auth-token").is_some_and(|token| self.sessions.contains(token));
        }
        let basic = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
        ask.headers.get("authorization") == Some(&basic)
    }

    fn system(&mut self) -> Value {
        if let Some(power) = self.pending {
            if self.lag == 0 {
                (self.power, self.pending) = (power, None);
                if let Some(switched) = &self.switched {
                    switched(power == "On");
                }
            } else {
                self.lag -= 1;
            }
        }
        let mut boot = self.boot.clone();
        boot["BootSourceOverrideTarget@Redfish.AllowableValues"] = json!(["None", "Pxe", "Cd", "Hdd"]);
        json!({
            "@odata.id": "/redfish/v1/Systems/1", "@odata.etag": "W/\"7\"", "Id": "1", "UUID": "4C4C4544-0042-3510", "PowerState": self.power, "Boot": boot,
            "Links": {"ManagedBy": [{"@odata.id": "/redfish/v1/Managers/1"}]},
            "Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
                "ResetType@Redfish.AllowableValues": ["On", "ForceOff", "GracefulShutdown"]}},
        })
    }

    fn set_boot(&mut self, ask: &Ask, body: &Value) -> Reply {
        if ask.headers.get("if-match").map(String::as_str) != Some("W/\"7\"") {
            return self.fault(412, "a change without If-Match".to_owned());
        }
        for (key, value) in body["Boot"].as_object().unwrap() {
            let known = ["BootSourceOverrideEnabled", "BootSourceOverrideTarget", "BootSourceOverrideMode"];
            if !known.contains(&key.as_str()) {
                return self
                    .fault(400, format!("The property {key} is not in the list of valid properties."));
            }
            self.boot[key] = value.clone();
        }
        Reply::new(204, "")
    }

    fn reset(&mut self, body: &Value) -> Reply {
        let word = body["ResetType"].as_str().unwrap_or_default();
        let (from, to) = match word {
            "On" => ("Off", "On"),
            "ForceOff" | "GracefulShutdown" => ("On", "Off"),
            _ => {
                return self
                    .fault(400, format!("The value {word} for the property ResetType is not in the list."));
            }
        };
        if self.power != from {
            return self.fault(409, format!("{word} although it is {}", self.power));
        }
        self.resets.push(word.to_owned());
        (self.pending, self.lag) = (Some(to), 1);
        Reply::new(202, json!({"TaskState": "Running"})).with("Location", "/redfish/v1/TaskService/Tasks/1")
    }

    fn media(&mut self, method: &str, rest: &str, body: &Value) -> Reply {
        let (id, action) = rest.split_once('/').unwrap_or((rest, ""));
        let Some(nth) = id.parse::<usize>().ok().filter(|nth| *nth < self.drives) else {
            return self.fault(404, format!("no drive {id}"));
        };
        let image = body["Image"].as_str().map(ToOwned::to_owned);
        match (method, action) {
            ("GET", "") => Reply::new(200, self.drive(nth)),
            ("POST", "Actions/VirtualMedia.InsertMedia") if self.is_modern && image.is_some() => {
                if self.images[nth].is_some() {
                    return self.fault(409, "a medium is in the drive already".to_owned());
                }
                self.images[nth] = image;
                Reply::new(204, "")
            }
            ("POST", "Actions/VirtualMedia.EjectMedia") if self.is_modern => {
                self.images[nth] = None;
                Reply::new(204, "")
            }
            ("PATCH", "") if !self.is_modern && body["Inserted"].is_boolean() => {
                self.images[nth] = image;
                Reply::new(200, self.drive(nth))
            }
            _ => self.fault(400, format!("{method} {rest} {body}")),
        }
    }

    fn drive(&self, nth: usize) -> Value {
        let path = format!("/redfish/v1/Managers/1/VirtualMedia/{nth}");
        let mut drive = json!({
            "@odata.id": path, "@odata.type": "#VirtualMedia.v1_3_0.VirtualMedia", "Id": nth.to_string(), "MediaTypes": ["CD", "DVD"],
            "Image": self.images[nth], "Inserted": self.images[nth].is_some(), "ConnectedVia": "URI", "WriteProtected": true,
        });
        if self.is_modern {
            drive["Actions"] = json!({
                "#VirtualMedia.InsertMedia": {"target": format!("{path}/Actions/VirtualMedia.InsertMedia")},
                "#VirtualMedia.EjectMedia": {"target": format!("{path}/Actions/VirtualMedia.EjectMedia")},
            });
        }
        drive
    }
}

fn collection(paths: impl Iterator<Item = String>) -> Value {
    let members: Vec<_> = paths.map(|path| json!({"@odata.id": path})).collect();
    json!({"Members@odata.count": members.len(), "Members": members})
}

fn refuse(status: u16, message: &str) -> Reply {
    Reply::new(
        status,
        json!({"error": {"code": "Base.1.8.GeneralError", "message": "see the messages", "@Message.ExtendedInfo": [{"Message": message}]}}),
    )
}

/// A physical machine with a BMC.
struct Site {
    controller: Controller,
    folder: TempDir,
}

impl Site {
    fn new(controller: Controller, boot: &str, path: &str) -> Self {
        let file = format!(
            "cluster: {{name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}}\n\
             boot: {{from: {boot}}}\nimage: {{source: {{iso: '{IMAGE}'}}}}\n\
             nodes:\n  - {{name: iron, role: controlplane, index: 11, macs: [bc:24:11:00:00:11], install: {{disk: /dev/sda}},\n     \
               power: {{redfish: '{}{path}', user: {USER}, password: {{env: BMC}}, fingerprint: '{}'}}}}\n",
            controller.web.url, controller.web.pin
        );
        Self { controller, folder: folder(&[("ichor.yaml", &file)]) }
    }

    fn run(&self, words: &str) -> Run {
        let run = ichor_with(self.folder.path(), &format!("machine {words}"), &[("BMC", PASSWORD)]);
        assert!(!run.all().contains(PASSWORD), "a secret is printed: {}", run.all());
        assert_eq!(self.controller.state().faults, [""; 0], "rejected by the BMC");
        assert_eq!(self.controller.state().sessions, [""; 0], "every session is closed");
        run
    }
}

#[test]
fn a_machine_boots_its_cd_once_and_is_powered_on_and_off() {
    for is_modern in [true, false] {
        let site = Site::new(Controller::start(is_modern), "apply", "");

        assert_eq!(site.run("check").all(), "no problems\n");
        assert_eq!(site.run("make").all(), "iron: exists\n");
        {
            let state = site.controller.state();
            assert_eq!(state.images[0].as_deref(), Some(IMAGE));
            assert_eq!(state.boot["BootSourceOverrideEnabled"], "Once");
            assert_eq!(state.boot["BootSourceOverrideTarget"], "Cd");
        }
        assert_eq!(site.run("ls --json").json()[0]["state"], "off");
        assert_eq!(site.run("start").all(), "iron: on\n");
        assert_eq!(site.run("start").all(), "iron: on\n");
        assert_eq!(site.run("ls --json").json()[0]["state"], "on");
        assert_eq!(site.run("eject").all(), "iron: ejected\n");
        assert_eq!(site.controller.state().images[0], None);
        assert_eq!(site.run("stop").all(), "iron: off\n");
        assert_eq!(site.controller.state().resets, ["On", "GracefulShutdown"]);
        assert_eq!(site.run("delete --yes").all(), "iron: kept (physical machine)\n");
        assert_eq!(site.controller.state().opened > 0, is_modern);
    }
}

#[test]
fn a_foreign_medium_is_replaced_by_ours_but_never_ejected() {
    let site = Site::new(Controller::start(true), "apply", "");
    site.controller.state().images[0] = Some("https://images.sol/firmware.iso".to_owned());

    assert_eq!(site.run("eject").code, 0);
    assert_eq!(site.controller.state().images[0].as_deref(), Some("https://images.sol/firmware.iso"));
    assert_eq!(site.run("make").code, 0);
    assert_eq!(site.controller.state().images[0].as_deref(), Some(IMAGE));
}

#[test]
fn a_medium_without_a_url_is_reported_before_changes() {
    let site = Site::new(Controller::start(true), "metal-iso", "");

    let run = site.run("make");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(
        run.stdout.contains("iron: the BMC has one virtual CD drive, but 2 are needed"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("sol_iron-metal-iso.iso has none"), "{}", run.stdout);
    assert_eq!(site.controller.state().images[0], None);
}

#[test]
fn a_bmc_with_several_systems_needs_a_choice() {
    let controller = Controller::start(true);
    controller.state().systems = vec!["1", "2"];
    let site = Site::new(controller, "apply", "");
    let run = site.run("check");
    assert!(run.stdout.contains("the BMC lists several systems"), "{}", run.all());

    let controller = Controller::start(true);
    controller.state().systems = vec!["1", "2"];
    let site = Site::new(controller, "apply", "/redfish/v1/Systems/1");
    assert_eq!(site.run("check").all(), "no problems\n");
}

#[test]
fn a_wrong_password_is_reported_without_printing_it() {
    let site = Site::new(Controller::start(true), "apply", "");

    let run = ichor_with(site.folder.path(), "machine start", &[("BMC", "hunter2")]);

    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("iron: cannot power on its machine at https://127.0.0.1"), "{}", run.stderr);
    assert!(run.stderr.contains("wrong user or password"), "{}", run.stderr);
    assert!(!run.all().contains("hunter2"));
}
