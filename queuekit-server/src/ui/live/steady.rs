//! A list whose rows stay where they are while it is read.

/// Which rows are shown, in their order.
#[derive(Default)]
pub(super) struct Steady(Vec<String>);

impl Steady {
    /// The rows that are shown, as they are now, and how many others there are. The first call with
    /// any rows decides what is shown.
    pub(super) fn keep<T>(&mut self, rows: Vec<T>, key: impl Fn(&T) -> String) -> (Vec<T>, u64) {
        if self.0.is_empty() {
            self.0 = rows.iter().map(&key).collect();
        }
        let shown = &self.0;
        let place = |row: &T| shown.iter().position(|own| *own == key(row));
        let (mut kept, mut others) = (Vec::new(), 0);
        for row in rows {
            match place(&row) {
                Some(place) => kept.push((place, row)),
                None => others += 1,
            }
        }
        kept.sort_by_key(|(place, _)| *place);
        (kept.into_iter().map(|(_, row)| row).collect(), others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_in_their_order_and_new_ones_are_counted() {
        let mut steady = Steady::default();
        let key = |row: &(&str, u32)| row.0.to_owned();
        assert_eq!(steady.keep(Vec::new(), key), (Vec::new(), 0), "nothing is shown yet");
        assert_eq!(steady.keep(vec![("a", 1), ("b", 1)], key), (vec![("a", 1), ("b", 1)], 0));
        let next = steady.keep(vec![("c", 1), ("b", 2), ("a", 1)], key);
        assert_eq!(next, (vec![("a", 1), ("b", 2)], 1));
        assert_eq!(steady.keep(vec![("b", 2)], key), (vec![("b", 2)], 0), "one is gone");
    }
}
