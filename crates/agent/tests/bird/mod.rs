//! BIRD under the agent, 2.0 and 2.17, between real leafs.

mod lab;
