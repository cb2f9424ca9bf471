//! Stores of other crates, by the scheme of their URL.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use queuekit_core::{Client, Error, ErrorKind, Result};

use crate::store_url::StoreUrl;

type Opened = Pin<Box<dyn Future<Output = Result<Client>> + Send>>;
type Opener = Arc<dyn Fn(Opening) -> Opened + Send + Sync>;

/// By scheme, in lower case.
static OPENERS: RwLock<BTreeMap<String, Opener>> = RwLock::new(BTreeMap::new());

/// What [`register`]'s function is to open.
///
/// The server and its command line add `migrate=off` to the URL's query where they must not change
/// a schema, and `migrate=on` where they are to: a store without a schema ignores both.
#[derive(Clone)]
#[non_exhaustive]
pub struct Opening {
    /// The whole URL, as it was given; it may hold a password.
    pub url: String,
    /// False for [`connect_unchecked`](crate::connect_unchecked): neither look at how the store is
    /// set up, nor change it.
    pub is_checked: bool,
}

/// Without the URL, which may hold a password.
impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opening").field("is_checked", &self.is_checked).finish_non_exhaustive()
    }
}

/// Has [`connect`](crate::connect) open the URLs of a scheme by this function, in this process: for
/// stores of other crates, before anything connects. A program that calls `queuekit_server::main`
/// after that is the server and its command line, with this store among the others.
///
/// # Errors
/// `Invalid` if this is not a scheme; `Conflict` if it is one of queuekit's own, or was registered
/// before.
///
/// ```
/// use queuekit::memory::MemoryStore;
/// use queuekit::{Client, JobDraft};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// queuekit::register("mystore", |opening| async move {
///     println!("opening {}", queuekit::redacted(&opening.url));
///     Ok(Client::new(MemoryStore::new()))
/// })?;
///
/// let client = queuekit::connect("mystore://localhost/jobs").await?;
/// client.enqueue(JobDraft::new("greet", "{}")).await?;
/// # Ok(())
/// # }
/// ```
pub fn register<O, F>(scheme: &str, open: O) -> Result<()>
where
    O: Fn(Opening) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Client>> + Send + 'static,
{
    let register = || {
        let url = format!("{scheme}:");
        let parsed = StoreUrl::parse(&url)?;
        if parsed.scheme != scheme {
            return Err(Error::invalid("scheme", "without a colon", "a text with one"));
        }
        let is_own = parsed.store().is_some();
        let mut openers = OPENERS.write().unwrap_or_else(PoisonError::into_inner);
        let scheme = scheme.to_ascii_lowercase();
        if is_own || openers.contains_key(&scheme) {
            let message = "this scheme is already registered; register another one";
            return Err(Error::new(ErrorKind::Conflict, message).on(parsed.scheme));
        }
        openers.insert(scheme, Arc::new(move |opening| Box::pin(open(opening))));
        Ok(())
    };
    register().map_err(|error: Error| error.during("register"))
}

/// What opens the stores of a scheme, if one was registered.
pub(crate) fn opener(scheme: &str) -> Option<Opener> {
    let openers = OPENERS.read().unwrap_or_else(PoisonError::into_inner);
    openers.get(&scheme.to_ascii_lowercase()).cloned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use queuekit_core::memory::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn a_store_of_another_crate_opens_by_its_scheme() {
        static UNCHECKED: AtomicU32 = AtomicU32::new(0);
        let store = MemoryStore::new();
        let open = move |opening: Opening| {
            let store = store.clone();
            async move {
                assert_eq!(opening.url, "Other://ada:hunter2@host/a?b=c");
                UNCHECKED.fetch_add(u32::from(!opening.is_checked), Ordering::Relaxed);
                Ok(Client::new(store))
            }
        };
        let url = "Other://ada:hunter2@host/a?b=c";
        let unknown = crate::connect(url).await.unwrap_err().to_string();
        assert!(unknown.contains("of a known scheme") && !unknown.contains("hunter2"), "{unknown}");
        register("other", open).unwrap();
        let client = crate::connect(url).await.unwrap();
        let id = client.enqueue(queuekit_core::JobDraft::new("greet", "{}")).await.unwrap();
        assert_eq!(UNCHECKED.load(Ordering::Relaxed), 0);
        let same = crate::connect_unchecked(url).await.unwrap();
        assert!(same.jobs().get(id).await.unwrap().is_some());
        assert_eq!(UNCHECKED.load(Ordering::Relaxed), 1);
        assert_eq!(crate::redacted(url), "Other://***@host/a?***");
    }

    #[tokio::test]
    async fn an_error_of_such_a_store_tells_no_password() {
        let refuse = |_| async { Err(Error::new(ErrorKind::Unavailable, "nobody answers")) };
        register("broken", refuse).unwrap();
        let error = crate::connect("broken://ada:hunter2@host/a").await.unwrap_err();
        assert_eq!(error.to_string(), "connect: broken://***@host/a: nobody answers");
    }

    #[test]
    fn a_scheme_is_taken_once_and_never_from_queuekit() {
        let open = |_| async { Ok(Client::new(MemoryStore::new())) };
        register("once", open).unwrap();
        for taken in ["once", "ONCE", "sqlite", "Postgres", "redis-cluster", "memory"] {
            let error = register(taken, open).unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::Conflict, "{error}");
        }
        for wrong in ["", "a b", "1a", "a:b"] {
            assert!(register(wrong, open).is_err(), "{wrong:?}");
        }
    }
}
