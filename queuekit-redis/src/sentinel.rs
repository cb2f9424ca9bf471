//! Finding the master by asking sentinels.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use queuekit_core::{Error, ErrorKind};
use redis::aio::MultiplexedConnection;
use redis::{Cmd, ConnectionInfo, Value, cmd};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::address::Address;
use crate::codec::{array_of, bytes_of};
use crate::connect::connect;
use crate::error::{Class, Failure, Outcome, is_forbidden};

/// How long one sentinel, or the server it names, may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

pub(crate) struct Sentinels {
    sentinels: Vec<ConnectionInfo>,
    /// The name of the master among the sentinels.
    master: String,
    /// How to connect to the master, without its address.
    server: ConnectionInfo,
    /// The sentinel to ask first: another one after each failure, because one may be out of date.
    first: AtomicUsize,
}

impl Sentinels {
    pub(crate) fn new(
        sentinels: Vec<ConnectionInfo>,
        master: String,
        server: ConnectionInfo,
    ) -> Self {
        Self { sentinels, master, server, first: AtomicUsize::new(0) }
    }

    pub(crate) fn master(&self) -> &str {
        &self.master
    }

    /// A connection to the server that is the master now.
    pub(crate) async fn connect(&self, io: &Handle) -> Outcome<MultiplexedConnection> {
        let connected = async {
            let address = self.address(io).await?;
            let mut connection = connect(io, &address.like(&self.server)).await?;
            check_role(&mut connection, &address).await?;
            Ok(connection)
        };
        let connected: Outcome<_> = connected.await;
        if connected.is_err() {
            self.first.fetch_add(1, Ordering::Relaxed);
        }
        connected
    }

    /// The address of the present master, from the sentinels.
    pub(crate) async fn server(&self, io: &Handle) -> Outcome<ConnectionInfo> {
        Ok(self.address(io).await?.like(&self.server))
    }

    async fn address(&self, io: &Handle) -> Outcome<Address> {
        let count = self.sentinels.len();
        let (mut strangers, mut refused, mut last) = (0, 0, None);
        for at in 0..count {
            let at = self.first.load(Ordering::Relaxed).wrapping_add(at) % count;
            match self.ask(io, &self.sentinels[at]).await {
                Ok(Some(address)) => return Ok(address),
                Ok(None) => strangers += 1,
                Err(failure) => {
                    refused += usize::from(failure.class == Class::Final);
                    last = Some(failure);
                }
            }
        }
        if strangers == count {
            let message = format!(
                "no sentinel knows a master called {:?}; take the name from their \
                 `sentinel monitor`",
                self.master
            );
            return Err(Error::new(ErrorKind::Unavailable, message).into());
        }
        let message = format!("no sentinel knows where {:?} is; check that they run", self.master);
        let failure = Failure::for_now(message);
        Err(match last {
            // If all of them refuse the user or the certificate, waiting does not help.
            Some(failure) if refused == count => failure,
            Some(Failure { error, .. }) => {
                Failure { error: failure.error.caused_by(error), ..failure }
            }
            None => failure,
        })
    }

    /// Asks one sentinel; none if it does not know the master.
    async fn ask(&self, io: &Handle, sentinel: &ConnectionInfo) -> Outcome<Option<Address>> {
        let asked = async {
            let mut connection = connect(io, sentinel).await?;
            let question =
                cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(&self.master).to_owned();
            answer(&mut connection, &question).await
        };
        let told = timeout(ANSWER, asked).await;
        let told = told.unwrap_or_else(|_| Err(Failure::for_now("a sentinel does not answer")))?;
        if told == Value::Nil {
            return Ok(None);
        }
        let mut parts = array_of(told).into_iter().flatten().filter_map(bytes_of);
        let mut text = || String::from_utf8(parts.next()?).ok();
        let address = text().zip(text().and_then(|port| port.parse().ok()));
        let address = address.map(|(host, port)| Address::new(host, port));
        address.map(Some).ok_or_else(|| Failure::for_now("a sentinel's answer cannot be read"))
    }
}

/// Checks the role: sentinels may still name a server that was the master.
async fn check_role(connection: &mut MultiplexedConnection, address: &Address) -> Outcome<()> {
    let role = timeout(ANSWER, answer(connection, &cmd("ROLE"))).await;
    let role = role.unwrap_or_else(|_| Err(Failure::for_now("the master does not answer")));
    let role = match role {
        Ok(role) => array_of(role).into_iter().flatten().find_map(bytes_of),
        // Without the right to ask, a replica shows itself by refusing writes.
        Err(failure) if is_forbidden(&failure.error) => return Ok(()),
        Err(failure) => return Err(failure),
    };
    if role.as_deref() == Some(b"master") {
        return Ok(());
    }
    Err(Failure::for_now(format!("{address} is no longer the master; a failover is in progress")))
}

/// Asks a question that changes nothing.
async fn answer(connection: &mut MultiplexedConnection, question: &Cmd) -> Outcome<Value> {
    let answer = connection.send_packed_command(question).await.and_then(Value::extract_error);
    answer.map_err(Failure::from).map_err(|failure| match failure.class {
        Class::Final if !is_forbidden(&failure.error) => {
            Failure { class: Class::Transient, ..failure }
        }
        _ => failure.before_sending(),
    })
}
