use crate::tidy::finding::Finding;
use crate::tidy::tree::Page;

/// For readers of the repository, and for those of the book.
const CONTENTS: [&str; 2] = ["docs/README.md", "docs/SUMMARY.md"];

/// Every page of docs/ must be in both tables of contents, so that readers find it.
pub(crate) fn check(pages: &[Page]) -> Vec<Finding> {
    let contents = |path| pages.iter().find(|page: &&Page| page.path == path);
    let names = pages.iter().filter(|page| !CONTENTS.contains(&page.path.as_str()));
    let names: Vec<&str> = names.filter_map(|page| page.path.strip_prefix("docs/")).collect();
    let lacking = |table: &'static str| {
        let text = contents(table).map_or("", |page| page.text.as_str());
        let missing = names.iter().filter(move |name| !text.contains(&format!("]({name})")));
        missing.map(move |name| Finding::file(table, format!("does not list {name}; add it")))
    };
    CONTENTS.into_iter().flat_map(lacking).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> Page {
        Page { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_page_that_a_table_of_contents_lacks_is_found() {
        let pages = [
            page("docs/README.md", "[http.md](http.md), [cli.md](cli.md)"),
            page("docs/SUMMARY.md", "- [HTTP API](http.md)"),
            page("docs/http.md", ""),
            page("docs/cli.md", ""),
            page("README.md", ""),
        ];
        let findings = check(&pages);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].path, "docs/SUMMARY.md");
        assert!(findings[0].message.contains("cli.md"), "{}", findings[0].message);
    }
}
