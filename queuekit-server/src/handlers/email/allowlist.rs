//! Allowed senders and recipients. A job names both, but the login is the worker's.

use lettre::Address;
use lettre::message::Mailbox;
use queuekit::{JobError, JobResult};
use serde::Deserialize;

use super::addresses::mailbox;

/// The senders and recipients that the configuration allows.
#[derive(Default)]
pub(crate) struct Allowed {
    /// The sender, unless a job names another.
    pub(crate) sender: Option<Mailbox>,
    /// Other allowed senders.
    pub(crate) from: Vec<Correspondent>,
    /// The only allowed recipients; `None`: all.
    pub(crate) to: Option<Vec<Correspondent>>,
}

/// An address, or all addresses of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Correspondent {
    Address(String),
    Domain(String),
}

impl Allowed {
    /// The sender: that of the configuration, possibly with a name from the job, or another one
    /// that the configuration allows.
    ///
    /// # Errors
    /// Fatal if the job names a sender that is not allowed; retried if no sender is set.
    pub(super) fn sender(&self, stated: Option<&str>) -> JobResult<Mailbox> {
        let Some(stated) = stated else {
            return self.sender.clone().ok_or_else(|| JobError::retry(NOBODY));
        };
        let stated = mailbox("from", stated)?;
        let is_own = |own: &Mailbox| same(own.email.as_ref(), stated.email.as_ref());
        let is_allowed = self.sender.as_ref().is_some_and(is_own)
            || self.from.iter().any(|allowed| allowed.is(&stated.email));
        if is_allowed { Ok(stated) } else { Err(JobError::fatal(STRANGER)) }
    }

    /// # Errors
    /// If a recipient is not allowed.
    pub(super) fn check_recipients(&self, recipients: &[Mailbox]) -> JobResult<()> {
        let Some(allowed) = &self.to else { return Ok(()) };
        let is_open = |to: &Mailbox| allowed.iter().any(|allowed| allowed.is(&to.email));
        if recipients.iter().all(is_open) {
            return Ok(());
        }
        Err(JobError::fatal(
            "the mail has a recipient that is not allowed: add it to `allow_to` of \
             [handlers.email]",
        ))
    }
}

const NOBODY: &str = "no sender is set: set SMTP_FROM";
const STRANGER: &str = "the sender in `from` is not allowed: leave it out, or add the address, or \
                        @ and its domain, to `allow_from` of [handlers.email]";

impl Correspondent {
    fn is(&self, address: &Address) -> bool {
        match self {
            Self::Address(whole) => same(whole, address.as_ref()),
            Self::Domain(domain) => same(domain, address.domain()),
        }
    }
}

impl TryFrom<String> for Correspondent {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const RULE: &str = "write an address, such as ada@example.org, or @ and a domain";
        match text.strip_prefix('@') {
            // A domain is valid if it makes a valid address.
            Some(domain) if format!("a@{domain}").parse::<Address>().is_ok() => {
                Ok(Self::Domain(domain.to_owned()))
            }
            Some(_) => Err(RULE),
            None => text.parse::<Address>().map(|_| Self::Address(text)).map_err(|_| RULE),
        }
    }
}

fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn correspondents(texts: &[&str]) -> Vec<Correspondent> {
        texts.iter().map(|text| Correspondent::try_from((*text).to_owned()).unwrap()).collect()
    }

    fn allowed(from: &[&str], to: Option<&[&str]>) -> Allowed {
        let sender = Some("Shop <shop@example.org>".parse().unwrap());
        Allowed { sender, from: correspondents(from), to: to.map(correspondents) }
    }

    #[test]
    fn s8_a_job_writes_as_the_sender_that_is_set_or_as_one_that_is_allowed() {
        let closed = allowed(&[], None);
        assert_eq!(closed.sender(None).unwrap().to_string(), "Shop <shop@example.org>");
        assert_eq!(closed.sender(Some("SHOP@example.org")).unwrap().name, None);
        let open = allowed(&["ceo@corp.example", "@news.example"], None);
        for from in ["Ann <CEO@corp.example>", "any@News.example"] {
            assert!(closed.sender(Some(from)).is_err_and(|error| error.is_fatal()), "{from}");
            assert!(open.sender(Some(from)).is_ok(), "{from}");
        }
        for from in [
            "cfo@corp.example",
            "any@x.news.example",
            "any@xnews.example",
            "ceo@corp.example@evil.example",
            "\"ceo@corp.example\" <a@evil.example>",
            "ceo@corp.example, a@evil.example",
        ] {
            let error = open.sender(Some(from)).expect_err(from);
            assert!(error.is_fatal() && !error.to_string().contains("evil"), "{error}");
        }
    }

    #[test]
    fn s8_a_job_writes_to_whom_it_may_and_to_everybody_where_nothing_is_said() {
        let check = |allowed: &Allowed, to: &[&str]| {
            let to: Vec<Mailbox> = to.iter().map(|text| text.parse().unwrap()).collect();
            allowed.check_recipients(&to)
        };
        assert!(check(&allowed(&[], None), &["anybody@evil.example"]).is_ok());
        let closed = allowed(&[], Some(&["@example.org", "ada@partner.example"]));
        assert!(check(&closed, &["a@Example.org", "Ada <ada@partner.example>"]).is_ok());
        for to in ["bob@partner.example", "a@sub.example.org", "a@example.org.evil.example"] {
            let error = check(&closed, &["a@example.org", to]).expect_err(to);
            assert!(error.is_fatal() && error.to_string().contains("allow_to"), "{error}");
        }
        assert!(check(&allowed(&[], Some(&[])), &["a@example.org"]).is_err(), "to nobody");
    }

    #[test]
    fn a_correspondent_is_an_address_or_a_domain() {
        for wrong in ["", "@", "example.org", "Ada <ada@example.org>", "@a b", "@a@b", "a@"] {
            assert!(Correspondent::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
