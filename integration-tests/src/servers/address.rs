//! URLs of servers, and of databases and proxies on them.

/// The same server, another database.
pub(super) fn with_database(url: &str, database: &str) -> String {
    let parts = Parts::of(url);
    Parts { database, ..parts }.to_string()
}

/// The same database by the same user, but by way of this address.
pub(super) fn with_address(url: &str, address: &str) -> String {
    let parts = Parts::of(url);
    Parts { address, ..parts }.to_string()
}

/// Where its server listens; the port is that of Postgres unless it is stated.
pub(super) fn host_and_port(url: &str) -> String {
    let address = Parts::of(url).address;
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { address.to_owned() } else { format!("{address}:5432") }
}

/// The database it leads to; without a name it is that of the administrator.
pub(super) fn database(url: &str) -> &str {
    let database = Parts::of(url).database;
    if database.is_empty() { "postgres" } else { database }
}

/// Its user and password, if it has them.
pub(super) fn user_and_password(url: &str) -> (&str, Option<&str>) {
    let user = Parts::of(url).user.unwrap_or("postgres");
    user.split_once(':').map_or((user, None), |(user, password)| (user, Some(password)))
}

/// `postgres://user:password@host:port/database?options`.
#[derive(Clone, Copy)]
struct Parts<'a> {
    scheme: &'a str,
    user: Option<&'a str>,
    address: &'a str,
    database: &'a str,
    options: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
        let (rest, options) = match rest.split_once('?') {
            Some((rest, options)) => (rest, Some(options)),
            None => (rest, None),
        };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (Some(user), address),
            None => (None, authority),
        };
        Self { scheme, user, address, database, options }
    }
}

impl std::fmt::Display for Parts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://", self.scheme)?;
        if let Some(user) = self.user {
            write!(f, "{user}@")?;
        }
        write!(f, "{}/{}", self.address, self.database)?;
        self.options.map_or(Ok(()), |options| write!(f, "?{options}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_database_stays() {
        let url = "postgres://me:p%40ss@db.example:5433/postgres?sslmode=disable";
        let other = "postgres://me:p%40ss@db.example:5433/mine?sslmode=disable";
        assert_eq!(with_database(url, "mine"), other);
        assert_eq!(with_database("postgresql://localhost", "mine"), "postgresql://localhost/mine");
    }

    #[test]
    fn everything_but_the_address_stays() {
        let url = "postgres://me:secret@db.example:5433/mine?sslmode=disable";
        let other = "postgres://me:secret@127.0.0.1:9/mine?sslmode=disable";
        assert_eq!(with_address(url, "127.0.0.1:9"), other);
    }

    #[test]
    fn an_address_has_a_port() {
        assert_eq!(host_and_port("postgres://me@db.example/mine"), "db.example:5432");
        assert_eq!(host_and_port("postgres://[::1]:5433"), "[::1]:5433");
    }

    #[test]
    fn a_password_is_told_from_a_user() {
        assert_eq!(user_and_password("postgres://me:a:b@host/"), ("me", Some("a:b")));
        assert_eq!(user_and_password("postgres://host/"), ("postgres", None));
    }
}
