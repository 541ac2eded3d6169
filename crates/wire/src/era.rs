//! The four era adapters: the only places that know the eras and the reserved `_meta` keys. Pure functions between
//! what stands on the wire and the internal form.

pub mod legacy_host;
pub mod legacy_server;
pub mod meta;
pub mod modern_host;
pub mod modern_server;

use frame::Rope;

/// What goes out to a client as the end of a request.
#[derive(Clone, Debug)]
pub enum Out {
    /// `"result":` and this object.
    Result(Rope),
    /// `"error":` and this object.
    Error(Rope),
}

impl Out {
    /// The key and the body of it.
    pub fn parts(&self) -> (&'static str, &Rope) {
        match self {
            Out::Result(body) => ("result", body),
            Out::Error(body) => ("error", body),
        }
    }

    /// Writes the whole answer (without line end) for the request of that raw id.
    pub fn write(&self, id: &[u8], sink: &mut dyn frame::Sink) {
        let (key, body) = self.parts();
        sink.put(b"{\"jsonrpc\":\"2.0\",\"id\":");
        sink.put(id);
        sink.put(if key == "result" { b",\"result\":" } else { b",\"error\":" });
        body.write(sink);
        sink.put(b"}");
    }
}

/// Methods whose modern results carry cache hints (`ttlMs`, `cacheScope`).
pub(crate) fn has_cache_hints(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

/// The `code` of a JSON-RPC error object.
pub fn error_code(error: &[u8]) -> Option<i64> {
    let [code] = frame::object::pick(error, ["code"]);
    std::str::from_utf8(&error[code?]).ok()?.parse().ok()
}
