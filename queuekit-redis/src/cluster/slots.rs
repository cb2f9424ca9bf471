//! The slots of keys and of nodes.

use std::ops::RangeInclusive;

use redis::Value;

use crate::address::Address;
use crate::codec::{array_of, bytes_of, number_of};

/// The number of slots.
pub(super) const SLOTS: u16 = 16_384;

/// Slots that one master has.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) slots: RangeInclusive<u16>,
    pub(super) address: Address,
}

/// The slot of a key: that of the text in its first braces, if there is any, else of the whole key.
pub(super) fn slot_of(key: &[u8]) -> u16 {
    let tag = || {
        let from = key.iter().position(|byte| *byte == b'{')? + 1;
        let length = key[from..].iter().position(|byte| *byte == b'}')?;
        (length > 0).then(|| &key[from..from + length])
    };
    crc16(tag().unwrap_or(key)) % SLOTS
}

/// Reads the answer of the node at this address to `CLUSTER SLOTS`.
pub(super) fn ranges(answer: Value, teller: &Address) -> Option<Vec<Range>> {
    array_of(answer)?.into_iter().map(|range| read(range, teller)).collect()
}

/// Reads first and last slot, then the master: host, port, more; then replicas.
fn read(range: Value, teller: &Address) -> Option<Range> {
    let mut parts = array_of(range)?.into_iter();
    let mut slot = || number_of(parts.next()?).and_then(|slot| u16::try_from(slot).ok());
    let slots = slot()?..=slot()?;
    let mut master = array_of(parts.next()?)?.into_iter();
    // A node may not know or not say its own host: then it is the one by which it was asked.
    let host = master.next().and_then(bytes_of).and_then(|host| String::from_utf8(host).ok());
    let host = host.filter(|host| !host.is_empty() && host != "?");
    let port = u16::try_from(number_of(master.next()?)?).ok()?;
    Some(Range { slots, address: Address::new(host.unwrap_or_else(|| teller.host.clone()), port) })
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 { shifted } else { shifted ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_cluster_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"qk:{mail}:mail:meta"), slot_of(b"mail"));
        assert_eq!(slot_of(b"a{}b"), crc16(b"a{}b") % SLOTS);
        assert_eq!(slot_of(b"a{b"), crc16(b"a{b") % SLOTS);
    }

    #[test]
    fn a_node_without_a_host_is_where_it_was_asked() {
        let text = |text: &str| Value::BulkString(text.into());
        let range = |host| {
            let master = Value::Array(vec![host, Value::Int(7001), text("id")]);
            Value::Array(vec![Value::Array(vec![Value::Int(0), Value::Int(99), master])])
        };
        let teller = Address::new("here", 7000);
        for (host, shown) in
            [(text("10.0.0.1"), "10.0.0.1"), (Value::Nil, "here"), (text("?"), "here")]
        {
            let expected = Range { slots: 0..=99, address: Address::new(shown, 7001) };
            assert_eq!(ranges(range(host), &teller), Some(vec![expected]));
        }
        assert_eq!(ranges(Value::Nil, &teller), None);
    }
}
