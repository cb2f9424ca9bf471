//! Error groups, on their pages.

use serde_json::json;

use super::Browser;
use crate::common::{Server, on_every_store};

on_every_store!(r8_11_pages_show_how_many_errors_occurred_lately);

fn r8_11_pages_show_how_many_errors_occurred_lately(server: &mut Server) {
    for order in [7, 8] {
        let job = json!({"kind": "mail", "queue": "mails"});
        let stored = server.ask("POST", "/v1/jobs").json(&job).expect(201).value();
        let path = format!("/v1/jobs/{}/dead-letter", stored["id"].as_str().unwrap());
        let reason = json!({"reason": format!("order {order} is gone")});
        server.ask("POST", &path).json(&reason).expect(200);
    }
    let groups = server.get("/v1/errors?queue=mails").send().expect(200).value();
    let id = groups["groups"][0]["id"].as_str().unwrap();
    let browser = Browser::new(server);
    let list = browser.get("/ui/errors?queue=mails").expect(200).text;
    // In the current hour there are none if the hour ended in between.
    for column in ["24 h", "7 d"] {
        let cell = format!("<td data-l=\"{column}\" class=\"n\">2</td>");
        assert!(list.contains(&cell), "{list}");
    }
    assert!(list.contains("<td data-l=\"this hour\" class=\"n\">"), "{list}");
    assert!(list.contains("2 errors in 24 hours"), "{list}");
    let page = browser.get(&format!("/ui/errors/{id}?queue=mails")).expect(200).text;
    for of in ["24 h", "7 d"] {
        let (_, value) = page.split_once(&format!("<dt>{of}</dt>")).expect(&page);
        assert!(value.trim_start().starts_with("<dd>2</dd>"), "{page}");
    }
    assert!(page.contains("2 errors in 24 hours"), "{page}");
}
