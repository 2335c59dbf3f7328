//! The values of a plan by key path, for display.
//!
//! The patterns name every field of a plan: a new field does not compile before it is a row here, or `_` because it is part of
//! another row or has no key in the file.

mod cluster;

use std::fmt::Display;

use super::virtual_link::{self, BondPlan};
use super::{
    BfdPlan, BootPlan, Decided, KernelPlan, NeighborPlan, NodePlan, Origin, Plan, PolicyPlan,
    PrebuiltImagesPlan, Prefixes, RoutingPlan, StagePlan, TailscalePlan, VmPlan, WorkloadPlan,
};
use crate::cluster::section::{Link, Role};
use ichor_values::print::Printed;
use ichor_values::read::Read;

pub use cluster::{cluster_detail_rows, cluster_rows, fabric_rows};

/// A decided value for display: key path, value, origin.
pub type ValueRow = (String, String, Origin);

struct RowBuilder(Vec<ValueRow>);

impl RowBuilder {
    fn add<T: Display>(&mut self, key: &str, decided: &Decided<T>) {
        self.0.push((key.to_owned(), decided.value.to_string(), decided.origin));
    }

    fn add_optional<T: Display>(&mut self, key: &str, decided: Option<&Decided<T>>) {
        if let Some(decided) = decided {
            self.add(key, decided);
        }
    }

    /// Adds a value that may be a list or a map, as it would be written in the file.
    fn add_printed<T: Read>(&mut self, key: &str, decided: Option<&Decided<T>>) {
        if let Some(Decided { value, origin }) = decided {
            self.0.push((key.to_owned(), value.print().to_flow(), *origin));
        }
    }

    fn add_list<T: Display>(&mut self, key: &str, decided: &Decided<Vec<T>>) {
        let words: Vec<_> = decided.value.iter().map(|item| Printed::Scalar(item.to_string())).collect();
        self.0.push((key.to_owned(), Printed::List(words).to_flow(), decided.origin));
    }

    fn add_items<T: Display>(&mut self, key: &str, decided: &[Decided<T>]) {
        for (nth, item) in decided.iter().enumerate() {
            self.add(&format!("{key}[{nth}]"), item);
        }
    }

    fn add_prefixes(&mut self, key: &str, prefixes: &Prefixes) {
        self.add_optional(&format!("{key}.v4"), prefixes.v4.as_ref());
        self.add_optional(&format!("{key}.v6"), prefixes.v6.as_ref());
    }

