//! Controllers with Redfish (DMTF DSP0266): requests and replies.
//!
//! A resource is identified by its path, `@odata.id`, and an action by its target. Members differ between vendors, so all paths
//! except the root, `/redfish/v1/`, are discovered.

pub mod system;
pub mod virtual_media;

use serde_json::Value;

/// The root of every service.
pub const ROOT: &str = "/redfish/v1/";

/// The path at a key: `"Systems": {"@odata.id": "/redfish/v1/Systems"}`.
pub fn link_path<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.get("@odata.id")?.as_str()
}

/// The paths of a collection's members, or of a list of links.
pub fn member_paths(value: &Value) -> Vec<String> {
    let list = value.get("Members").unwrap_or(value);
    let path = |member: &Value| member.get("@odata.id")?.as_str().map(ToOwned::to_owned);
    list.as_array().into_iter().flatten().filter_map(path).collect()
}

/// The target of a resource's action.
pub fn action_target<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get("Actions")?.get(name)?.get("target")?.as_str()
}

/// The allowed values of an action's parameter; empty if unknown.
pub(crate) fn allowed_values(value: &Value, name: &str, parameter: &str) -> Vec<String> {
    let key = format!("{parameter}@Redfish.AllowableValues");
    let list = value.get("Actions").and_then(|actions| actions.get(name)?.get(&key)?.as_array());
    list.into_iter().flatten().filter_map(|word| word.as_str()).map(ToOwned::to_owned).collect()
}

/// The text of an error (DSP0266, section 8.6): all extended messages, else the general one.
pub fn error_text(value: &Value) -> Option<String> {
    let error = value.get("error")?;
    let more = error.get("@Message.ExtendedInfo").and_then(Value::as_array);
    let message_text = |message: &Value| message.get("Message")?.as_str().map(ToOwned::to_owned);
    let messages: Vec<_> = more.into_iter().flatten().filter_map(message_text).collect();
    if messages.is_empty() { general_message(error) } else { Some(messages.join("; ")) }
}

fn general_message(error: &Value) -> Option<String> {
    let text = |key: &str| error.get(key)?.as_str().map(ToOwned::to_owned);
    text("message").or_else(|| text("code"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_reported_by_its_extended_messages() {
        let long = json!({"error": {"code": "Base.1.8.GeneralError", "message": "see more", "@Message.ExtendedInfo": [
            {"MessageId": "Base.1.8.PropertyValueNotInList", "Message": "The value CDROM is not in the list."}]}});
        let short = json!({"error": {"code": "Base.1.0.GeneralError", "message": "a general error"}});

        assert_eq!(error_text(&long).unwrap(), "The value CDROM is not in the list.");
        assert_eq!(error_text(&short).unwrap(), "a general error");
        assert_eq!(error_text(&json!({})), None);
    }
}
