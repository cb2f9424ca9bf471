//! Several callers at once.

use std::sync::Arc;

use queuekit_core::Backend;

use crate::World;

/// Runs futures as tasks of their own, so that they truly run at once; answers in their order.
pub async fn in_parallel<F>(tasks: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let running: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
    let mut answers = Vec::with_capacity(running.len());
    for task in running {
        match task.await {
            Ok(answer) => answers.push(answer),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
    answers
}

impl<'w> dyn World + 'w {
    /// Every handle the harness can open: one or two.
    pub async fn handles(&self) -> Vec<Arc<dyn Backend>> {
        let first = Arc::clone(self.backend());
        [Some(first), self.second_handle().await].into_iter().flatten().collect()
    }
}