    fn add_bfd(&mut self, key: &str, bfd: Option<&BfdPlan>) {
        if let Some(BfdPlan { interval, multiplier }) = bfd {
            self.add(&format!("{key}.interval"), interval);
            self.add(&format!("{key}.multiplier"), multiplier);
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
        // Complete documents.
        patches: _,
        drain,
        settings,
    } = node;
    let mut rows = RowBuilder(Vec::new());
    rows.add("platform", platform);
    rows.add("arch", arch);
    rows.add("talos", talos);
    for (nth, port) in ports.iter().enumerate() {
        rows.add_optional(&format!("macs[{nth}]"), port.mac.as_ref());
    }
    rows.add_prefixes("network.node", address);
    rows.add("network.node.link", link);
    rows.add("network.node.addressing", addressing);
    rows.add_optional("network.node.gateway.v4", gateway.v4.as_ref());
    rows.add_optional("network.node.gateway.v6", gateway.v6.as_ref());
    rows.add("network.node.metric", metric);
    rows.add_prefixes("network.loopback", loopback);
    rows.add_printed("network.dns", name_servers.as_ref());
    rows.add_printed("network.ntp", time_servers.as_ref());
    rows.add_optional("network.mtu", mtu.as_ref());
    rows.add_optional("network.api.health", health.as_ref());
    let (kubelet, etcd) = (plan.kubelet_subnets(node), plan.etcd_subnets(node));
    if kubelet != plan.cluster.kubelet_subnets {
        rows.add_list("network.kubelet_subnets", &kubelet);
    }
    if *role == Role::Controlplane && etcd != plan.cluster.etcd_subnets {
        rows.add_list("network.etcd_subnets", &etcd);
    }
    for dummy in dummies {
        rows.add_prefixes(&format!("network.dummy.{}", dummy.name), &dummy.address);
    }
    for link in settings.links.values() {
        link_rows(&mut rows, link);
    }
    rows.add_optional("routing.asn", asn.as_ref());
    rows.add_optional("routing.router_id", router_id.as_ref());
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
    rows.add_printed("labels", labels.as_ref());
    rows.add_printed("taints", taints.as_ref());
    rows.add("drain", drain);
    rows.0
}

fn link_rows(rows: &mut RowBuilder, link: &Link) {
    // Keys without a row have no default of their own: see `NodePlan::links`.
    let Link { name, mtu, bond, vlan: _, bridge, dhcp: _, addresses: _, routes } = link;
    let Some(name) = name.get() else { return };
    let key = format!("links.{name}");
    rows.add_optional(&format!("{key}.mtu"), Decided::from_key(mtu).as_ref());
    if let Some(bond) = bond.get() {
        let (BondPlan { mode, miimon, hash }, _) = BondPlan::from_section(bond);
        rows.add(&format!("{key}.bond.mode"), &mode);
        rows.add(&format!("{key}.bond.miimon"), &miimon);
        rows.add(&format!("{key}.bond.hash"), &hash);
    }
    if let Some(bridge) = bridge.get() {
        rows.add(&format!("{key}.bridge.stp"), &virtual_link::stp(bridge));
    }
    for (nth, route) in routes.values().enumerate() {
        rows.add(&format!("{key}.routes[{nth}].metric"), &virtual_link::metric(route));
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
        // A complete document.
        schematic: _,
        sbc,
        extensions,
    } = boot;
    rows.add("boot.from", from);
    rows.add_optional("boot.server", server.as_ref());
    rows.add_optional("install.disk", disk.as_ref());
    rows.add_printed("install.select", select.as_ref());
    rows.add("install.wipe", wipe);
    rows.add("image.source", image);
    if let Some(PrebuiltImagesPlan { iso, disk, installer }) = given.as_deref() {
        rows.add_optional("image.source.iso", iso.as_ref());
        rows.add_optional("image.source.disk", disk.as_ref());
        rows.add_optional("image.source.installer", installer.as_ref());
    }
    rows.add("image.factory", factory);
    rows.add_optional("image.registry", registry.as_ref());
    rows.add("image.secure_boot", secure_boot);
    rows.add_optional("sbc", sbc.as_ref());
    rows.add_items("extensions", extensions);
}

fn kernel_rows(rows: &mut RowBuilder, kernel: &KernelPlan) {
    let KernelPlan { args, modules, sysctls } = kernel;
    rows.add_items("kernel.args", args);
    rows.add_items("kernel.modules", modules);
    for (key, value) in sysctls {
        rows.add(&format!("kernel.sysctls.\"{key}\""), value);
    }
}

fn stage_rows(rows: &mut RowBuilder, stages: &StagePlan) {
    let StagePlan { dhcp, external, overlay } = stages;
    rows.add_optional("address.dhcp", dhcp.as_ref());
    rows.add_optional("address.external", external.as_ref());
    rows.add_optional("address.overlay", overlay.as_ref());
}

fn tailscale_rows(rows: &mut RowBuilder, tailscale: &TailscalePlan) {
    let TailscalePlan { server, key, mint, tags, routes } = tailscale;
    rows.add_optional("overlay.tailscale.server", server.as_ref());
    rows.add_printed("overlay.tailscale.key", key.as_ref());
    rows.add("overlay.tailscale.mint", mint);
    rows.add_printed("overlay.tailscale.tags", tags.as_ref());
    rows.add_printed("overlay.tailscale.routes", routes.as_ref());
}

fn routing_rows(rows: &mut RowBuilder, routing: &RoutingPlan) {
    let RoutingPlan {
        backend,
        carrier,
        version,
        service,
        limitations: _,
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
    rows.add("routing.backend", backend);
    rows.add_optional("routing.carrier", carrier.as_ref());
    rows.add_optional("routing.version", version.as_ref());
    rows.add_optional("routing.service", service.as_ref());
    rows.add_list("routing.advertise", advertise);
    rows.add_printed("routing.aggregates", aggregates.as_ref());
    for (nth, neighbor) in neighbors.iter().enumerate() {
        neighbor_rows(rows, &format!("routing.neighbors[{nth}]"), neighbor);
    }
    policy_rows(rows, policy);
    rows.add_optional("routing.graceful_restart.time", graceful_restart.as_ref());
    if let Some(workload) = workload {
        workload_rows(rows, workload);
    }
    rows.add_optional(&format!("routing.template.{}", backend.value), template.as_ref());
    rows.add_printed("routing.daemons", options.as_ref());
    rows.add("routing.agent.log", log);
    rows.add_optional("routing.agent.status.listen", status.as_ref());
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
    rows.add_optional(&format!("{key}.asn"), asn.as_ref());
    rows.add_bfd(&format!("{key}.bfd"), bfd.as_ref());
    let (keepalive, hold) = timers.value;
    rows.add_list(&format!("{key}.timers"), &Decided { value: vec![keepalive, hold], origin: timers.origin });
    rows.add(&format!("{key}.passive"), passive);
    rows.add_printed(&format!("{key}.password"), password.as_ref());
}

fn policy_rows(rows: &mut RowBuilder, policy: &PolicyPlan) {
    let PolicyPlan { allow, max_prefixes, local_preference, communities, prepend } = policy;
    rows.add_printed("routing.policy.in.allow", allow.as_ref());
    rows.add_optional("routing.policy.in.max_prefixes", max_prefixes.as_ref());
    rows.add_optional("routing.policy.in.local_preference", local_preference.as_ref());
    rows.add_printed("routing.policy.out.communities", communities.as_ref());
    rows.add("routing.policy.out.prepend", prepend);
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
    rows.add("routing.workload.metallb.mode", mode);
    rows.add("routing.workload.isolation", isolation);
    let path = if table.is_some() { "routing.workload.vrf.name" } else { "routing.workload.namespace" };
    rows.add_optional(path, domain.as_ref());
    rows.add_optional("routing.workload.vrf.table", table.as_ref());
    rows.add_optional("routing.workload.link.ours", link.as_ref().map(|link| &link.0));
    rows.add_optional("routing.workload.link.theirs", link.as_ref().map(|link| &link.1));
    rows.add("routing.workload.link.prefix", prefix);
    rows.add("routing.workload.link.names.ours", &names.0);
    rows.add("routing.workload.link.names.theirs", &names.1);
    rows.add_optional("routing.workload.link.mtu", mtu.as_ref());
    rows.add("routing.workload.asn.ours", &asn.0);
    rows.add("routing.workload.asn.theirs", &asn.1);
    rows.add_bfd("routing.workload.bfd", bfd.as_ref());
    rows.add_list("routing.workload.allow", allow);
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
    rows.add_optional("vm.hypervisor", hypervisor.as_ref());
    rows.add_optional("vm.id", id.as_ref());
    rows.add_optional("vm.host", host.as_ref());
    rows.add("vm.cores", cores);
    rows.add("vm.cpu", cpu);
    rows.add("vm.memory", memory);
    rows.add("vm.disk", disk);
    rows.add("vm.storage", storage);
    rows.add("vm.nic", nic);
    rows.add("vm.bridge", bridge);
    rows.add_optional("vm.vlan", vlan.as_ref());
    rows.add("vm.machine", machine);
    rows.add("vm.firmware", firmware);
    rows.add_list("vm.boot", boot);
    rows.add("vm.on_boot", on_boot);
    rows.add("vm.guest_agent", guest_agent);
    rows.add_optional("vm.pool", pool.as_ref());
    rows.add_printed("vm.tags", tags.as_ref());
    rows.add_printed("vm.args", args.as_ref());
}
