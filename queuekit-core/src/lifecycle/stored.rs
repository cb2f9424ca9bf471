//! How a record's fields are written that have no form of their own: bytes as base64, a nonce as
//! its bytes.

/// Bytes that need not be text.
pub(super) mod bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &Bytes,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Bytes, D::Error> {
        STANDARD.decode(String::deserialize(from)?).map(Bytes::from).map_err(D::Error::custom)
    }
}

/// The same, or nothing.
pub(super) mod optional_bytes {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Wrapped(#[serde(with = "super::bytes")] Bytes);

    pub(in super::super) fn serialize<S: Serializer>(
        bytes: &Option<Bytes>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.clone().map(Wrapped).serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Bytes>, D::Error> {
        Ok(Option::<Wrapped>::deserialize(from)?.map(|wrapped| wrapped.0))
    }
}

pub(super) mod checkpoints {
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::clock::Timestamp;
    use crate::job::Checkpoint;
    use crate::names::CheckpointName;

    #[derive(Serialize, Deserialize)]
    struct Stored {
        name: CheckpointName,
        at: Timestamp,
        #[serde(with = "super::bytes")]
        result: Bytes,
    }

    pub(in super::super) fn serialize<S: Serializer>(
        checkpoints: &[Checkpoint],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(checkpoints.iter().cloned().map(|Checkpoint { name, at, result }| Stored {
            name,
            at,
            result,
        }))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Checkpoint>, D::Error> {
        let stored = Vec::<Stored>::deserialize(from)?;
        let checkpoint = |Stored { name, at, result }| Checkpoint { name, at, result };
        Ok(stored.into_iter().map(checkpoint).collect())
    }
}

pub(super) mod nonce {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::backend::Nonce;

    pub(in super::super) fn serialize<S: Serializer>(
        nonce: &Nonce,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        nonce.as_bytes().serialize(to)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Nonce, D::Error> {
        <[u8; 16]>::deserialize(from).map(Nonce::from_bytes)
    }
}
