//! Settings of the handler `email`: the mail server, the login and the sender.

use std::num::{NonZeroU16, NonZeroU64};
use std::time::Duration;

use anyhow::Result;
use lettre::message::Mailbox;
use serde::{Deserialize, Deserializer};

use super::time;
use crate::config::Environment;
use crate::error::Usage;
use crate::handlers::email::{Allowed, Correspondent, Encryption, MailServer, Mailer};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Default port of mail submission.
const PORT: u16 = 587;

/// `[handlers.email]`. It has no `Debug`, because it holds a password.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EmailEntry {
    host: Option<String>,
    port: Option<NonZeroU16>,
    user: Option<String>,
    password: Option<String>,
    #[serde(deserialize_with = "mailbox")]
    from: Option<Mailbox>,
    /// Other senders that a job may name.
    allow_from: Vec<Correspondent>,
    /// The only recipients that a job may name.
    allow_to: Option<Vec<Correspondent>>,
    tls: Option<Encryption>,
    timeout_ms: Option<NonZeroU64>,
}

impl EmailEntry {
    pub(super) fn holds_secret(&self) -> bool {
        self.password.is_some()
    }

    pub(super) fn bounds_recipients(&self) -> bool {
        self.allow_to.is_some()
    }
}

/// The server and the login. Both come from one source, so that no password reaches a server that
/// it is not for.
struct AllowedTarget {
    host: String,
    port: u16,
    login: Option<(String, String)>,
    from: Option<String>,
}

/// The handler, from the environment or else the file. Without a server it is still enabled, and
/// its jobs fail with an error that says what to set.
///
/// # Errors
/// If a setting is wrong.
pub(super) fn mailer(entry: Option<&EmailEntry>, environment: &Environment) -> Result<Mailer> {
    let none = EmailEntry::default();
    let entry = entry.unwrap_or(&none);
    let place = match smtp(entry, environment)? {
        Some(place) => Some(place),
        None => gmail(environment)?,
    };
    let stated = environment.parse::<Encryption>("SMTP_TLS")?.or(entry.tls);
    let server = place.as_ref().map(|place| {
        let encryption = stated.unwrap_or_else(|| Encryption::usual(&place.host, place.port));
        MailServer::new(&place.host, place.port, place.login.clone(), encryption)
    });
    let from = environment.get("SMTP_FROM").map(|text| {
        let rule = "the variable SMTP_FROM must be an address, or Name <address>";
        text.parse::<Mailbox>().map_err(|_| Usage::error(rule))
    });
    // A login that is an address is the default sender.
    let user = place.and_then(|place| place.from?.parse().ok());
    Ok(Mailer {
        server: server.transpose()?,
        allowed: Allowed {
            sender: from.transpose()?.or_else(|| entry.from.clone()).or(user),
            from: entry.allow_from.clone(),
            to: entry.allow_to.clone(),
        },
        timeout: time(entry.timeout_ms, TIMEOUT),
    })
}

fn smtp(entry: &EmailEntry, environment: &Environment) -> Result<Option<AllowedTarget>> {
    let text = |name, file: &Option<String>| {
        environment.get(name).map(str::to_owned).or_else(|| file.clone())
    };
    let Some(host) = text("SMTP_HOST", &entry.host) else { return Ok(None) };
    let port = environment.parse::<NonZeroU16>("SMTP_PORT")?.or(entry.port);
    let login = (text("SMTP_USER", &entry.user), text("SMTP_PASSWORD", &entry.password));
    let beside = |name| environment.secret_for("SMTP_HOST", name).map(str::to_owned);
    let own = (beside("SMTP_USER"), beside("SMTP_PASSWORD"));
    if environment.is_of_file("SMTP_HOST") && login != own {
        return Err(Usage::error(
            "SMTP_HOST is set in .env, but the login is not: it may be for another server. Set \
             SMTP_USER and SMTP_PASSWORD in .env too, or SMTP_HOST where they are set",
        ));
    }
    let login = match login {
        (Some(user), Some(password)) => Some((user, password)),
        (None, None) => None,
        _ => {
            return Err(Usage::error(
                "only one of SMTP_USER and SMTP_PASSWORD is set: set both, or neither",
            ));
        }
    };
    let from = login.as_ref().map(|(user, _)| user.clone());
    Ok(Some(AllowedTarget { host, port: port.map_or(PORT, NonZeroU16::get), login, from }))
}

