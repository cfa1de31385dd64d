//! Where alerts go, read from a secret document.

use std::collections::BTreeSet;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::outbound::Endpoint;
use crate::{Target, TargetKind};

/// Targets of a document.
pub const TARGETS_MAX: usize = 8;
/// Characters of a target's name.
const NAME_MAX: usize = 32;
/// Bytes of a URL.
const URL_MAX: usize = 2048;

const NAME_RULE: &str = "must be 1 to 32 letters, digits, - or _";
const KIND_RULE: &str = "must be teams, slack or json";

/// What is wrong with a document of targets: where, and the rule; never what stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetsError {
    /// The document as a whole.
    #[error("the alert targets {rule}")]
    Document {
        /// What it must be.
        rule: &'static str,
    },
    /// One entry as a whole.
    #[error("alert target {number} {rule}")]
    Entry {
        /// Its place in the document, beginning with 1.
        number: usize,
        /// What it must be.
        rule: &'static str,
    },
    /// One field of an entry.
    #[error("alert target {number}: its {field} {rule}")]
    Field {
        /// The entry's place in the document, beginning with 1.
        number: usize,
        /// `name`, `kind` or `url`.
        field: &'static str,
        /// What it must be.
        rule: &'static str,
    },
}

/// At most [`TARGETS_MAX`] targets with names of their own.
///
/// The document is a JSON array, `[{"name":"ops","kind":"teams","url":"https://…"}]`, or a list separated by commas,
/// `teams=https://…,slack=https://…`. In a list a target is named after its kind, the second of a kind `slack-2`; a URL
/// with a comma needs the array. URLs are `https`, or `http` to this machine.
#[derive(Debug, Clone)]
pub struct Targets(Vec<Target>);

impl Targets {
    /// Reads a secret document. An empty array is how alerts are turned off.
    ///
    /// # Errors
    /// Says which entry and field breaks which rule, with nothing of the document's content.
    pub fn parse(document: &SecretString) -> Result<Self, TargetsError> {
        let text = document.expose_secret().trim();
        let targets = match text.as_bytes().first() {
            None => return Err(TargetsError::Document { rule: "must not be empty; an empty array turns alerts off" }),
            Some(b'[' | b'{') => from_array(text)?,
            Some(_) => from_list(text)?,
        };
        let mut names = BTreeSet::new();
        for (index, target) in targets.iter().enumerate() {
            if !names.insert(target.name()) {
                let rule = "must differ from the names before it";
                return Err(TargetsError::Field { number: index + 1, field: "name", rule });
            }
        }
        Ok(Self(targets))
    }

    /// The targets in the order of the document.
    pub fn iter(&self) -> std::slice::Iter<'_, Target> {
        self.0.iter()
    }

    /// Whether alerts go nowhere.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Targets {
    type Item = &'a Target;
    type IntoIter = std::slice::Iter<'a, Target>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn from_array(text: &str) -> Result<Vec<Target>, TargetsError> {
    let rule = "must be a JSON array of objects, or a list like teams=https://…,slack=https://…";
    // The parser's own message can hold parts of the document.
    let entries: Vec<Value> = serde_json::from_str(text).map_err(|_| TargetsError::Document { rule })?;
    check_count(entries.len())?;
    let numbered = entries.iter().enumerate().map(|(index, entry)| (index + 1, entry));
    numbered.map(|(number, entry)| from_object(number, entry)).collect()
}

fn from_object(number: usize, entry: &Value) -> Result<Target, TargetsError> {
    let Value::Object(fields) = entry else {
        return Err(TargetsError::Entry { number, rule: "must be an object with name, kind and url" });
    };
    if fields.keys().any(|field| !matches!(field.as_str(), "name" | "kind" | "url")) {
        return Err(TargetsError::Entry { number, rule: "must have no fields but name, kind and url" });
    }
    let name = text_of(number, fields, "name")?;
    if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    {
        return Err(TargetsError::Field { number, field: "name", rule: NAME_RULE });
    }
    let kind = TargetKind::from_word(text_of(number, fields, "kind")?);
    let kind = kind.ok_or(TargetsError::Field { number, field: "kind", rule: KIND_RULE })?;
    let url = checked_url(number, text_of(number, fields, "url")?)?;
    Ok(Target::new(name.to_owned(), kind, url))
}

fn text_of<'a>(number: usize, fields: &'a Map<String, Value>, field: &'static str) -> Result<&'a str, TargetsError> {
    let text = fields.get(field).and_then(Value::as_str);
    text.ok_or(TargetsError::Field { number, field, rule: "must be there and a string" })
}

