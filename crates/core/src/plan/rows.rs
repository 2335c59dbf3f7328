//! The values of a plan by key path, for display.
//!
//! The patterns name every field of a plan: a new field does not compile before it is a row here, or `_` because it is part of
//! another row or has no key in the file.

mod cluster;

use std::fmt::Display;

use super::made_link::{self, BondPlan};
use super::{
    BfdPlan, BootPlan, Decided, KernelPlan, NeighborPlan, NodePlan, Origin, Plan, PolicyPlan,
    PrebuiltImagesPlan, Prefixes, RoutingPlan, StagePlan, TailscalePlan, VmPlan, WorkloadPlan,
};
use crate::cluster::section::{Link, Role};
use ichor_values::print::Printed;
use ichor_values::read::Read;

pub use cluster::{cluster_detail_rows, cluster_rows, surrounding_rows};

/// A decided value for display: key path, value, origin.
pub type ValueRow = (String, String, Origin);

struct RowBuilder(Vec<ValueRow>);

impl RowBuilder {
    fn put<T: Display>(&mut self, key: &str, decided: &Decided<T>) {
        self.0.push((key.to_owned(), decided.value.to_string(), decided.origin));
    }

    fn some<T: Display>(&mut self, key: &str, decided: Option<&Decided<T>>) {
        if let Some(decided) = decided {
            self.put(key, decided);
        }
    }

    /// Adds a value that may be a list or a map, as it would be written in the file.
    fn print<T: Read>(&mut self, key: &str, decided: Option<&Decided<T>>) {
        if let Some(Decided { value, origin }) = decided {
            self.0.push((key.to_owned(), value.print().to_flow(), *origin));
        }
    }

    fn list<T: Display>(&mut self, key: &str, decided: &Decided<Vec<T>>) {
        let words: Vec<_> = decided.value.iter().map(|item| Printed::Scalar(item.to_string())).collect();
        self.0.push((key.to_owned(), Printed::List(words).to_flow(), decided.origin));
    }

    fn each<T: Display>(&mut self, key: &str, decided: &[Decided<T>]) {
        for (nth, item) in decided.iter().enumerate() {
            self.put(&format!("{key}[{nth}]"), item);
        }
    }

    fn prefixes(&mut self, key: &str, prefixes: &Prefixes) {
        self.some(&format!("{key}.v4"), prefixes.v4.as_ref());
        self.some(&format!("{key}.v6"), prefixes.v6.as_ref());
    }

    fn bfd(&mut self, key: &str, bfd: Option<&BfdPlan>) {
        if let Some(BfdPlan { interval, multiplier }) = bfd {
            self.put(&format!("{key}.interval"), interval);
            self.put(&format!("{key}.multiplier"), multiplier);
        }
    }
}

/// The decided values of one node, by key path below it.
pub fn node_rows(plan: &Plan, node: &NodePlan) -> Vec<ValueRow> {
    let NodePlan {
        nth: _,
        name: _,
        place: _,
        role,
        index: _,
        site: _,
        groups: _,
        platform,
        arch,
        talos,
        ports,
        address,
        link,
        addressing,
        gateway,
        loopback,
        dummies,
        vip: _,
        old_links: _,
        asn,
        router_id,
        routing,
        boot,
        vm,
        // Credentials of a machine's controller.
        power: _,
        name_servers,
        time_servers,
        mtu,
        metric,
        health,
        stages,
        tailscale,
        kernel,
        labels,
        taints,
        // Whole documents.
        patches: _,
        drain,
        settings,
    } = node;
    let mut rows = RowBuilder(Vec::new());
    rows.put("platform", platform);
    rows.put("arch", arch);
    rows.put("talos", talos);
    for (nth, port) in ports.iter().enumerate() {
        rows.some(&format!("macs[{nth}]"), port.mac.as_ref());
    }
    rows.prefixes("network.node", address);
    rows.put("network.node.link", link);
    rows.put("network.node.addressing", addressing);
    rows.some("network.node.gateway.v4", gateway.v4.as_ref());
    rows.some("network.node.gateway.v6", gateway.v6.as_ref());
    rows.put("network.node.metric", metric);
    rows.prefixes("network.loopback", loopback);
    rows.print("network.dns", name_servers.as_ref());
    rows.print("network.ntp", time_servers.as_ref());
    rows.some("network.mtu", mtu.as_ref());
    rows.some("network.api.health", health.as_ref());
    let (kubelet, etcd) = (plan.kubelet_subnets(node), plan.etcd_subnets(node));
    if kubelet != plan.cluster.kubelet_subnets {
        rows.list("network.kubelet_subnets", &kubelet);
    }
    if *role == Role::Controlplane && etcd != plan.cluster.etcd_subnets {
        rows.list("network.etcd_subnets", &etcd);
    }
    for dummy in dummies {
        rows.prefixes(&format!("network.dummy.{}", dummy.name), &dummy.address);
    }
    for link in settings.links.values() {
        link_rows(&mut rows, link);
    }
    rows.some("routing.asn", asn.as_ref());
    rows.some("routing.router_id", router_id.as_ref());
    if let Some(routing) = routing {
        routing_rows(&mut rows, routing);
    }
    boot_rows(&mut rows, boot);
    kernel_rows(&mut rows, kernel);
    if let Some(vm) = vm {
        vm_rows(&mut rows, vm);
    }
    stage_rows(&mut rows, stages);
    if let Some(tailscale) = tailscale {
        tailscale_rows(&mut rows, tailscale);
    }
    rows.print("labels", labels.as_ref());
    rows.print("taints", taints.as_ref());
    rows.put("drain", drain);
    rows.0
}

