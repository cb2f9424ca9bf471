use super::*;
use queuekit_core::{CheckpointName, JobDraft};

fn job() -> NewJob {
    JobDraft::new("greet", "{}").build().expect("a job")
}

#[test]
fn a_schema_that_is_no_plain_name_is_refused() {
    let long = "x".repeat(64);
    for name in ["", "a b", "a;b", "A", "1a", "a\"", "é", &long] {
        assert!(Functions::in_schema(name).is_err(), "{name}");
    }
    let functions = Functions::in_schema("example_jobs2").expect("a schema");
    let statement = functions.enqueue(&[job()]).expect("a statement");
    assert!(statement.sql().contains("example_jobs2.enqueue_many("), "{statement:?}");
    assert!(!statement.sql().contains("queuekit."), "{statement:?}");
}

#[test]
fn an_answer_of_another_length_or_form_is_unreadable() {
    let statement = Functions::default().enqueue(&[job()]).expect("a statement");
    let created = r#"{"outcome":"created","id":"019b76da-a800-7000-8000-0000000037a8"}"#;
    for answer in ["", "[]", "{}", &format!("[{created},{created}]"), r#"[{"outcome":"eaten"}]"#] {
        let error = statement.read(answer).expect_err(answer);
        assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error}");
    }
    assert!(statement.read(&format!("[{created}]")).expect("an answer").ids().is_ok());
}

#[test]
fn outcomes_come_back_in_the_order_of_the_acks() {
    let token =
        |last: char| format!("default~019b76da-a800-7000-8000-0000000{last}37a8~1~{:032}", 0);
    let acks = ['3', '1', '2'].map(|last| Ack::new(token(last).parse().expect("a token")));
    let acks = acks.to_vec();
    let statement = Functions::default().ack(&acks).expect("a statement");
    let [first, second] = ["0137a8", "0237a8"].map(|id| statement.parameter().find(id));
    assert!(first < second, "leases are taken in the order of ids");
    let answer = r#"["acked","lease_lost","already_done"]"#;
    let outcomes = statement.read(answer).expect("an answer");
    let wanted = [AckOutcome::AlreadyDone, AckOutcome::Acked, AckOutcome::LeaseLost];
    assert_eq!(outcomes, wanted);
}

#[test]
fn the_outcome_of_a_step_is_read_by_its_word() {
    let token = format!("default~019b76da-a800-7000-8000-0000000037a8~1~{:032}", 0);
    let step = NewCheckpoint::new(
        token.parse().expect("a token"),
        CheckpointName::new("s").expect("a name"),
        "7",
    );
    let statement = Functions::default().checkpoint(&step.expect("a step")).expect("a statement");
    for (word, outcome) in [
        ("stored", CheckpointOutcome::Stored),
        ("conflict", CheckpointOutcome::Conflict),
        ("full", CheckpointOutcome::Full),
        ("lease_lost", CheckpointOutcome::LeaseLost),
        ("not_found", CheckpointOutcome::NotFound),
    ] {
        let read = statement.read(&format!("[{word:?}]")).expect(word);
        assert_eq!(read, outcome);
    }
    assert!(statement.read(r#"["eaten"]"#).is_err());
    assert!(statement.read("[]").is_err());
}

#[test]
fn a_job_that_moves_is_refused() {
    let moved = JobDraft::new("greet", "{}").moved_from(job().id()).build().expect("a job");
    let error = Functions::default().enqueue(&[job(), moved]).expect_err("a move");
    assert!(error.to_string().contains("moved_from"), "{error}");
}

#[test]
fn debug_shows_no_payload() {
    let secret = JobDraft::new("greet", "secret").build().expect("a job");
    let statement = Functions::default().enqueue(&[secret]).expect("a statement");
    assert!(!format!("{statement:?}").contains("c2VjcmV0"));
    assert!(statement.parameter().contains("c2VjcmV0"));
}
