//! Metadata: names and values that travel with a job.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::json_bytes;

/// Text by name, e.g. `traceparent`; at most 64 names, and 4 KiB of names and values (contract
/// R12).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "At most 64 texts by name, 4 KiB of both.")
)]
#[serde(transparent)]
pub struct Metadata(BTreeMap<String, String>);

impl Metadata {
    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Adds a value, or replaces it.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// Takes a value out.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// How many names it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes that count towards the limit: those of all names and values.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// Those of all names and values as JSON.
    pub(crate) fn json_bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| json_bytes(name) + json_bytes(value)).sum()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl<N: Into<String>, V: Into<String>, const PAIRS: usize> From<[(N, V); PAIRS]> for Metadata {
    fn from(pairs: [(N, V); PAIRS]) -> Self {
        pairs.into_iter().collect()
    }
}
