//! Where webhooks may go, and how they are signed.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use anyhow::Result;
use serde::Deserialize;
use url::Host;

use super::time;
use crate::cli::Usage;
use crate::config::Sources;
use crate::handlers::http::{Guard, Place, SigningKeys, Timeouts, Webhook};

/// `[handlers.http]`. Debug is left out: there are secrets in it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HttpEntry {
    allow: Vec<Place>,
    insecure_http: bool,
    secret: Option<SigningKeys>,
    /// By host.
    secrets: BTreeMap<String, SigningKeys>,
    connect_timeout_ms: Option<NonZeroU64>,
    read_timeout_ms: Option<NonZeroU64>,
    timeout_ms: Option<NonZeroU64>,
}

/// The handler with what the file says, and the secret that the environment has.
pub(super) fn webhook(entry: Option<&HttpEntry>, sources: &Sources) -> Result<Webhook> {
    let none = HttpEntry::default();
    let entry = entry.unwrap_or(&none);
    let secret = sources.environment.parse::<SigningKeys>("QUEUEKIT_WEBHOOK_SECRET")?;
    let by_host = entry.secrets.iter().map(|(host, keys)| {
        // Written as URLs have it once they are read.
        let host = Host::parse(host).map_err(|_| {
            let rule = "must be the host of a URL, without scheme and port";
            Usage::error(format!("[handlers.http.secrets]: `{host}` {rule}"))
        })?;
        Ok((host.to_string(), keys.clone()))
    });
    let by_host = by_host.collect::<Result<_>>()?;
    let guard = Guard::new(&entry.allow, entry.insecure_http);
    let default = Timeouts::default();
    let timeouts = Timeouts {
        connect: time(entry.connect_timeout_ms, default.connect),
        read: time(entry.read_timeout_ms, default.read),
        whole: time(entry.timeout_ms, default.whole),
    };
    Ok(Webhook::new(guard, secret.or_else(|| entry.secret.clone()), by_host, timeouts)?)
}
