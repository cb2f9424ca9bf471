//! What is changed on pages: schedules, settings, and runs that end with their server.

use super::Browser;
use crate::common::guarded_with;

#[test]
fn a_run_that_ended_with_its_server_can_be_begun_again() {
    let session = "[dashboard]\nsession_secret = \"0123456789abcdef0123456789abcdef\"";
    let mut server = guarded_with(session);
    let admin = Browser::of(&server, "admin");
    let fields = [("action", "retry"), ("q", "queue:acme.q"), ("matched", "1"), ("over", "10m")];
    let run = admin.post("/ui/bulk", &fields).expect(303).header("location").unwrap().to_owned();
    admin.get(&run).expect(200);
    let cookie = admin.cookie().unwrap().to_owned();
    server.kill_and_restart();
    let admin = Browser::with(&server, &cookie);
    let page = admin.get(&run).expect(404).text.replace("&#38;", "&");
    assert!(page.contains("This server does not know the run"), "{page}");
    let again = "/ui/bulk?action=retry&q=queue%3Aacme.q&over=10m";
    assert!(page.contains(&format!("href=\"{again}\"")), "{page}");
    let page = admin.get(again).expect(200).text;
    assert!(page.contains("value=\"10m\" checked"), "{page}");
    let id = run.split('?').next().unwrap();
    for nothing in ["", "?action=explode&q=queue:a", "?action=retry&q=queue:", "?consumer=a%20b"] {
        let page = admin.get(&format!("{id}{nothing}")).expect(404).text;
        assert!(!page.contains("begin again"), "{nothing}: {page}");
    }
}
