//! Definitions against what was approved.

use crate::problems::{Failure, Outcome};
use crate::routes::Peer;
use crate::views::{gate as views, held};
use hub::operate::OperatorHandle;
use operator::words::{CatalogApprove, CatalogApproved, CatalogDiff, CatalogFilter, HeldConfig};

/// What waits for a review.
pub async fn diff(hub: &OperatorHandle, filter: CatalogFilter) -> Outcome<CatalogDiff> {
    if let Some(server) = &filter.server {
        // So that a mistyped name is not a clean server.
        hub.server(server).await?;
    }
    // The config is no server's.
    let held = match filter.server {
        Some(_) => HeldConfig::default(),
        None => {
            let status = hub.status().await?;
            held(status.held, status.held_hash)
        }
    };
    let servers = hub.reviews(filter.server).await?.into_iter().map(views::review).collect();
    Ok(CatalogDiff { servers, held })
}

/// Approves exactly what was shown.
pub async fn approve(hub: &OperatorHandle, asked: CatalogApprove, peer: &Peer) -> Outcome<CatalogApproved> {
    let wrong =
        |_| Failure::new("bad_input", "the hash is written as sha256: and 64 digits").next("callgate catalog diff");
    let hash = asked.hash.parse().map_err(wrong)?;
    let approved = hub.approve_definition(&asked.target, hash, &peer.name()).await?;
    Ok(CatalogApproved { server: approved.server, entries: approved.entries, left: approved.left })
}
