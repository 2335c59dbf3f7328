//! Whether a machine is the node it is taken for.
//!
//! A machine without a configuration shows a certificate that anybody could have made. So it is known by what it is made
//! of: the permanent addresses of its ports, the UUID its hypervisor gave it, or a certificate whose fingerprint somebody
//! read at its console. In a cloud, which lets nobody choose these, it is known by the name the cloud gave it.

use serde::{Deserialize, Serialize};

use crate::cluster::section::Platform;
use crate::plan::NodePlan;
use ichor_values::Mac;

/// By what a machine can be known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineIdentity {
    /// Its ports, by their permanent addresses.
    pub macs: Vec<Mac>,
    /// UUID in its SMBIOS, where the hypervisor has given it one.
    pub uuid: Option<String>,
    /// Fingerprint of the certificate it shows before it is configured.
    pub fingerprint: Option<String>,
    /// Name a cloud gives it.
    pub cloud_name: Option<String>,
}

/// What a machine tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Permanent addresses of its ports.
    pub macs: Vec<Mac>,
    /// UUID in its SMBIOS.
    pub uuid: Option<String>,
    /// Fingerprint of the certificate it showed; none once it has one of the cluster.
    pub fingerprint: Option<String>,
    /// Its hostname.
    pub hostname: Option<String>,
}

/// Whether a machine is the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityMatch {
    /// It is.
    Same,
    /// It is another one, and why.
    Other(String),
    /// Nothing says whether it is, and what would.
    Unknown(String),
}

impl MachineIdentity {
    /// What the file says of a node's machine.
    pub fn of(node: &NodePlan) -> Self {
        let macs = node.ports.iter().filter_map(|port| Some(port.mac.as_ref()?.value)).collect();
        let cloud = !matches!(node.platform.value, Platform::Metal | Platform::Nocloud);
        let cloud_name = cloud.then(|| node.name.to_string());
        Self { macs, uuid: None, fingerprint: None, cloud_name }
    }

    /// Whether a machine that has no configuration yet is this one.
    pub fn judge(&self, facts: &MachineFacts) -> IdentityMatch {
        if let Some(contradiction) = self.contradicts(facts) {
            return IdentityMatch::Other(contradiction);
        }
        let known_name = self.cloud_name.is_some() && self.cloud_name == facts.hostname;
        if self.agrees(facts) || known_name {
            return IdentityMatch::Same;
        }
        let has = if facts.macs.is_empty() {
            "the machine reports no MAC addresses".to_owned()
        } else {
            format!("the machine has the MAC addresses {}", list(&facts.macs))
        };
        IdentityMatch::Unknown(if self.macs.is_empty() {
            format!("the cluster file does not identify this machine; {has}")
        } else {
            has
        })
    }

    /// Whether a machine that shows a certificate of the cluster is the node `name`.
    pub fn judge_ours(&self, facts: &MachineFacts, name: &str) -> IdentityMatch {
        if let Some(contradiction) = self.contradicts(facts) {
            return IdentityMatch::Other(contradiction);
        }
        match facts.hostname.as_deref() {
            Some(hostname) if hostname == name => IdentityMatch::Same,
            _ if self.agrees(facts) => IdentityMatch::Same,
            Some(hostname) => IdentityMatch::Other(format!("its hostname is {hostname}")),
            None => IdentityMatch::Unknown("the machine does not report its hostname yet".to_owned()),
        }
    }

    fn agrees(&self, facts: &MachineFacts) -> bool {
        let same = |wanted: &Option<String>, is: &Option<String>| {
            wanted.as_ref().zip(is.as_ref()).is_some_and(|(wanted, is)| wanted.eq_ignore_ascii_case(is))
        };
        let macs = !self.macs.is_empty() && self.macs.iter().all(|mac| facts.macs.contains(mac));
        // A fingerprint is base64, in which letters differ by their case.
        let fingerprint = self.fingerprint.is_some() && self.fingerprint == facts.fingerprint;
        macs || same(&self.uuid, &facts.uuid) || fingerprint
    }

