//! Calls with several parts, each a step of its own.

use queuekit_core::{Error, ErrorKind, Result};

/// The answers of all parts. If some took effect and others failed, the whole is in doubt: a
/// repetition finds the finished parts done (contract R2.3).
pub(crate) fn joined<T>(answers: Vec<Result<T>>) -> Result<Vec<T>> {
    let count = answers.len();
    let (mut done, mut failed): (Vec<T>, Option<Error>) = (Vec::with_capacity(count), None);
    let mut failures = 0;
    for answer in answers {
        match answer {
            Ok(answer) => done.push(answer),
            Err(error) => {
                failures += 1;
                // The error of a part that may have taken effect says more than that of one that
                // has not.
                let says_more = *error.kind() == ErrorKind::Indeterminate;
                failed = Some(failed.filter(|_| !says_more).unwrap_or(error));
            }
        }
    }
    match failed {
        None => Ok(done),
        Some(error) if done.is_empty() || stays(error.kind()) => Err(error),
        Some(error) => {
            let message = format!(
                "{failures} of its {count} parts failed, the others took effect: {error}; repeat \
                 it, which is safe"
            );
            Err(Error::new(ErrorKind::Indeterminate, message).caused_by(error))
        }
    }
}

/// Whether repeating the call does not help.
fn stays(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Closed | ErrorKind::Corrupt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_3_a_call_of_which_parts_took_effect_is_in_doubt() {
        let failed = |kind| Err::<u8, _>(Error::new(kind, "no"));
        let kind = |answers| joined(answers).unwrap_err().kind().clone();
        assert_eq!(joined(vec![Ok(1), Ok(2)]).unwrap(), [1, 2]);
        assert_eq!(kind(vec![Ok(1), failed(ErrorKind::Unavailable)]), ErrorKind::Indeterminate);
        assert_eq!(kind(vec![failed(ErrorKind::Unavailable)]), ErrorKind::Unavailable);
        let all = vec![failed(ErrorKind::Unavailable), failed(ErrorKind::Indeterminate)];
        assert_eq!(kind(all), ErrorKind::Indeterminate);
        assert_eq!(kind(vec![Ok(1), failed(ErrorKind::Closed)]), ErrorKind::Closed);
    }
}
