//! Suggestions for misspelled names.

/// Longer than any name.
const WRITTEN_BYTES: usize = 64;

/// The name that is closest to a misspelled one, if one is close.
pub(crate) fn nearest<'a>(
    written: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // Nobody misspells a name by this much, and the distance takes the product of both lengths.
    if written.len() > WRITTEN_BYTES {
        return None;
    }
    let by_distance = names.into_iter().map(|name| (distance(written, name), name));
    let near = |(edits, name): &(usize, &str)| *edits <= (name.len() / 3).max(1);
    by_distance.min().filter(near).map(|(_, name)| name)
}

/// The edit distance: letters inserted, removed, replaced or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(a != b);
            let mut least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_name_that_was_meant_and_noise_finds_none() {
        let names = ["url", "listen", "concurrency", "insecure_no_auth"];
        for (written, meant) in [
            ("ulr", Some("url")),
            ("lisen", Some("listen")),
            ("concurency", Some("concurrency")),
            ("insecure-no-auth", Some("insecure_no_auth")),
            ("workers", None),
            ("", None),
            (&"x".repeat(1 << 20), None),
        ] {
            assert_eq!(nearest(written, names), meant, "{written}");
        }
    }
}
