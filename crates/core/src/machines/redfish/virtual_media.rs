//! Virtual drives of a controller: `VirtualMedia`.

use serde_json::{Value, json};

use super::action;

/// The action that puts a medium in.
pub(crate) const INSERT: &str = "#VirtualMedia.InsertMedia";

/// The action that takes it out.
pub(crate) const EJECT: &str = "#VirtualMedia.EjectMedia";

/// Whether a drive takes CDs.
pub fn takes_cds(drive: &Value) -> bool {
    let kinds = drive.get("MediaTypes").and_then(Value::as_array);
    kinds.into_iter().flatten().any(|kind| kind == "CD" || kind == "DVD")
}

/// The address of what is in a drive.
pub fn inside(drive: &Value) -> Option<&str> {
    let image = drive.get("Image").and_then(Value::as_str).filter(|image| !image.is_empty());
    image.filter(|_| drive.get("Inserted").and_then(Value::as_bool) != Some(false))
}

/// How a drive is told something: by an action, or where it has none, by a change of itself.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaAction {
    /// Sent to this path.
    Post(String, Value),
    /// A change of the drive.
    Patch(Value),
}

/// How a medium is put in. What is optional is left out: some controllers refuse a parameter that they do not know.
pub fn insert(drive: &Value, url: &str) -> MediaAction {
    match action(drive, INSERT) {
        Some(target) => MediaAction::Post(target.to_owned(), json!({"Image": url})),
        None => MediaAction::Patch(json!({"Image": url, "Inserted": true})),
    }
}

/// How what is in it is taken out.
pub fn eject(drive: &Value) -> MediaAction {
    match action(drive, EJECT) {
        Some(target) => MediaAction::Post(target.to_owned(), json!({})),
        None => MediaAction::Patch(json!({"Image": null, "Inserted": false})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_without_actions_is_changed_itself() {
        let drive = json!({"MediaTypes": ["CD", "DVD"], "Image": null});
        assert!(takes_cds(&drive));
        assert_eq!(
            insert(&drive, "https://a/b.iso"),
            MediaAction::Patch(json!({"Image": "https://a/b.iso", "Inserted": true}))
        );

        let drive = json!({"Actions": {INSERT: {"target": "/i"}, EJECT: {"target": "/e"}}});
        assert_eq!(
            insert(&drive, "https://a/b.iso"),
            MediaAction::Post("/i".to_owned(), json!({"Image": "https://a/b.iso"}))
        );
        assert_eq!(eject(&drive), MediaAction::Post("/e".to_owned(), json!({})));
        assert!(!takes_cds(&drive));
    }

    #[test]
    fn an_empty_drive_has_nothing_inside() {
        assert_eq!(inside(&json!({"Image": "https://a/b.iso", "Inserted": true})), Some("https://a/b.iso"));
        assert_eq!(inside(&json!({"Image": "", "Inserted": false})), None);
        assert_eq!(inside(&json!({"Image": "https://a/b.iso", "Inserted": false})), None);
        assert_eq!(inside(&json!({"Image": null})), None);
    }
}
