//! Cut cables.

use serde::Serialize;

use crate::lab::topology::{CableEnd, LabCable, LabTopology};

/// A cut cable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CutCable {
    /// Its name. On a network of which only some ends are cut, the name of an end, such as `leaf1:lan0`.
    pub link: String,
    /// Whether its ends keep their carrier.
    pub silent: bool,
}

/// The state of a cable's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CableState {
    /// Packets pass.
    Whole,
    /// No carrier.
    Down,
    /// It has a carrier, and packets are lost.
    Lost,
}

impl CutCable {
    /// Finds the cut cables. `carrier` returns the state of an end by the numbers of its cable and itself.
    pub fn find_all(topology: &LabTopology, carrier: impl Fn(usize, usize) -> CableState) -> Vec<Self> {
        let cuts = |(nth, cable): (usize, &LabCable)| {
            let ends: Vec<CableState> = (0..cable.ends.len()).map(|end| carrier(nth, end)).collect();
            let out = ends.iter().filter(|end| **end != CableState::Whole).count();
            let silent = !ends.contains(&CableState::Down);
            if out == 0 {
                Vec::new()
            } else if ends.len() <= 2 || out == ends.len() {
                vec![Self { link: cable.name.clone(), silent }]
            } else {
                let cut_ends = cable.ends.iter().zip(ends).filter(|(_, end)| *end != CableState::Whole);
                cut_ends
                    .map(|(end, state)| Self {
                        link: topology.cable_end_name(*end),
                        silent: state == CableState::Lost,
                    })
                    .collect()
            }
        };
        topology.cables.iter().enumerate().flat_map(cuts).collect()
    }
}

impl LabTopology {
    /// The name of a cable's end: its machine, and its port's name in the cluster file.
    pub fn cable_end_name(&self, end: CableEnd) -> String {
        let machine = &self.machines[end.machine];
        let port = &machine.ports[end.port];
        format!("{}:{}", machine.name, port.alias.as_ref().unwrap_or(&port.name))
    }
}
