//! Listings that are answered a page at a time, by names.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::Api;

impl Api {
    /// All items of a listing whose pages have `after`, as they were answered. The path may have a
    /// query, and `items` is the field that they are in.
    pub(crate) async fn all(&self, path: &str, items: &str) -> Result<Vec<Box<RawValue>>> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let mut answer = self.get(path).await?;
        let mut all = Vec::new();
        loop {
            let page: HashMap<&str, Box<RawValue>> = answer.read()?;
            let field = |name: &str| page.get(name).map(|value| value.get());
            let found = field(items).with_context(|| format!("the server answered no {items}"))?;
            all.extend(parsed::<Vec<Box<RawValue>>>(found)?);
            let Some(after) = field("after") else { return Ok(all) };
            let after: String = parsed(after)?;
            answer = self.get(&format!("{path}{joint}after={after}")).await?;
        }
    }
}

fn parsed<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).context("the server is not queuekit, or has another version")
}
