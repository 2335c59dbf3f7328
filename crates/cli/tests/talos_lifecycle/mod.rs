//! The life of a node on real Talos, from an empty disk to its reset, with all commands of ichor for it.
//!
//! A [`TestCluster`](cluster::TestCluster) is a cluster file with its images in a real registry, on a network segment of the test.
//! An [`UpRun`](up_run::UpRun) is a run of `ichor up` that can be killed.

mod cluster;
mod lab;
mod up_run;
