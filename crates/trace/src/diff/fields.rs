//! The fields in which two objects differ.

use serde::Serialize;
use serde_json::{Map, Value};

/// One field with both of its values; absent ones are `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// Where, as in `spec.template.spec.containers[web].image`.
    pub path: String,
    /// Value in the first object.
    pub a: Option<Value>,
    /// Value in the second.
    pub b: Option<Value>,
}

/// Every field that differs, in order. Lists whose elements have names (containers, environment entries,
/// volumes) are compared by name, so that an insertion in front does not change everything behind it.
pub fn fields(a: &Value, b: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    walk(String::new(), Some(a), Some(b), &mut found);
    found
}

fn walk(path: String, a: Option<&Value>, b: Option<&Value>, found: &mut Vec<Field>) {
    if a == b {
        return;
    }
    match (a, b) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let in_both = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            let mut keys: Vec<&String> = in_both.collect();
            keys.sort();
            for key in keys {
                let separator = if path.is_empty() { "" } else { "." };
                walk(format!("{path}{separator}{}", quoted(key)), a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => match (by_name(a), by_name(b)) {
            (Some(named_a), Some(named_b)) => {
                let mut names: Vec<&String> = named_a.keys().chain(named_b.keys()).collect();
                names.sort();
                names.dedup();
                let before = found.len();
                for name in names {
                    walk(format!("{path}[{name}]"), named_a.get(name), named_b.get(name), found);
                }
                if found.len() == before {
                    // The same elements in another order.
                    push(path, a.clone().into(), b.clone().into(), found);
                }
            }
            _ => {
                for position in 0..a.len().max(b.len()) {
                    walk(format!("{path}[{position}]"), a.get(position), b.get(position), found);
                }
            }
        },
        (a, b) => found.push(Field { path, a: a.cloned(), b: b.cloned() }),
    }
}

fn push(path: String, a: Value, b: Value, found: &mut Vec<Field>) {
    found.push(Field { path, a: Some(a), b: Some(b) });
}

/// Keys with dots, such as annotations, are told apart by brackets.
fn quoted(key: &str) -> String {
    if key.contains(['.', '/']) { format!("[{key:?}]") } else { key.to_owned() }
}

/// The elements by their `name`, if each has one and no two share it.
fn by_name(list: &[Value]) -> Option<Map<String, Value>> {
    let mut named = Map::new();
    for element in list {
        let name = element.get("name")?.as_str()?;
        if named.insert(name.to_owned(), element.clone()).is_some() {
            return None;
        }
    }
    Some(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(a: &Value, b: &Value, expected: &[&str]) {
        let found: Vec<String> = fields(a, b).into_iter().map(|field| field.path).collect();
        assert_eq!(found, expected, "{a} against {b}");
    }

    #[test]
    fn fields_are_named_by_their_path() {
        check(&json!({"a": 1, "b": {"c": [1, 2]}}), &json!({"a": 1, "b": {"c": [1, 3]}}), &["b.c[1]"]);
        check(&json!({"a": 1}), &json!({"b": 1}), &["a", "b"]);
        check(&json!({"m": {"x/y.z": 1}}), &json!({"m": {}}), &[r#"m.["x/y.z"]"#]);
    }

    #[test]
    fn named_elements_are_compared_by_name() {
        let a = json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]});
        let b = json!({"env": [{"name": "Z", "value": "0"}, {"name": "A", "value": "1"}, {"name": "B", "value": "3"}]});
        check(&a, &b, &["env[B].value", "env[Z]"]);
    }

    #[test]
    fn the_order_of_named_elements_is_a_difference_too() {
        let a = json!([{"name": "A"}, {"name": "B"}]);
        let b = json!([{"name": "B"}, {"name": "A"}]);
        check(&a, &b, &[""]);
    }
}
