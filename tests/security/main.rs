//! Who may do what, and what nobody can make the database do.
#![allow(clippy::unwrap_used)]

mod canaries;
mod grants;
mod hijacking;
mod hostile_values;
mod locks;
mod migrating_user;
mod reading;
mod refusal;
mod roles;
mod session_zones;
