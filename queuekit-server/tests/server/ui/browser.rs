//! Asks as a browser does: with the cookie it was given, and with the headers that only it sets.

use crate::common::{Ask, Reply, Server, secret};

/// A browser that is logged in, or on a server without keys.
pub struct Browser<'a> {
    server: &'a Server,
    cookie: Option<String>,
}

impl<'a> Browser<'a> {
    /// On a server without keys.
    pub fn new(server: &'a Server) -> Self {
        Self { server, cookie: None }
    }

    /// Logged in with the key of this id.
    #[track_caller]
    pub fn of(server: &'a Server, key: &str) -> Self {
        let reply = Self::new(server).log_in(&secret(key), "").expect(303);
        let cookie = reply.header("set-cookie").expect("a cookie");
        Self::with(server, cookie.split(';').next().expect("its value"))
    }

    /// With this cookie.
    pub fn with(server: &'a Server, cookie: &str) -> Self {
        Self { server, cookie: Some(cookie.to_owned()) }
    }

    /// None if the server has no keys.
    pub fn cookie(&self) -> Option<&str> {
        self.cookie.as_deref()
    }

    /// A request of one of our own pages.
    pub fn ask(&self, method: &str, path: &str) -> Ask {
        let ask = self.server.ask(method, path).header("sec-fetch-site", "same-origin");
        match &self.cookie {
            Some(cookie) => ask.header("cookie", cookie),
            None => ask,
        }
    }

    pub fn get(&self, path: &str) -> Reply {
        self.ask("GET", path).send()
    }

    /// A form with the token of this session.
    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let token = self.token();
        self.form(path, &[&[("csrf", token.as_str())], fields].concat())
    }

    /// A form with these fields only.
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let form = "application/x-www-form-urlencoded";
        self.ask("POST", path).header("content-type", form).text(encoded(fields))
    }

    pub fn log_in(&self, key: &str, next: &str) -> Reply {
        self.form("/ui/login", &[("key", key), ("next", next)])
    }

    /// The token of the forms of a page.
    #[track_caller]
    pub fn token(&self) -> String {
        let page = self.get("/ui/jobs").expect(200).text;
        token_in(&page).expect("a form").to_owned()
    }
}

/// The token of the first form of a page.
pub fn token_in(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"")?;
    rest.split('"').next()
}

fn encoded(fields: &[(&str, &str)]) -> String {
    serde_urlencoded::to_string(fields).expect("fields")
}
