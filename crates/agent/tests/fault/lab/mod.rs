//! With real daemons, in machines of their own.

mod hindered;
mod killed;
mod secret;
