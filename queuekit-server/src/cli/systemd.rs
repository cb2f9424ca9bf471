//! Notifies systemd, if it started this process (`Type=notify`).

use sd_notify::NotifyState;

/// The service is ready. If a watchdog is set, it is notified from now on.
pub(crate) fn ready() {
    notify(&NotifyState::Ready);
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
        return;
    };
    // Twice per limit, as sd_watchdog_enabled(3) advises. A runtime that hangs sends nothing.
    let mut ticks = tokio::time::interval(limit / 2);
    tokio::spawn(async move {
        loop {
            ticks.tick().await;
            notify(&NotifyState::Watchdog);
        }
    });
}

/// The service is stopping.
pub(crate) fn stopping() {
    notify(&NotifyState::Stopping);
}

fn notify(state: &NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(std::slice::from_ref(state)) {
        tracing::warn!(%error, ?state, "cannot notify systemd");
    }
}
