//! Virtual drives of a controller: `VirtualMedia`.

use serde_json::{Value, json};

use super::action_target;

/// The action that inserts a medium.
pub(crate) const INSERT: &str = "#VirtualMedia.InsertMedia";

/// The action that ejects it.
pub(crate) const EJECT: &str = "#VirtualMedia.EjectMedia";

/// Whether a drive supports CDs.
pub fn supports_cd(drive: &Value) -> bool {
    let kinds = drive.get("MediaTypes").and_then(Value::as_array);
    kinds.into_iter().flatten().any(|kind| kind == "CD" || kind == "DVD")
}

/// The URL of the medium in a drive.
pub fn inserted_image(drive: &Value) -> Option<&str> {
    let image = drive.get("Image").and_then(Value::as_str).filter(|image| !image.is_empty());
    image.filter(|_| drive.get("Inserted").and_then(Value::as_bool) != Some(false))
}

/// A request to a drive: an action, or a change of its properties if it has no action.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaAction {
    /// POST to this path.
    Post(String, Value),
    /// PATCH of the drive.
    Patch(Value),
}

/// The request to insert a medium, without optional parameters, because some controllers reject those they do not know.
pub fn insert_request(drive: &Value, url: &str) -> MediaAction {
    match action_target(drive, INSERT) {
        Some(target) => MediaAction::Post(target.to_owned(), json!({"Image": url})),
        None => MediaAction::Patch(json!({"Image": url, "Inserted": true})),
    }
}

/// The request to eject the medium.
pub fn eject_request(drive: &Value) -> MediaAction {
    match action_target(drive, EJECT) {
        Some(target) => MediaAction::Post(target.to_owned(), json!({})),
        None => MediaAction::Patch(json!({"Image": null, "Inserted": false})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_without_actions_is_patched() {
        let drive = json!({"MediaTypes": ["CD", "DVD"], "Image": null});
        assert!(supports_cd(&drive));
        assert_eq!(
            insert_request(&drive, "https://a/b.iso"),
            MediaAction::Patch(json!({"Image": "https://a/b.iso", "Inserted": true}))
        );

        let drive = json!({"Actions": {INSERT: {"target": "/i"}, EJECT: {"target": "/e"}}});
        assert_eq!(
            insert_request(&drive, "https://a/b.iso"),
            MediaAction::Post("/i".to_owned(), json!({"Image": "https://a/b.iso"}))
        );
        assert_eq!(eject_request(&drive), MediaAction::Post("/e".to_owned(), json!({})));
        assert!(!supports_cd(&drive));
    }

    #[test]
    fn an_empty_drive_has_no_image() {
        assert_eq!(
            inserted_image(&json!({"Image": "https://a/b.iso", "Inserted": true})),
            Some("https://a/b.iso")
        );
        assert_eq!(inserted_image(&json!({"Image": "", "Inserted": false})), None);
        assert_eq!(inserted_image(&json!({"Image": "https://a/b.iso", "Inserted": false})), None);
        assert_eq!(inserted_image(&json!({"Image": null})), None);
    }
}
