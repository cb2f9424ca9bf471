//! The attribute `#[payload(..)]`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::{DeriveInput, Error, Lit, LitInt, LitStr, Path, Result, parse_quote};

use crate::duration;

const KEYS: &str = "kind, queue, priority, max_attempts, timeout, deadline, version, upgrade, \
                    crate";

/// What the attribute says.
pub(crate) struct Options {
    pub(crate) kind: LitStr,
    /// The version of the type, and the function that upgrades older ones.
    pub(crate) version: Option<LitInt>,
    pub(crate) upgrade: Option<Path>,
    /// Where the generated code finds queuekit.
    pub(crate) krate: Path,
    /// Calls on a draft.
    pub(crate) setters: Vec<TokenStream>,
}

impl Options {
    /// Those of a type that derives the trait.
    pub(crate) fn of(input: &DeriveInput) -> Result<Self> {
        let (mut kind, mut krate) = (None, parse_quote!(::queuekit));
        let (mut version, mut upgrade) = (None, None);
        let (mut setters, mut seen) = (Vec::new(), Vec::new());
        for attribute in input.attrs.iter().filter(|one| one.path().is_ident("payload")) {
            attribute.parse_nested_meta(|meta| {
                let key = meta.path.to_token_stream().to_string();
                if seen.contains(&key) {
                    return Err(meta.error(format!("`{key}` is given twice")));
                }
                match key.as_str() {
                    "kind" => kind = Some(not_empty(&meta)?),
                    "crate" => krate = meta.value()?.parse::<LitStr>()?.parse()?,
                    "version" => version = Some(version_of(&meta)?),
                    "upgrade" => upgrade = Some(function(&meta)?),
                    _ => setters.push(setter(&key, &meta)?),
                }
                seen.push(key);
                Ok(())
            })?;
        }
        let kind = kind.ok_or_else(|| {
            let message = "name the kind of these jobs: #[payload(kind = \"..\")]. It is stored \
                           with each job, so it does not follow the name of the type";
            Error::new(Span::call_site(), message)
        })?;
        if let Some(upgrade) = upgrade.as_ref().filter(|_| version.is_none()) {
            let message = "`upgrade` makes the newest version of older ones: say which that is, \
                           such as #[payload(version = 2, upgrade = ..)]";
            return Err(Error::new_spanned(upgrade, message));
        }
        Ok(Self { kind, version, upgrade, krate, setters })
    }
}

fn setter(key: &str, meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    match key {
        "queue" => {
            let queue = not_empty(meta)?;
            Ok(quote!(.queue(#queue)))
        }
        "priority" => {
            let level: u8 = integer(meta)?;
            Ok(quote!(.priority(#level)))
        }
        "max_attempts" => {
            let attempts: u32 = integer(meta)?;
            Ok(quote!(.max_attempts(#attempts)))
        }
        "timeout" | "deadline" => {
            let text: Lit = meta.value()?.parse()?;
            let millis = duration::millis(&text)?;
            let setter = &meta.path;
            Ok(quote!(.#setter(::core::time::Duration::from_millis(#millis))))
        }
        _ => Err(meta.error(format!("`{key}` is not a key of #[payload]; write one of: {KEYS}"))),
    }
}

fn version_of(meta: &ParseNestedMeta<'_>) -> Result<LitInt> {
    let literal: LitInt = meta.value()?.parse()?;
    if literal.base10_parse::<u32>()? < 2 {
        let message = "a type without `version` has version 1: the first to state is 2";
        return Err(Error::new_spanned(&literal, message));
    }
    Ok(literal)
}

fn function(meta: &ParseNestedMeta<'_>) -> Result<Path> {
    let value = meta.value()?;
    value.parse().map_err(|error| {
        let message = "write the path of a function without quotes, such as `upgrade = upgrade`: \
                       fn(version: u32, value: serde_json::Value) -> Result<serde_json::Value, _>";
        Error::new(error.span(), message)
    })
}

fn not_empty(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let text: LitStr = meta.value()?.parse()?;
    if text.value().is_empty() {
        return Err(Error::new_spanned(&text, "must not be empty"));
    }
    Ok(text)
}

fn integer<N>(meta: &ParseNestedMeta<'_>) -> Result<N>
where
    N: std::str::FromStr<Err: std::fmt::Display>,
{
    meta.value()?.parse::<LitInt>()?.base10_parse()
}
