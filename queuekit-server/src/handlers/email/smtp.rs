//! The SMTP server that accepts mail.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, Tokio1Executor};
use serde::Deserialize;

use crate::loopback::is_this_host;

/// A mail server. Each mail uses its own connection.
pub(crate) struct MailServer {
    name: String,
    /// The password, alone and as it is sent.
    secrets: Vec<String>,
    pub(super) transport: AsyncSmtpTransport<Tokio1Executor>,
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
    ) -> Result<Self, Error> {
        let tls = match encryption {
            Encryption::Implicit => Tls::Wrapper(TlsParameters::new(host.to_owned())?),
            Encryption::Starttls => Tls::Required(TlsParameters::new(host.to_owned())?),
            Encryption::None => Tls::None,
        };
        // The "dangerous" builder starts without TLS, which the next step sets.
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host);
        transport = transport.port(port).tls(tls).timeout(None);
        let mut secrets = Vec::new();
        if let Some((user, password)) = login {
            // As AUTH PLAIN and AUTH LOGIN send them.
            let sent = [format!("\0{user}\0{password}"), password.clone()];
            secrets = sent.map(|text| STANDARD.encode(text)).to_vec();
            secrets.push(password.clone());
            transport = transport.credentials(Credentials::new(user, password));
        }
        Ok(Self { name: format!("{host}:{port}"), secrets, transport: transport.build() })
    }

    /// What the server said, without the login, which it may repeat.
    pub(super) fn without_login(&self, said: &str) -> String {
        let hide = |said: String, secret: &String| said.replace(secret, "***");
        self.secrets.iter().filter(|secret| !secret.is_empty()).fold(said.to_owned(), hide)
    }

    /// Host and port, for people.
    pub(crate) fn name(&self) -> &str {
        &self.name
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
