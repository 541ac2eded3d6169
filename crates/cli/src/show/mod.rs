//! What people see: pure functions from words to text. Every text that a server had a hand in passes through
//! `visible` on its way here; nothing is printed here.

pub mod config;
pub mod json;
pub mod logs;
pub mod result;
pub mod screen;
pub mod servers;
pub mod status;
pub mod table;
pub mod tokens;
pub mod tools;
pub mod when;

#[cfg(test)]
mod tests;
