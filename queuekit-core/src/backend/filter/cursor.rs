//! The cursor of a page, which is bound to its filter.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::JobFilter;
use crate::backend::Cursor;
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::job::{Status, StatusSet};
use crate::names::{Kind, PartitionKey, QueueName, WorkerId};

impl JobFilter {
    /// The cursor of a page of this filter that ended at this position.
    pub fn cursor_at(&self, position: &[u8]) -> Cursor {
        let mut bytes = self.fingerprint().to_vec();
        bytes.extend_from_slice(position);
        Cursor(bytes)
    }

    /// The position in this filter's cursor, if it has one. A store asks this before it lists.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); `Invalid` if the cursor is of another filter;
    /// `Unsupported` if the filter asks for what is recent: that is the matter of
    /// [`recent`](crate::backend::recent).
    pub fn position(&self) -> Result<Option<&[u8]>> {
        if self.recent {
            let message = "this store cannot list what is recent; ask without it";
            return Err(Error::new(ErrorKind::Unsupported, message).during("list_jobs"));
        }
        self.cursor_position()
    }

    /// The same, whatever the filter asks for.
    pub(in crate::backend) fn cursor_position(&self) -> Result<Option<&[u8]>> {
        self.check()?;
        let Some(cursor) = &self.cursor else {
            return Ok(None);
        };
        match cursor.0.strip_prefix(&self.fingerprint()) {
            Some(position) => Ok(Some(position)),
            None => Err(Error::invalid(
                "cursor",
                "the cursor of a page with this filter",
                "one of another filter; start again without a cursor",
            )),
        }
    }

    fn fingerprint(&self) -> [u8; 8] {
        let digest = Sha256::digest(self.encoded());
        let mut fingerprint = [0; 8];
        fingerprint.copy_from_slice(&digest[..8]);
        fingerprint
    }

    /// All but limit, time and cursor: a page may be bounded otherwise than the one before it.
    fn encoded(&self) -> Vec<u8> {
        // Each field by name: what is new has to be put into the encoding.
        let Self {
            id,
            queue,
            statuses,
            kind,
            partition_key,
            worker,
            error_contains,
            group,
            metadata,
            payload,
            created,
            finished,
            recent,
            limit: _,
            cursor: _,
            examining: _,
            within: _,
            refused: _,
        } = self;
        let all = Encoded {
            queue: queue.as_ref(),
            statuses: (*statuses != StatusSet::ALL).then(|| statuses.iter().collect()),
            kind: kind.as_ref(),
            partition_key: partition_key.as_ref(),
            worker: worker.as_ref(),
            error_contains: error_contains.as_deref(),
            created_from: created.from,
            created_to: created.to,
            finished_from: finished.from,
            finished_to: finished.to,
            group: group.map(|group| group.to_string()),
            id: id.as_ref().map(ToString::to_string),
            metadata: metadata.as_ref().map(ToString::to_string),
            payload: payload.as_ref().map(ToString::to_string),
            recent: *recent,
        };
        // Texts and numbers: they can be written.
        serde_json::to_vec(&all).unwrap_or_default()
    }
}

/// A filter as its fingerprint reads it, in this order. Parts that it does not filter by are left
/// out, so that a cursor outlives a version with more parts.
#[derive(Serialize)]
struct Encoded<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a QueueName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statuses: Option<Vec<Status>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<&'a PartitionKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<&'a WorkerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_contains: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recent: bool,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::backend::{PageSize, TimeRange};

    #[test]
    fn r8_2_a_cursor_is_bound_to_what_its_filter_asks_for() {
        let at = |ms| Some(Timestamp::from_millis(ms));
        let filter = JobFilter {
            queue: Some(QueueName::new("q").unwrap()),
            statuses: StatusSet::NONE.with(Status::Dead).with(Status::Ready),
            kind: Some(Kind::new("k").unwrap()),
            partition_key: Some(PartitionKey::new("p").unwrap()),
            worker: Some(WorkerId::new("w").unwrap()),
            error_contains: Some("\"e\"".to_owned()),
            group: Some("0123456789abcdef".parse().unwrap()),
            id: Some("0199c3".parse().unwrap()),
            metadata: Some("tenant:acme".parse().unwrap()),
            payload: Some("user.id:7".parse().unwrap()),
            created: TimeRange { from: at(1), to: at(2) },
            finished: TimeRange { from: at(3), to: at(4) },
            recent: true,
            limit: PageSize::MAX,
            cursor: Some(Cursor(vec![7])),
            examining: None,
            within: Some(Duration::ZERO),
            refused: None,
        };
        let built = JobFilter::default()
            .queue("q")
            .status(StatusSet::NONE.with(Status::Dead).with(Status::Ready))
            .kind("k")
            .partition_key("p")
            .worker("w")
            .error_contains("\"e\"")
            .group("0123456789abcdef")
            .id("0199-c3")
            .metadata("tenant:acme")
            .payload("user.id:7")
            .created(Timestamp::from_millis(1)..Timestamp::from_millis(2))
            .finished(Timestamp::from_millis(3)..Timestamp::from_millis(4))
            .recent()
            .within(Duration::ZERO)
            .limit(1000)
            .after(filter.cursor.clone());
        assert_eq!(format!("{built:?}"), format!("{filter:?}"));
        // Cursors that people hold are of this encoding: it changes with no version.
        let encoding = concat!(
            r#"{"queue":"q","statuses":["ready","dead"],"kind":"k","partition_key":"p","#,
            r#""worker":"w","error_contains":"\"e\"","created_from":1,"created_to":2,"#,
            r#""finished_from":3,"finished_to":4,"group":"0123456789abcdef","#,
            r#""id":"0199c3","metadata":"tenant:acme","payload":"user.id:7","recent":true}"#
        );
        assert_eq!(String::from_utf8(filter.encoded()).unwrap(), encoding);
        assert_eq!(JobFilter::default().encoded(), b"{}");
        assert_eq!(JobFilter::default().cursor_at(b"x").to_string(), "44136fa355b3678a78");
    }
}
