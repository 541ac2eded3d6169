//! What people see: pure functions from words to text. Every text that a server had a hand in passes through
//! `visible` on its way here; nothing is printed here.

pub mod approvals;
pub mod arguments;
pub mod audit;
pub mod calls;
pub mod catalog;
pub mod config;
pub mod json;
pub mod logs;
pub mod policy;
pub mod remembered;
pub mod result;
pub mod screen;
pub mod servers;
pub mod status;
pub mod table;
pub mod tokens;
pub mod tools;
pub mod trail;
pub mod when;

#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod log_tests;
#[cfg(test)]
mod result_tests;
#[cfg(test)]
pub mod samples;
#[cfg(test)]
mod tests;
