//! A semaphore whose number of permits can change while some are held.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A number of permits, of which some are free.
#[derive(Debug)]
pub(crate) struct ResizableSemaphore {
    free: Arc<Semaphore>,
    size: Mutex<u32>,
}

impl ResizableSemaphore {
    /// Without permits; [`resize`](Self::resize) sets their number.
    pub(crate) fn empty() -> Self {
        Self { free: Arc::new(Semaphore::new(0)), size: Mutex::new(0) }
    }

    /// Sets the number of permits. If more are held, their holders keep them, and none is free
    /// until enough have been returned.
    pub(crate) fn resize(&self, size: usize) {
        let size = u32::try_from(size.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        let mut now = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        let (more, fewer) = (size.saturating_sub(*now), now.saturating_sub(size));
        *now = size;
        self.free.add_permits(more as usize);
        let held = fewer as usize - self.free.forget_permits(fewer as usize);
        let held = u32::try_from(held).unwrap_or(u32::MAX);
        if held > 0 {
            let returned = Arc::clone(&self.free).acquire_many_owned(held);
            // Wait in line with others, and take permits as they come back.
            tokio::spawn(async move { returned.await.map(OwnedSemaphorePermit::forget) });
        }
    }

    /// How many permits are free.
    pub(crate) fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// How many permits are held; after a resize to fewer, at most the new number.
    pub(crate) fn held(&self) -> usize {
        let size = *self.size.lock().unwrap_or_else(PoisonError::into_inner);
        (size as usize).saturating_sub(self.free())
    }

    /// Takes this many permits, if they are free.
    pub(crate) fn take(&self, many: u32) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_many_owned(many).ok()
    }

    /// Takes this many permits, once they are free. The semaphore is never closed.
    pub(crate) async fn wait_for(&self, many: u32) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).acquire_many_owned(many).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn s6_fewer_permits_take_none_from_who_holds_one_and_give_none_until_enough_are_back() {
        let permits = ResizableSemaphore::empty();
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
        let permits = ResizableSemaphore::empty();
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
