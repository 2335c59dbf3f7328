//! The machine itself: `ComputerSystem`.

use serde_json::{Value, json};

use super::allowed;

/// The action that switches a machine.
pub const RESET: &str = "#ComputerSystem.Reset";

/// Whether a machine is on; one that is on its way counts as being there.
pub fn is_on(system: &Value) -> Option<bool> {
    match system.get("PowerState")?.as_str()? {
        "On" | "PoweringOn" | "Paused" => Some(true),
        "Off" | "PoweringOff" => Some(false),
        _ => None,
    }
}

/// What a machine is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerAction {
    /// Go on.
    On,
    /// Ask what runs on it to end.
    Shutdown,
    /// Go off.
    Off,
}

/// How a machine is told so: the first word that it knows. One that names none takes the first of all.
pub fn reset(system: &Value, power: PowerAction) -> Option<Value> {
    let words: &[&str] = match power {
        PowerAction::On => &["On", "ForceOn"],
        PowerAction::Shutdown => &["GracefulShutdown", "PushPowerButton"],
        PowerAction::Off => &["ForceOff"],
    };
    let known = allowed(system, RESET, "ResetType");
    let word = words.iter().find(|word| known.is_empty() || known.iter().any(|it| it == *word))?;
    Some(json!({"ResetType": word}))
}

/// What makes a machine boot its CD the next time, and only then; none where it cannot. The mode is changed only where the
/// controller names one: some refuse what they do not know.
pub fn boot_from_cd(system: &Value) -> Option<Value> {
    let boot = system.get("Boot")?;
    let targets = boot.get("BootSourceOverrideTarget@Redfish.AllowableValues").and_then(Value::as_array);
    if targets.is_some_and(|targets| !targets.iter().any(|target| target == "Cd")) {
        return None;
    }
    Some(json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Cd"}}))
}

/// Whether a machine boots a CD before its disk, each time.
pub fn boots_cd(system: &Value) -> bool {
    let word = |key: &str| system.get("Boot").and_then(|boot| boot.get(key)?.as_str());
    word("BootSourceOverrideEnabled") == Some("Continuous") && word("BootSourceOverrideTarget") == Some("Cd")
}

/// Its UUID, in small letters.
pub fn uuid(system: &Value) -> Option<String> {
    system.get("UUID")?.as_str().map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_told_in_words_that_it_knows() {
        let knows = |words: &[&str]| json!({"Actions": {RESET: {"target": "/r", "ResetType@Redfish.AllowableValues": words}}});

        assert_eq!(
            reset(&knows(&["ForceOn", "ForceOff"]), PowerAction::On),
            Some(json!({"ResetType": "ForceOn"}))
        );
        assert_eq!(
            reset(&knows(&["On", "PushPowerButton"]), PowerAction::Shutdown),
            Some(json!({"ResetType": "PushPowerButton"}))
        );
        assert_eq!(reset(&knows(&["On"]), PowerAction::Off), None);
        assert_eq!(reset(&json!({}), PowerAction::Off), Some(json!({"ResetType": "ForceOff"})));
    }

    #[test]
    fn a_machine_boots_its_cd_once() {
        let one = json!({"Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Cd"]}});
        assert_eq!(boot_from_cd(&one).unwrap()["Boot"]["BootSourceOverrideEnabled"], "Once");

        let other = json!({"Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Hdd"]}});
        assert_eq!(boot_from_cd(&other), None);
        assert_eq!(boot_from_cd(&json!({})), None);

        let always = |word: &str| json!({"Boot": {"BootSourceOverrideEnabled": word, "BootSourceOverrideTarget": "Cd"}});
        assert!(boots_cd(&always("Continuous")) && !boots_cd(&always("Once")) && !boots_cd(&json!({})));
    }

    #[test]
    fn a_machine_is_on_or_off_or_will_not_say() {
        assert_eq!(is_on(&json!({"PowerState": "On"})), Some(true));
        assert_eq!(is_on(&json!({"PowerState": "PoweringOff"})), Some(false));
        assert_eq!(is_on(&json!({"PowerState": null})), None);
    }
}
