//! What a tool promises: canonical JSON, hashes, validation, names, error codes.
