//! `#[derive(Payload)]`: the payload of a kind, declared in one attribute.
//!
//! Use it through `queuekit` and its feature `derive`, which is on by default. Its keys are
//! described at `queuekit::Payload`: examples here would build queuekit once more, for the host.

mod duration;
mod options;

use proc_macro::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, parse_macro_input};

use options::Options;

/// Implements `Payload` for the type, in a program that depends on `queuekit`.
#[proc_macro_derive(Payload, attributes(payload))]
pub fn derive_payload(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implementation(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn implementation(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let Options { kind, version, upgrade, krate, setters } = Options::of(input)?;
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let defaults = (!setters.is_empty()).then(|| {
        quote! {
            fn defaults(draft: #krate::JobDraft) -> #krate::JobDraft {
                draft #(#setters)*
            }
        }
    });
    let version = version.map(|version| quote!(const VERSION: u32 = #version;));
    let upgrade = upgrade.map(|function| {
        quote_spanned! { function.span() =>
            fn upgrade(
                version: u32,
                value: #krate::serde_json::Value,
            ) -> ::core::result::Result<#krate::serde_json::Value, #krate::UpgradeError> {
                ::core::result::Result::map_err(
                    #function(version, value),
                    ::core::convert::Into::into,
                )
            }
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl #generics #krate::Payload for #name #arguments #bounds {
            const KIND: &'static str = #kind;
            #version
            #upgrade
            #defaults
        }
    })
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn refused(input: &DeriveInput) -> String {
        implementation(input).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        let error = refused(&parse_quote! { struct A; });
        assert!(error.contains("#[payload(kind = \"..\")]"), "{error}");
        let error = refused(&parse_quote! { #[payload(queue = "mails")] struct A; });
        assert!(error.contains("#[payload(kind = \"..\")]"), "{error}");
        let error = refused(&parse_quote! { #[payload(kind = "a", retries = 5)] struct A; });
        assert!(error.contains("`retries` is not") && error.contains("max_attempts"), "{error}");
        let error = refused(&parse_quote! { #[payload(kind = "")] struct A; });
        assert!(error.contains("empty"), "{error}");
        let error = refused(&parse_quote! { #[payload(kind = "a", kind = "b")] struct A; });
        assert!(error.contains("`kind` is given twice"), "{error}");
        let error = refused(&parse_quote! { #[payload(kind = "a", timeout = "30")] struct A; });
        assert!(error.contains("30s"), "{error}");
        let error = refused(&parse_quote! { #[payload(kind = "a", priority = 256)] struct A; });
        assert!(error.contains("too large"), "{error}");
        for first in [0_u32, 1] {
            let first = syn::LitInt::new(&first.to_string(), proc_macro2::Span::call_site());
            let error =
                refused(&parse_quote! { #[payload(kind = "a", version = #first)] struct A; });
            assert!(error.contains("the first to state is 2"), "{error}");
        }
        let error = refused(&parse_quote! { #[payload(kind = "a", upgrade = newer)] struct A; });
        assert!(error.contains("say which that is"), "{error}");
        let error = refused(&parse_quote! {
            #[payload(kind = "a", version = 2, upgrade = "newer")] struct A;
        });
        assert!(error.contains("without quotes"), "{error}");
    }

    #[test]
    fn every_key_is_a_setter_of_the_draft() {
        let made = implementation(&parse_quote! {
            #[payload(kind = "a", queue = "q", priority = 7, max_attempts = 2)]
            #[payload(timeout = "2m", deadline = "1h", crate = "queuekit_core")]
            #[payload(version = 2, upgrade = older::upgrade)]
            struct A<T: Send>(T);
        });
        let wanted = quote! {
            #[automatically_derived]
            impl<T: Send> queuekit_core::Payload for A<T> {
                const KIND: &'static str = "a";
                const VERSION: u32 = 2;
                fn upgrade(
                    version: u32,
                    value: queuekit_core::serde_json::Value,
                ) -> ::core::result::Result<
                    queuekit_core::serde_json::Value,
                    queuekit_core::UpgradeError
                > {
                    ::core::result::Result::map_err(
                        older::upgrade(version, value),
                        ::core::convert::Into::into,
                    )
                }
                fn defaults(draft: queuekit_core::JobDraft) -> queuekit_core::JobDraft {
                    draft
                        .queue("q")
                        .priority(7u8)
                        .max_attempts(2u32)
                        .timeout(::core::time::Duration::from_millis(120000u64))
                        .deadline(::core::time::Duration::from_millis(3600000u64))
                }
            }
        };
        assert_eq!(made.unwrap().to_string(), wanted.to_string());
    }
}
