//! What a job carries in a server: with its number, some 110 bytes of JSON.

/// As much text as a file's path, an address or a few ids: what jobs usually carry.
const TEXT: &str =
    "invoices/2026/11/customer-48213/order-0000917.pdf; to accounting@example.org, as a copy";

pub(crate) fn text() -> String {
    TEXT.to_owned()
}
