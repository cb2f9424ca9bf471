//! Waits for the markers that scripts set when a queue gained work, on connections of its own.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use queuekit_core::{QueueName, retry};
use redis::aio::MultiplexedConnection;
use redis::{Value, cmd};
use tokio::sync::watch;

use crate::Shared;
use crate::codec::bytes_of;
use crate::error::{Failure, Outcome};
use crate::node::Node;
use crate::repeat::Call;

/// How long one look waits. The end of a look shows whether the connection still lives.
const LOOK_S: u64 = 5;
/// The same while a worker rests, because every look is a call (contract R13.12).
const RESTING_LOOK_S: u64 = 3600;

/// The most slots of a Cluster whose markers a store waits for; each needs a connection of its own.
/// Queues in further slots are polled.
const SLOTS: usize = 32;

/// The most queues that a connection watches, because each look names them all. Further ones are
/// polled.
const WATCHED: usize = 1000;

/// How many queues a connection watches before it drops those that no worker waits for any more.
const KEPT: usize = 64;

/// For each queue that a connection watches, a change of the set waits this long: a change connects
/// again and names all of them, and callers can wait for new queues as often as they like.
const CHANGE_PAUSE: Duration = Duration::from_millis(1);

type Queues = BTreeSet<QueueName>;

/// The queues whose markers the store waits for, grouped by connection.
#[derive(Debug, Default)]
pub(crate) struct Marker(Mutex<Groups>);

/// By slot; a store that is no Cluster has one group.
type Groups = HashMap<Option<u16>, Group>;

/// The queues of a connection.
#[derive(Debug)]
struct Group {
    watched: watch::Sender<Queues>,
    /// The queues whose markers the connection waits for now.
    seen: Arc<Mutex<Queues>>,
}

impl Marker {
    /// Waits for these queues too. The first queue of a connection opens it.
    pub(crate) fn watch(&self, shared: &Arc<Shared>, queues: &[QueueName]) {
        let mut by_group: HashMap<Option<u16>, Vec<&QueueName>> = HashMap::new();
        for queue in queues {
            let group = shared.topology.group_of(&shared.keyspace.marker(queue));
            by_group.entry(group).or_default().push(queue);
        }
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_awaited = |queue: &QueueName| shared.wakeups.is_awaited(queue);
        for (group, queues) in by_group {
            if !groups.contains_key(&group) && groups.len() == SLOTS {
                remove_unawaited(&mut groups, is_awaited);
            }
            if let Some(Group { watched, .. }) = groups.get(&group) {
                watched.send_if_modified(|watched| add(watched, &queues, is_awaited));
            } else if groups.len() < SLOTS {
                let mut first = Queues::new();
                add(&mut first, &queues, is_awaited);
                let (watched, look) = watch::channel(first);
                let seen = Arc::<Mutex<Queues>>::default();
                groups.insert(group, Group { watched, seen: Arc::clone(&seen) });
                shared.io.spawn(wait(Arc::downgrade(shared), look, seen));
            }
        }
    }

    /// Whether a connection waits for the marker of each of these queues.
    pub(crate) fn sees(&self, queues: &[QueueName]) -> bool {
        let groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unseen: Vec<&QueueName> = queues.iter().collect();
        for Group { seen, .. } in groups.values() {
            let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            unseen.retain(|queue| !seen.contains(*queue));
        }
        unseen.is_empty()
    }
}

/// Removes the groups without a queue that a worker waits for, so that others get their slots. The
/// task of a removed group ends, because its sender is gone.
fn remove_unawaited(groups: &mut Groups, is_awaited: impl Fn(&QueueName) -> bool) {
    groups.retain(|_, group| group.watched.borrow().iter().any(&is_awaited));
}

/// Adds as many of these queues as there is room for, and returns whether it has added any.
/// Whenever the set would double or be full, it first drops the queues that no worker waits for any
/// more: callers can invent names without end.
fn add(
    watched: &mut Queues,
    queues: &[&QueueName],
    is_awaited: impl Fn(&QueueName) -> bool,
) -> bool {
    let new: Vec<_> = queues.iter().filter(|queue| !watched.contains(**queue)).collect();
    let size = |queues: usize| queues.max(KEPT).next_power_of_two();
    let (before, after) = (watched.len(), watched.len() + new.len());
    if size(before) < size(after) || after > WATCHED {
        watched.retain(is_awaited);
    }
    let kept = watched.len();
    watched.extend(new.into_iter().take(WATCHED.saturating_sub(kept)).copied().cloned());
    watched.len() > kept
}

