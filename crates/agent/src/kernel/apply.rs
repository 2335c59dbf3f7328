//! Doing what was decided, step by step.

use std::io;
use std::os::fd::AsRawFd;

use ichor_bgp::agent::wiring::{FENCE_METRIC, GROUP, LinkRef, PROTOCOL, Step};
use ichor_bgp::model::Family;
use ipnet::IpNet;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressProtocol};
use netlink_packet_route::link::{InfoData, InfoVeth};
use netlink_packet_route::route::{RouteMessage, RouteProtocol, RouteType};
use nix::errno::Errno;
use rtnetlink::{LinkDummy, LinkMessageBuilder, LinkUnspec, LinkVeth, LinkVrf};

use super::{HINT, Kernel, error, namespace, routes, switch, unless};

/// How far the steps went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// All are done.
    Done,
    /// The kernel has no VRFs so far: all is done but the link to the speaker.
    NoVrf,
}

/// A step that the kernel refused. Those before it are done.
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
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        (self.source.kind() == io::ErrorKind::PermissionDenied).then_some(HINT)
    }
}

impl Kernel {
    /// Does steps in their order, and stops at the first that fails.
    pub async fn apply(&self, steps: &[Step]) -> Result<ApplyOutcome, ApplyError> {
        for group in steps.chunk_by(|a, b| a.namespace() == b.namespace()) {
            let done = match group[0].namespace() {
                None => self.each(group).await,
                Some(name) => within(name, group).await,
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

    async fn each(&self, steps: &[Step]) -> Result<(), ApplyError> {
        for step in steps {
            self.step(step).await.map_err(|source| ApplyError { step: step.clone(), source })?;
        }
        Ok(())
    }

    async fn step(&self, step: &Step) -> io::Result<()> {
        match step {
            Step::Switch(switch) => switch::write(&switch.path, switch.value),
            Step::Withdraw { at, net } => self.withdraw(&at.link, *net).await,
            Step::Dummy { name } => self.make(LinkDummy::new(name)).await,
            Step::Vrf { name, table } => self.make(LinkVrf::new(name, *table)).await,
            Step::Fence { table, family } => {
                let route = fence(*table, *family);
                unless(self.handle.route().add(route).execute().await, &[Errno::EEXIST])
            }
            Step::Namespace { name } => namespace::make(name).await,
            Step::Pair { ours, theirs, mtu } => self.make_pair(ours, theirs, *mtu).await,
            Step::Move { link, namespace } => self.move_to(link, namespace).await,
            Step::Join { link, vrf } => {
                let vrf = self.index(vrf)?;
                self.set(link, |link| link.controller(vrf)).await
            }
            Step::Leave { link } => self.set(link, LinkMessageBuilder::nocontroller).await,
            Step::Mtu { at, mtu } => self.set(&at.link, |link| link.mtu(*mtu)).await,
            Step::Address { at, net } => self.give(&at.link, *net).await,
            Step::Up { at } => self.set(&at.link, LinkMessageBuilder::up).await,
        }
    }

    /// Makes a link that is marked as ours from the first moment on.
    async fn make<T>(&self, link: LinkMessageBuilder<T>) -> io::Result<()> {
        self.handle.link().add(link.link_group(GROUP).build()).execute().await.map_err(error)
    }

    /// Makes both ends, each where it belongs and marked as ours. To move one afterwards takes the kernel twenty times as long.
    async fn make_pair(&self, ours: &LinkRef, theirs: &str, mtu: u32) -> io::Result<()> {
        let namespace = ours.namespace.as_deref().map(namespace::open).transpose()?;
        let mut end = LinkUnspec::new_with_name(&ours.link).link_group(GROUP).mtu(mtu);
        if let Some(namespace) = &namespace {
            end = end.setns_by_fd(namespace.as_raw_fd());
        }
        let end = InfoData::Veth(InfoVeth::Peer(end.build()));
        self.make(LinkVeth::new(theirs, &ours.link).mtu(mtu).set_info_data(end)).await
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

    /// Gives an address that can be used at once: IPv6 would look for others who have it, for about a second.
    async fn give(&self, link: &str, net: IpNet) -> io::Result<()> {
        let index = self.index(link)?;
        let mut request = self.handle.address().add(index, net.addr(), net.prefix_len()).replace();
        let attributes = &mut request.message_mut().attributes;
        attributes.push(AddressAttribute::Protocol(AddressProtocol::Other(PROTOCOL)));
        if net.addr().is_ipv6() {
            attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        request.execute().await.map_err(error)
    }

    /// Takes an address back; it may be gone.
    pub(super) async fn withdraw(&self, link: &str, net: IpNet) -> io::Result<()> {
        let index = self.index(link)?;
        // A request to add says the same about an address as one to remove it.
        let mut request = self.handle.address().add(index, net.addr(), net.prefix_len());
        let message = request.message_mut().clone();
        unless(self.handle.address().del(message).execute().await, &[Errno::EADDRNOTAVAIL])
    }
}

/// Steps in a namespace; not to get there is a failure of the first.
async fn within(name: &str, steps: &[Step]) -> Result<(), ApplyError> {
    let kernel = namespace::kernel(name).map_err(|source| ApplyError { step: steps[0].clone(), source })?;
    kernel.each(steps).await
}

/// The last route of a VRF's table.
pub(super) fn fence(table: u32, family: Family) -> RouteMessage {
    let mut route = routes::message(table, family.everything(), FENCE_METRIC);
    route.header.protocol = RouteProtocol::Other(PROTOCOL);
    route.header.kind = RouteType::Unreachable;
    route
}

/// Whether a kernel that does not make a VRF has none. A module that may not be loaded is the same, where we may do
/// everything else.
fn lacks_vrfs(reason: &io::Error) -> bool {
    match reason.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EOPNOTSUPP) => true,
        Some(Errno::EPERM | Errno::EACCES) => may_administer(),
        _ => false,
    }
}

/// Whether this process has CAP_NET_ADMIN, the twelfth.
fn may_administer() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & 1 << 12 != 0)
}
