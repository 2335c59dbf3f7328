//! Identification of machines as nodes.
//!
//! A machine without a configuration presents a self-signed certificate, which proves nothing. It is identified by the permanent
//! MAC addresses of its ports, the UUID from its hypervisor, or a certificate fingerprint read on its console. In a cloud, where
//! these cannot be chosen, it is identified by the name that the cloud assigns.

use serde::{Deserialize, Serialize};

use crate::cluster::section::Platform;
use crate::plan::NodePlan;
use ichor_values::Mac;

/// The identifying properties of a node's machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineIdentity {
    /// The permanent MAC addresses of its ports.
    pub macs: Vec<Mac>,
    /// The UUID in its SMBIOS, if the hypervisor assigned one.
    pub uuid: Option<String>,
    /// The fingerprint of its certificate in maintenance mode.
    pub fingerprint: Option<String>,
    /// The name assigned by a cloud.
    pub cloud_name: Option<String>,
}

/// The identifying properties that a machine reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Permanent addresses of its ports.
    pub macs: Vec<Mac>,
    /// UUID in its SMBIOS.
    pub uuid: Option<String>,
    /// The fingerprint of its certificate; none once it has a certificate of the cluster.
    pub fingerprint: Option<String>,
    /// Its hostname.
    pub hostname: Option<String>,
}

/// Whether a machine is the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdentityMatch {
    /// The machine is the node.
    Same,
    /// The machine is another one, with the reason.
    Other(String),
    /// The machine cannot be identified, with the reason.
    Unknown(String),
}

impl MachineIdentity {
    /// The identity of a planned node's machine.
    pub fn from_plan(node: &NodePlan) -> Self {
        let macs = node.ports.iter().filter_map(|port| Some(port.mac.as_ref()?.value)).collect();
        let cloud = !matches!(node.platform.value, Platform::Metal | Platform::Nocloud);
        let cloud_name = cloud.then(|| node.name.to_string());
        Self { macs, uuid: None, fingerprint: None, cloud_name }
    }

    /// Identifies a machine without a configuration.
    pub fn match_unconfigured(&self, facts: &MachineFacts) -> IdentityMatch {
        if let Some(contradiction) = self.find_contradiction(facts) {
            return IdentityMatch::Other(contradiction);
        }
        let known_name = self.cloud_name.is_some() && self.cloud_name == facts.hostname;
        if self.is_confirmed_by(facts) || known_name {
            return IdentityMatch::Same;
        }
        let has = if facts.macs.is_empty() {
            "the machine reports no MAC addresses".to_owned()
        } else {
            format!("the machine has the MAC addresses {}", mac_list(&facts.macs))
        };
        IdentityMatch::Unknown(if self.macs.is_empty() {
            format!("the cluster file does not identify this machine; {has}")
        } else {
            has
        })
    }

    /// Identifies a machine with a certificate of the cluster as the node `name`.
    pub fn match_member(&self, facts: &MachineFacts, name: &str) -> IdentityMatch {
        if let Some(contradiction) = self.find_contradiction(facts) {
            return IdentityMatch::Other(contradiction);
        }
        match facts.hostname.as_deref() {
            Some(hostname) if hostname == name => IdentityMatch::Same,
            _ if self.is_confirmed_by(facts) => IdentityMatch::Same,
            Some(hostname) => IdentityMatch::Other(format!("its hostname is {hostname}")),
            None => IdentityMatch::Unknown("the machine does not report its hostname yet".to_owned()),
        }
    }

    fn is_confirmed_by(&self, facts: &MachineFacts) -> bool {
        let same = |wanted: &Option<String>, is: &Option<String>| {
            wanted.as_ref().zip(is.as_ref()).is_some_and(|(wanted, is)| wanted.eq_ignore_ascii_case(is))
        };
        let macs = !self.macs.is_empty() && self.macs.iter().all(|mac| facts.macs.contains(mac));
        // A fingerprint is base64, which is case-sensitive.
        let fingerprint = self.fingerprint.is_some() && self.fingerprint == facts.fingerprint;
        macs || same(&self.uuid, &facts.uuid) || fingerprint
    }