fn gmail(environment: &Environment) -> Result<Option<AllowedTarget>> {
    match (environment.get("GMAIL_USER"), environment.get("GMAIL_APP_PASSWORD")) {
        (Some(user), Some(password)) => Ok(Some(AllowedTarget {
            host: "smtp.gmail.com".to_owned(),
            port: PORT,
            // Google shows it in groups of four.
            login: Some((user.to_owned(), password.replace(' ', ""))),
            from: Some(user.to_owned()),
        })),
        (None, None) => Ok(None),
        _ => Err(Usage::error(
            "only one of GMAIL_USER and GMAIL_APP_PASSWORD is set: set both, or neither",
        )),
    }
}

fn mailbox<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Mailbox>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let rule = "`from` must be an address, or Name <address>";
    text.parse().map(Some).map_err(|_| serde::de::Error::custom(rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved<const N: usize>(variables: [(&str, &str); N]) -> Result<(String, String)> {
        let entry: EmailEntry = toml::from_str("host = 'of-the-file'\nport = 2525").unwrap();
        let environment = Environment::of(variables);
        let entry = environment.get("NO_FILE").is_none().then_some(&entry);
        let mailer = mailer(entry, &environment)?;
        let name = mailer.server.map_or_else(String::new, |server| server.name());
        Ok((name, mailer.allowed.sender.map_or_else(String::new, |from| from.to_string())))
    }

    #[test]
    fn variables_go_before_the_file_and_smtp_before_gmail() {
        let gmail = ("GMAIL_USER", "ada@gmail.com");
        let password = ("GMAIL_APP_PASSWORD", "abcd efgh ijkl mnop");
        let told = |name: &str, from: &str| (name.to_owned(), from.to_owned());
        let file = "of-the-file:2525";
        assert_eq!(resolved([]).unwrap(), told(file, ""));
        assert_eq!(resolved([gmail, password]).unwrap(), told(file, ""));
        let none = ("NO_FILE", "1");
        let google = told("smtp.gmail.com:587", "ada@gmail.com");
        assert_eq!(resolved([none, gmail, password]).unwrap(), google);
        let from = ("SMTP_FROM", "Ada <ada@example.org>");
        let other = [none, gmail, password, ("SMTP_HOST", "mail.example"), from];
        assert_eq!(resolved(other).unwrap(), told("mail.example:587", "Ada <ada@example.org>"));
        assert_eq!(resolved([none]).unwrap(), told("", ""));
    }

    #[test]
    fn s8_a_login_goes_to_the_server_that_is_named_beside_it() {
        let (user, password) = (("SMTP_USER", "ada"), ("SMTP_PASSWORD", "hunter2"));
        let host = ("SMTP_HOST", "mail.example");
        let entry: EmailEntry = toml::from_str("user = 'ada'\npassword = 'hunter2'").unwrap();
        let found = |environment: Environment, entry| mailer(entry, &environment).map(drop);
        let of_file = || Environment::of([]).with_file([host]);
        for (environment, entry) in [
            (Environment::of([user, password]).with_file([host]), None),
            (Environment::of([password]).with_file([host, user]), None),
            (of_file(), Some(&entry)),
        ] {
            let error = found(environment, entry).unwrap_err().to_string();
            assert!(
                error.contains("SMTP_HOST is set in .env") && !error.contains("hunter2"),
                "{error}"
            );
        }
        found(Environment::of([]).with_file([host, user, password]), Some(&entry)).unwrap();
        found(Environment::of([host]).with_file([user, password]), None).unwrap();
        found(Environment::of([host]), Some(&entry)).unwrap();
        found(of_file(), None).unwrap();
    }

    #[test]
    fn half_a_login_is_refused() {
        for half in ["SMTP_USER", "SMTP_PASSWORD", "GMAIL_USER", "GMAIL_APP_PASSWORD"] {
            let host = if half.starts_with("SMTP") { "mail.example" } else { "" };
            let variables = [(half, "hunter2"), ("NO_FILE", "1"), ("SMTP_HOST", host)];
            let error = resolved(variables).unwrap_err().to_string();
            assert!(error.contains(half) && !error.contains("hunter2"), "{error}");
        }
    }
}
