//! What can be done about what needs attention.

use queuekit::jobs::BulkAction;

use super::act::{Act, BulkAct, OVER};
use super::model::{Model, Notice, Request};
use crate::ui::attention::Remedy;

impl Model {
    /// Asks whether to do what the selected sentence offers.
    pub(super) fn mend(&mut self) -> Vec<Request> {
        let Some(remedy) = self.selected_concern().and_then(|found| found.remedy) else {
            self.notice = Notice::error("nothing can be done about it here");
            return Vec::new();
        };
        let confirm = match remedy {
            Remedy::ResumeQueue(name) => {
                let queue = self.figures.queues().iter().find(|queue| queue.name.as_str() == name);
                queue.map(|queue| Act::turn(&queue.name, true))
            }
            Remedy::RetryDead { group, queue, .. } => {
                let act = BulkAct::of_group(BulkAction::RetryOver(OVER), &group, &queue);
                return self.count(Some(act));
            }
            Remedy::RunSchedule(name) => Some(Act::run_schedule(name)),
            Remedy::EnableConsumer(name) => Some(Act::enable_consumer(name)),
        };
        self.ask_to_confirm(confirm.ok_or_else(|| "the queue is gone".to_owned()));
        Vec::new()
    }
}

/// What the key does, in the last line.
pub(super) fn label(remedy: &Remedy) -> &'static str {
    match remedy {
        Remedy::ResumeQueue(_) => "resume queue",
        Remedy::RetryDead { .. } => "retry all",
        Remedy::RunSchedule(_) => "run now",
        Remedy::EnableConsumer(_) => "enable consumer",
    }
}
