//! The ends of several queues and states in one order: the newest first, of equal times by queue
//! and state.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::ended_jobs::{End, Ended, EndedJobs, EndsBefore};
use crate::backend::JobFilter;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::State;
use crate::names::QueueName;

/// The states in which a job has ended, in the order of listings (R8.2).
const STATES: [State; 3] = [State::Dead, State::Cancelled, State::Completed];

/// How many times as many ends are read as are wanted, so that few steps read them.
const AHEAD: usize = 4;

/// The ends after a place.
///
/// It knows of each source the newest end that it has not given out. The others of a source are
/// read only if that one is among the newest: a page reads about as many ends as it shows, and one
/// of each source.
#[derive(Debug)]
pub(super) struct Merge {
    /// By queue and state.
    sources: Vec<Source>,
    /// The newest end that is known of each source, and the source.
    newest: BinaryHeap<(Timestamp, Reverse<usize>)>,
    /// The sources of which none is known: one of them may be newer than all that are.
    unknown: Vec<usize>,
    from: Option<Timestamp>,
}

/// The ends of one queue in one state.
#[derive(Debug)]
struct Source {
    /// Where the store continues.
    ends: EndsBefore,
    /// What it has read and not given out.
    known: VecDeque<End>,
    /// Whether there are no others.
    is_end: bool,
}

impl Merge {
    pub(super) fn of(filter: &JobFilter, queues: Vec<QueueName>, place: Option<&Ended>) -> Self {
        let states = STATES.into_iter().filter(|state| state.statuses().meets(filter.statuses));
        let states: Vec<State> = states.collect();
        let mut sources = Vec::with_capacity(queues.len() * states.len());
        for queue in queues {
            for state in &states {
                let before = match place {
                    Some(place) => beyond(place, &queue, *state),
                    None => End::first_at(filter.finished.to.unwrap_or(LAST)),
                };
                let ends = EndsBefore { queue: queue.clone(), state: *state, before };
                sources.push(Source { ends, known: VecDeque::new(), is_end: false });
            }
        }
        let unknown = (0..sources.len()).collect();
        Self { sources, newest: BinaryHeap::new(), unknown, from: filter.finished.from }
    }

    /// The next ends, up to this many; fewer only at the end.
    pub(super) async fn next(&mut self, store: &dyn EndedJobs, most: usize) -> Result<Vec<Ended>> {
        let mut next = Vec::with_capacity(most);
        while next.len() < most {
            if !self.unknown.is_empty() {
                self.read(store, most - next.len()).await?;
            }
            let Some((_, Reverse(at))) = self.newest.pop() else { break };
            let source = &mut self.sources[at];
            if let Some(end) = source.known.pop_front() {
                let EndsBefore { queue, state, .. } = source.ends.clone();
                next.push(Ended { queue, state, end });
            }
            self.place(at);
        }
        Ok(next)
    }

    pub(super) fn is_end(&self) -> bool {
        self.sources.iter().all(|source| source.is_end && source.known.is_empty())
    }

    /// Reads on in the unknown sources, and in those whose end is among the next ones.
    async fn read(&mut self, store: &dyn EndedJobs, wanted: usize) -> Result<()> {
        let mut of = std::mem::take(&mut self.unknown);
        let mut short = self.short_of(wanted);
        // Each source is asked for one end at least, so more sources would read more than is
        // wanted.
        short.truncate(wanted.saturating_sub(of.len()));
        of.extend(short);
        let asked: Vec<EndsBefore> = of.iter().map(|at| self.sources[*at].ends.clone()).collect();
        let most = (AHEAD * wanted / of.len()).clamp(1, wanted);
        let read = store.ends(&asked, most).await?;
        for (at, ends) in of.into_iter().zip(read) {
            // A source that was only short is in the heap already.
            let is_placed = !self.sources[at].known.is_empty();
            self.sources[at].learn(ends, most, self.from);
            if !is_placed {
                self.place(at);
            }
        }
        Ok(())
    }

    /// The sources of which all that is known is among this many newest ends, so that they will run
    /// out. The newest first.
    fn short_of(&self, wanted: usize) -> Vec<usize> {
        let known = self.sources.iter().flat_map(|source| &source.known);
        let mut known: Vec<Reverse<Timestamp>> = known.map(|end| Reverse(end.at)).collect();
        let last = wanted.saturating_sub(1);
        let last = (last < known.len()).then(|| *known.select_nth_unstable(last).1);
        let place = |at: usize| {
            let source = self.sources.get(at).filter(|source| !source.is_end)?;
            Some((Reverse(source.known.back()?.at), at))
        };
        let of = (0..self.sources.len()).filter_map(place);
        let mut of: Vec<_> = of.filter(|(at, _)| last.is_none_or(|last| *at <= last)).collect();
        of.sort_unstable();
        of.into_iter().map(|(_, at)| at).collect()
    }

    /// Puts a source where its newest end is.
    fn place(&mut self, at: usize) {
        let source = &self.sources[at];
        match source.known.front() {
            Some(end) => self.newest.push((end.at, Reverse(at))),
            None if source.is_end => {}
            None => self.unknown.push(at),
        }
    }
}

impl Source {
    fn learn(&mut self, ends: Vec<End>, most: usize, from: Option<Timestamp>) {
        self.is_end = ends.len() < most;
        for end in ends {
            // The newest came first, so all that follow are too old as well.
            if from.is_some_and(|from| end.at < from) {
                self.is_end = true;
                return;
            }
            self.ends.before = end;
            self.known.push_back(end);
        }
    }
}

/// After all times at which a job can end.
const LAST: Timestamp = Timestamp::from_millis(i64::MAX);

/// Before which end the ends of a queue and state are beyond a place.
fn beyond(place: &Ended, queue: &QueueName, state: State) -> End {
    let rank = |state: State| STATES.iter().position(|each| *each == state);
    let at = place.end.at;
    match (queue, rank(state)).cmp(&(&place.queue, rank(place.state))) {
        // Its ends of that same time came before the place.
        std::cmp::Ordering::Less => End::first_at(at),
        std::cmp::Ordering::Equal => place.end,
        // Its ends of that same time come after the place.
        std::cmp::Ordering::Greater => {
            End::first_at(Timestamp::from_millis(at.as_millis().saturating_add(1)))
        }
    }
}
