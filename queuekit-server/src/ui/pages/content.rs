//! Payloads and results, unless the settings hide them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::ui::view::{Content, Tree};
use crate::ui::viewer::Viewer;

/// The most bytes or letters in a page; all of them can be downloaded.
const BYTES: usize = 64 * 1024;
/// Why contents are not shown.
pub(super) const HIDDEN: &str = "The settings of the dashboard hide the contents of such jobs";

impl Content {
    /// The contents of a job of this queue and kind.
    pub(in crate::ui) fn of(
        viewer: &Viewer,
        name: &'static str,
        (queue, kind): (&str, &str),
        bytes: &[u8],
        download: Option<String>,
    ) -> Self {
        let size = bytes.len() as u64;
        if viewer.is_redacted(queue, kind) {
            let hidden = Some(format!("{HIDDEN}."));
            return Self { name, tree: None, raw: String::new(), hidden, bytes: size, download };
        }
        let text = std::str::from_utf8(bytes).ok();
        // A tree of the whole text: a part of it is no JSON.
        let tree = text.filter(|text| text.len() <= BYTES).and_then(Tree::of);
        let raw = match text {
            Some(text) => text.chars().take(BYTES).collect(),
            None => STANDARD.encode(bytes.get(..BYTES).unwrap_or(bytes)),
        };
        Self { name, tree, raw, hidden: None, bytes: size, download }
    }
}
