//! Scripts on queues, and the sorted set of all queues.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::time::{Duration, Instant};

use queuekit_core::{JobId, QueueName, Result};
use redis::{Value, cmd};

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of, is_word, number_of};
use crate::error::unreadable;
use crate::indeterminate::Answered;
use crate::keys::QueueKeys;
use crate::repeat::Call;
use crate::scripts::Lua;

/// How many names one command reads where all are needed.
const LEARNT: usize = 1000;

impl RedisStore {
    /// Runs a script on a queue.
    pub(crate) async fn on_queue(
        &self,
        operation: &'static str,
        call: Call,
        script: Lua,
        queue: &QueueName,
        rest: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Value> {
        let time = self.time_left();
        self.on_queue_within(time, operation, call, script, queue, rest).await
    }

    /// The same, in the time that is left of a call with several steps.
    pub(crate) async fn on_queue_within(
        &self,
        time: Duration,
        operation: &'static str,
        call: Call,
        script: Lua,
        queue: &QueueName,
        rest: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Value> {
        let keyspace = &self.shared.keyspace;
        let mut keys = vec![keyspace.of(queue)];
        if script.tells_payloads() {
            keys.extend(keyspace.event_data(queue).map(|key| QueueKeys::from([key])));
        }
        let args = rest.into_iter().collect();
        let request = Request::Script { script, keys, args };
        self.call_within(time, operation, call, request).await
    }

    /// Enters queues before jobs are stored in them; all or none.
    pub(crate) async fn enter_queues(&self, names: &[&QueueName], anew: bool) -> Result<()> {
        let shared = &*self.shared;
        let stale = if anew { names.to_vec() } else { shared.known.stale(names) };
        if stale.is_empty() {
            return Ok(());
        }
        let entered = Instant::now();
        let mut args = vec![shared.limits.queues().to_string().into_bytes()];
        args.extend(stale.iter().map(|name| name.as_str().into()));
        let keys = vec![[shared.keyspace.registry()].into()];
        let request = Request::Script { script: Lua::Register, keys, args };
        let names: Vec<QueueName> = stale.iter().map(|name| (*name).clone()).collect();
        // In a Cluster another node has the names. If it is unreachable, queues that were entered
        // before can still be used.
        let again = shared.topology.is_cluster() && !anew && shared.known.were_entered(&names);
        let call = if again { Call::Glance } else { Call::Repeatable };
        let answer = match self.call("enqueue", call, request).await {
            Err(error) if again && error.is_retryable() => {
                tracing::debug!(%error, "queues are entered again later");
                Value::Nil
            }
            answer => answer?,
        };
        if let Some(refused) = array_of(answer) {
            let existing = refused.into_iter().next().and_then(number_of);
            let existing = existing.and_then(|count| usize::try_from(count).ok());
            shared.limits.admit_queue(existing.unwrap_or(usize::MAX - 1))?;
        }
        shared.known.learn(&names, Some(entered));
        Ok(())
    }

    /// Enters queues and stores something in them. The argument of `store` says whether it may
    /// create them; if not, it answers `unknown` for a queue that does not exist.
    pub(crate) async fn in_queues<F>(
        &self,
        names: &[&QueueName],
        store: impl Fn(bool) -> F,
    ) -> Result<Answered>
    where
        F: Future<Output = Result<Answered>>,
    {
        self.enter_queues(names, false).await?;
        let answer = store(false).await?;
        let is_unknown =
            matches!(&answer.value, Value::Array(it) if is_word(it.first(), b"unknown"));
        if !is_unknown {
            return Ok(answer);
        }
        // A queue was removed since it was entered, or is new: create it.
        self.enter_queues(names, true).await?;
        let answer = store(true).await?;
        if let Err(error) = self.enter_queues(names, true).await {
            // The call that removed the queue may have taken it off the set of all after it was
            // entered here.
            tracing::debug!(%error, "queues are entered again by the next call that uses them");
        }
        Ok(answer)
    }

    /// At most `most` queues by name, from this place on.
    pub(crate) async fn queues_from(
        &self,
        place: Bound<&QueueName>,
        most: usize,
    ) -> Result<Vec<QueueName>> {
        let mut from = match place {
            Bound::Included(name) => format!("[{name}").into_bytes(),
            Bound::Excluded(name) => format!("({name}").into_bytes(),
            Bound::Unbounded => b"-".to_vec(),
        };
        let mut names = Vec::new();
        while names.len() < most {
            let wanted = most - names.len();
            let members = self.registered(&from, wanted).await?;
            let is_end = members.len() < wanted;
            if let Some(last) = members.last() {
                from = [b"(".as_slice(), last].concat();
            }
            names.extend(members.iter().filter_map(|name| {
                // An invalid name belongs to no job.
                QueueName::new(std::str::from_utf8(name).ok()?).ok()
            }));
            if is_end {
                break;
            }
        }
        self.shared.known.learn(&names, None);
        Ok(names)
    }

    /// Members of the set of all queues, by name.
    async fn registered(&self, from: &[u8], most: usize) -> Result<Vec<Vec<u8>>> {
        let key = self.shared.keyspace.registry();
        let mut command = cmd("ZRANGE");
        command.arg(&key).arg(from).arg("+").arg("BYLEX").arg("LIMIT").arg(0).arg(most);
        let members = self.call("list_queues", Call::Read, Request::Command { key, command });
        let broken = || unreadable("the set of all queues");
        let members = array_of(members.await?).ok_or_else(broken)?;
        members.into_iter().map(|name| bytes_of(name).ok_or_else(broken)).collect()
    }

    /// How many queues there are, as a text.
    pub(crate) async fn count_queues(&self) -> Result<String> {
        let key = self.shared.keyspace.registry();
        let command = cmd("ZCARD").arg(&key).to_owned();
        let count = self.call("facts", Call::Read, Request::Command { key, command }).await?;
        Ok(number_of(count).ok_or_else(|| unreadable("the set of all queues"))?.to_string())
    }

    /// Learns the names of all queues.
    async fn learn_all(&self) -> Result<()> {
        let begun = Instant::now();
        let mut last: Option<QueueName> = None;
        loop {
            let from = last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
            let mut names = self.queues_from(from, LEARNT).await?;
            if names.len() < LEARNT {
                self.shared.known.learnt_all(begun);
                return Ok(());
            }
            last = names.pop();
        }
    }

    /// Groups jobs by the queues that may have them, and asks those queues: `ask` answers for each
    /// job of its slice whether it was there. A job of no known queue may be in one that another
    /// process has just created.
    pub(crate) async fn for_jobs<T, F>(
        &self,
        ids: &[JobId],
        mut ask: impl FnMut(QueueName, Vec<usize>) -> F,
    ) -> Result<Vec<Option<T>>>
    where
        F: Future<Output = Result<Vec<Option<T>>>>,
    {
        let mut found: Vec<Option<T>> = ids.iter().map(|_| None).collect();
        let mut asked: BTreeSet<(usize, QueueName)> = BTreeSet::new();
        let knows_all = self.shared.known.has_all();
        if !knows_all && !ids.is_empty() {
            self.learn_all().await?;
        }
        for looks_anew in [false, true] {
            if looks_anew && knows_all && found.iter().any(Option::is_none) {
                self.learn_all().await?;
            }
            let missing = (0..ids.len()).filter(|at| found[*at].is_none());
            let candidates = self.candidates(missing.map(|at| ids[at])).await?;
            loop {
                let mut slices: HashMap<QueueName, Vec<usize>> = HashMap::new();
                for (at, id) in ids.iter().enumerate().filter(|(at, _)| found[*at].is_none()) {
                    let candidates = candidates.get(id).into_iter().flatten();
                    let mut next =
                        candidates.filter(|name| !asked.contains(&(at, (*name).clone())));
                    if let Some(name) = next.next() {
                        slices.entry(name.clone()).or_default().push(at);
                    }
                }
                if slices.is_empty() {
                    break;
                }
                for (name, slice) in slices {
                    asked.extend(slice.iter().map(|at| (*at, name.clone())));
                    let answers = ask(name, slice.clone()).await?;
                    for (at, answer) in slice.into_iter().zip(answers) {
                        found[at] = answer;
                    }
                }
            }
        }
        Ok(found)
    }

    /// Takes a queue that is gone off the set of all. Returns whether it was there. If another call
    /// has created the queue again meanwhile, it is entered anew.
    pub(crate) async fn leave_registry(&self, queue: &QueueName) -> Result<bool> {
        let shared = &*self.shared;
        let key = shared.keyspace.registry();
        let command = cmd("ZREM").arg(&key).arg(queue.as_str()).to_owned();
        let leave = Request::Command { key, command };
        let left = self.call("remove_queue", Call::Repeatable, leave).await?;
        shared.known.forget(queue);
        let key = shared.keyspace.meta(queue);
        let command = cmd("EXISTS").arg(&key).to_owned();
        let look = Request::Command { key, command };
        let is_back = self.call("remove_queue", Call::Read, look).await?;
        if number_of(is_back) == Some(1) {
            self.enter_queues(&[queue], true).await?;
        }
        Ok(number_of(left) == Some(1))
    }
}
