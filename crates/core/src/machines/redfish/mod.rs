//! Controllers that speak Redfish (DMTF DSP0266): what is read of their answers, and what is asked of them.
//!
//! A resource is known by its path, `@odata.id`; actions by their target. Members differ between vendors, so everything is looked up
//! and nothing taken for granted but the root, `/redfish/v1/`.

pub mod system;
pub mod virtual_media;

use serde_json::Value;

/// The root of every service.
pub const ROOT: &str = "/redfish/v1/";

/// The path at a key: `"Systems": {"@odata.id": "/redfish/v1/Systems"}`.
pub fn link<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.get("@odata.id")?.as_str()
}

/// The paths of a collection's members, or of a list of links.
pub fn members(value: &Value) -> Vec<String> {
    let list = value.get("Members").unwrap_or(value);
    let path = |member: &Value| member.get("@odata.id")?.as_str().map(ToOwned::to_owned);
    list.as_array().into_iter().flatten().filter_map(path).collect()
}

/// Where an action of a resource is sent.
pub fn action<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get("Actions")?.get(name)?.get("target")?.as_str()
}

/// What a parameter of an action may be; nothing where that is not said.
pub(crate) fn allowed(value: &Value, name: &str, parameter: &str) -> Vec<String> {
    let key = format!("{parameter}@Redfish.AllowableValues");
    let list = value.get("Actions").and_then(|actions| actions.get(name)?.get(&key)?.as_array());
    list.into_iter().flatten().filter_map(|word| word.as_str()).map(ToOwned::to_owned).collect()
}

/// What an error says (DSP0266, 8.6): each message in it, else the one of the whole.
pub fn complaint(value: &Value) -> Option<String> {
    let error = value.get("error")?;
    let more = error.get("@Message.ExtendedInfo").and_then(Value::as_array);
    let said = |message: &Value| message.get("Message")?.as_str().map(ToOwned::to_owned);
    let messages: Vec<_> = more.into_iter().flatten().filter_map(said).collect();
    if messages.is_empty() { said_by(error) } else { Some(messages.join("; ")) }
}

fn said_by(error: &Value) -> Option<String> {
    let text = |key: &str| error.get(key)?.as_str().map(ToOwned::to_owned);
    text("message").or_else(|| text("code"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_told_by_its_messages() {
        let long = json!({"error": {"code": "Base.1.8.GeneralError", "message": "see more", "@Message.ExtendedInfo": [
            {"MessageId": "Base.1.8.PropertyValueNotInList", "Message": "The value CDROM is not in the list."}]}});
        let short = json!({"error": {"code": "Base.1.0.GeneralError", "message": "a general error"}});

        assert_eq!(complaint(&long).unwrap(), "The value CDROM is not in the list.");
        assert_eq!(complaint(&short).unwrap(), "a general error");
        assert_eq!(complaint(&json!({})), None);
    }
}
