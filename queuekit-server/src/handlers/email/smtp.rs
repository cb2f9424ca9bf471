//! The SMTP server that accepts mail.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::Message;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::response::Response;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::bounded_answers::BoundedAnswers;
use crate::loopback::is_this_host;
use crate::tls_client;

/// How long the server has to say goodbye, after it has accepted the mail.
const GOODBYE: Duration = Duration::from_secs(1);

/// A mail server. Each mail uses its own connection.
pub(crate) struct MailServer {
    host: String,
    port: u16,
    login: Option<Credentials>,
    /// The password, alone and as it is sent.
    secrets: Vec<String>,
    tls: Tls,
}

/// How the connection is encrypted, with what that needs.
enum Tls {
    Implicit(TlsConnector, ServerName<'static>),
    Starttls(TlsParameters),
    None,
}

/// How the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Encryption {
    /// TLS from the first byte.
    Implicit,
    /// STARTTLS after the greeting; a server without it is not used.
    Starttls,
    /// Plain text.
    None,
}

impl MailServer {
    /// # Errors
    /// If no certificate can be for the host, or TLS cannot be set up.
    pub(crate) fn new(
        host: &str,
        port: u16,
        login: Option<(String, String)>,
        encryption: Encryption,
    ) -> Result<Self> {
        let tls = match encryption {
            Encryption::Implicit => {
                Tls::Implicit(tls_client::connector()?, tls_client::server_name(host)?)
            }
            Encryption::Starttls => Tls::Starttls(TlsParameters::new(host.to_owned())?),
            Encryption::None => Tls::None,
        };
        let mut secrets = Vec::new();
        if let Some((user, password)) = &login {
            // As AUTH PLAIN and AUTH LOGIN send them.
            let sent = [format!("\0{user}\0{password}"), password.clone()];
            secrets = sent.map(|text| STANDARD.encode(text)).to_vec();
            secrets.push(password.clone());
        }
        let login = login.map(|(user, password)| Credentials::new(user, password));
        Ok(Self { host: host.to_owned(), port, login, secrets, tls })
    }

    /// Hands the mail over within this time, counted from the lookup of the server's name.
    ///
    /// # Errors
    /// That of lettre if the server has refused it.
    pub(super) async fn send(&self, mail: &Message, within: Duration) -> Result<Response> {
        let late = |_| anyhow!("not within {within:?}");
        let (answer, mut connection) =
            timeout(within, self.deliver(mail)).await.map_err(late)??;
        // The mail is accepted, whatever becomes of the connection.
        let _ = timeout(GOODBYE, connection.quit()).await;
        Ok(answer)
    }

    async fn deliver(&self, mail: &Message) -> Result<(Response, AsyncSmtpConnection)> {
        let mut connection = self.connect().await?;
        if let Some(login) = &self.login {
            connection.auth(DEFAULT_MECHANISMS, login).await?;
        }
        let answer = connection.send(mail.envelope(), &mail.formatted()).await?;
        Ok((answer, connection))
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection> {
        let tcp = TcpStream::connect((&*self.host, self.port)).await.context("cannot connect")?;
        let peer = tcp.peer_addr().context("cannot connect")?;
        let client = ClientId::default();
        if let Tls::Implicit(tls, name) = &self.tls {
            let stream =
                tls.connect(name.clone(), tcp).await.context("the TLS handshake failed")?;
            let stream = Box::new(BoundedAnswers::new(stream, peer));
            return Ok(AsyncSmtpConnection::connect_with_transport(stream, &client).await?);
        }
        let stream = Box::new(BoundedAnswers::new(tcp, peer));
        let mut connection = AsyncSmtpConnection::connect_with_transport(stream, &client).await?;
        if let Tls::Starttls(tls) = &self.tls {
            connection.starttls(tls.clone(), &client).await?;
        }
        Ok(connection)
    }

    /// What the server said, without the login, which it may repeat.
    pub(super) fn without_login(&self, said: &str) -> String {
        let hide = |said: String, secret: &String| said.replace(secret, "***");
        self.secrets.iter().filter(|secret| !secret.is_empty()).fold(said.to_owned(), hide)
    }

    /// Host and port, for people.
    pub(crate) fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl Encryption {
    /// The usual encryption of a port; plain text only to this machine.
    pub(crate) fn usual(host: &str, port: u16) -> Self {
        match port {
            465 => Self::Implicit,
            _ if is_this_host(host) => Self::None,
            _ => Self::Starttls,
        }
    }
}

impl FromStr for Encryption {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "implicit" => Ok(Self::Implicit),
            "starttls" => Ok(Self::Starttls),
            "none" => Ok(Self::None),
            _ => Err("the encryption must be implicit, starttls or none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s7_mail_is_encrypted_unless_it_stays_on_this_machine() {
        for (host, port, encryption) in [
            ("mail.example", 465, Encryption::Implicit),
            ("localhost", 465, Encryption::Implicit),
            ("mail.example", 587, Encryption::Starttls),
            ("mail.example", 25, Encryption::Starttls),
            ("10.0.0.1", 2525, Encryption::Starttls),
            ("localhost.example", 25, Encryption::Starttls),
            ("localhost", 25, Encryption::None),
            ("127.0.0.1", 1025, Encryption::None),
            ("::1", 587, Encryption::None),
        ] {
            assert_eq!(Encryption::usual(host, port), encryption, "{host}:{port}");
        }
    }
}
