//! The list itself.

use super::look;
use super::{Item, State};

/// In the order in which they are printed. A change here is a change in `docs/hardening.md`.
pub(super) const ITEMS: &[Item] = &[
    Item {
        name: "keys",
        what: "Whoever gets in has a key, made by `queuekit key new`",
        setting: "`[[keys]]`, or `QUEUEKIT_API_KEY` with at least 32 characters",
        look: look::keys,
    },
    Item {
        name: "own-keys",
        what: "Each program has a key of its own, with the scopes it needs, and none has `admin`",
        setting: "`[[keys]]` `scopes`, `queues`, `types`",
        look: look::own_keys,
    },
    Item {
        name: "key-bounds",
        what: "Each of these keys has a bound, and ends one day",
        setting: "`[[keys]]` `per_second`, `expires`",
        look: look::key_bounds,
    },
    Item {
        name: "closed-door",
        what: "No server listens beyond its machine without a key",
        setting: "no `insecure_no_auth`, no `--insecure-no-auth`",
        look: look::closed_door,
    },
    Item {
        name: "tls",
        what: "The server listens on loopback, behind a proxy with TLS, or speaks TLS itself",
        setting: "`listen`, `[tls]` `certificate` and `key`",
        look: look::tls,
    },
    Item {
        name: "memory",
        what: "Bodies and answers in memory fit the memory that the server may take",
        setting: "`[limits]` `max_buffered_bytes`, at most half of the memory limit",
        look: |_| State::Unseen("the limit is the unit's, the container's or the pod's"),
    },
    Item {
        name: "durability",
        what: "What was acknowledged survives loss of power",
        setting: "`synchronous=full` (SQLite), `fsync` and `synchronous_commit` (Postgres), \
                  `appendfsync always` (Redis)",
        look: look::durability,
    },
    Item {
        name: "store-tls",
        what: "What crosses the network to the store is encrypted, and its certificate is checked",
        setting: "`sslmode=verify-full` (Postgres), `rediss://` (Redis)",
        look: look::store_tls,
    },
    Item {
        name: "store-role",
        what: "The store's role is no superuser, and Redis knows it by an ACL of its own",
        setting: "docs/postgres.md, docs/redis.md",
        look: look::store_role,
    },
    Item {
        name: "migrate-off",
        what: "No program changes the schema by being started: `queuekit migrate up` does",
        setting: "`migrate=off` in the URL of the store",
        look: look::migrate_off,
    },
    Item {
        name: "file-modes",
        what: "Files with payloads or secrets are read by their owner alone",
        setting: "`chmod 600` for the SQLite file, its `-wal` and `-shm`, `.env`, the TLS key, and \
                  a `queuekit.toml` with a secret (640 will do for it)",
        look: look::file_modes,
    },
    Item {
        name: "secrets",
        what: "No password stands in `queuekit.toml`, which programs share",
        setting: "`QUEUEKIT_URL`, `QUEUEKIT_WEBHOOK_SECRET`, `SMTP_PASSWORD`",
        look: look::secrets,
    },
    Item {
        name: "retention",
        what: "No queue keeps dead jobs, and their payloads, without a bound",
        setting: "`queuekit queue set QUEUE --keep-dead 30d`",
        look: look::retention,
    },
    Item {
        name: "max-pending",
        what: "No queue grows without a bound",
        setting: "`queuekit queue set QUEUE --max-pending N`",
        look: look::max_pending,
    },
    Item {
        name: "handlers",
        what: "The handlers of workers are stated, and `sleep` is not among them",
        setting: "`[handlers]` `enabled`",
        look: look::handlers,
    },
    Item {
        name: "exec",
        what: "`exec` is off, or its workers are of a user of their own, with a store that is no \
               file",
        setting: "`[handlers]` `enabled`, `User=` of the unit",
        look: look::exec,
    },
    Item {
        name: "webhooks",
        what: "Jobs reach the ports of this network that they need, and tell nothing in plain text",
        setting: "`[handlers.http]` `allow` without `:*`, no `insecure_http`",
        look: look::webhooks,
    },
    Item {
        name: "mail",
        what: "Jobs write to whom the settings say",
        setting: "`[handlers.email]` `allow_to`",
        look: look::mail,
    },
    Item {
        name: "network",
        what: "The store's port is closed to all but servers and workers, and the server's to all \
               but its callers",
        setting: "`deploy/kubernetes/network.yaml`, a firewall",
        look: |_| State::Unseen("who else reaches a port is seen from there"),
    },
    Item {
        name: "backups",
        what: "The store is backed up, and a backup was restored once",
        setting: "docs/sqlite.md, docs/postgres.md, docs/redis.md",
        look: |_| State::Unseen("a backup that was never restored is none"),
    },
    Item {
        name: "advisories",
        what: "Somebody looks at advisories about the version that runs",
        setting: "`cargo deny check advisories`, `cargo xtask sbom`",
        look: |_| State::Unseen("this program does not ask the network"),
    },
];
