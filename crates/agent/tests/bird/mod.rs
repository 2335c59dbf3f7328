//! BIRD as the agent runs it, 2.0 and 2.17, between real leafs.

mod lab;
