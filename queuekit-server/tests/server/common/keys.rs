//! A server that asks for keys.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{Ask, Server, Store};

/// A key of the configuration file.
pub struct Key {
    pub id: &'static str,
    pub scopes: &'static [&'static str],
    pub queues: &'static [&'static str],
    pub kinds: &'static [&'static str],
}

pub const KEYS: [Key; 11] = [
    Key { id: "reader", scopes: &["read"], queues: &[], kinds: &[] },
    Key { id: "producer", scopes: &["enqueue"], queues: &[], kinds: &[] },
    Key { id: "worker", scopes: &["work"], queues: &[], kinds: &[] },
    Key { id: "manager", scopes: &["manage"], queues: &[], kinds: &[] },
    Key { id: "admin", scopes: &["admin"], queues: &[], kinds: &[] },
    Key { id: "acme", scopes: &["admin"], queues: &["acme.*"], kinds: &[] },
    Key { id: "mailer", scopes: &["admin"], queues: &[], kinds: &["mail.*"] },
    Key { id: "planner", scopes: &["manage"], queues: &["acme.*"], kinds: &[] },
    Key { id: "hostile", scopes: &["read", "enqueue", "work", "manage"], queues: &[], kinds: &[] },
    Key { id: "neighbour", scopes: &["enqueue", "work"], queues: &["neighbour"], kinds: &[] },
    Key { id: "writer", scopes: &["enqueue"], queues: &["acme.*"], kinds: &[] },
];

pub fn secret(id: &str) -> String {
    format!("qk_{id}_marker-secret-of-{id}")
}

/// A request with the key of this id.
pub fn by(server: &Server, key: &str, method: &str, path: &str) -> Ask {
    server.ask(method, path).key(&secret(key))
}

pub fn digest(key: &str) -> String {
    Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A server with these keys, on memory.
pub fn guarded() -> Server {
    guarded_with("")
}

/// The same with these settings too.
pub fn guarded_with(settings: &str) -> Server {
    guarded_on(Store::of("memory").unwrap(), settings)
}

/// The same on this store.
pub fn guarded_on(store: Store, settings: &str) -> Server {
    let mut file = format!("{settings}\n");
    for key in KEYS {
        let digest = digest(&secret(key.id));
        writeln!(file, "[[keys]]\nid = {:?}\nsha256 = {digest:?}", key.id).unwrap();
        writeln!(file, "scopes = {:?}", key.scopes).unwrap();
        for (name, list) in [("queues", key.queues), ("kinds", key.kinds)] {
            // An empty list is refused.
            if !list.is_empty() {
                writeln!(file, "{name} = {list:?}").unwrap();
            }
        }
    }
    writeln!(file, "[[keys]]\nid = \"old\"\nscopes = [\"admin\"]").unwrap();
    writeln!(file, "sha256 = {:?}", digest(&secret("old"))).unwrap();
    writeln!(file, "expires = \"2020-01-01T00:00:00Z\"").unwrap();
    writeln!(file, "[[keys]]\nid = \"slow\"\nscopes = [\"enqueue\"]").unwrap();
    writeln!(file, "sha256 = {:?}\nper_second = 5", digest(&secret("slow"))).unwrap();
    std::fs::write(store.directory.path().join("queuekit.toml"), file).unwrap();
    Server::start(store, &[])
}
