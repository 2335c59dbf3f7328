//! GoBGP under the agent, 3 and 4, between real leafs.

mod lab;
