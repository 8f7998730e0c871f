//! Every relative link in a page names a file of the repository, and every anchor a heading of its page. The same holds
//! for the pages of the site.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bundlenet_testing::pages::{pages, prose};
use bundlenet_testing::sources::workspace;

/// The files of a folder with an extension.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    files
}

/// The targets of all links and pictures of a page. Inline code has none.
fn links(page: &str) -> Vec<String> {
    let text: String = prose(page).split('`').step_by(2).collect::<Vec<_>>().join("code");
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string())).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(page: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(page);
    let headings =
        headings.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
    };
    headings
        .map(|heading| {
            let anchor = anchor(heading);
            let count = seen.entry(anchor.clone()).and_modify(|count| *count += 1).or_insert(0);
            if *count == 0 { anchor } else { format!("{anchor}-{count}") }
        })
        .collect()
}

fn is_elsewhere(link: &str) -> bool {
    link.starts_with("http://") || link.starts_with("https://") || link.starts_with("mailto:")
}

#[test]
fn links_between_pages_resolve() {
    let root = workspace();
    let mut faults = vec![];
    let mut count = 0;
    for page in pages() {
        let folder = root.join(page.path.parent().unwrap());
        for link in links(&page.text).into_iter().filter(|link| !is_elsewhere(link)) {
            count += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { root.join(&page.path) } else { folder.join(path) };
            let has_anchor = || anchors(&std::fs::read_to_string(&target).unwrap()).iter().any(|found| found == anchor);
            if !target.exists() || !anchor.is_empty() && !has_anchor() {
                faults.push(format!("{}: {link}", page.path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "links without a target:\n{}", faults.join("\n"));
    assert!(count > 100, "found {count} links");
}

#[test]
fn every_page_is_in_the_site() {
    let docs = workspace().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed = links(&summary);
    for page in files(&docs, "md").iter().map(|page| page.file_name().unwrap().to_string_lossy().into_owned()) {
        assert!(page == "SUMMARY.md" || listed.contains(&page), "docs/SUMMARY.md: expected {page}");
    }
}

#[test]
fn links_and_anchors_are_found() {
    let page = "# A `b --c` d\n[x](y.md#z) `[no](link)`\n```text\n# no\n[no](link)\n```\n## E\n## E\n![p](q.svg)\n";
    assert_eq!(links(page), ["y.md#z", "q.svg"]);
    assert_eq!(anchors(page), ["a-b---c-d", "e", "e-1"]);
}

/// The values of an attribute in a page of the site.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    page.split(&format!(" {name}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
#[ignore = "needs the site: .ci/site builds it"]
fn links_of_the_site_resolve() {
    let site = workspace().join("target/book");
    let pages: HashMap<PathBuf, String> =
        files(&site, "html").into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect();
    let mut faults = vec![];
    for (path, page) in pages.iter().filter(|(path, _)| !path.ends_with("404.html") && !path.ends_with("toc.html")) {
        let links = attributes(page, "href").into_iter().chain(attributes(page, "src"));
        for link in links.filter(|link| !is_elsewhere(link) && !link.starts_with("data:")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { site.join(file) };
            let has_anchor = || pages.get(&target).is_some_and(|page| attributes(page, "id").contains(&anchor));
            if !target.is_file() || !anchor.is_empty() && !has_anchor() {
                faults.push(format!("{}: {link}", path.strip_prefix(&site).unwrap().display()));
            }
        }
    }
    assert!(faults.is_empty(), "links without a target:\n{}", faults.join("\n"));
    assert!(pages.len() > 20, "found {} pages", pages.len());
}