    fn find_contradiction(&self, facts: &MachineFacts) -> Option<String> {
        let (lacks, has): (Vec<Mac>, Vec<Mac>) = self.macs.iter().partition(|mac| !facts.macs.contains(mac));
        if !facts.macs.is_empty() && !lacks.is_empty() {
            return Some(if has.is_empty() {
                format!("it has {}, not {}", mac_list(&facts.macs), mac_list(&lacks))
            } else {
                format!("it has {}, but not {}", mac_list(&has), mac_list(&lacks))
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

/// Formats MAC addresses as a list.
pub fn mac_list(macs: &[Mac]) -> String {
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
    fn a_machine_with_all_ports_of_the_file_is_the_node_even_with_more() {
        let node = MachineIdentity { macs: macs(&[ONE]), ..MachineIdentity::default() };

        assert_eq!(
            node.match_unconfigured(&MachineFacts { macs: macs(&[TWO, ONE]), ..MachineFacts::default() }),
            IdentityMatch::Same
        );
    }

    #[test]
    fn a_machine_without_a_port_of_the_file_is_another_one() {
        let node = MachineIdentity { macs: macs(&[ONE, TWO]), ..MachineIdentity::default() };

        let verdict =
            node.match_unconfigured(&MachineFacts { macs: macs(&[ONE]), ..MachineFacts::default() });

        assert_eq!(verdict, IdentityMatch::Other(format!("it has {ONE}, but not {TWO}")));
    }

    #[test]
    fn a_machine_with_the_same_ports_and_another_uuid_is_another_one() {
        let uuid = "d581756f-daf9-81d1-81c6-4d4854e2123f";
        let node =
            MachineIdentity { macs: macs(&[ONE]), uuid: Some(uuid.to_owned()), ..MachineIdentity::default() };
        let facts = |uuid: &str| MachineFacts {
            macs: macs(&[ONE]),
            uuid: Some(uuid.to_owned()),
            ..MachineFacts::default()
        };

        assert_eq!(node.match_unconfigured(&facts(&uuid.to_uppercase())), IdentityMatch::Same);
        assert!(matches!(
            node.match_unconfigured(&facts("00000000-0000-0000-0000-000000000000")),
            IdentityMatch::Other(_)
        ));
    }

    #[test]
    fn a_machine_that_reports_no_facts_is_unknown() {
        let node = MachineIdentity { macs: macs(&[ONE]), ..MachineIdentity::default() };

        assert!(matches!(node.match_unconfigured(&MachineFacts::default()), IdentityMatch::Unknown(_)));
        assert!(matches!(
            MachineIdentity::default().match_unconfigured(&MachineFacts::default()),
            IdentityMatch::Unknown(_)
        ));
    }

    #[test]
    fn a_name_identifies_a_machine_only_in_a_cloud() {
        let facts = MachineFacts { hostname: Some("a".to_owned()), ..MachineFacts::default() };
        let cloud = MachineIdentity { cloud_name: Some("a".to_owned()), ..MachineIdentity::default() };

        assert_eq!(cloud.match_unconfigured(&facts), IdentityMatch::Same);
        assert!(matches!(MachineIdentity::default().match_unconfigured(&facts), IdentityMatch::Unknown(_)));
    }

    #[test]
    fn a_member_of_the_cluster_is_identified_by_its_name_or_ports() {
        let node = MachineIdentity { macs: macs(&[ONE]), ..MachineIdentity::default() };
        let facts = |hostname: &str, mac: &str| MachineFacts {
            macs: macs(&[mac]),
            hostname: Some(hostname.to_owned()),
            ..MachineFacts::default()
        };

        assert_eq!(node.match_member(&facts("a", ONE), "a"), IdentityMatch::Same);
        assert_eq!(node.match_member(&facts("old-name", ONE), "a"), IdentityMatch::Same);
        assert!(matches!(node.match_member(&facts("a", TWO), "a"), IdentityMatch::Other(_)));
        assert_eq!(
            MachineIdentity::default().match_member(&facts("b", TWO), "a"),
            IdentityMatch::Other("its hostname is b".to_owned())
        );
    }
}
