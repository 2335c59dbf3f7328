//! The machine: `ComputerSystem`.

use serde_json::{Value, json};

use super::allowed_values;

/// The action that changes a machine's power.
pub const RESET: &str = "#ComputerSystem.Reset";

/// Whether a machine is on. A transition counts as completed.
pub fn is_on(system: &Value) -> Option<bool> {
    match system.get("PowerState")?.as_str()? {
        "On" | "PoweringOn" | "Paused" => Some(true),
        "Off" | "PoweringOff" => Some(false),
        _ => None,
    }
}

/// A change of a machine's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerAction {
    /// Power on.
    On,
    /// Shut the operating system down.
    Shutdown,
    /// Power off.
    Off,
}

/// The request for a power change, with the first type that the machine supports, or the first of all if it lists none.
pub fn reset_request(system: &Value, power: PowerAction) -> Option<Value> {
    let words: &[&str] = match power {
        PowerAction::On => &["On", "ForceOn"],
        PowerAction::Shutdown => &["GracefulShutdown", "PushPowerButton"],
        PowerAction::Off => &["ForceOff"],
    };
    let known = allowed_values(system, RESET, "ResetType");
    let word = words.iter().find(|word| known.is_empty() || known.iter().any(|it| it == *word))?;
    Some(json!({"ResetType": word}))
}

/// The request to boot from CD once; none if not supported. It does not set the boot mode, because some controllers reject
/// properties that they do not have.
pub fn cd_boot_request(system: &Value) -> Option<Value> {
    let boot = system.get("Boot")?;
    let targets = boot.get("BootSourceOverrideTarget@Redfish.AllowableValues").and_then(Value::as_array);
    if targets.is_some_and(|targets| !targets.iter().any(|target| target == "Cd")) {
        return None;
    }
    Some(json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd"}}))
}

/// Whether a machine always boots from CD before its disk.
pub fn boots_cd(system: &Value) -> bool {
    let word = |key: &str| system.get("Boot").and_then(|boot| boot.get(key)?.as_str());
    word("BootSourceOverrideEnabled") == Some("Continuous") && word("BootSourceOverrideTarget") == Some("Cd")
}

/// Its UUID in lower case.
pub fn uuid(system: &Value) -> Option<String> {
    system.get("UUID")?.as_str().map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reset_types_are_those_that_the_machine_supports() {
        let system = |words: &[&str]| json!({"Actions": {RESET: {"target": "/r", "ResetType@Redfish.AllowableValues": words}}});

        assert_eq!(
            reset_request(&system(&["ForceOn", "ForceOff"]), PowerAction::On),
            Some(json!({"ResetType": "ForceOn"}))
        );
        assert_eq!(
            reset_request(&system(&["On", "PushPowerButton"]), PowerAction::Shutdown),
            Some(json!({"ResetType": "PushPowerButton"}))
        );
        assert_eq!(reset_request(&system(&["On"]), PowerAction::Off), None);
        assert_eq!(reset_request(&json!({}), PowerAction::Off), Some(json!({"ResetType": "ForceOff"})));
    }

    #[test]
    fn cd_boot_is_requested_once_if_supported() {
        let one = json!({"Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Cd"]}});
        assert_eq!(cd_boot_request(&one).unwrap()["Boot"]["BootSourceOverrideEnabled"], "Once");

        let other = json!({"Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Hdd"]}});
        assert_eq!(cd_boot_request(&other), None);
        assert_eq!(cd_boot_request(&json!({})), None);

        let always = |word: &str| json!({"Boot": {"BootSourceOverrideEnabled": word, "BootSourceOverrideTarget": "Cd"}});
        assert!(boots_cd(&always("Continuous")) && !boots_cd(&always("Once")) && !boots_cd(&json!({})));
    }

    #[test]
    fn a_machine_is_on_or_off_or_unknown() {
        assert_eq!(is_on(&json!({"PowerState": "On"})), Some(true));
        assert_eq!(is_on(&json!({"PowerState": "PoweringOff"})), Some(false));
        assert_eq!(is_on(&json!({"PowerState": null})), None);
    }
}
