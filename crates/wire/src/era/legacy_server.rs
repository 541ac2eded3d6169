//! The hub's side towards servers of 2024-11-05 to 2025-11-25.

use super::meta;
use bytes::Bytes;
use frame::{Rope, Version, object};

/// The params of `initialize`. No client capability is declared: nobody could answer such a request for a shared server.
pub fn initialize(hub_version: &str) -> Rope {
    format!(
        "{{\"protocolVersion\":\"{}\",\"capabilities\":{{}},\"clientInfo\":{{\"name\":\"callgate\",\"version\":{}}}}}",
        Version::LEGACY.as_str(),
        object::quote(hub_version)
    )
    .into()
}

/// Params as a legacy server gets them, with the hub's own progress token where the client asked for progress.
pub fn params(params: &Bytes, token: Option<u64>) -> Rope {
    meta::for_server(params, token, None)
}
