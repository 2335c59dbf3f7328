//! `show cilium`: the helm command line and values for Cilium.

use std::io::Write;

use ichor_core::plan::CniPlan;
use ichor_core::render::chart::{ChartRequest, values};
use ichor_values::go_yaml::emit::emit;
use serde_json::json;

use crate::project::Project;

pub(super) fn print(project: &Project, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let plan = &project.plan;
    let order = ChartRequest::from_plan(plan, project.attachments());
    let needed = values::values(plan);
    if as_json {
        let words = order.as_ref().map(ChartRequest::arguments);
        let document = json!({"helm_arguments": words, "helm_values": order.is_some().then_some(needed)});
        serde_json::to_writer_pretty(&mut *out, &document)?;
        writeln!(out)?;
        return Ok(());
    }
    let Some(order) = order else {
        match &plan.cluster.cni.value {
            CniPlan::Cilium => writeln!(out, "helm is not used: `cluster.cilium.manifest` is set")?,
            cni => writeln!(out, "helm is not used: the pod network is {cni}")?,
        }
        return Ok(());
    };
    let own = plan.cluster.cilium.as_ref().and_then(|cilium| cilium.values.as_ref());
    let own = own.map(|path| format!(" --values {}", path.value)).unwrap_or_default();
    writeln!(out, "# helm {} --values THIS{own}", order.arguments().join(" "))?;
    Ok(write!(out, "{}", emit(&needed))?)
}
