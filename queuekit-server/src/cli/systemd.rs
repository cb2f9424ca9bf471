//! What systemd is told, if it started us (`Type=notify`).

use sd_notify::NotifyState;

/// The service is up; if a watchdog is set, it hears of us from now on.
pub(crate) fn ready() {
    notify(&NotifyState::Ready);
    let Some(limit) = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero()) else {
        return;
    };
    // Twice per limit, as sd_watchdog_enabled(3) advises; a runtime that hangs tells nothing.
    let mut ticks = tokio::time::interval(limit / 2);
    tokio::spawn(async move {
        loop {
            ticks.tick().await;
            notify(&NotifyState::Watchdog);
        }
    });
}

/// The service is on its way to its end.
pub(crate) fn stopping() {
    notify(&NotifyState::Stopping);
}

fn notify(state: &NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(std::slice::from_ref(state)) {
        tracing::warn!(%error, ?state, "systemd cannot be told");
    }
}