fn from_list(text: &str) -> Result<Vec<Target>, TargetsError> {
    let entries: Vec<&str> = text.split(',').collect();
    check_count(entries.len())?;
    let mut targets: Vec<Target> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let number = index + 1;
        let rule = "must be kind=url; a URL with a comma needs the JSON array";
        let (kind, url) = entry.trim().split_once('=').ok_or(TargetsError::Entry { number, rule })?;
        let kind = TargetKind::from_word(kind.trim());
        let kind = kind.ok_or(TargetsError::Field { number, field: "kind", rule: KIND_RULE })?;
        let url = checked_url(number, url.trim())?;
        let before = targets.iter().filter(|target| target.kind() == kind).count();
        let name = if before == 0 { kind.word().to_owned() } else { format!("{}-{}", kind.word(), before + 1) };
        targets.push(Target::new(name, kind, url));
    }
    Ok(targets)
}

fn check_count(count: usize) -> Result<(), TargetsError> {
    if count > TARGETS_MAX {
        return Err(TargetsError::Document { rule: "must be at most 8" });
    }
    Ok(())
}

fn checked_url(number: usize, url: &str) -> Result<SecretString, TargetsError> {
    let refused = |rule| TargetsError::Field { number, field: "url", rule };
    if url.len() > URL_MAX {
        return Err(refused("must have at most 2048 bytes"));
    }
    let endpoint = Endpoint::parse(url).map_err(|fault| refused(fault.rule()))?;
    if !endpoint.is_encrypted() && !endpoint.is_loopback() {
        return Err(refused("must begin with https://; http:// is for this machine alone"));
    }
    Ok(SecretString::from(url))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(document: &str) -> Result<Targets, TargetsError> {
        Targets::parse(&SecretString::from(document))
    }

    fn parsed(document: &str) -> Vec<(String, TargetKind, String)> {
        let targets = parse(document).unwrap();
        let seen = |target: &Target| (target.to_string(), target.kind(), target.url().expose_secret().to_owned());
        targets.iter().map(seen).collect()
    }

    fn refusal(document: &str) -> String {
        parse(document).unwrap_err().to_string()
    }

    /// One entry of an array with these values.
    fn entry(name: &str, kind: &str, url: &str) -> String {
        serde_json::json!([{"name": name, "kind": kind, "url": url}]).to_string()
    }

    #[test]
    fn an_array_names_its_targets() {
        let document = r#" [{"name":"ops","kind":"teams","url":"https://example.test/a?sig=x,y"},
            {"kind":"json","url":"http://127.0.0.1:8080/","name":"on-call_2"}] "#;
        let expected = [
            ("ops".to_owned(), TargetKind::Teams, "https://example.test/a?sig=x,y".to_owned()),
            ("on-call_2".to_owned(), TargetKind::Json, "http://127.0.0.1:8080/".to_owned()),
        ];
        assert_eq!(parsed(document), expected);
    }

    #[test]
    fn a_list_names_targets_after_their_kind() {
        let document = "teams=https://a.test/?sig=1==, slack=https://b.test/ ,slack=https://c.test/\n";
        let expected = [
            ("teams".to_owned(), TargetKind::Teams, "https://a.test/?sig=1==".to_owned()),
            ("slack".to_owned(), TargetKind::Slack, "https://b.test/".to_owned()),
            ("slack-2".to_owned(), TargetKind::Slack, "https://c.test/".to_owned()),
        ];
        assert_eq!(parsed(document), expected);
    }

    #[test]
    fn an_empty_array_turns_alerts_off_and_an_empty_document_is_a_mistake() {
        assert!(parse("[]").unwrap().is_empty());
        assert_eq!(refusal(" \n"), "the alert targets must not be empty; an empty array turns alerts off");
    }

    #[test]
    fn eight_targets_are_the_most() {
        let list = |count: usize| vec!["json=https://a.test/"; count].join(",");
        assert_eq!(parse(&list(TARGETS_MAX)).unwrap().iter().count(), TARGETS_MAX);
        assert_eq!(refusal(&list(TARGETS_MAX + 1)), "the alert targets must be at most 8");
        let array = |count: usize| {
            let entry = |number: usize| format!(r#"{{"name":"t{number}","kind":"json","url":"https://a.test/"}}"#);
            format!("[{}]", (0..count).map(entry).collect::<Vec<_>>().join(","))
        };
        assert_eq!(parse(&array(TARGETS_MAX)).unwrap().iter().count(), TARGETS_MAX);
        assert_eq!(refusal(&array(TARGETS_MAX + 1)), "the alert targets must be at most 8");
    }

    #[test]
    fn a_name_is_there_once() {
        let twice = r#"[{"name":"a","kind":"json","url":"https://a.test/"},{"name":"a","kind":"json","url":"https://b.test/"}]"#;
        assert_eq!(refusal(twice), "alert target 2: its name must differ from the names before it");
    }

    #[test]
    fn a_url_is_https_unless_it_stays_on_this_machine() {
        for url in
            ["https://a.test/", "http://localhost/", "http://LOCALHOST:1/", "http://127.9.9.9/", "http://[::1]:1/"]
        {
            assert!(parse(&entry("a", "json", url)).is_ok(), "{url}");
        }
        for url in [
            "http://a.test/",
            "http://10.0.0.1/",
            "http://localhost.a.test/",
            "http://[::2]/",
            "http://127.0.0.1.a.test/",
        ] {
            let expected = "alert target 1: its url must begin with https://; http:// is for this machine alone";
            assert_eq!(refusal(&entry("a", "json", url)), expected, "{url}");
        }
    }

    #[test]
    fn a_refusal_names_the_place_and_the_rule() {
        let long_name = "n".repeat(NAME_MAX + 1);
        let long_url = format!("https://a.test/{}", "u".repeat(URL_MAX));
        let url_of_ascii = "alert target 1: its url must be a URL in ASCII with a host";
        for (document, expected) in [
            (entry("", "json", "https://a.test/"), "alert target 1: its name must be 1 to 32 letters, digits, - or _"),
            (
                entry(&long_name, "json", "https://a.test/"),
                "alert target 1: its name must be 1 to 32 letters, digits, - or _",
            ),
            (
                entry("a b", "json", "https://a.test/"),
                "alert target 1: its name must be 1 to 32 letters, digits, - or _",
            ),
            (entry("a", "Slack", "https://a.test/"), "alert target 1: its kind must be teams, slack or json"),
            (entry("a", "json", "https://u:p@a.test/"), "alert target 1: its url must hold no user and no password"),
            (entry("a", "json", "https://münchen.test/"), url_of_ascii),
            (entry("a", "json", ""), url_of_ascii),
            (entry("a", "json", "ftp://a.test/"), "alert target 1: its url must begin with https:// or http://"),
            (entry("a", "json", &long_url), "alert target 1: its url must have at most 2048 bytes"),
            (r#"[{"name":"a","kind":"json"}]"#.into(), "alert target 1: its url must be there and a string"),
            (
                r#"[{"name":7,"kind":"json","url":"https://a.test/"}]"#.into(),
                "alert target 1: its name must be there and a string",
            ),
            (
                r#"[{"name":"a","kind":"json","url":"https://a.test/","URL":""}]"#.into(),
                "alert target 1 must have no fields but name, kind and url",
            ),
            ("[7]".into(), "alert target 1 must be an object with name, kind and url"),
            (
                "json=https://a.test/,".into(),
                "alert target 2 must be kind=url; a URL with a comma needs the JSON array",
            ),
            (
                "json=https://a.test/,ops=https://b.test/".into(),
                "alert target 2: its kind must be teams, slack or json",
            ),
            (
                "[".into(),
                "the alert targets must be a JSON array of objects, or a list like teams=https://…,slack=https://…",
            ),
            (
                "{}".into(),
                "the alert targets must be a JSON array of objects, or a list like teams=https://…,slack=https://…",
            ),
        ] {
            assert_eq!(refusal(&document), expected, "{document}");
        }
    }

    #[test]
    fn nothing_of_a_document_shows_in_what_is_printed_of_it() {
        for document in [
            "canary",
            "[canary",
            r#"[{"name":"a","kind":"json","url":"https://canary/","canary":1}]"#,
            r#"{"name":"canary"}"#,
            "canary=https://a.test/",
            "json=http://canary.test/canary",
            "json=canary://canary",
            "json=https://canary:canary@a.test/",
        ] {
            let error = parse(document).unwrap_err();
            assert!(!format!("{error} {error:?} {error:#?}").contains("canary"), "{error:?}");
        }
        let targets = parse("json=https://a.test/canary").unwrap();
        let shown: Vec<String> = targets.iter().map(|target| format!("{target} {target:?} {target:#?}")).collect();
        assert!(!format!("{targets:?} {targets:#?} {shown:?}").contains("canary"));
    }
}