fn link_rows(rows: &mut RowBuilder, link: &Link) {
    // Keys without a row have no default of their own: see `NodePlan::links`.
    let Link { name, mtu, bond, vlan: _, bridge, dhcp: _, addresses: _, routes } = link;
    let Some(name) = name.get() else { return };
    let key = format!("links.{name}");
    rows.some(&format!("{key}.mtu"), Decided::of(mtu).as_ref());
    if let Some(bond) = bond.get() {
        let (BondPlan { mode, miimon, hash }, _) = BondPlan::of(bond);
        rows.put(&format!("{key}.bond.mode"), &mode);
        rows.put(&format!("{key}.bond.miimon"), &miimon);
        rows.put(&format!("{key}.bond.hash"), &hash);
    }
    if let Some(bridge) = bridge.get() {
        rows.put(&format!("{key}.bridge.stp"), &made_link::stp(bridge));
    }
    for (nth, route) in routes.values().enumerate() {
        rows.put(&format!("{key}.routes[{nth}].metric"), &made_link::metric(route));
    }
}

fn boot_rows(rows: &mut RowBuilder, boot: &BootPlan) {
    let BootPlan {
        from,
        server,
        disk,
        select,
        wipe,
        image,
        given,
        factory,
        registry,
        secure_boot,
        // A whole document.
        schematic: _,
        sbc,
        extensions,
    } = boot;
    rows.put("boot.from", from);
    rows.some("boot.server", server.as_ref());
    rows.some("install.disk", disk.as_ref());
    rows.print("install.select", select.as_ref());
    rows.put("install.wipe", wipe);
    rows.put("image.source", image);
    if let Some(PrebuiltImagesPlan { iso, disk, installer }) = given.as_deref() {
        rows.some("image.source.iso", iso.as_ref());
        rows.some("image.source.disk", disk.as_ref());
        rows.some("image.source.installer", installer.as_ref());
    }
    rows.put("image.factory", factory);
    rows.some("image.registry", registry.as_ref());
    rows.put("image.secure_boot", secure_boot);
    rows.some("sbc", sbc.as_ref());
    rows.each("extensions", extensions);
}

fn kernel_rows(rows: &mut RowBuilder, kernel: &KernelPlan) {
    let KernelPlan { args, modules, sysctls } = kernel;
    rows.each("kernel.args", args);
    rows.each("kernel.modules", modules);
    for (key, value) in sysctls {
        rows.put(&format!("kernel.sysctls.\"{key}\""), value);
    }
}

fn stage_rows(rows: &mut RowBuilder, stages: &StagePlan) {
    let StagePlan { dhcp, external, overlay } = stages;
    rows.some("address.dhcp", dhcp.as_ref());
    rows.some("address.external", external.as_ref());
    rows.some("address.overlay", overlay.as_ref());
}

fn tailscale_rows(rows: &mut RowBuilder, tailscale: &TailscalePlan) {
    let TailscalePlan { server, key, mint, tags, routes } = tailscale;
    rows.some("overlay.tailscale.server", server.as_ref());
    rows.print("overlay.tailscale.key", key.as_ref());
    rows.put("overlay.tailscale.mint", mint);
    rows.print("overlay.tailscale.tags", tags.as_ref());
    rows.print("overlay.tailscale.routes", routes.as_ref());
}

