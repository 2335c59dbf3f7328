//! Which cables do not carry.

use serde::Serialize;

use crate::lab::scene::{CableEnd, LabCable, LabTopology};

/// A cable that does not carry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CutCable {
    /// Its name; of a network some of whose plugs are out, that of a plug, as `leaf1:lan0`.
    pub link: String,
    /// Whether its ends do not notice: they have a carrier.
    pub silent: bool,
}

/// How an end of a cable is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CableState {
    /// Packets pass.
    Whole,
    /// It has none.
    Down,
    /// It has one, and packets are lost.
    Lost,
}

impl CutCable {
    /// Every cable that does not carry; `carrier` knows an end by the numbers of its cable and of itself.
    pub fn all(scene: &LabTopology, carrier: impl Fn(usize, usize) -> CableState) -> Vec<Self> {
        let of = |(nth, cable): (usize, &LabCable)| {
            let ends: Vec<CableState> = (0..cable.ends.len()).map(|end| carrier(nth, end)).collect();
            let out = ends.iter().filter(|end| **end != CableState::Whole).count();
            let silent = !ends.contains(&CableState::Down);
            if out == 0 {
                Vec::new()
            } else if ends.len() <= 2 || out == ends.len() {
                vec![Self { link: cable.name.clone(), silent }]
            } else {
                let plugs = cable.ends.iter().zip(ends).filter(|(_, end)| *end != CableState::Whole);
                plugs
                    .map(|(plug, end)| Self { link: scene.plug(*plug), silent: end == CableState::Lost })
                    .collect()
            }
        };
        scene.cables.iter().enumerate().flat_map(of).collect()
    }
}

impl LabTopology {
    /// What a plug is called: its machine and its port, as the cluster file calls it.
    pub fn plug(&self, plug: CableEnd) -> String {
        let machine = &self.machines[plug.machine];
        let port = &machine.ports[plug.port];
        format!("{}:{}", machine.name, port.alias.as_ref().unwrap_or(&port.name))
    }
}
