//! The networks of pods and services.

use ipnet::IpNet;

use super::super::required;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, subnet};

/// The fewest host bits of a subnet.
const LEAST_BITS: u8 = 4;

/// The most host bits of a service subnet.
const MOST_SERVICE_BITS: u8 = 20;

/// The most bits for node numbers in a pod subnet.
const MOST_NODE_BITS: i64 = 16;

/// Why Talos does not take a subnet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum SubnetError {
    #[error("{subnet} has bits behind its length: write {}", subnet.trunc())]
    HostBits { subnet: IpNet },
    #[error("{subnet} is too small: want at least a /{most}")]
    TooSmall { subnet: IpNet, most: u8 },
    #[error("{subnet} is smaller than the /{per_node} of one node")]
    SmallerThanNode { subnet: IpNet, per_node: i64 },
    #[error("{subnet} is too big for a /{per_node} per node: want at least a /{least}")]
    TooBigForNodes { subnet: IpNet, per_node: i64, least: i64 },
    #[error("{subnet} is too big: want a /{least} or smaller")]
    TooBig { subnet: IpNet, least: u8 },
}

/// Judges them.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    let masks =
        [("nodeCIDRMaskSizeIPv4", 32, 24), ("nodeCIDRMaskSizeIPv6", 128, 64)].map(|(key, most, default)| {
            let field = document.get(key);
            match field.number() {
                0 => Some(default),
                size if (1..=most).contains(&size) => Some(size),
                size => {
                    issues.error(&field, format!("{size} is not a prefix length: want 1 to {most}"));
                    None
                }
            }
        });
    let (pods, services) = (document.get("podSubnets"), document.get("serviceSubnets"));
    subnets(&pods, issues, |subnet| pod_size(subnet, masks[usize::from(is_ipv6(subnet))]));
    subnets(&services, issues, service_size);
    if pods.items().count() != services.items().count() {
        issues.error(&services, "there have to be as many subnets for services as for pods");
    }
    subnet::advise(&pods, &services, issues);
}

fn is_ipv6(subnet: &IpNet) -> bool {
    matches!(subnet, IpNet::V6(_))
}

fn subnets(
    subnets: &Field<'_>,
    issues: &mut DocumentIssues,
    size: impl Fn(&IpNet) -> Result<(), SubnetError>,
) {
    required(subnets, issues);
    if subnets.items().count() > 2 {
        issues.error(subnets, "there are more than two subnets: want one of each protocol at most");
        return;
    }
    let mut protocols = Vec::new();
    for field in subnets.items() {
        let Ok(subnet) = field.text().parse::<IpNet>() else {
            issues.error(&field, "this is not a prefix");
            continue;
        };
        if let Err(error) = well_formed(&subnet).and_then(|()| size(&subnet)) {
            issues.error(&field, error.to_string());
        }
        if protocols.contains(&is_ipv6(&subnet)) {
            issues.error(&field, "there is a subnet of this protocol already");
        }
        protocols.push(is_ipv6(&subnet));
    }
}

fn well_formed(subnet: &IpNet) -> Result<(), SubnetError> {
    if *subnet != subnet.trunc() {
        return Err(SubnetError::HostBits { subnet: *subnet });
    }
    if subnet.max_prefix_len() - subnet.prefix_len() < LEAST_BITS {
        let most = subnet.max_prefix_len() - LEAST_BITS;
        return Err(SubnetError::TooSmall { subnet: *subnet, most });
    }
    Ok(())
}

fn pod_size(subnet: &IpNet, per_node: Option<i64>) -> Result<(), SubnetError> {
    let Some(per_node) = per_node else { return Ok(()) };
    let left = per_node - i64::from(subnet.prefix_len());
    if left < 0 {
        return Err(SubnetError::SmallerThanNode { subnet: *subnet, per_node });
    }
    if left > MOST_NODE_BITS {
        let least = per_node - MOST_NODE_BITS;
        return Err(SubnetError::TooBigForNodes { subnet: *subnet, per_node, least });
    }
    Ok(())
}

fn service_size(subnet: &IpNet) -> Result<(), SubnetError> {
    if subnet.max_prefix_len() - subnet.prefix_len() > MOST_SERVICE_BITS {
        let least = subnet.max_prefix_len() - MOST_SERVICE_BITS;
        return Err(SubnetError::TooBig { subnet: *subnet, least });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::check;

    #[test]
    fn subnets_fit_each_other() {
        let of = |pods: &str, services: &str| format!("podSubnets: {pods}\nserviceSubnets: {services}");
        check(
            "KubeNetworkConfig",
            &[
                (&of("[10.244.0.0/16]", "[10.96.0.0/12]"), &[]),
                (&of("[10.244.0.0/16, 'fd00:10::/56']", "[10.96.0.0/12, 'fd00:11::/112']"), &[]),
                ("dnsDomain: a", &["!podSubnets", "!serviceSubnets"]),
                (&of("[10.244.0.0/16]", "[10.96.0.0/12, 'fd00:11::/112']"), &["!serviceSubnets"]),
                (&of("[10.244.0.1/16]", "[10.96.0.0/29]"), &["!podSubnets[0]", "!serviceSubnets[0]"]),
                (&of("[10.244.0.0/25]", "[10.0.0.0/11]"), &["!podSubnets[0]", "!serviceSubnets[0]"]),
                (&of("[10.0.0.0/7]", "[10.96.0.0/12]"), &["!podSubnets[0]", "~serviceSubnets[0]"]),
                (&of("[10.244.0.0/16, 10.245.0.0/16]", "[10.96.0.0/12, 'fd00::/112']"), &["!podSubnets[1]"]),
                (
                    &of("['fd00::/48', 'fd01::/47', 'fd02::/47']", "['fd01::/112']"),
                    &["!podSubnets", "!serviceSubnets", "~serviceSubnets[0]"],
                ),
            ],
        );
    }

    #[test]
    fn pod_subnets_must_have_room_for_the_node_mask() {
        let of = |rest: &str| format!("podSubnets: [10.244.0.0/24]\nserviceSubnets: [10.96.0.0/12]\n{rest}");
        check(
            "KubeNetworkConfig",
            &[
                (&of("nodeCIDRMaskSizeIPv4: 26"), &[]),
                (&of("nodeCIDRMaskSizeIPv4: 20"), &["!podSubnets[0]"]),
                (
                    &of("nodeCIDRMaskSizeIPv4: 33\nnodeCIDRMaskSizeIPv6: -1"),
                    &["!nodeCIDRMaskSizeIPv4", "!nodeCIDRMaskSizeIPv6"],
                ),
            ],
        );
    }
}
