//! Requests to other machines: one reqwest client for all servers, with TLS checked by the platform's verifier and the
//! system's proxies honoured. It follows no redirect, repeats nothing and connects to no reserved address.

use super::carrier::{Chunks, Outgoing, Reply};
use super::pool::{CONNECT_TIME, IDLE_TIME, MAX_IDLE};
use super::target::{AddressFault, Target, permitted};
use super::trouble::{Failure, FailureKind, unreachable};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Body, Client, Request, Url, redirect, retry};
use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

thread_local! {
    /// Reading the platform's certificates takes milliseconds and memory: once, and only if there is a remote server.
    static SHARED: Rc<OnceCell<Client>> = Rc::default();
}

/// Sends one request to `url`.
pub async fn send(target: &Target, url: &Url, outgoing: &Outgoing<'_>) -> Result<Reply, Failure> {
    let shared = SHARED.with(Rc::clone);
    let client = shared.get_or_try_init(client).await?;
    let mut request = Request::new(outgoing.method.clone(), url.clone());
    *request.headers_mut() = outgoing.headers.clone();
    if outgoing.text.is_some() {
        *request.body_mut() = Some(Body::wrap(outgoing.payload(|text| text.join())));
    }
    match client.execute(request).await {
        Ok(mut response) => {
            let headers = std::mem::take(response.headers_mut());
            Ok(Reply { status: response.status(), headers, chunks: Chunks::Remote(response) })
        }
        Err(error) if error.is_connect() => {
            let text = if error.is_timeout() {
                format!("{} did not answer in time", target.origin)
            } else {
                unreachable(&target.origin, &error.without_url())
            };
            Err(Failure::new(FailureKind::Unreachable, text, false))
        }
        Err(error) => {
            let text = format!("the connection broke before an answer came: {}", cause(&error));
            Err(Failure::new(FailureKind::Broken, text, outgoing.sent.is_taken()))
        }
    }
}

/// The innermost cause: reqwest's own texts hold the whole URL.
pub fn cause(error: &reqwest::Error) -> String {
    let mut last = error.source();
    while let Some(source) = last.and_then(Error::source) {
        last = Some(source);
    }
    last.map_or_else(|| "for a reason unknown".to_owned(), ToString::to_string)
}

async fn client() -> Result<Client, Failure> {
    let build = || {
        Client::builder()
            .user_agent(super::USER_AGENT)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .http1_only()
            .connect_timeout(CONNECT_TIME)
            .pool_idle_timeout(IDLE_TIME)
            .pool_max_idle_per_host(MAX_IDLE)
            .tcp_keepalive(Duration::from_secs(30))
            .dns_resolver(Arc::new(Checked))
            .build()
    };
    let failed = |why: String| Failure::new(FailureKind::Unreachable, format!("TLS cannot be set up: {why}"), false);
    match tokio::task::spawn_blocking(build).await {
        Ok(client) => client.map_err(|error| failed(cause(&error))),
        Err(_) => Err(failed("the runtime is stopping".to_owned())),
    }
}

/// Looks names up and leaves out addresses that are not connected to.
struct Checked;

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let unknown = || AddressFault::UnknownName(name.as_str().to_owned());
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(|_| unknown())?.collect();
            let refused = found.iter().find_map(|address| permitted(address.ip()).err());
            let good: Vec<_> = found.into_iter().filter(|address| permitted(address.ip()).is_ok()).collect();
            if good.is_empty() {
                return Err(refused.unwrap_or_else(unknown).into());
            }
            Ok(Box::new(good.into_iter()) as Addrs)
        })
    }
}
