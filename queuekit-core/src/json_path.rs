//! Finds one value in JSON, without reading the rest into memory.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The text of the scalar at a path: of a string itself, of a number, `true`, `false` or `null` as
/// it is written. `None` if the bytes are not JSON, or have a list, an object or nothing there.
///
/// A segment names a member of an object (of equal ones the last counts), or an item of a list,
/// from 0.
pub(crate) fn scalar_at<'a>(json: &'a [u8], path: &[String]) -> Option<Cow<'a, str>> {
    let mut from = serde_json::Deserializer::from_slice(json);
    let found = Seek(path).deserialize(&mut from).ok()??;
    from.end().ok()?;
    match found.get().as_bytes().first()? {
        b'{' | b'[' => None,
        b'"' => serde_json::from_str(found.get()).ok().map(Cow::Owned),
        _ => Some(Cow::Borrowed(found.get())),
    }
}

/// Looks for the value at the rest of a path.
struct Seek<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        match self.0.split_first() {
            None => Deserialize::deserialize(from).map(Some),
            Some(_) => from.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let Some((wanted, rest)) = self.0.split_first() else { return Ok(None) };
        let mut found = None;
        while let Some(is_wanted) = from.next_key_seed(Is(wanted))? {
            if is_wanted {
                found = from.next_value_seed(Seek(rest))?;
            } else {
                from.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let wanted = self.0.split_first().and_then(|(at, rest)| Some((index(at)?, rest)));
        let mut found = None;
        for at in 0_usize.. {
            let more = match wanted {
                Some((wanted, rest)) if wanted == at => {
                    let item = from.next_element_seed(Seek(rest))?;
                    found = item.flatten();
                    item.is_some()
                }
                _ => from.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(found)
    }

    // A scalar has nothing inside.

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Compares a name, and keeps none.
struct Is<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

/// The number of an item: digits without a leading zero.
fn index(segment: &str) -> Option<usize> {
    let at = segment.parse().ok()?;
    (usize::to_string(&at) == segment).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(json: &str, path: &str) -> Option<String> {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        scalar_at(json.as_bytes(), &path).map(Cow::into_owned)
    }

    #[test]
    fn r8_8_the_text_of_a_scalar_is_what_the_payload_has() {
        let json = r#"{"s":"a \"b\" \u00e9","n":1e3,"big":1152921504606846977,"z":1.10,
            "t":true,"f":false,"none":null,"o":{"a":{"b":"deep"}},"l":[10,[20,"x"],{"k":"v"}],
            "twice":1,"twice":{"a":2},"":"empty","a.b":"dotted"}"#;
        for (path, text) in [
            ("s", "a \"b\" \u{e9}"),
            ("n", "1e3"),
            ("big", "1152921504606846977"),
            ("z", "1.10"),
            ("t", "true"),
            ("f", "false"),
            ("none", "null"),
            ("o.a.b", "deep"),
            ("l.0", "10"),
            ("l.1.1", "x"),
            ("l.2.k", "v"),
            ("twice.a", "2"),
        ] {
            assert_eq!(at(json, path).as_deref(), Some(text), "{path}");
        }
        for path in
            ["o", "o.a", "l", "l.1", "l.3", "l.00", "l.-1", "n.x", "twice", "missing", "s.0"]
        {
            assert_eq!(at(json, path), None, "{path}");
        }
    }

    #[test]
    fn r8_8_what_is_not_json_has_no_scalar() {
        for other in ["", "{", r#"{"a":1"#, r#"{"a":1} x"#, "a", r#"{"a":1e}"#, r#"{"a":1,}"#] {
            assert_eq!(at(other, "a"), None, "{other}");
        }
        assert_eq!(scalar_at(&[b'{', b'"', 0xff], &["a".to_owned()]), None);
        let deep = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
        assert_eq!(at(&deep, "a"), None, "too deep to read");
        // Numbers beyond any type, and whatever a value behind the match has.
        assert_eq!(at(r#"{"a":1e400,"b":[1e400]}"#, "a").as_deref(), Some("1e400"));
    }
}
