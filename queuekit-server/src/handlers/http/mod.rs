//! The handler `http`: a job is a request, and the answer decides the outcome of the job.

mod allowed_target;
mod connect;
mod credential;
mod exchange;
mod request;
mod resolver;
mod response;
mod signature;
mod ssrf_guard;
mod target;
mod timeouts;

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::header::{HeaderMap, HeaderValue};
use queuekit::store::{Clock, SystemClock};
use queuekit::workers::RawHandler;
use queuekit::{Bytes, Ctx, JobError, JobId, JobResult};
use tokio::time::{Instant, timeout_at};

use connect::Connector;
use exchange::exchange;
use request::Request;
use resolver::Resolver;
use response::Answer;

pub(crate) use allowed_target::AllowedTarget;
pub(crate) use credential::{Credential, CredentialHeader, Credentials, Origin};
pub(crate) use signature::SigningKeys;
pub(crate) use ssrf_guard::{Guard, PORTS};
pub(crate) use timeouts::Timeouts;

/// Most redirects of a request.
const REDIRECTS: usize = 3;

/// The handler of the kind `http`.
pub(crate) struct Webhook {
    connector: Connector<Resolver>,
    keys: Option<SigningKeys>,
    keys_by_host: BTreeMap<String, SigningKeys>,
    credentials: Credentials,
    whole: Duration,
}

impl Webhook {
    /// # Errors
    /// If TLS cannot be set up.
    pub(crate) fn new(
        guard: Guard,
        keys: Option<SigningKeys>,
        keys_by_host: BTreeMap<String, SigningKeys>,
        credentials: Credentials,
        timeouts: Timeouts,
    ) -> Result<Self, rustls::Error> {
        let connector = Connector::new(guard, Resolver::of_system(), timeouts)?;
        Ok(Self { connector, keys, keys_by_host, credentials, whole: timeouts.whole })
    }

    /// Sends the request, and follows redirects.
    async fn deliver(&self, mut request: Request, id: JobId) -> JobResult<Answer> {
        let end = Instant::now() + self.whole;
        let id = id.to_string();
        // The id lets receivers recognize a repeated request.
        request.headers.insert("webhook-id", HeaderValue::try_from(&id)?);
        let own = self.own_headers(&mut request, &id)?;
        let first = request.target.clone();
        for _ in 0..=REDIRECTS {
            // Private headers are not sent to the target of a redirect.
            let headers = if request.target.has_origin_of(&first) {
                own.clone()
            } else {
                request.headers.clone()
            };
            let sent = exchange(&self.connector, &request, headers);
            let late = format!("{} did not answer within {:?}", request.target, self.whole);
            let response = timeout_at(end, sent).await.map_err(|_| JobError::retry(late))??;
            match request.sent_on(&response.head)? {
                Some(next) => request = next,
                // A receiver that has answered has got the request: the rest of its answer does
                // not matter.
                None => return Ok(response.finish(end, request.target, &request.secrets).await),
            }
        }
        Err(JobError::fatal(format!("{first} redirects the request more than {REDIRECTS} times")))
    }

    /// The headers of the job, and a signature if there is a secret for the host.
    fn own_headers(&self, request: &mut Request, id: &str) -> JobResult<HeaderMap> {
        let mut headers = request.headers.clone();
        headers.extend(request.private.clone());
        let keys = self.keys_by_host.get(request.target.host()).or(self.keys.as_ref());
        if let Some(keys) = keys {
            let seconds = SystemClock::default().now().as_millis().div_euclid(1000);
            let signature = HeaderValue::try_from(keys.sign(id, seconds, &request.body))?;
            // With it, a reader of the job could send the request again.
            request.secrets.push(signature.clone());
            headers.insert("webhook-timestamp", seconds.into());
            headers.insert("webhook-signature", signature);
        }
        Ok(headers)
    }
}

impl RawHandler for Webhook {
    async fn call(&self, payload: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
        let mut request = Request::parse(&payload)?;
        credential::fill_in(&self.credentials, &mut request)?;
        let target = request.target.clone();
        tokio::select! {
            // A request that was answered is not sent again.
            biased;
            answer = Box::pin(self.deliver(request, ctx.id())) => answer?.outcome(),
            () = ctx.cancelled() => {
                Err(format!("the request to {target} was aborted: the run was stopped").into())
            }
        }
    }
}

/// Shows no fields, because they hold secrets.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Webhook")
    }
}
