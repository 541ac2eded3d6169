//! The hashes that name a definition, a schema and a call's arguments: SHA-256 over canonical JSON.
//! Two texts that differ in anything but key order, white space and spelling never share one (docs/approvals.md).

use crate::canonical::{self, Numbers};
use crate::tree::{TextFault, Tree, Value};
use sha2::{Digest, Sha256};
use std::fmt;

/// A SHA-256 hash. Prints as `sha256:` and 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

/// Text that is no printed [`Hash`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is written as sha256: and 64 hexadecimal digits")]
pub struct NoHash;

impl Hash {
    /// The hash of these bytes as they are.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(Sha256::digest(bytes).into())
    }
    /// The hash of 32 stored bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Hash {
        Hash(bytes)
    }
    /// Its 32 bytes, for storing.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
    /// Its first hex digits, for tails of names and short views.
    pub(crate) fn head(&self, digits: usize) -> String {
        let mut text: String = self.0.iter().take(digits.div_ceil(2)).map(|byte| format!("{byte:02x}")).collect();
        text.truncate(digits);
        text
    }
}

/// How a hash is stored beside what it names: its bytes. What people read is its text.
pub(crate) mod stored {
    use super::Hash;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
        hash.0.serialize(to)
    }
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Hash, D::Error> {
        Deserialize::deserialize(from).map(Hash)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // All at once: a catalog prints thousands.
        let mut text = *b"sha256:0000000000000000000000000000000000000000000000000000000000000000";
        for (pair, byte) in text[7..].chunks_exact_mut(2).zip(self.0) {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        out.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::str::FromStr for Hash {
    type Err = NoHash;
    fn from_str(text: &str) -> Result<Hash, NoHash> {
        let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64).ok_or(NoHash)?.as_bytes();
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let hex = |digit: u8| char::from(digit).to_digit(16).ok_or(NoHash);
            *byte = u8::try_from(hex(pair[0])? << 4 | hex(pair[1])?).map_err(|_| NoHash)?;
        }
        Ok(Hash(bytes))
    }
}

/// The hash of a whole definition as the server sent it, `_meta` and unknown members included.
///
/// # Errors
/// Where the text is not unambiguous JSON.
pub fn definition_hash(definition: &[u8]) -> Result<Hash, TextFault> {
    Ok(of_definition(Tree::read(definition)?.root()))
}

/// The hash of `{inputSchema, outputSchema}` of a tool's definition; a member that is absent there is absent here.
///
/// # Errors
/// Where the text is not unambiguous JSON.
pub fn schema_hash(definition: &[u8]) -> Result<Hash, TextFault> {
    Ok(of_tool(Tree::read(definition)?.root()).0)
}

/// The canonical text that is hashed by [`definition_hash`], for showing and comparing.
///
/// # Errors
/// Where the text is not unambiguous JSON.
pub fn canonical_text(json: &[u8]) -> Result<String, TextFault> {
    let mut out = Vec::new();
    canonical::write(Tree::read(json)?.root(), Numbers::Exact, &mut out);
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The digest of a call's arguments: numbers as received, so that `1` and `1.0` differ. `leave_out` names one
/// argument that does not count (the idempotency key).
///
/// # Errors
/// Where the text is not unambiguous JSON.
pub fn arguments_digest(arguments: &[u8], leave_out: Option<&str>) -> Result<Hash, TextFault> {
    Ok(of_arguments(Tree::read(arguments)?.root(), leave_out))
}

pub(crate) fn of_definition(definition: Value<'_>) -> Hash {
    let mut out = Vec::with_capacity(definition.span().len());
    canonical::write(definition, Numbers::Exact, &mut out);
    Hash::of(&out)
}

/// Of a tool's definition, an object: the hash of its schemas, and of the whole.
pub(crate) fn of_tool(definition: Value<'_>) -> (Hash, Hash) {
    let mut whole = Vec::with_capacity(definition.span().len());
    let mut schemas = vec![b'{'];
    canonical::write_telling(definition, Numbers::Exact, &mut whole, |key, text| {
        if let "inputSchema" | "outputSchema" = key {
            if schemas.len() > 1 {
                schemas.push(b',');
            }
            schemas.push(b'"');
            schemas.extend_from_slice(key.as_bytes());
            schemas.extend_from_slice(b"\":");
            schemas.extend_from_slice(text);
        }
    });
    schemas.push(b'}');
    (Hash::of(&schemas), Hash::of(&whole))
}

pub(crate) fn of_arguments(arguments: Value<'_>, leave_out: Option<&str>) -> Hash {
    let mut out = Vec::with_capacity(arguments.span().len());
    canonical::write_without(arguments, leave_out, Numbers::AsReceived, &mut out);
    Hash::of(&out)
}