/// Runs until the store or the group is dropped.
async fn wait(
    shared: Weak<Shared>,
    mut watched: watch::Receiver<Queues>,
    seen: Arc<Mutex<Queues>>,
) {
    let see = |queues| *seen.lock().unwrap_or_else(PoisonError::into_inner) = queues;
    let mut failures = 0;
    while let Some(strong) = shared.upgrade() {
        if watched.has_changed().is_err() {
            return;
        }
        let Some(first) = watched.borrow().first().map(|queue| strong.keyspace.marker(queue))
        else {
            return;
        };
        let connected = connect(&strong, &first).await;
        drop(strong);
        let ended = match connected {
            Ok((node, connection)) => {
                failures = 0;
                let queues = watched.borrow_and_update().clone();
                see(queues.clone());
                // Markers may have been set while nobody looked, or have been taken by a look that
                // was given up.
                if let Some(shared) = shared.upgrade() {
                    queues.iter().for_each(|queue| shared.wakeups.ring(queue));
                }
                let ended = look(&shared, connection, &mut watched).await;
                see(Queues::new());
                ended.map_err(|failure| (Some(node), failure))
            }
            Err(failure) => Err((None, failure)),
        };
        if let Err((node, failure)) = ended {
            tracing::debug!(error = %failure.error, "markers are not received; workers poll");
            // A resting worker is not woken any more: from now on it has to look by itself.
            if let (0, Some(shared)) = (failures, shared.upgrade()) {
                shared.wakeups.ring_all();
            }
            if let (Some(shared), Some(node)) = (shared.upgrade(), node)
                && shared.topology.redirect(&node, &failure).is_none()
            {
                node.suspect(true);
            }
            tokio::time::sleep(retry::reconnect_delay(failures, retry::chance())).await;
            failures += 1;
        }
    }
}

/// A connection to the server that has this marker.
async fn connect(shared: &Shared, marker: &str) -> Outcome<(Arc<Node>, MultiplexedConnection)> {
    let node = shared.topology.node_of(marker).await?;
    let connected = node.link(Call::Read).connect().await;
    let connection = connected.inspect_err(|_| node.suspect(true))?;
    Ok((node, connection))
}

