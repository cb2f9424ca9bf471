/// The name of the test around it, as its program lists it: `faults::r10_2_a_call_ends_in_time`.
///
/// A program uses it to start itself again for one test, and to name a skipped test.
#[macro_export]
macro_rules! this_test {
    () => {{
        fn here() {}
        $crate::__test_around(std::any::type_name_of_val(&here))
    }};
}

/// Of `program::module::test::here`, or `program::module::test::{{closure}}::here` in an async
/// test, what stands between the program and the rest.
#[doc(hidden)]
pub fn __test_around(here: &'static str) -> &'static str {
    let test = here.trim_end_matches("::here").trim_end_matches("::{{closure}}");
    test.split_once("::").map_or(test, |(_, test)| test)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_knows_its_name() {
        assert_eq!(this_test!(), "this_test::tests::a_test_knows_its_name");
    }

    #[tokio::test]
    async fn an_async_test_knows_its_name() {
        assert_eq!(this_test!(), "this_test::tests::an_async_test_knows_its_name");
    }
}
