//! The words `on` and `off`.

use std::str::FromStr;

use clap::ValueEnum;

/// Whether something is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Switch {
    On,
    Off,
}

impl FromStr for Switch {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The words are those of the flag.
        <Self as ValueEnum>::from_str(text, false).map_err(|_| "it must be on or off")
    }
}
