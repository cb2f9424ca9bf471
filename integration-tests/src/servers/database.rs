use std::sync::atomic::{AtomicU32, Ordering};

use super::admin::{self, Copying, Made};
use super::{Result, address, background};

/// An empty database that nobody else uses.
///
/// It stays when this value is dropped without [`Database::drop`], as it is when a test fails:
/// there is something to look at then, for as long as the server runs.
#[derive(Debug)]
pub struct Database {
    server: String,
    name: String,
    copying: Copying,
}

impl Database {
    pub(super) async fn create(server: String, copying: Copying) -> Result<Self> {
        Self::copy_of(server, None, copying).await
    }

    /// Waits until nobody is connected to it any more.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn unconnected(self) -> Self {
        let (server, name) = (self.server.clone(), self.name.clone());
        let waited =
            background::run(async move { admin::wait_until_unconnected(&server, &name).await });
        waited.await.expect("the server lists the connections");
        self
    }

    /// Another database with all that is in this one, to which nobody may be connected meanwhile.
    ///
    /// # Panics
    /// If the server does not make one.
    pub async fn copy(&self) -> Self {
        let copied = Self::copy_of(self.server.clone(), Some(self.name.clone()), self.copying);
        copied.await.expect("a database is copied")
    }

    async fn copy_of(server: String, template: Option<String>, copying: Copying) -> Result<Self> {
        background::run(async move {
            loop {
                let name = next_name();
                let made = admin::create_database(&server, &name, template.as_deref(), copying);
                // On a server that outlives us a process before may have had our number.
                if made.await? == Made::Yes {
                    return Ok(Self { server, name, copying });
                }
            }
        })
        .await
    }

    /// Where it is.
    pub fn url(&self) -> String {
        address::with_database(&self.server, &self.name)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Removes it, also while there are connections to it.
    ///
    /// # Panics
    /// If the server does not do that.
    pub async fn drop(self) {
        let dropped =
            background::run(async move { admin::drop_database(&self.server, &self.name).await });
        dropped.await.expect("a database is dropped");
    }
}

fn next_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("queuekit_test_{}_{count}", std::process::id())
}
