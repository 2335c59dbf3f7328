//! GoBGP as the agent runs it, 3 and 4, between real leafs.

mod lab;
