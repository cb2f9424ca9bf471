//! Notes on error groups, on their pages.

use serde_json::json;

use super::Browser;
use crate::common::{Server, on_every_store};

on_every_store!(r8_10_a_page_writes_a_note_on_a_group);

fn r8_10_a_page_writes_a_note_on_a_group(server: &mut Server) {
    let job = json!({"kind": "mail", "queue": "mails"});
    let stored = server.ask("POST", "/v1/jobs").json(&job).expect(201).value();
    let path = format!("/v1/jobs/{}/dead-letter", stored["id"].as_str().unwrap());
    server.ask("POST", &path).json(&json!({"reason": "order 7 is gone"})).expect(200);
    let groups = server.get("/v1/errors?queue=mails").send().expect(200).value();
    let id = groups["groups"][0]["id"].as_str().unwrap();
    let browser = Browser::new(server);
    let page = |path: &str| browser.get(path).expect(200).text;
    let own = format!("/ui/errors/{id}?queue=mails");
    assert!(page(&own).contains("Save note"));
    let write = |text: &str| {
        let fields = [("queue", "mails"), ("text", text)];
        browser.post(&format!("/ui/errors/{id}/note"), &fields)
    };
    let done = write(" <b>mailer</b>, ticket 124 ").expect(303);
    let next = done.header("location").unwrap();
    assert!(page(next).contains("The note is saved."));
    for path in [own.as_str(), "/ui/errors?queue=mails"] {
        let shown = page(path);
        assert!(shown.contains("mailer") && shown.contains(", ticket 124"), "{path}: {shown}");
        assert!(!shown.contains("<b>mailer"), "{path} escapes the note: {shown}");
    }
    while !page("/ui").contains("note of -: ") {}
    write(&"x".repeat(501)).expect(422);
    write("").expect(303);
    assert!(!page(&own).contains("ticket 124"));
}
