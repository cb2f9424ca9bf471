//! Permits of which there may be more or fewer while some are held.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many, of which some are free.
#[derive(Debug)]
pub(super) struct Permits {
    free: Arc<Semaphore>,
    size: Mutex<u32>,
}

impl Permits {
    /// Without any: they are given by [`resize`](Self::resize).
    pub(super) fn none() -> Self {
        Self { free: Arc::new(Semaphore::new(0)), size: Mutex::new(0) }
    }

    /// Sets how many there are. Where more than that are held, nobody loses one, and none is free
    /// until enough have been given back.
    pub(super) fn resize(&self, size: usize) {
        let size = u32::try_from(size.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        let mut now = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let (more, fewer) = (size.saturating_sub(*now), now.saturating_sub(size));
        *now = size;
        self.free.add_permits(more as usize);
        let held = fewer as usize - self.free.forget_permits(fewer as usize);
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        if held > 0 {
            let returned = Arc::clone(&self.free).acquire_many_owned(held);
            // It stands in line with others, and takes what comes back piece by piece.
            tokio::spawn(async move { returned.await.map(OwnedSemaphorePermit::forget) });
        }
    }

    /// How many are free.
    pub(super) fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// So many, if they are free.
    pub(super) fn take(&self, many: u32) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_many_owned(many).ok()
    }

    /// So many, once they are free; none never, for it is not closed.
    pub(super) async fn wait_for(&self, many: u32) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_many_owned(many).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn s6_fewer_permits_take_none_from_who_holds_one_and_give_none_until_enough_are_back() {
        let permits = Permits::none();
        permits.resize(4);
        let mut held: Vec<_> = (0..4).filter_map(|_| permits.take(1)).collect();
        permits.resize(2);
        tokio::task::yield_now().await;
        while held.len() > 2 {
            held.pop();
            tokio::task::yield_now().await;
            assert!(permits.take(1).is_none(), "{} of 2 are held", held.len());
        }
        held.pop();
        assert!(permits.take(1).is_some());
    }

    #[tokio::test]
    async fn s6_permits_can_be_more_again_before_all_that_are_too_many_are_back() {
        let permits = Permits::none();
        permits.resize(4);
        let held = permits.take(4).unwrap();
        for (size, free) in [(1, 0), (3, 0), (2, 0), (6, 2), (5, 1), (usize::MAX, 0)] {
            permits.resize(size);
            tokio::task::yield_now().await;
            if size < usize::MAX {
                assert_eq!(permits.free(), free, "of {size}, 4 are held");
            }
        }
        permits.resize(5);
        drop(held);
        tokio::task::yield_now().await;
        assert_eq!(permits.free(), 5);
    }
}
