//! Lists that are refused when they grow too long, and not when they have been read.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Most items of a batch.
pub(crate) const BATCH: usize = 1000;

/// Reads a list of at most [`BATCH`] items: `#[serde(deserialize_with = "bounded")]`.
pub(crate) fn bounded<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Items<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {BATCH} items")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, from: A) -> Result<Vec<T>, A::Error> {
            items(from)
        }
    }

    from.deserialize_seq(Items(PhantomData))
}

/// The items of a list.
///
/// # Errors
/// If there are more than [`BATCH`].
pub(crate) fn items<'de, A, T>(mut from: A) -> Result<Vec<T>, A::Error>
where
    A: SeqAccess<'de>,
    T: Deserialize<'de>,
{
    let mut items = Vec::new();
    while let Some(item) = from.next_element()? {
        if items.len() == BATCH {
            return Err(too_many());
        }
        items.push(item);
    }
    Ok(items)
}

/// The names and values of an object.
///
/// # Errors
/// If there are more than [`BATCH`].
pub(crate) fn entries<'de, A, T>(mut from: A) -> Result<Vec<(String, T)>, A::Error>
where
    A: MapAccess<'de>,
    T: Deserialize<'de>,
{
    let mut entries = Vec::new();
    while let Some(entry) = from.next_entry()? {
        if entries.len() == BATCH {
            return Err(too_many());
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn too_many<E: Error>() -> E {
    E::custom(format_args!("more than {BATCH} items; split them into several calls"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Batch {
        #[serde(deserialize_with = "bounded")]
        items: Vec<u8>,
    }

    #[test]
    fn s6_a_list_is_refused_at_the_item_that_is_too_many() {
        let list =
            |items: usize, end: &str| format!("{{\"items\":[0{}{end}", ",0".repeat(items - 1));
        assert_eq!(serde_json::from_str::<Batch>(&list(1000, "]}")).unwrap().items.len(), 1000);
        // What comes behind it is not looked at.
        let error = serde_json::from_str::<Batch>(&list(1001, "nonsense")).err().unwrap();
        assert!(error.to_string().contains("more than 1000 items"), "{error}");
    }
}
