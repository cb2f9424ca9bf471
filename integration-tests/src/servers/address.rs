//! URLs of servers, and of what is reached through them.

/// The same server, another database.
pub(super) fn with_database(url: &str, database: &str) -> String {
    let parts = Parts::of(url);
    Parts { database, ..parts }.to_string()
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
}
