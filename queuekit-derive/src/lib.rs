//! `#[derive(Payload)]`: the payload of a kind, declared in one attribute.
//!
//! Use it through `queuekit` and its feature `derive`, which is on by default.

mod duration;
mod options;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use options::Options;

/// Implements `Payload`: the kind, and what its jobs are enqueued with unless the call says
/// otherwise.
///
/// | key | value | meaning |
/// |---|---|---|
/// | `kind` | text, required | picks the handler; it is stored with each job |
/// | `queue` | text | the queue, such as `"mails"` |
/// | `priority` | 0 to 31 | higher first; 10 is normal |
/// | `max_attempts` | 1 to 1000 | how often a job is tried |
/// | `timeout` | a duration, such as `"30s"` | how long one run may take |
/// | `deadline` | a duration | how long after its enqueue a job is worth starting |
/// | `crate` | text | where the macro finds queuekit, by default `"queuekit"` |
///
/// A duration is a number and `ms`, `s`, `m`, `h` or `d`. Values are checked against their limits
/// when a job is enqueued, as those of a call are.
///
/// ```
/// use queuekit::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Payload)]
/// #[payload(kind = "send_email", queue = "mails", max_attempts = 5, timeout = "30s")]
/// struct SendEmail {
///     to: String,
/// }
///
/// let job = queuekit::JobDraft::of(&SendEmail { to: "ada@example.org".into() }).build()?;
/// assert_eq!(job.kind().as_str(), "send_email");
/// assert_eq!(job.queue().as_str(), "mails");
/// assert_eq!(job.max_attempts(), 5);
/// assert_eq!(job.timeout().as_secs(), 30);
/// # Ok::<_, queuekit::Error>(())
/// ```
///
/// # Errors of the compiler
///
/// The kind is required: if it followed the name of the type, renaming the type would orphan the
/// jobs that are stored.
///
/// ```compile_fail
/// # use queuekit::prelude::*;
/// #[derive(serde::Serialize, serde::Deserialize, Payload)]
/// struct SendEmail;
/// ```
///
/// A key that is not in the table is refused:
///
/// ```compile_fail
/// # use queuekit::prelude::*;
/// #[derive(serde::Serialize, serde::Deserialize, Payload)]
/// #[payload(kind = "send_email", retries = 5)]
/// struct SendEmail;
/// ```
///
/// So is a duration without a unit:
///
/// ```compile_fail
/// # use queuekit::prelude::*;
/// #[derive(serde::Serialize, serde::Deserialize, Payload)]
/// #[payload(kind = "send_email", timeout = "30")]
/// struct SendEmail;
/// ```
#[proc_macro_derive(Payload, attributes(payload))]
pub fn derive_payload(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implementation(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn implementation(input: &DeriveInput) -> syn::Result<proc_macro2::TokenStream> {
    let Options { kind, krate, setters } = Options::of(input)?;
    let name = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let defaults = (!setters.is_empty()).then(|| {
        quote! {
            fn defaults(draft: #krate::JobDraft) -> #krate::JobDraft {
                draft #(#setters)*
            }
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl #generics #krate::Payload for #name #arguments #bounds {
            const KIND: &'static str = #kind;
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
    }

    #[test]
    fn every_key_is_a_setter_of_the_draft() {
        let made = implementation(&parse_quote! {
            #[payload(kind = "a", queue = "q", priority = 7, max_attempts = 2)]
            #[payload(timeout = "2m", deadline = "1h", crate = "queuekit_core")]
            struct A<T: Send>(T);
        });
        let wanted = quote! {
            #[automatically_derived]
            impl<T: Send> queuekit_core::Payload for A<T> {
                const KIND: &'static str = "a";
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
