//! Settings of the handler `http`: allowed targets, signatures and credentials.

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroU64};

use anyhow::Result;
use hyper::header::HeaderValue;
use serde::Deserialize;
use url::Host;

use super::time;
use crate::config::Environment;
use crate::error::Usage;
use crate::handlers::http::{
    AllowedTarget, Credential, CredentialHeader, Credentials, Guard, Origin, PORTS, SigningKeys,
    Timeouts, Webhook,
};

/// `[handlers.http]`. It has no `Debug`, because it holds secrets.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HttpEntry {
    allow: Vec<AllowedTarget>,
    ports: Option<Vec<NonZeroU16>>,
    insecure_http: bool,
    secret: Option<SigningKeys>,
    /// By host.
    secrets: BTreeMap<String, SigningKeys>,
    /// By the name that jobs use.
    credentials: BTreeMap<String, CredentialEntry>,
    connect_timeout_ms: Option<NonZeroU64>,
    read_timeout_ms: Option<NonZeroU64>,
    timeout_ms: Option<NonZeroU64>,
}

impl HttpEntry {
    pub(super) fn holds_secret(&self) -> bool {
        self.secret.is_some() || !self.secrets.is_empty()
    }

    pub(super) fn reaches_widely(&self) -> bool {
        self.insecure_http || self.allow.iter().any(AllowedTarget::has_all_ports)
    }
}

/// `[handlers.http.credentials.NAME]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialEntry {
    /// The variable that holds the value, so that no file has to.
    variable: String,
    #[serde(default)]
    header: CredentialHeader,
    origins: Vec<Origin>,
}

/// The handler, from the file, and the secret of the environment.
pub(super) fn webhook(entry: Option<&HttpEntry>, environment: &Environment) -> Result<Webhook> {
    let none = HttpEntry::default();
    let entry = entry.unwrap_or(&none);
    let secret = environment.parse::<SigningKeys>("QUEUEKIT_WEBHOOK_SECRET")?;
    let by_host = entry.secrets.iter().map(|(host, keys)| {
        // The host must be written as a target has it.
        let host = Host::parse(host.trim_end_matches('.')).map_err(|_| {
            let rule = "must be the host of a URL, without scheme and port";
            Usage::error(format!("[handlers.http.secrets]: `{host}` {rule}"))
        })?;
        Ok((host.to_string(), keys.clone()))
    });
    let by_host = by_host.collect::<Result<_>>()?;
    let stated = |ports: &Vec<NonZeroU16>| ports.iter().map(|port| port.get()).collect();
    let guard = Guard {
        allowed: entry.allow.clone(),
        ports: entry.ports.as_ref().map_or_else(|| PORTS.into(), stated),
        insecure_http: entry.insecure_http,
    };
    let default = Timeouts::default();
    let timeouts = Timeouts {
        connect: time(entry.connect_timeout_ms, default.connect),
        read: time(entry.read_timeout_ms, default.read),
        whole: time(entry.timeout_ms, default.whole),
    };
    let secret = secret.or_else(|| entry.secret.clone());
    let credentials = credentials(&entry.credentials, environment)?;
    Ok(Webhook::new(guard, secret, by_host, credentials, timeouts)?)
}

/// The credentials, with their values from the environment.
fn credentials(
    entries: &BTreeMap<String, CredentialEntry>,
    environment: &Environment,
) -> Result<Credentials> {
    let credential = |(name, entry): (&String, &CredentialEntry)| {
        let variable = entry.variable.clone();
        let value = environment.get(&variable).map(|value| {
            // A variable that was read from a file ends in a newline.
            let mut value = HeaderValue::from_str(value.trim()).map_err(|_| {
                Usage::error(format!("the variable {variable} cannot be the value of a header"))
            })?;
            value.set_sensitive(true);
            anyhow::Ok(value)
        });
        let (header, origins) = (entry.header.clone(), entry.origins.clone());
        Ok((name.clone(), Credential { value: value.transpose()?, variable, header, origins }))
    };
    entries.iter().map(credential).collect()
}
