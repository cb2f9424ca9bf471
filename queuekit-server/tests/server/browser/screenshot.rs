//! Pictures of all pages, for people who change their looks.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::Tab;
use super::tab::Look;

/// Where to write them.
const VARIABLE: &str = "QUEUEKIT_WRITE_SCREENSHOTS";

/// Writes the whole page, if pictures are wanted.
pub fn write(tab: &Tab, name: &str, look: Look) {
    let Some(directory) = std::env::var_os(VARIABLE).map(PathBuf::from) else { return };
    std::fs::create_dir_all(&directory).expect("a directory for pictures");
    let colours = if look.is_dark { "dark" } else { "light" };
    let file = directory.join(format!("{name}-{colours}-{}.png", look.width));
    std::fs::write(&file, png(tab)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

pub fn is_wanted() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

fn png(tab: &Tab) -> Vec<u8> {
    let size = tab.js("return [document.documentElement.scrollWidth, document.body.scrollHeight]");
    let clip = json!({"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1});
    let params = json!({"clip": clip, "captureBeyondViewport": true});
    let shot = tab.cdp("Page.captureScreenshot", &params);
    BASE64_STANDARD.decode(shot["data"].as_str().expect("a picture")).expect("base64")
}
