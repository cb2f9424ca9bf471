//! How many subscriptions of one key may want the same event. Each adds a delivery to the emits of
//! others, and all deliveries of an emit are stored in one step.

use axum::http::StatusCode;
use queuekit::events::{EventPattern, Subscription};

use crate::api::app::App;
use crate::web::{Caller, Problem};

/// Checks a subscription that is to be put, beside those that the key has created.
///
/// # Errors
/// 409 if more of them would want one event than may; those of the store.
pub(super) async fn admit(app: &App, caller: &Caller, given: &Subscription) -> Result<(), Problem> {
    let Some(key) = caller.counted() else { return Ok(()) };
    let (most, own) =
        (app.limits().now().subscriptions_of_event, app.limits().subscriptions.of_key(key));
    if own.len() < most {
        return Ok(());
    }
    let stored = app.client().consumers().list().await?;
    let is_other =
        |one: &&Subscription| one.consumer() != given.consumer() && own.contains(one.consumer());
    let others: Vec<&EventPattern> =
        stored.iter().filter(is_other).map(Subscription::events).collect();
    if fan_out(&others, given.events()) <= most {
        return Ok(());
    }
    let detail = format!(
        "more than {most} subscriptions of the key {key} would want one event: remove unused ones, \
         or raise max_subscriptions_per_event in [limits] of queuekit.toml"
    );
    Err(Problem::new(StatusCode::CONFLICT, "quota_exceeded", detail))
}

/// The most of these patterns that match one type that the new one matches, itself included.
fn fan_out(others: &[&EventPattern], new: &EventPattern) -> usize {
    // Patterns that match one type cover each other like folders, so the narrowest tells for all.
    let narrowest = others.iter().copied().filter(|one| new.covers(one)).chain([new]);
    let matching = |one: &EventPattern| others.iter().filter(|other| other.covers(one)).count();
    1 + narrowest.map(matching).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_what_one_event_makes_counts_and_not_how_many_subscriptions_there_are() {
        let of = |others: &[&str], new: &str| {
            let others: Vec<EventPattern> =
                others.iter().map(|text| text.parse().unwrap()).collect();
            fan_out(&others.iter().collect::<Vec<_>>(), &new.parse().unwrap())
        };
        assert_eq!(of(&[], "*"), 1);
        assert_eq!(of(&["*", "*"], "*"), 3);
        assert_eq!(of(&["a", "b", "c.*", "d.e.*"], "*"), 2);
        assert_eq!(of(&["a.b", "a.b", "a.*", "*", "b"], "a.b"), 5);
        assert_eq!(of(&["a.b", "a.b", "a.*", "*", "b"], "a.c"), 3);
        assert_eq!(of(&["a.b.c", "a.b.*", "a.c.*"], "a.*"), 3);
        assert_eq!(of(&["a.*"], "a"), 1, "the prefix itself is another type");
        assert_eq!(of(&["ab.*"], "a.*"), 1);
    }
}
