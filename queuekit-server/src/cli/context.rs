//! The settings, the output and the store or server that every command gets.

use anyhow::Result;
use queuekit::Client;

use super::api::{Api, ServerAddress};
use super::output::{Output, remark};
use crate::config::{Sources, StoreAddress, store_address};
use crate::error::Usage;

const KEY: &str = "QUEUEKIT_API_KEY";

/// The settings and the output. It has no `Debug`, because the URL may hold a password.
pub(crate) struct Context {
    pub(crate) url: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) sources: Sources,
    pub(crate) output: Output,
}

/// Whether a command may create the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It reads or changes what exists, and creates nothing.
    Existing,
    /// It stores something: creates a new SQLite file, but no tables in a database server.
    Creating,
}

impl Context {
    /// The store.
    pub(crate) fn address(&self) -> StoreAddress {
        store_address(self.url.as_deref(), &self.sources)
    }

    /// Opens the store and updates its schema, for `serve`, `work` and `dev`.
    pub(crate) async fn connect(&self) -> Result<Client> {
        Ok(queuekit::connect(self.address().to_open()?).await?)
    }

    /// Runs `act` with the routes of the server, if one is named, or else of the store.
    pub(crate) async fn with_api<T>(
        &self,
        access: Access,
        act: impl AsyncFnOnce(&Api) -> Result<T>,
    ) -> Result<T> {
        let api = match self.server()? {
            Some(server) => Api::ask(server)?,
            None if access == Access::Existing => Api::open(&self.address().only_looking()).await?,
            None => Api::open(&self.address().not_migrating()).await?,
        };
        // The store is closed even if the command failed, and then its own error is the one to
        // show.
        let done = act(&api).await;
        let closed = api.close().await;
        let done = done?;
        closed?;
        Ok(done)
    }

    /// The server to use, if any. A flag overrides the environment, even if it names the other one.
    ///
    /// # Errors
    /// Usage if the environment names both: the command could silently change the wrong one.
    fn server(&self) -> Result<Option<ServerAddress>> {
        let environment = &self.sources.environment;
        let variable = environment.get("QUEUEKIT_SERVER").filter(|_| self.url.is_none());
        if self.server.is_none() && variable.is_some() && environment.get("QUEUEKIT_URL").is_some()
        {
            return Err(Usage::error(
                "QUEUEKIT_URL and QUEUEKIT_SERVER are both set, and a command uses only one; \
                 unset one, or pass --url or --server",
            ));
        }
        let Some(url) = self.server.as_deref().or(variable) else { return Ok(None) };
        ServerAddress::new(url, self.key()).map(Some)
    }

    /// The key for the server. An exported key is not sent to a server that only `.env` names:
    /// that file may be someone else's.
    fn key(&self) -> Option<&str> {
        let environment = &self.sources.environment;
        let exported = environment.get(KEY);
        if self.server.is_some() {
            return exported;
        }
        let key = environment.secret_for("QUEUEKIT_SERVER", KEY);
        if key.is_none() && exported.is_some() {
            remark(
                "warning: QUEUEKIT_API_KEY is not sent, because only .env names the server and \
                 the key is not from .env; pass --server, or export QUEUEKIT_SERVER too",
            );
        }
        key
    }
}
