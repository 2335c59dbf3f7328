//! Which roles may make which calls, as in Talos.

use super::call_error::{CallError, ErrorCode};
use ichor_talos::api::method;
use ichor_talos::release::at_least;
use ichor_values::TalosVersion;

const ADMIN: &str = "os:admin";
const OPERATOR: &str = "os:operator";
const READER: &str = "os:reader";
const ETCD_BACKUP: &str = "os:etcd:backup";
const META_WRITER: &str = "os:meta:writer";

/// The kinds of resources that only administrators may read.
const SENSITIVE: [&str; 1] = ["MachineConfigs.config.talos.dev"];

/// The identity of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Without a certificate, while the node has no configuration.
    Anyone,
    /// With one, that names these roles.
    Known(Vec<String>),
}

impl Caller {
    fn has(&self, allowed: &[&str]) -> bool {
        match self {
            // From Talos 1.13 on every caller in maintenance mode is a reader.
            Self::Anyone => allowed.contains(&READER),
            Self::Known(roles) => roles.iter().any(|role| allowed.contains(&role.as_str())),
        }
    }
}

/// The roles that a call accepts; none if the call does not exist.
fn allowed_roles(path: &str) -> Option<&'static [&'static str]> {
    Some(match path {
        method::APPLY_CONFIGURATION => &[ADMIN],
        method::VERSION
        | method::SERVICE_LIST
        | method::LOGS
        | method::DMESG
        | method::EVENTS
        | method::HEALTH_CHECK
        | method::STATE_GET
        | method::STATE_LIST
        | method::STATE_WATCH => &[ADMIN, OPERATOR, READER],
        method::ETCD_MEMBER_LIST | method::ETCD_STATUS | method::ETCD_ALARM_LIST => {
            &[ADMIN, OPERATOR, READER, ETCD_BACKUP]
        }
        method::SERVICE_START
        | method::SERVICE_STOP
        | method::SERVICE_RESTART
        | method::REBOOT
        | method::SHUTDOWN
        | method::IMAGE_PULL => &[ADMIN, OPERATOR],
        method::META_WRITE | method::META_DELETE => &[ADMIN, META_WRITER],
        method::BOOTSTRAP
        | method::KUBECONFIG
        | method::READ
        | method::RESET
        | method::UPGRADE
        | method::ETCD_LEAVE_CLUSTER
        | method::ETCD_FORFEIT_LEADERSHIP
        | method::ETCD_REMOVE_MEMBER_BY_ID
        | method::LIFECYCLE_UPGRADE
        | method::IMAGE_IMPORT => &[ADMIN],
        _ => return None,
    })
}

/// Whether the release has the call.
fn is_served(path: &str, talos: &TalosVersion) -> bool {
    let new = [method::LIFECYCLE_UPGRADE, method::IMAGE_PULL, method::IMAGE_IMPORT];
    at_least(talos, 13) || !new.contains(&path)
}

/// Whether a machine of a release in maintenance answers a call before 1.13.
fn is_served_in_old_maintenance(path: &str) -> bool {
    [method::APPLY_CONFIGURATION, method::STATE_GET, method::STATE_LIST, method::STATE_WATCH].contains(&path)
}

/// Authorizes a call, or returns why not.
pub(crate) fn authorize_call(path: &str, caller: &Caller, talos: &TalosVersion) -> Result<(), CallError> {
    let (service, name) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
    let unknown = || {
        let message = if service == "machine.MachineService" {
            format!("unknown method {name} for service {service}")
        } else {
            format!("unknown service {service}")
        };
        CallError::new(ErrorCode::Unimplemented, message)
    };
    let allowed = allowed_roles(path).filter(|_| is_served(path, talos)).ok_or_else(unknown)?;
    if *caller == Caller::Anyone {
        if path == method::APPLY_CONFIGURATION {
            return Ok(());
        }
        if !at_least(talos, 13) && !is_served_in_old_maintenance(path) {
            let message = if path == method::VERSION {
                "API is not implemented in maintenance mode".to_owned()
            } else {
                format!("method {name} not implemented")
            };
            return Err(CallError::new(ErrorCode::Unimplemented, message));
        }
    }
    if caller.has(allowed) { Ok(()) } else { Err(CallError::not_authorized()) }
}

/// Authorizes a caller to read resources of a kind.
pub(crate) fn authorize_resource(kind: &str, caller: &Caller) -> Result<(), CallError> {
    if SENSITIVE.contains(&kind) && !caller.has(&[ADMIN]) { Err(CallError::not_authorized()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talos(text: &str) -> TalosVersion {
        TalosVersion::parse(text).unwrap()
    }

    fn caller_with(role: &str) -> Caller {
        Caller::Known(vec![role.to_owned()])
    }

    #[test]
    fn roles_allow_the_calls_that_talos_allows() {
        let new = talos("v1.13.9");
        let may = |path, role| authorize_call(path, &caller_with(role), &new).is_ok();

        assert!(may(method::BOOTSTRAP, ADMIN) && !may(method::BOOTSTRAP, OPERATOR));
        assert!(may(method::REBOOT, OPERATOR) && !may(method::REBOOT, READER));
        assert!(may(method::VERSION, READER) && !may(method::VERSION, ETCD_BACKUP));
        assert!(may(method::ETCD_STATUS, ETCD_BACKUP));
        assert!(!may(method::APPLY_CONFIGURATION, READER));
        let refused = authorize_call(method::BOOTSTRAP, &caller_with(READER), &new).unwrap_err();
        assert_eq!(refused, CallError::new(ErrorCode::PermissionDenied, "not authorized"));
        assert!(
            authorize_resource(SENSITIVE[0], &caller_with(READER)).is_err()
                && authorize_resource(SENSITIVE[0], &caller_with(ADMIN)).is_ok()
        );
    }

    #[test]
    fn maintenance_has_the_calls_of_its_release() {
        let (old, new) = (talos("v1.12.4"), talos("v1.13.9"));
        let may = |path, talos| authorize_call(path, &Caller::Anyone, talos);

        for talos in [&old, &new] {
            assert_eq!(may(method::APPLY_CONFIGURATION, talos), Ok(()));
            assert_eq!(may(method::STATE_LIST, talos), Ok(()));
        }
        assert_eq!(may(method::VERSION, &new), Ok(()));
        let message = "API is not implemented in maintenance mode";
        assert_eq!(may(method::VERSION, &old), Err(CallError::new(ErrorCode::Unimplemented, message)));
        assert_eq!(may(method::BOOTSTRAP, &old).unwrap_err().code, ErrorCode::Unimplemented);
        assert_eq!(may(method::BOOTSTRAP, &new).unwrap_err().code, ErrorCode::PermissionDenied);
    }

    #[test]
    fn calls_of_later_releases_are_unknown() {
        let refused =
            |path, version| authorize_call(path, &caller_with(ADMIN), &talos(version)).map_err(|it| it.code);

        assert_eq!(refused(method::LIFECYCLE_UPGRADE, "v1.12.0"), Err(ErrorCode::Unimplemented));
        assert_eq!(refused(method::LIFECYCLE_UPGRADE, "v1.13.0"), Ok(()));
        assert_eq!(refused("/machine.MachineService/Nothing", "v1.14.0"), Err(ErrorCode::Unimplemented));
    }
}