fn routing_rows(rows: &mut RowBuilder, routing: &RoutingPlan) {
    let RoutingPlan {
        backend,
        carrier,
        version,
        service,
        lacks: _,
        advertise,
        aggregates,
        neighbors,
        policy,
        graceful_restart,
        workload,
        template,
        options,
        log,
        status,
    } = routing;
    rows.put("routing.backend", backend);
    rows.some("routing.carrier", carrier.as_ref());
    rows.some("routing.version", version.as_ref());
    rows.some("routing.service", service.as_ref());
    rows.list("routing.advertise", advertise);
    rows.print("routing.aggregates", aggregates.as_ref());
    for (nth, neighbor) in neighbors.iter().enumerate() {
        neighbor_rows(rows, &format!("routing.neighbors[{nth}]"), neighbor);
    }
    policy_rows(rows, policy);
    rows.some("routing.graceful_restart.time", graceful_restart.as_ref());
    if let Some(workload) = workload {
        workload_rows(rows, workload);
    }
    rows.some(&format!("routing.template.{}", backend.value), template.as_ref());
    rows.print("routing.daemons", options.as_ref());
    rows.put("routing.agent.log", log);
    rows.some("routing.agent.status.listen", status.as_ref());
}

fn neighbor_rows(rows: &mut RowBuilder, key: &str, neighbor: &NeighborPlan) {
    let NeighborPlan {
        place: _,
        router: _,
        router_nth: _,
        peer: _,
        extended_nexthop: _,
        asn,
        bfd,
        timers,
        passive,
        password,
    } = neighbor;
    rows.some(&format!("{key}.asn"), asn.as_ref());
    rows.bfd(&format!("{key}.bfd"), bfd.as_ref());
    let (keepalive, hold) = timers.value;
    rows.list(&format!("{key}.timers"), &Decided { value: vec![keepalive, hold], origin: timers.origin });
    rows.put(&format!("{key}.passive"), passive);
    rows.print(&format!("{key}.password"), password.as_ref());
}

fn policy_rows(rows: &mut RowBuilder, policy: &PolicyPlan) {
    let PolicyPlan { allow, max_prefixes, local_preference, communities, prepend } = policy;
    rows.print("routing.policy.in.allow", allow.as_ref());
    rows.some("routing.policy.in.max_prefixes", max_prefixes.as_ref());
    rows.some("routing.policy.in.local_preference", local_preference.as_ref());
    rows.print("routing.policy.out.communities", communities.as_ref());
    rows.put("routing.policy.out.prepend", prepend);
}

fn workload_rows(rows: &mut RowBuilder, workload: &WorkloadPlan) {
    let WorkloadPlan {
        place: _,
        speaker: _,
        mode,
        isolation,
        domain,
        table,
        link,
        prefix,
        names,
        mtu,
        asn,
        bfd,
        allow,
    } = workload;
    rows.put("routing.workload.metallb.mode", mode);
    rows.put("routing.workload.isolation", isolation);
    let path = if table.is_some() { "routing.workload.vrf.name" } else { "routing.workload.namespace" };
    rows.some(path, domain.as_ref());
    rows.some("routing.workload.vrf.table", table.as_ref());
    rows.some("routing.workload.link.ours", link.as_ref().map(|link| &link.0));
    rows.some("routing.workload.link.theirs", link.as_ref().map(|link| &link.1));
    rows.put("routing.workload.link.prefix", prefix);
    rows.put("routing.workload.link.names.ours", &names.0);
    rows.put("routing.workload.link.names.theirs", &names.1);
    rows.some("routing.workload.link.mtu", mtu.as_ref());
    rows.put("routing.workload.asn.ours", &asn.0);
    rows.put("routing.workload.asn.theirs", &asn.1);
    rows.bfd("routing.workload.bfd", bfd.as_ref());
    rows.list("routing.workload.allow", allow);
}

fn vm_rows(rows: &mut RowBuilder, vm: &VmPlan) {
    let VmPlan {
        hypervisor,
        id,
        host,
        cores,
        cpu,
        memory,
        disk,
        storage,
        // A property of the hypervisor, not of the machine.
        iso: _,
        nic,
        bridge,
        vlan,
        machine,
        firmware,
        boot,
        on_boot,
        guest_agent,
        pool,
        tags,
        args,
    } = vm;
    rows.some("vm.hypervisor", hypervisor.as_ref());
    rows.some("vm.id", id.as_ref());
    rows.some("vm.host", host.as_ref());
    rows.put("vm.cores", cores);
    rows.put("vm.cpu", cpu);
    rows.put("vm.memory", memory);
    rows.put("vm.disk", disk);
    rows.put("vm.storage", storage);
    rows.put("vm.nic", nic);
    rows.put("vm.bridge", bridge);
    rows.some("vm.vlan", vlan.as_ref());
    rows.put("vm.machine", machine);
    rows.put("vm.firmware", firmware);
    rows.list("vm.boot", boot);
    rows.put("vm.on_boot", on_boot);
    rows.put("vm.guest_agent", guest_agent);
    rows.some("vm.pool", pool.as_ref());
    rows.print("vm.tags", tags.as_ref());
    rows.print("vm.args", args.as_ref());
}
