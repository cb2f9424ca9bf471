//! What every command is handed.

use anyhow::Result;
use queuekit::Client;

use super::Usage;
use super::api::{Api, ServerAddress};
use super::output::{Output, remark};
use crate::config::{Sources, StoreAddress, store_address};

const KEY: &str = "QUEUEKIT_API_KEY";

/// The settings and where to answer. Debug is left out: the URL may hold a password.
pub(crate) struct Context {
    pub(crate) url: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) sources: Sources,
    pub(crate) output: Output,
}

/// What a command does to a store that may not be there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It shows or changes what is there: nothing is made for it.
    Existing,
    /// It stores something: a new SQLite file is made for it, tables in a server are not.
    Creating,
}

impl Context {
    /// The store.
    pub(crate) fn address(&self) -> StoreAddress {
        store_address(self.url.as_deref(), &self.sources)
    }

    /// Opens the store and brings its schema up to date, for what runs on: `serve`, `work`, `dev`.
    pub(crate) async fn connect(&self) -> Result<Client> {
        Ok(queuekit::connect(self.address().to_open()?).await?)
    }

    /// Does something with the routes: of the server that is named, or of the store.
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
        let done = act(&api).await;
        let closed = api.close().await;
        let done = done?;
        closed?;
        Ok(done)
    }

    /// A flag goes before the environment, whichever of both is named.
    ///
    /// # Errors
    /// Usage if the environment alone names both: the wrong one would be changed silently.
    fn server(&self) -> Result<Option<ServerAddress>> {
        let environment = &self.sources.environment;
        let variable = environment.get("QUEUEKIT_SERVER").filter(|_| self.url.is_none());
        if self.server.is_none() && variable.is_some() && environment.get("QUEUEKIT_URL").is_some()
        {
            return Err(Usage::error(
                "QUEUEKIT_URL and QUEUEKIT_SERVER are both set, and a command asks one of them; \
                 unset one, or say --url or --server",
            ));
        }
        let Some(url) = self.server.as_deref().or(variable) else { return Ok(None) };
        ServerAddress::new(url, self.key()).map(Some)
    }

    /// The key for the server: one that was exported is not for a server that only `.env` names.
    fn key(&self) -> Option<&str> {
        let environment = &self.sources.environment;
        let exported = environment.get(KEY);
        if self.server.is_some() {
            return exported;
        }
        let key = environment.secret_for("QUEUEKIT_SERVER", KEY);
        if key.is_none() && exported.is_some() {
            remark(
                "warning: .env names the server, and QUEUEKIT_API_KEY is not of .env, so it is \
                 not sent; name the server by --server, or export QUEUEKIT_SERVER too",
            );
        }
        key
    }
}
