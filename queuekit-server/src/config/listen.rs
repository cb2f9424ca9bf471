//! Where the server listens, and under which names.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use serde::Deserialize;

use crate::web::csrf::{ANY_HOST, host_name};

/// An address to listen on; `localhost` is 127.0.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Listen(SocketAddr);

impl Listen {
    pub(crate) fn address(self) -> SocketAddr {
        self.0
    }
}

/// A name in `Host`, without scheme and port.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Host(pub(super) String);

impl Default for Listen {
    fn default() -> Self {
        Self((Ipv4Addr::LOCALHOST, 8080).into())
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // By this rule and not by a look-up: the name may have an IPv6 address first, or another
        // machine's.
        let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let address = numeric.as_deref().unwrap_or(text).parse().map_err(|_| {
            "the address must be ADDRESS:PORT, such as 127.0.0.1:8080, 0.0.0.0:8080 (all of \
             IPv4) or [::]:8080 (all)"
        })?;
        Ok(Self(address))
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let is_bare = |name: &String| name.eq_ignore_ascii_case(bare);
        match host_name(text).filter(is_bare) {
            Some(name) => Ok(Self(name)),
            None if text == ANY_HOST => Ok(Self(text.to_owned())),
            None => Err("the host must be a name such as jobs.example.com or an address, without \
                         scheme and port; or * for any"
                .to_owned()),
        }
    }
}

impl TryFrom<String> for Host {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
