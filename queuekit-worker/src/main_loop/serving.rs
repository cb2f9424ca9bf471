//! Which queues a worker asks for work, and how much of it.

use std::collections::HashMap;

use queuekit_core::{QueueName, Queues, Result, WeightedQueues};

use crate::state::settings::Settings;

/// With many capped queues there are more combinations than are worth keeping.
const REQUESTS_KEPT: usize = 64;

/// The queues of a worker, and how many jobs of each may run at once.
pub(crate) struct Serving {
    queues: Vec<QueueName>,
    /// Weights beside the queues; strict order without.
    weights: Option<Vec<u8>>,
    /// How many jobs of a queue may run at once, and how many do.
    caps: Vec<Option<Cap>>,
    /// Requests by the places of their queues.
    requests: HashMap<Vec<usize>, Queues>,
}

#[derive(Clone, Copy)]
struct Cap {
    most: usize,
    running: usize,
}

/// What to ask for: at most `limit`, from these queues.
pub(crate) struct Ask {
    pub(crate) queues: Queues,
    pub(crate) limit: usize,
}

impl Serving {
    pub(crate) fn new(settings: &Settings) -> Self {
        let (queues, weights) = (settings.queues.clone(), settings.weights.clone());
        Self::of(queues, weights, &settings.queue_limits)
    }

    fn of(
        queues: Vec<QueueName>,
        weights: Option<Vec<u8>>,
        caps: &HashMap<QueueName, usize>,
    ) -> Self {
        let cap = |queue: &QueueName| caps.get(queue).map(|most| Cap { most: *most, running: 0 });
        Self { caps: queues.iter().map(cap).collect(), queues, weights, requests: HashMap::new() }
    }

    /// The requests that fill this many free slots, in the order of the queues.
    ///
    /// No queue gets more than it has room for, and none holds up another: those with room for
    /// all of them are asked together, each of the others by itself. By weights all are asked
    /// together, for as many as the one with the least room can take, so that the turns are kept.
    ///
    /// # Errors
    /// `Invalid` if a weight is outside its range.
    pub(crate) fn asks(&mut self, free: usize) -> Result<Vec<Ask>> {
        let rooms: Vec<usize> = self.caps.iter().map(|cap| room(*cap).min(free)).collect();
        if self.weights.is_some() {
            let open: Vec<_> = (0..rooms.len()).filter(|at| rooms[*at] > 0).collect();
            let Some(least) = open.iter().map(|at| rooms[*at]).min() else {
                return Ok(Vec::new());
            };
            return Ok(vec![Ask { queues: self.request(open)?, limit: least }]);
        }
        let mut asks = Vec::new();
        let mut together = Vec::new();
        for at in (0..rooms.len()).filter(|at| rooms[*at] > 0) {
            if rooms[at] == free {
                together.push(at);
                continue;
            }
            if !together.is_empty() {
                asks.push((std::mem::take(&mut together), free));
            }
            asks.push((vec![at], rooms[at]));
        }
        if !together.is_empty() {
            asks.push((together, free));
        }
        let ask = |(queues, limit)| Ok(Ask { queues: self.request(queues)?, limit });
        asks.into_iter().map(ask).collect()
    }

    /// These queues; weighted ones keep their turns between calls.
    fn request(&mut self, at: Vec<usize>) -> Result<Queues> {
        if let Some(queues) = self.requests.get(&at) {
            return Ok(queues.clone());
        }
        let names = at.iter().map(|at| self.queues[*at].clone());
        let queues = match &self.weights {
            None => Queues::Strict(names.collect()),
            Some(weights) => {
                let weights = at.iter().map(|at| weights[*at]);
                Queues::Weighted(WeightedQueues::new(names.zip(weights))?)
            }
        };
        if self.requests.len() >= REQUESTS_KEPT {
            self.requests.clear();
        }
        self.requests.insert(at, queues.clone());
        Ok(queues)
    }

    /// How many jobs may be asked for, by the caps.
    pub(crate) fn room(&self) -> usize {
        self.caps.iter().map(|cap| room(*cap)).fold(0, usize::saturating_add)
    }

    /// A job of this queue holds a slot.
    pub(crate) fn taken(&mut self, queue: &QueueName) {
        if let Some(cap) = self.cap(queue) {
            // Bounded, so that `room` cannot underflow if a store grants more than was asked for.
            cap.running = (cap.running + 1).min(cap.most);
        }
    }

    /// A job of this queue holds its slot no more.
    pub(crate) fn freed(&mut self, queue: &QueueName) {
        if let Some(cap) = self.cap(queue) {
            cap.running = cap.running.saturating_sub(1);
        }
    }

    fn cap(&mut self, queue: &QueueName) -> Option<&mut Cap> {
        let capped = |(name, cap): &(&QueueName, &mut Option<Cap>)| cap.is_some() && *name == queue;
        self.queues.iter().zip(&mut self.caps).find(capped)?.1.as_mut()
    }
}

fn room(cap: Option<Cap>) -> usize {
    cap.map_or(usize::MAX, |cap| cap.most - cap.running)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(queue: &str) -> QueueName {
        QueueName::new(queue).unwrap()
    }

    fn asked(serving: &mut Serving, free: usize) -> Vec<(Vec<String>, usize)> {
        let asks = serving.asks(free).unwrap().into_iter();
        let names = |queues: Queues| queues.names().iter().map(ToString::to_string).collect();
        asks.map(|ask| (names(ask.queues), ask.limit)).collect()
    }

    fn queues(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_capped_queue_never_gets_more_than_it_has_room_for() {
        let caps = HashMap::from([(name("b"), 2)]);
        let mut serving = Serving::of(["a", "b", "c"].map(name).to_vec(), None, &caps);
        let strict = [(queues(&["a"]), 10), (queues(&["b"]), 2), (queues(&["c"]), 10)];
        assert_eq!(asked(&mut serving, 10), strict);
        assert_eq!(asked(&mut serving, 2), [(queues(&["a", "b", "c"]), 2)]);
        serving.taken(&name("b"));
        serving.taken(&name("b"));
        assert_eq!(asked(&mut serving, 8), [(queues(&["a", "c"]), 8)]);
        serving.freed(&name("b"));
        assert_eq!(asked(&mut serving, 9)[1], (queues(&["b"]), 1));
    }

    #[test]
    fn by_weights_all_are_asked_together_for_the_least_room() {
        let caps = HashMap::from([(name("b"), 1)]);
        let mut serving =
            Serving::of(["a", "b", "c"].map(name).to_vec(), Some(vec![3, 2, 1]), &caps);
        assert_eq!(asked(&mut serving, 5), [(queues(&["a", "b", "c"]), 1)]);
    }

    #[test]
    fn nothing_is_asked_when_every_queue_is_at_its_cap() {
        let caps = HashMap::from([(name("a"), 1)]);
        let mut serving = Serving::of(vec![name("a")], None, &caps);
        serving.taken(&name("a"));
        assert!(asked(&mut serving, 5).is_empty());
    }
}