    fn contradicts(&self, facts: &MachineFacts) -> Option<String> {
        let (lacks, has): (Vec<Mac>, Vec<Mac>) = self.macs.iter().partition(|mac| !facts.macs.contains(mac));
        if !facts.macs.is_empty() && !lacks.is_empty() {
            return Some(if has.is_empty() {
                format!("it has {}, not {}", list(&facts.macs), list(&lacks))
            } else {
                format!("it has {}, but not {}", list(&has), list(&lacks))
            });
        }
        if let (Some(wanted), Some(is)) = (&self.uuid, &facts.uuid)
            && !wanted.eq_ignore_ascii_case(is)
        {
            return Some(format!("its UUID is {is}, not {wanted}"));
        }
        if let (Some(wanted), Some(is)) = (&self.fingerprint, &facts.fingerprint)
            && wanted != is
        {
            return Some(format!("its certificate has the fingerprint {is}, not {wanted}"));
        }
        None
    }
}

/// MAC addresses, for a sentence.
pub fn list(macs: &[Mac]) -> String {
    macs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn macs(texts: &[&str]) -> Vec<Mac> {
        texts.iter().map(|text| Mac::parse(text).unwrap()).collect()
    }

    const ONE: &str = "02:00:00:00:00:01";
    const TWO: &str = "02:00:00:00:00:02";

    #[test]
    fn a_machine_with_all_ports_of_the_file_is_the_node_also_with_more() {
        let node = MachineIdentity { macs: macs(&[ONE]), ..MachineIdentity::default() };

        assert_eq!(
            node.judge(&MachineFacts { macs: macs(&[TWO, ONE]), ..MachineFacts::default() }),
            IdentityMatch::Same
        );
    }

    #[test]
    fn a_machine_that_lacks_a_port_is_another_one() {
        let node = MachineIdentity { macs: macs(&[ONE, TWO]), ..MachineIdentity::default() };

        let verdict = node.judge(&MachineFacts { macs: macs(&[ONE]), ..MachineFacts::default() });

        assert_eq!(verdict, IdentityMatch::Other(format!("it has {ONE}, but not {TWO}")));
    }

    #[test]
    fn the_same_ports_with_another_uuid_are_another_machine() {
        let uuid = "d581756f-daf9-81d1-81c6-4d4854e2123f";
        let node =
            MachineIdentity { macs: macs(&[ONE]), uuid: Some(uuid.to_owned()), ..MachineIdentity::default() };
        let facts = |uuid: &str| MachineFacts {
            macs: macs(&[ONE]),
            uuid: Some(uuid.to_owned()),
            ..MachineFacts::default()
        };

        assert_eq!(node.judge(&facts(&uuid.to_uppercase())), IdentityMatch::Same);
        assert!(matches!(
            node.judge(&facts("00000000-0000-0000-0000-000000000000")),
            IdentityMatch::Other(_)
        ));
    }

    #[test]
    fn nothing_is_known_of_a_machine_that_tells_nothing() {
        let node = MachineIdentity { macs: macs(&[ONE]), ..MachineIdentity::default() };

        assert!(matches!(node.judge(&MachineFacts::default()), IdentityMatch::Unknown(_)));
        assert!(matches!(
            MachineIdentity::default().judge(&MachineFacts::default()),
            IdentityMatch::Unknown(_)
        ));
    }

    #[test]
    fn a_name_is_enough_only_where_a_cloud_gave_it() {
        let facts = MachineFacts { hostname: Some("a".to_owned()), ..MachineFacts::default() };
        let cloud = MachineIdentity { cloud_name: Some("a".to_owned()), ..MachineIdentity::default() };

        assert_eq!(cloud.judge(&facts), IdentityMatch::Same);
        assert!(matches!(MachineIdentity::default().judge(&facts), IdentityMatch::Unknown(_)));
    }

    #[test]
    fn with_a_certificate_of_the_cluster_the_name_or_the_ports_say_which_node_it_is() {
        let node = MachineIdentity { macs: macs(&[ONE]), ..MachineIdentity::default() };
        let facts = |hostname: &str, mac: &str| MachineFacts {
            macs: macs(&[mac]),
            hostname: Some(hostname.to_owned()),
            ..MachineFacts::default()
        };

        assert_eq!(node.judge_ours(&facts("a", ONE), "a"), IdentityMatch::Same);
        assert_eq!(node.judge_ours(&facts("old-name", ONE), "a"), IdentityMatch::Same);
        assert!(matches!(node.judge_ours(&facts("a", TWO), "a"), IdentityMatch::Other(_)));
        assert_eq!(
            MachineIdentity::default().judge_ours(&facts("b", TWO), "a"),
            IdentityMatch::Other("its hostname is b".to_owned())
        );
    }
}
