//! Which queues a worker asks for work, and how much of it.

use std::collections::HashMap;

use queuekit_core::{QueueName, Queues, Result, WeightedQueues};

/// Most leases one reserve call may ask for (contract R12).
pub(crate) const RESERVE_MOST: usize = 1000;

/// With many capped queues there are more combinations than are worth keeping.
const REQUESTS_KEPT: usize = 64;

/// The queues of a worker, and how many jobs of each may run at once.
pub(crate) struct Serving {
    queues: Vec<QueueName>,
    /// Weights beside the queues; strict order without.
    weights: Option<Vec<u8>>,
    /// How many jobs of a queue may run at once, and how many do.
    caps: Vec<Option<Cap>>,
    /// Requests by which queues are left out: weighted ones keep their turns between calls.
    requests: HashMap<Vec<bool>, Queues>,
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
    pub(crate) fn new(
        queues: Vec<QueueName>,
        weights: Option<Vec<u8>>,
        caps: &HashMap<QueueName, usize>,
    ) -> Self {
        let cap = |queue: &QueueName| {
            caps.get(queue).map(|most| Cap {
                most: *most,
                running: 0,
            })
        };
        Self {
            caps: queues.iter().map(cap).collect(),
            queues,
            weights,
            requests: HashMap::new(),
        }
    }

    /// The next request for this many free slots; none if every queue is at its cap.
    ///
    /// No queue gets more than it has room for: the limit is the least room of the queues asked,
    /// and the rest is asked for next.
    ///
    /// # Errors
    /// `Invalid` if a weight is outside its range.
    pub(crate) fn ask(&mut self, free: usize) -> Result<Option<Ask>> {
        let room = |cap: &Option<Cap>| cap.map_or(usize::MAX, |cap| cap.most - cap.running);
        let rooms = || self.caps.iter().map(room).filter(|room| *room > 0);
        let Some(least) = rooms().min() else {
            return Ok(None);
        };
        let limit = free.min(least).min(RESERVE_MOST);
        let left_out: Vec<_> = self.caps.iter().map(|cap| room(cap) == 0).collect();
        if let Some(queues) = self.requests.get(&left_out) {
            let queues = queues.clone();
            return Ok((limit > 0).then_some(Ask { queues, limit }));
        }
        let kept = |at: &usize| !left_out[*at];
        let names = (0..self.queues.len())
            .filter(kept)
            .map(|at| self.queues[at].clone());
        let queues = match &self.weights {
            None => Queues::Strict(names.collect()),
            Some(weights) => {
                let weights = (0..weights.len()).filter(kept).map(|at| weights[at]);
                Queues::Weighted(WeightedQueues::new(names.zip(weights))?)
            }
        };
        if self.requests.len() >= REQUESTS_KEPT {
            self.requests.clear();
        }
        self.requests.insert(left_out, queues.clone());
        Ok((limit > 0).then_some(Ask { queues, limit }))
    }

    /// How many jobs may be asked for, by the caps.
    pub(crate) fn room(&self) -> usize {
        let room = |cap: &Option<Cap>| cap.map_or(usize::MAX, |cap| cap.most - cap.running);
        self.caps.iter().map(room).fold(0, usize::saturating_add)
    }

    /// A job of this queue holds a slot.
    pub(crate) fn taken(&mut self, queue: &QueueName) {
        if let Some(cap) = self.cap(queue) {
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
        self.queues
            .iter()
            .zip(&mut self.caps)
            .find(capped)?
            .1
            .as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(queue: &str) -> QueueName {
        QueueName::new(queue).unwrap()
    }

    fn asked(serving: &mut Serving, free: usize) -> (Vec<String>, usize) {
        let ask = serving.ask(free).unwrap().unwrap();
        let names = ask.queues.names().iter().map(ToString::to_string).collect();
        (names, ask.limit)
    }

    #[test]
    fn a_capped_queue_never_gets_more_than_it_has_room_for() {
        let caps = HashMap::from([(name("b"), 2)]);
        let mut serving = Serving::new(vec![name("a"), name("b")], None, &caps);
        assert_eq!(asked(&mut serving, 10), (vec!["a".into(), "b".into()], 2));
        serving.taken(&name("b"));
        assert_eq!(asked(&mut serving, 9), (vec!["a".into(), "b".into()], 1));
        serving.taken(&name("b"));
        assert_eq!(asked(&mut serving, 8), (vec!["a".into()], 8));
        serving.freed(&name("b"));
        assert_eq!(asked(&mut serving, 9).1, 1);
    }

    #[test]
    fn nothing_is_asked_when_every_queue_is_at_its_cap() {
        let caps = HashMap::from([(name("a"), 1)]);
        let mut serving = Serving::new(vec![name("a")], None, &caps);
        serving.taken(&name("a"));
        assert!(serving.ask(5).unwrap().is_none());
        assert!(
            Serving::new(vec![name("a")], None, &HashMap::new())
                .ask(0)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn r12_a_request_is_for_at_most_1000() {
        let mut serving = Serving::new(vec![name("a")], None, &HashMap::new());
        assert_eq!(asked(&mut serving, 5000).1, 1000);
    }
}