/// Looks for markers until the connection fails or the set of queues changes. A waiting look cannot
/// be cancelled, so its connection is closed then.
async fn look(
    shared: &Weak<Shared>,
    mut connection: MultiplexedConnection,
    watched: &mut watch::Receiver<Queues>,
) -> Outcome<()> {
    let queues: Vec<QueueName> = watched.borrow().iter().cloned().collect();
    let Some(keys) = shared
        .upgrade()
        .map(|shared| queues.iter().map(|queue| shared.keyspace.marker(queue)).collect::<Vec<_>>())
    else {
        return Ok(());
    };
    let pause = CHANGE_PAUSE * u32::try_from(queues.len()).unwrap_or(u32::MAX);
    let changes_at = tokio::time::Instant::now() + pause;
    let change = async {
        tokio::time::sleep_until(changes_at).await;
        drop(watched.changed().await);
    };
    tokio::pin!(change);
    loop {
        let Some(rests) = shared.upgrade().map(|shared| shared.resting.any()) else {
            return Ok(());
        };
        let look_s = if rests { RESTING_LOOK_S } else { LOOK_S };
        let mut command = cmd("BLPOP");
        command.arg(&keys).arg(look_s);
        let limit = Duration::from_secs(look_s + LOOK_S);
        let asked = connection.send_packed_command(&command);
        let answer = tokio::select! {
            answer = tokio::time::timeout(limit, asked) => answer,
            () = &mut change => return Ok(()),
        };
        let Ok(answer) = answer else {
            let message = "the connection that waits for markers does not answer";
            let kind = queuekit_core::ErrorKind::Unavailable;
            return Err(queuekit_core::Error::new(kind, message).into());
        };
        let answer = answer.and_then(Value::extract_error).map_err(Failure::from)?;
        let Some(shared) = shared.upgrade() else {
            return Ok(());
        };
        if let Value::Array(mut parts) = answer
            && let Some(key) = parts.drain(..).next().and_then(bytes_of)
            && let Some(at) = keys.iter().position(|name| name.as_bytes() == key)
        {
            shared.wakeups.ring(&queues[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::Notify;

    use super::*;
    use crate::RedisConfig;
    use crate::open::unasked;

    fn queue(name: String) -> QueueName {
        QueueName::new(name).unwrap()
    }

    /// Guard: groups without an awaited queue give up their slots.
    #[test]
    fn s6_invented_queues_keep_no_connection_from_others() {
        let mut groups = Groups::new();
        for slot in 0..3 {
            let (watched, _) = watch::channel(Queues::from([queue(format!("q{slot}"))]));
            groups.insert(Some(slot), Group { watched, seen: Arc::default() });
        }
        remove_unawaited(&mut groups, |queue| queue.as_str() == "q1");
        assert_eq!(groups.into_keys().collect::<Vec<_>>(), [Some(1)]);
    }

    /// Greets one connection, and answers no BLPOP.
    async fn silent_server(listener: TcpListener, looks: Arc<Notify>) {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = connection.read(&mut bytes).await {
            let text = String::from_utf8_lossy(&bytes[..length]);
            if text.contains("BLPOP") {
                looks.notify_one();
                continue;
            }
            for _ in text.lines().filter(|line| line.starts_with('*')) {
                connection.write_all(b"+OK\r\n").await.unwrap();
            }
        }
    }

    /// Guard: a task whose group is gone neither waits nor connects again.
    #[tokio::test]
    async fn s6_the_task_of_a_group_that_was_removed_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let looks = Arc::<Notify>::default();
        let _server = tokio::spawn(silent_server(listener, Arc::clone(&looks)));
        let store = unasked(&RedisConfig::from_url(&url).unwrap()).unwrap();
        let task =
            |watched| tokio::spawn(wait(Arc::downgrade(&store.shared), watched, Arc::default()));
        let group = || watch::channel(Queues::from([queue("q".to_owned())]));
        let (first, watched) = group();
        let waiting = task(watched);
        looks.notified().await;
        drop(first);
        let ends = |task| tokio::time::timeout(Duration::from_secs(2), task);
        ends(waiting).await.expect("the one that waits ends").unwrap();
        let (second, watched) = group();
        drop(second);
        ends(task(watched)).await.expect("the one that connects ends").unwrap();
    }

    /// Guard: queues that no worker waits for are dropped before the set doubles.
    #[test]
    fn s6_queues_that_nobody_waits_for_any_more_are_not_watched() {
        let awaited: Vec<QueueName> = (0..100).map(|n| queue(format!("awaited-{n}"))).collect();
        let mut watched = Queues::new();
        for number in 0..10_000 {
            let is_awaited = |queue: &QueueName| awaited.contains(queue);
            add(&mut watched, &[&awaited[number % 100]], is_awaited);
            assert!(add(&mut watched, &[&queue(format!("invented-{number}"))], is_awaited));
        }
        assert!(watched.len() <= 2 * 128, "{} are watched", watched.len());
        assert!(awaited.iter().all(|queue| watched.contains(queue)));
        assert!(!add(&mut watched, &[&awaited[0]], |_| true));
    }

    /// Guard: the bound of the set, and that a full one makes room.
    #[test]
    fn s6_a_connection_watches_so_many_queues_and_the_others_are_polled() {
        let many: Vec<QueueName> = (0..WATCHED + 10).map(|n| queue(format!("q{n}"))).collect();
        let many: Vec<&QueueName> = many.iter().collect();
        let mut watched = Queues::new();
        assert!(add(&mut watched, &many, |_| true));
        assert_eq!(watched.len(), WATCHED);
        let new = queue("new".to_owned());
        assert!(!add(&mut watched, &[&new], |_| true), "all are awaited");
        assert!(add(&mut watched, &[&new], |queue| queue.as_str() != "q0"));
        assert_eq!((watched.len(), watched.contains(&new)), (WATCHED, true));
    }
}
