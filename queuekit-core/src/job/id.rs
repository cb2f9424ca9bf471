//! The identity of a job.

use serde::Serialize;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

use crate::clock::Timestamp;
use crate::event::EventId;
use crate::names::{QueueName, ScheduleName};
use crate::uuid_like::uuid_like;

/// A UUID whose last 16 bits are its queue's tag (contract R2.4).
///
/// The client makes it before the call, so that a call whose reply was lost can be repeated; the
/// tag lets a store find a job by id alone. It is a UUIDv7, or a UUIDv8 if queuekit derived it from
/// a schedule, an event or another job. Everybody can compute those, so no enqueue may choose one:
/// it would take the place of the job that is to come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(description = "The id of a job."))]
#[serde(into = "String")]
pub struct JobId(Uuid);

impl JobId {
    /// A new id for a job of this queue; `now` only makes ids sort roughly by age.
    pub fn generate(queue: &QueueName, now: Timestamp) -> Self {
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        let mut random = [0; 10];
        random[..8].copy_from_slice(&fastrand::u64(..).to_be_bytes());
        random[8..].copy_from_slice(&queue.id_tag());
        Self(Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// The id this job gets when it moves to that queue: a pure function of both (R6.5), so that
    /// a move that is repeated creates nothing twice.
    #[must_use]
    pub fn moved_to(self, queue: &QueueName) -> Self {
        let digest = Sha256::new().chain_update(self.0.as_bytes()).chain_update(queue.as_str());
        let bytes = self.0.as_bytes();
        let millis = bytes[..6].iter().fold(0, |millis, byte| millis << 8 | u64::from(*byte));
        Self::derived(queue, millis, &digest.finalize())
    }

    /// The id of the job that a schedule enqueues for this occurrence: a pure function of all
    /// three (R15.2).
    pub fn of_occurrence(queue: &QueueName, schedule: &ScheduleName, nominal: Timestamp) -> Self {
        let nominal_ms = nominal.as_millis();
        let digest = Sha256::new().chain_update(schedule.as_str()).chain_update(b"@");
        let digest = digest.chain_update(nominal_ms.to_be_bytes()).chain_update(queue.as_str());
        Self::derived(queue, u64::try_from(nominal_ms).unwrap_or(0), &digest.finalize())
    }

    /// The id of the delivery of this event to the queue of a consumer, once more for each replay:
    /// a pure function of all three (R14.2).
    pub(crate) fn of_delivery(queue: &QueueName, event: EventId, replay: Option<&str>) -> Self {
        let digest = Sha256::new().chain_update(event.as_bytes()).chain_update(queue.as_str());
        let digest = digest.chain_update(b"\0").chain_update(replay.unwrap_or_default());
        Self::derived(queue, event.millis(), &digest.finalize())
    }

    fn derived(queue: &QueueName, millis: u64, digest: &[u8]) -> Self {
        let mut bytes = [0; 16];
        bytes[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
        bytes[6..14].copy_from_slice(&digest[..8]);
        bytes[14..].copy_from_slice(&queue.id_tag());
        Self(Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// Whether this id was derived from something else, and not drawn by a client.
    pub fn is_derived(self) -> bool {
        self.0.get_version_num() == DERIVED
    }

    /// Whether this id can be of a job of this queue.
    pub fn belongs_to(self, queue: &QueueName) -> bool {
        self.queue_tag() == queue.id_tag()
    }

    /// The tag of its queue.
    pub fn queue_tag(self) -> [u8; 2] {
        let bytes = self.0.as_bytes();
        [bytes[14], bytes[15]]
    }

    /// The 16 bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    /// The id of these 16 bytes, for stores.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }
}

/// The UUID version of ids that are derived.
const DERIVED: usize = 8;

uuid_like! { JobId "id" [7, DERIVED] }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobDraft;

    #[test]
    fn ids_are_uuid_v7_and_end_in_their_queues_tag() {
        let queue = QueueName::default();
        let id = JobId::generate(&queue, Timestamp::from_millis(1_767_225_600_000));
        assert_eq!(id.0.get_version_num(), 7);
        assert!(id.to_string().ends_with("37a8"), "{id}");
        assert!(id.belongs_to(&queue));
        assert_eq!(id.to_string().parse::<JobId>().unwrap(), id);
    }

    #[test]
    fn what_is_derived_is_uuid_v8_and_sorts_by_its_time() {
        let queue = QueueName::default();
        let (name, at) = (ScheduleName::new("s").unwrap(), Timestamp::from_millis);
        let id = JobId::of_occurrence(&queue, &name, at(1_767_225_600_000));
        assert!(id.is_derived());
        assert!(id.to_string().starts_with("019b76da-a800-8"), "{id}");
        assert_eq!(id.to_string().parse::<JobId>().unwrap(), id);
        assert!(!JobId::generate(&queue, at(0)).is_derived());
    }

    /// Else it would take the place of an occurrence or a delivery that is to come.
    #[test]
    fn r2_4_no_enqueue_chooses_a_derived_id() {
        let (queue, other) = (QueueName::default(), QueueName::new("other").unwrap());
        let name = ScheduleName::new("s").unwrap();
        let occurrence = JobId::of_occurrence(&queue, &name, Timestamp::from_millis(7));
        let error = JobDraft::new("k", "").id(occurrence).build().unwrap_err();
        assert!(error.to_string().starts_with("id must be a UUIDv7"), "{error}");
        let old = JobId::generate(&other, Timestamp::default());
        let moved = || JobDraft::new("k", "").moved_from(old);
        assert!(moved().id(occurrence).build().is_err());
        let id = moved().build().unwrap().id();
        assert_eq!(moved().id(id).build().unwrap().id(), id, "a repeated move");
    }

    #[test]
    fn a_move_gives_the_same_id_each_time() {
        let id: JobId = "019b76da-a800-7000-8000-0000000037a8".parse().unwrap();
        let to = QueueName::new("emails").unwrap();
        assert_eq!(id.moved_to(&to), id.moved_to(&to));
        assert!(id.moved_to(&to).belongs_to(&to));
        assert_ne!(id.moved_to(&to), id.moved_to(&QueueName::new("other").unwrap()));
    }

    #[test]
    fn r15_2_an_occurrence_has_one_id_and_another_has_another() {
        let (queue, other) = (QueueName::default(), QueueName::new("other").unwrap());
        let (name, at) = (ScheduleName::new("s").unwrap(), Timestamp::from_millis);
        let id = JobId::of_occurrence(&queue, &name, at(1_767_225_600_000));
        assert_eq!(id, JobId::of_occurrence(&queue, &name, at(1_767_225_600_000)));
        assert!(id.belongs_to(&queue));
        assert_ne!(id, JobId::of_occurrence(&queue, &name, at(1_767_225_600_001)));
        assert_ne!(id, JobId::of_occurrence(&other, &name, at(1_767_225_600_000)));
        let second = ScheduleName::new("t").unwrap();
        assert_ne!(id, JobId::of_occurrence(&queue, &second, at(1_767_225_600_000)));
    }
}
