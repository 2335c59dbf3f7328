//! Applying steps to the kernel.

use std::io;
use std::os::fd::AsRawFd;

use ichor_bgp::agent::wiring::{GROUP, LinkRef, PROTOCOL, Step, UNREACHABLE_METRIC};
use ichor_bgp::model::Family;
use ipnet::IpNet;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressProtocol};
use netlink_packet_route::link::{InfoData, InfoVeth};
use netlink_packet_route::route::{RouteMessage, RouteProtocol, RouteType};
use nix::errno::Errno;
use rtnetlink::{LinkDummy, LinkMessageBuilder, LinkUnspec, LinkVeth, LinkVrf};

use super::{HINT, Kernel, error, ignore_errors, namespace, routes, sysctl};

/// How many of the steps were applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// All of them.
    Done,
    /// All but the veth pair to the load balancer, because the kernel has no VRFs yet.
    NoVrf,
}

/// A step that the kernel rejected. The steps before it have been applied.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step}")]
pub struct ApplyError {
    /// The step.
    pub step: Step,
    /// The kernel's reason.
    #[source]
    pub source: io::Error,
}

impl ApplyError {
    /// A hint for the operator.
    pub fn hint(&self) -> Option<&'static str> {
        (self.source.kind() == io::ErrorKind::PermissionDenied).then_some(HINT)
    }
}

impl Kernel {
    /// Applies steps in order, and stops at the first that fails.
    pub async fn apply(&self, steps: &[Step]) -> Result<ApplyOutcome, ApplyError> {
        for group in steps.chunk_by(|a, b| a.namespace() == b.namespace()) {
            let done = match group[0].namespace() {
                None => self.apply_all(group).await,
                Some(name) => apply_in_namespace(name, group).await,
            };
            match done {
                Err(ApplyError { step: Step::Vrf { .. }, source }) if lacks_vrfs(&source) => {
                    return Ok(ApplyOutcome::NoVrf);
                }
                done => done?,
            }
        }
        Ok(ApplyOutcome::Done)
    }

    async fn apply_all(&self, steps: &[Step]) -> Result<(), ApplyError> {
        for step in steps {
            self.apply_step(step).await.map_err(|source| ApplyError { step: step.clone(), source })?;
        }
        Ok(())
    }

    async fn apply_step(&self, step: &Step) -> io::Result<()> {
        match step {
            Step::Sysctl(step) => sysctl::write(&step.path, step.value),
            Step::RemoveAddress { at, net } => self.remove_address(&at.link, *net).await,
            Step::Dummy { name } => self.create_link(LinkDummy::new(name)).await,
            Step::Vrf { name, table } => self.create_link(LinkVrf::new(name, *table)).await,
            Step::UnreachableDefault { table, family } => {
                let route = unreachable_route(*table, *family);
                ignore_errors(self.handle.route().add(route).execute().await, &[Errno::EEXIST])
            }
            Step::Namespace { name } => namespace::create(name).await,
            Step::Pair { ours, theirs, mtu } => self.create_pair(ours, theirs, *mtu).await,
            Step::Move { link, namespace } => self.move_to(link, namespace).await,
            Step::Join { link, vrf } => {
                let vrf = self.index(vrf)?;
                self.set(link, |link| link.controller(vrf)).await
            }
            Step::Leave { link } => self.set(link, LinkMessageBuilder::nocontroller).await,
            Step::Mtu { at, mtu } => self.set(&at.link, |link| link.mtu(*mtu)).await,
            Step::Address { at, net } => self.add_address(&at.link, *net).await,
            Step::Up { at } => self.set(&at.link, LinkMessageBuilder::up).await,
        }
    }

    /// Creates a link with the agent's mark.
    async fn create_link<T>(&self, link: LinkMessageBuilder<T>) -> io::Result<()> {
        self.handle.link().add(link.link_group(GROUP).build()).execute().await.map_err(error)
    }

    /// Creates both ends, each in its namespace and with the agent's mark. Moving one afterwards takes the kernel
    /// twenty times as long.
    async fn create_pair(&self, ours: &LinkRef, theirs: &str, mtu: u32) -> io::Result<()> {
        let namespace = ours.namespace.as_deref().map(namespace::open).transpose()?;
        let mut end = LinkUnspec::new_with_name(&ours.link).link_group(GROUP).mtu(mtu);
        if let Some(namespace) = &namespace {
            end = end.setns_by_fd(namespace.as_raw_fd());
        }
        let end = InfoData::Veth(InfoVeth::Peer(end.build()));
        self.create_link(LinkVeth::new(theirs, &ours.link).mtu(mtu).set_info_data(end)).await
    }

    /// Changes a link.
    pub(super) async fn set(
        &self,
        link: &str,
        how: impl FnOnce(LinkMessageBuilder<LinkUnspec>) -> LinkMessageBuilder<LinkUnspec>,
    ) -> io::Result<()> {
        let message = how(LinkUnspec::new_with_name(link)).build();
        self.handle.link().set(message).execute().await.map_err(error)
    }

    async fn move_to(&self, link: &str, namespace: &str) -> io::Result<()> {
        let target = namespace::open(namespace)?;
        self.set(link, |link| link.setns_by_fd(target.as_raw_fd())).await
    }

    /// Adds an address that is usable immediately: with IPv6, duplicate address detection would take about a second.
    async fn add_address(&self, link: &str, net: IpNet) -> io::Result<()> {
        let index = self.index(link)?;
        let mut request = self.handle.address().add(index, net.addr(), net.prefix_len()).replace();
        let attributes = &mut request.message_mut().attributes;
        attributes.push(AddressAttribute::Protocol(AddressProtocol::Other(PROTOCOL)));
        if net.addr().is_ipv6() {
            attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        request.execute().await.map_err(error)
    }

    /// Removes an address, which may be missing.
    pub(super) async fn remove_address(&self, link: &str, net: IpNet) -> io::Result<()> {
        let index = self.index(link)?;
        // Requests to add and to remove describe the address in the same way.
        let mut request = self.handle.address().add(index, net.addr(), net.prefix_len());
        let message = request.message_mut().clone();
        ignore_errors(self.handle.address().del(message).execute().await, &[Errno::EADDRNOTAVAIL])
    }
}

/// Applies steps in a namespace; a failure to enter it is a failure of the first step.
async fn apply_in_namespace(name: &str, steps: &[Step]) -> Result<(), ApplyError> {
    let kernel = namespace::kernel(name).map_err(|source| ApplyError { step: steps[0].clone(), source })?;
    kernel.apply_all(steps).await
}

/// The unreachable default route of a VRF's table.
pub(super) fn unreachable_route(table: u32, family: Family) -> RouteMessage {
    let mut route = routes::message(table, family.everything(), UNREACHABLE_METRIC);
    route.header.protocol = RouteProtocol::Other(PROTOCOL);
    route.header.kind = RouteType::Unreachable;
    route
}

/// Whether the kernel failed to create a VRF because it has no VRF support. A module that must not be loaded counts as
/// missing support, if the agent has all other rights.
fn lacks_vrfs(reason: &io::Error) -> bool {
    match reason.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EOPNOTSUPP) => true,
        Some(Errno::EPERM | Errno::EACCES) => has_net_admin(),
        _ => false,
    }
}

/// Whether this process has CAP_NET_ADMIN, the twelfth.
fn has_net_admin() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & 1 << 12 != 0)
}
