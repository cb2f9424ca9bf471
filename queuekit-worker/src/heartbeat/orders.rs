//! Obeys the orders that a beat was answered with.

use queuekit_core::capability::{OrderedMode, Orders};
use tokio::time::Instant;

use crate::run::phase::Phase;
use crate::state::shared::Shared;

/// Obeys orders that are new (contract R3.9); whether there were any. No lease depends on them: the
/// main loop only reserves less, or drains.
pub(super) fn obey(shared: &Shared, orders: Orders) -> bool {
    let ordered = &shared.ordered;
    if !ordered.is_new(&orders) {
        return false;
    }
    let Orders { seq, mode, slots } = orders;
    tracing::info!(worker = %shared.id(), ?mode, ?slots, "orders are obeyed");
    if let Some(slots) = slots {
        ordered.set_slots(slots);
    }
    match mode {
        Some(OrderedMode::Quiet) => ordered.set_quiet(true),
        Some(OrderedMode::Resume) => ordered.set_quiet(false),
        Some(OrderedMode::Stop) => {
            let until = Instant::now() + shared.settings.drain_timeout;
            shared.phases().advance(Phase::Draining { until });
        }
        None => {}
    }
    ordered.set_obeyed(seq);
    // `ring` wakes the pump only if no ring is pending, and one may be since the worker was quiet.
    shared.inbox().ring();
    shared.inbox().nudge();
    true
}
