//! Parts of pages, which templates embed.

/// Lets templates embed these parts unescaped: they are templates, which escape what they show.
macro_rules! parts {
    ($($part:ty),+ $(,)?) => { $(impl askama::filters::HtmlSafe for $part {})+ };
}
pub(super) use parts;
