//! One layout for Lua and Rust: what one writes the other reads, field by field.

use crate::common::redis_store_fixture::RedisStage;
use queuekit_conformance::this_test;
use queuekit_redis::for_tests::{self, Record};
use redis::cmd;

/// What an `EVAL` of this script answers.
async fn run<T: redis::FromRedisValue>(stage: &RedisStage, script: &str, args: &[&[u8]]) -> T {
    let script = for_tests::inline(&format!("local sub = string.sub\n{script}"));
    let mut eval = cmd("EVAL");
    eval.arg(script).arg(0).arg(args);
    stage.ask(&eval).await
}

/// A record in which neighbours differ, and what follows its head.
fn record_of(fields: &Record) -> (Vec<u8>, &'static [u8]) {
    let length = fields.1.last().map_or(0, |(_, at)| at.end);
    let letters = (b'a'..=b'z').chain(b'0'..=b'9').cycle();
    (letters.take(length).collect(), b" rest")
}

#[tokio::test]
async fn every_field_that_rust_writes_is_read_by_lua() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    for record in for_tests::records() {
        let (head, rest) = record_of(&record);
        let (name, fields) = &record;
        let cut = |(field, _): &(&str, _)| format!("sub(ARGV[1], {name}.{field})");
        let mut cuts: Vec<String> = fields.iter().map(cut).collect();
        cuts.push(format!("sub(ARGV[1], {name}.rest)"));
        let script = format!("return {{ {} }}", cuts.join(", "));
        let read: Vec<Vec<u8>> = run(&stage, &script, &[&[&head, rest].concat()]).await;
        for ((field, at), read) in fields.iter().zip(&read) {
            assert_eq!(read, &head[at.clone()], "{name}.{field}");
        }
        assert_eq!(read.last().unwrap(), rest, "{name}");
    }
    stage.end().await;
}

#[tokio::test]
async fn every_field_that_lua_writes_is_read_by_rust() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    for record in for_tests::records() {
        let (head, rest) = record_of(&record);
        let (name, fields) = &record;
        // Backwards: the layout puts them in order.
        let args: Vec<&[u8]> = fields.iter().map(|(_, at)| &head[at.clone()]).collect();
        let values = fields.iter().enumerate().rev();
        let values = values.map(|(at, (field, _))| format!("{field} = ARGV[{}]", at + 1));
        let values = values.collect::<Vec<_>>().join(", ");
        let script = format!("return {name}.write({{ {values} }})");
        let written: Vec<u8> = run(&stage, &script, &args).await;
        assert_eq!(written, head, "{name}");
        let old = [&head, rest].concat();
        for (field, at) in fields {
            let other = vec![b'#'; at.len()];
            let script =
                format!("local old = ARGV[1]\nreturn {name}.with(old, {{ {field} = ARGV[2] }})");
            let changed: Vec<u8> = run(&stage, &script, &[&old, &other]).await;
            let wanted = [&old[..at.start], &other, &old[at.end..]].concat();
            assert_eq!(changed, wanted, "{name}.{field}");
        }
    }
    stage.end().await;
}
