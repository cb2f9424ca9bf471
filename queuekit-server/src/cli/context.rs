//! What every command is handed.

use anyhow::Result;
use queuekit::Client;

use super::output::Output;
use crate::config::{Sources, StoreAddress, store_address};

/// The settings and where to answer. Debug is left out: the URL may hold a password.
pub(crate) struct Context {
    pub(crate) url: Option<String>,
    pub(crate) sources: Sources,
    pub(crate) output: Output,
}

impl Context {
    /// The store.
    pub(crate) fn address(&self) -> StoreAddress {
        store_address(self.url.as_deref(), &self.sources)
    }

    /// Opens the store.
    pub(crate) async fn connect(&self) -> Result<Client> {
        Ok(queuekit::connect(self.address().to_open()?).await?)
    }
}
