//! A limit, with how much of it is used.

/// A limit of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    pub(crate) label: &'static str,
    /// `1,204 of 10,000`
    pub(crate) told: String,
    /// The share that is used, in percent; none if there is no limit or no figure.
    pub(crate) percent: Option<u8>,
    /// What else is to be said of it, or empty.
    pub(crate) note: String,
}

impl Limit {
    /// The fill in a word, if it is high.
    pub(crate) const fn level(&self) -> &'static str {
        match self.percent {
            Some(100..) => "full",
            Some(90..) => "nearly full",
            _ => "",
        }
    }
}
