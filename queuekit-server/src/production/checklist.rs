//! The items of the checklist.

use super::item::{Item, State};
use super::{checks, queues};

/// In the order in which they are printed. A change here is a change in `docs/hardening.md`.
pub(super) const ITEMS: &[Item] = &[
    Item {
        name: "keys",
        what: "Every caller needs a key, made by `queuekit key new`",
        setting: "`[[keys]]`, or `QUEUEKIT_API_KEY` with at least 32 characters",
        look: checks::keys,
    },
    Item {
        name: "own-keys",
        what: "Each program has its own key, with only the scopes it needs, and none has `admin`",
        setting: "`[[keys]]` `scopes`, `queues`, `kinds`",
        look: checks::own_keys,
    },
    Item {
        name: "key-bounds",
        what: "Each of these keys has a rate limit and an expiry",
        setting: "`[[keys]]` `per_second`, `expires`",
        look: checks::key_bounds,
    },
    Item {
        name: "closed-door",
        what: "A server without keys listens on this machine only",
        setting: "leave out `insecure_no_auth` and `--insecure-no-auth`",
        look: checks::closed_door,
    },
    Item {
        name: "tls",
        what: "The server listens on loopback, behind a proxy with TLS, or speaks TLS itself",
        setting: "`listen`, `[tls]` `certificate` and `key`",
        look: checks::tls,
    },
    Item {
        name: "memory",
        what: "Request bodies and answers fit into the server's memory limit",
        setting: "`[limits]` `max_buffered_bytes`, at most half of the memory limit; with `[tls]`, \
                  half of what 50 KiB for each of `max_connections` and 40 MiB leave",
        look: |_| State::NotChecked("the limit is set in the unit, the container or the pod"),
    },
    Item {
        name: "durability",
        what: "Jobs whose enqueue has succeeded survive a power failure",
        setting: "`synchronous=full` (SQLite), `fsync` and `synchronous_commit` (Postgres), \
                  `appendfsync always` (Redis)",
        look: checks::durability,
    },
    Item {
        name: "store-tls",
        what: "Connections to the store are encrypted, and its certificate is verified",
        setting: "`sslmode=verify-full` (Postgres), `rediss://` (Redis)",
        look: checks::store_tls,
    },
    Item {
        name: "store-role",
        what: "The store's role is not a superuser; in Redis it has its own ACL user",
        setting: "docs/postgres.md, docs/redis.md",
        look: checks::store_role,
    },
    Item {
        name: "migrate-off",
        what: "Starting a program never changes the schema: only `queuekit migrate up` does",
        setting: "`migrate=off` in the URL of the store",
        look: checks::migrate_off,
    },
    Item {
        name: "file-modes",
        what: "Only the owner can read files that hold payloads or secrets, and write settings",
        setting: "`chmod 600` for the SQLite file, its `-wal` and `-shm`, `.env` and the TLS key; \
                  at most 640 for a `queuekit.toml` with a secret, else 644; 755 for its directory",
        look: checks::file_modes,
    },
    Item {
        name: "secrets",
        what: "`queuekit.toml` holds no password, because programs share it",
        setting: "`QUEUEKIT_URL`, `QUEUEKIT_WEBHOOK_SECRET`, `SMTP_PASSWORD`",
        look: checks::secrets,
    },
    Item {
        name: "retention",
        what: "Every queue limits how long it keeps dead jobs and their payloads",
        setting: "`queuekit queue set QUEUE --keep-dead 30d`",
        look: queues::retention,
    },
    Item {
        name: "max-pending",
        what: "Every queue limits how many jobs may wait, and keys that store jobs name queues \
               that exist",
        setting: "`queuekit queue set QUEUE --max-pending N`, `[[keys]]` `queues` without `*`",
        look: queues::max_pending,
    },
    Item {
        name: "handlers",
        what: "Workers name the handlers they enable, and `sleep` is not among them",
        setting: "`[handlers]` `enabled`",
        look: checks::handlers,
    },
    Item {
        name: "exec",
        what: "`exec` is off, or its workers run as their own user, with a store that is not a \
               file",
        setting: "`[handlers]` `enabled`, `User=` of the unit",
        look: checks::exec,
    },
    Item {
        name: "webhooks",
        what: "Jobs reach only the ports of this network that they need, and send nothing in \
               plain text",
        setting: "`[handlers.http]` `allow` without `:*`, no `insecure_http`",
        look: checks::webhooks,
    },
    Item {
        name: "mail",
        what: "Jobs send mail only to recipients that the settings allow",
        setting: "`[handlers.email]` `allow_to`",
        look: checks::mail,
    },
    Item {
        name: "network",
        what: "Only servers and workers can reach the store's port, and only callers the server's",
        setting: "`deploy/kubernetes/network.yaml`, a firewall",
        look: |_| State::NotChecked("test the ports from other machines"),
    },
    Item {
        name: "metrics-port",
        what: "Only probes and Prometheus can reach a worker's `--metrics-listen`: it asks for no \
               key",
        setting: "`--metrics-listen` with an address of a network that callers do not reach",
        look: checks::metrics_port,
    },
    Item {
        name: "proxies",
        what: "`proxies` names only proxies that limit connections per client themselves",
        setting: "`proxies`, each with its address",
        look: checks::proxies,
    },
    Item {
        name: "access-log",
        what: "The server logs each request, so that misuse of a key can be traced",
        setting: "`access_log = true`",
        look: checks::access_log,
    },
    Item {
        name: "backups",
        what: "The store is backed up, and restoring a backup has been tried",
        setting: "docs/sqlite.md, docs/postgres.md, docs/redis.md",
        look: |_| State::NotChecked("only a restore shows that a backup works"),
    },
    Item {
        name: "advisories",
        what: "Someone follows security advisories about the running version",
        setting: "`cargo deny check advisories`, `cargo xtask sbom`",
        look: |_| State::NotChecked("this program makes no requests to find out"),
    },
];
