//! Scripts, styles and pictures. They are in the program, and the same on every server of one
//! version.

use std::io::Write;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::shared::Ui;

macro_rules! assets {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_bytes!(concat!("../../assets/", $name)))),+]
    };
}

/// Each file of `assets/` that pages load, by its path there.
static FILES: &[(&str, &[u8])] = assets![
    "app.css",
    "app.js",
    "chart.js",
    "copy.js",
    "icon.svg",
    "keys.js",
    "live.js",
    "pages.css",
    "palette.js",
    "select.js",
    "theme.js",
    "when.js",
    "vendor/idiomorph-0.8.0.min.js",
    "vendor/uplot-1.6.32.iife.min.js",
    "vendor/uplot-1.6.32.min.css",
];

/// Names the contents of all files: it is a part of their addresses, so that browsers keep them for
/// good. It is one for all of them, because they name each other by relative addresses.
pub(crate) fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let mut all = Sha256::new();
        for (name, bytes) in FILES {
            all.update((name.len() as u64).to_be_bytes());
            all.update(name);
            all.update((bytes.len() as u64).to_be_bytes());
            all.update(bytes);
        }
        all.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    });
    &VERSION
}

pub(super) fn router() -> Router<Ui> {
    Router::new().route("/assets/{*path}", get(file))
}

async fn file(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let (stated, name) = match path.split_once('/') {
        Some((stated, name)) if is_version(stated) => (stated == version(), name),
        _ => (false, path.as_str()),
    };
    let mut files = FILES.iter().enumerate();
    let Some((at, (name, bytes))) = files.find(|(_, (own, _))| *own == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let zipped = ZIPPED.get(at).filter(|_| accepts_gzip(&headers)).cloned();
    // The same file in another encoding has another tag.
    let tag = format!("\"{}{}\"", version(), if zipped.is_some() { "-gzip" } else { "" });
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|sent| sent.as_bytes() == tag.as_bytes());
    let is_zipped = zipped.is_some();
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => zipped.unwrap_or(Bytes::from_static(bytes)).into_response(),
    };
    // An address without the version has other contents after an update.
    let kept = if stated { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind(name)));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if is_zipped {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// All files as gzip, in the order of `FILES`: pages are not, since what others wrote beside a
/// secret could be used to guess it by its length. None of these has a secret.
static ZIPPED: LazyLock<Vec<Bytes>> = LazyLock::new(|| {
    let zipped = |(_, bytes): &(&str, &[u8])| {
        let mut to = GzEncoder::new(Vec::new(), Compression::best());
        to.write_all(bytes).and_then(|()| to.finish()).map(Bytes::from)
    };
    // Memory does not fail; if it did, the files would be sent as they are.
    FILES.iter().map(zipped).collect::<Result<_, _>>().unwrap_or_default()
});

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let is_refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

/// Whether it names a version, be it that of a page that was loaded before an update.
fn is_version(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn below(directory: &Path, files: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, files);
            } else {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
                files.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_script_style_and_picture_is_served_with_its_type() {
        let mut files = BTreeSet::new();
        below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("assets"), &mut files);
        let loaded = |name: &String| [".js", ".css", ".svg"].iter().any(|end| name.ends_with(end));
        files.retain(loaded);
        let served = FILES.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(files, served);
        assert!(FILES.iter().all(|(name, _)| kind(name) != "application/octet-stream"));
    }

    #[test]
    fn gzip_is_sent_to_those_that_accept_it() {
        let accepts = |value: &'static str| {
            let value = HeaderValue::from_static(value);
            accepts_gzip(&HeaderMap::from_iter([(ACCEPT_ENCODING, value)]))
        };
        assert!(accepts("gzip") && accepts("br, GZIP;q=0.5") && accepts("deflate,gzip"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !accepts("gzip; q=0.000"));
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    /// A browser loads them once for each version.
    #[test]
    fn all_files_have_at_most_80_kb_as_gzip() {
        let bytes: usize = ZIPPED.iter().map(Bytes::len).sum();
        assert!(!ZIPPED.is_empty() && bytes <= 80_000, "{bytes}");
    }

    #[test]
    fn what_is_vendored_is_what_was_read() {
        let sums = include_str!("../../assets/vendor/SHA256SUMS");
        let mut checked = 0;
        for line in sums.lines() {
            let (sum, name) = line.split_once("  ").unwrap();
            let name = format!("vendor/{name}");
            let Some((_, bytes)) = FILES.iter().find(|(own, _)| *own == name) else { continue };
            let own: String =
                Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(own, sum, "{name}");
            checked += 1;
        }
        let vendored = FILES.iter().filter(|(name, _)| name.starts_with("vendor/"));
        assert_eq!(checked, vendored.count());
    }
}
