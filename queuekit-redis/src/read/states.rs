//! The states of jobs, without the jobs.

use queuekit_core::{JobId, QueueName, Result, State};

use crate::RedisStore;
use crate::codec::{array_of, bytes_of, state_of};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

impl RedisStore {
    /// The states of these jobs, in their order; none for a job that is not stored.
    pub(crate) async fn states_of(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        let ask = |queue: QueueName, places: Vec<usize>| async move {
            let args = places.iter().map(|at| ids[*at].as_bytes().to_vec());
            let read = self.on_queue("job_states", Call::Read, Lua::States, &queue, args);
            let letters = array_of(read.await?).filter(|letters| letters.len() == places.len());
            let letters = letters.ok_or_else(|| unreadable("the states of jobs"))?;
            Ok(letters.into_iter().map(|letter| state_of(*bytes_of(letter)?.first()?)).collect())
        };
        self.for_jobs(ids, ask).await.map_err(|error| error.during("job_states"))
    }
}
