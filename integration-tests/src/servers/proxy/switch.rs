use tokio::sync::watch;

use super::{Counts, Mode};

/// The shared state of a proxy and its connections.
#[derive(Debug)]
pub(super) struct Switch {
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    mode: Mode,
    /// How often connections were cut. A short cut cannot be seen from the mode alone.
    cuts: u64,
    /// The number of a connection of which nothing is forwarded.
    held: Option<u64>,
    counts: Counts,
}

/// The fate of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    IsLost,
}

impl Default for Switch {
    fn default() -> Self {
        Self { state: watch::Sender::new(State::default()) }
    }
}

impl Switch {
    pub(super) fn set(&self, mode: Mode) {
        self.state.send_modify(|state| {
            state.mode = mode;
            state.cuts += u64::from(mode == Mode::Cut);
        });
    }

    pub(super) fn mode(&self) -> Mode {
        self.state.borrow().mode
    }

    pub(super) fn counts(&self) -> Counts {
        self.state.borrow().counts
    }

    pub(super) async fn until(&self, reached: &mut impl FnMut(&Counts) -> bool) -> Counts {
        let mut states = self.state.subscribe();
        let state = states.wait_for(|state| reached(&state.counts)).await;
        state.expect("the sender is here").counts
    }

    pub(super) fn count(&self, count: impl FnOnce(&mut Counts)) {
        self.state.send_modify(|state| count(&mut state.counts));
    }

    /// By it a connection tells later whether it was cut.
    pub(super) fn cuts(&self) -> u64 {
        self.state.borrow().cuts
    }

    /// Returns when connections are cut that were accepted after `cuts` cuts.
    pub(super) async fn cut_since(&self, cuts: u64) {
        let mut states = self.state.subscribe();
        let cut = states.wait_for(|state| state.cuts > cuts || state.mode == Mode::Cut).await;
        drop(cut.expect("the sender is here"));
    }

    pub(super) fn hold(&self, connection: Option<u64>) {
        self.state.send_modify(|state| state.held = connection);
    }

    /// Counts a connection, and returns its number: the first is 1.
    pub(super) fn accept(&self) -> u64 {
        self.count(|counts| {
            counts.accepted += 1;
            counts.open += 1;
        });
        self.counts().accepted
    }

    /// Returns when it is no black hole, and the connection is not held.
    pub(super) async fn open(&self, connection: u64) {
        let mut states = self.state.subscribe();
        let is_open =
            |state: &State| state.mode != Mode::BlackHole && state.held != Some(connection);
        let open = states.wait_for(is_open).await;
        drop(open.expect("the sender is here"));
    }

    /// Returns when the connection is open, or never if it loses what goes in this direction.
    pub(super) async fn forwards(&self, connection: u64, lost_in: Mode) {
        self.open(connection).await;
        if self.mode() == lost_in {
            std::future::pending::<()>().await;
        }
    }

    /// How many of `length` bytes from the server arrive; if not all, the connection has to be cut.
    pub(super) fn arrive(&self, length: usize) -> usize {
        let mut arrive = length;
        self.state.send_if_modified(|state| {
            let Mode::CutReply { after } = state.mode else { return false };
            state.mode = match after.checked_sub(length as u64) {
                Some(left) => Mode::CutReply { after: left },
                None => {
                    arrive = usize::try_from(after).unwrap_or(length);
                    Mode::Pass
                }
            };
            true
        });
        arrive
    }

    /// What is to become of a reply that begins to arrive.
    pub(super) fn fate_of_reply(&self) -> Fate {
        let mut fate = Fate::Arrives;
        self.state.send_if_modified(|state| {
            match state.mode {
                Mode::LoseReply { after: 0 } => {
                    state.mode = Mode::Pass;
                    fate = Fate::IsLost;
                }
                Mode::LoseReply { after } => state.mode = Mode::LoseReply { after: after - 1 },
                _ => return false,
            }
            true
        });
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reply_is_lost_after_those_that_are_let_through() {
        let switch = Switch::default();
        assert_eq!(switch.fate_of_reply(), Fate::Arrives);
        switch.set(Mode::LoseReply { after: 1 });
        let fates: Vec<Fate> = (0..3).map(|_| switch.fate_of_reply()).collect();
        assert_eq!(fates, [Fate::Arrives, Fate::IsLost, Fate::Arrives]);
        assert_eq!(switch.mode(), Mode::Pass);
    }

    #[test]
    fn one_reply_is_cut_after_so_many_bytes() {
        let switch = Switch::default();
        assert_eq!(switch.arrive(7), 7);
        switch.set(Mode::CutReply { after: 10 });
        assert_eq!([7, 3, 1, 7].map(|length| switch.arrive(length)), [7, 3, 0, 7]);
        assert_eq!(switch.mode(), Mode::Pass);
    }

    #[tokio::test]
    async fn one_connection_is_held_and_the_others_are_not() {
        let switch = Switch::default();
        let (first, second) = (switch.accept(), switch.accept());
        switch.hold(Some(first));
        switch.open(second).await;
        let held = std::pin::pin!(switch.open(first));
        assert!(futures_util::FutureExt::now_or_never(held).is_none());
        switch.hold(None);
        switch.open(first).await;
    }

    #[tokio::test]
    async fn a_cut_is_seen_by_whoever_looks_after_it_was_over() {
        let switch = Switch::default();
        let before = switch.cuts();
        switch.set(Mode::Cut);
        switch.set(Mode::Pass);
        switch.cut_since(before).await;
        assert!(switch.cuts() > before);
    }
}
