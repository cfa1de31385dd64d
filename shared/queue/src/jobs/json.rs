//! JSON as it travels to and from the queue.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// How deep a payload, a result or a progress may nest. What reads it back stops at 128.
pub const JSON_DEPTH: usize = 100;

/// JSON as the database holds it. It may have been written by SQL, with numbers or nesting that a reader cannot hold, so that it
/// is decoded where somebody wants it: one row that cannot be decoded spoils no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredJson(String);

/// The JSON is not what its reader expects. Says where, never what stands there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the JSON cannot be decoded as what is expected (at character {column})")]
pub struct Undecodable {
    /// About where, in bytes of the text.
    pub column: usize,
}

impl StoredJson {
    pub(super) fn new(text: String) -> Self {
        Self(text)
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Decodes it.
    ///
    /// # Errors
    /// [`Undecodable`] where it is something else than a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Undecodable> {
        serde_json::from_str(&self.0).map_err(|error| Undecodable { column: error.column() })
    }

    /// It as a value.
    ///
    /// # Errors
    /// [`Undecodable`] where it nests deeper than 128 or holds a number that 64 bits cannot hold.
    pub fn value(&self) -> Result<Value, Undecodable> {
        self.decode()
    }
}

/// Length of JSON as the server writes it, in bytes.
///
/// # Errors
/// Why it cannot be stored, as the end of a sentence that begins with its name.
pub(super) fn measure(value: &Value, bytes_max: usize) -> Result<usize, String> {
    let mut bytes = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        if depth > JSON_DEPTH {
            return Err(format!("nests deeper than {JSON_DEPTH}"));
        }
        let strings: &[&String] = match value {
            Value::String(text) => &[text],
            _ => &[],
        };
        let keys = value.as_object().into_iter().flat_map(serde_json::Map::keys);
        for text in keys.chain(strings.iter().copied()) {
            if text.contains('\0') {
                return Err("holds U+0000, which the database cannot store".to_owned());
            }
            bytes += string_bytes(text);
        }
        match value {
            Value::Array(items) => {
                bytes += 2 + items.len().saturating_sub(1) * 2;
                open.extend(items.iter().map(|item| (item, depth + 1)));
            }
            Value::Object(fields) => {
                bytes += 2 + fields.len().saturating_sub(1) * 2 + fields.len() * 2;
                open.extend(fields.values().map(|item| (item, depth + 1)));
            }
            Value::Number(number) => bytes += number_bytes(number),
            Value::Null | Value::Bool(true) => bytes += 4,
            Value::Bool(false) => bytes += 5,
            Value::String(_) => {}
        }
        if bytes > bytes_max {
            return Err(format!("is longer than {bytes_max} bytes as text"));
        }
    }
    Ok(bytes)
}

/// Length of a string as the server writes it.
fn string_bytes(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | 0x08 | 0x09 | 0x0a | 0x0c | 0x0d => 2,
        0x00..=0x1f => 6,
        _ => 1,
    };
    2 + text.bytes().map(escaped).sum::<usize>()
}

/// Length of a number as the server writes it: all digits, no exponent.
fn number_bytes(number: &serde_json::Number) -> usize {
    let short = number.to_string();
    match number.as_f64() {
        Some(float) if short.contains('e') => float.to_string().len(),
        _ => short.len(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_nul_is_found_in_strings_and_keys_at_any_depth() {
        for value in [json!("a\0"), json!({"\0": 1}), json!([[{"a": [{"b\0c": null}]}]])] {
            assert_eq!(
                measure(&value, 1000).expect_err("it cannot be stored"),
                "holds U+0000, which the database cannot store"
            );
        }
        assert!(measure(&json!({"\\u0000": "\\u0000"}), 1000).is_ok());
    }

    #[test]
    fn nesting_is_bounded_without_recursion() {
        let mut value = json!(1);
        for _ in 1..JSON_DEPTH {
            value = json!([value]);
        }
        assert!(measure(&value, 1000).is_ok());
        assert!(measure(&json!([value]), 1000).expect_err("it cannot be stored").contains("nests deeper"));
    }

    #[test]
    fn the_length_is_that_of_the_servers_text() {
        // The text is what PostgreSQL prints for the value.
        let known = [
            (json!({"a": 1, "b": [true, false, null]}), r#"{"a": 1, "b": [true, false, null]}"#),
            (json!("\"\\\u{1}\n\u{7f}é"), "\"\\\"\\\\\\u0001\\n\u{7f}é\""),
            (json!([]), "[]"),
            (json!({}), "{}"),
            (json!(1e20), "100000000000000000000"),
            (json!(1e-7), "0.0000001"),
            (json!(-1.5), "-1.5"),
        ];
        for (value, text) in known {
            assert_eq!(measure(&value, text.len()), Ok(text.len()), "{text}");
            assert!(measure(&value, text.len() - 1).is_err(), "{text}");
        }
    }
}
