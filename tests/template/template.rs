//! The template, as its rules look at it.

use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::tools::python;

/// A whole template, functions such as `!Ref` in their long form.
#[derive(Clone)]
pub(crate) struct Template(pub(crate) Value);

/// One resource.
#[derive(Clone, Copy)]
pub(crate) struct Resource<'a> {
    /// Its logical name.
    pub(crate) name: &'a str,
    /// All of it.
    pub(crate) whole: &'a Value,
}

impl<'a> Resource<'a> {
    /// A value at a JSON pointer below its properties; `null` where there is none.
    pub(crate) fn property(self, pointer: &str) -> &'a Value {
        self.whole.pointer(&format!("/Properties{pointer}")).unwrap_or(&Value::Null)
    }

    /// The name of a function: the folder of its code. Empty where that is none of `functions/`.
    pub(crate) fn function_name(self) -> &'a str {
        self.property("/CodeUri").as_str().and_then(|uri| uri.strip_prefix("functions/")).unwrap_or_default()
    }
}

impl Template {
    /// The project's.
    pub(crate) fn read() -> Self {
        static READ: OnceLock<Value> = OnceLock::new();
        let read = READ.get_or_init(|| {
            serde_json::from_slice(&python("decode.py", Some("template.yaml"), b"")).expect("the decoder prints JSON")
        });
        Self(read.clone())
    }

    /// Every resource of a type, in the order of their names.
    pub(crate) fn resources(&self, kind: &str) -> Vec<Resource<'_>> {
        let all = self.0["Resources"].as_object().into_iter().flatten();
        all.filter(|(_name, whole)| whole["Type"] == kind).map(|(name, whole)| Resource { name, whole }).collect()
    }

    /// The functions.
    pub(crate) fn functions(&self) -> Vec<Resource<'_>> {
        self.resources("AWS::Serverless::Function")
    }

    /// The function whose code lies in `functions/<name>`.
    pub(crate) fn function(&self, name: &str) -> Option<Resource<'_>> {
        self.functions().into_iter().find(|function| function.function_name() == name)
    }

    /// The functions that tick, in the order of the pipeline, those that are there.
    pub(crate) fn ticking(&self) -> Vec<Resource<'_>> {
        TICKING.iter().filter_map(|name| self.function(name)).collect()
    }

    /// The resource that a property names by its attribute `Arn`.
    pub(crate) fn by_arn(&self, reference: &Value) -> Option<Resource<'_>> {
        let target = reference["Fn::GetAtt"].as_array()?;
        let (name, attribute) = (target.first()?.as_str()?, target.get(1)?);
        let (name, whole) = self.0["Resources"].as_object()?.get_key_value(name)?;
        (attribute == "Arn").then_some(Resource { name, whole })
    }
}

/// The functions that tick.
pub(crate) const TICKING: [&str; 4] = ["claim", "compute", "publish", "work"];

/// `!GetAtt <name>.Arn`.
pub(crate) fn arn(name: &str) -> Value {
    json!({"Fn::GetAtt": [name, "Arn"]})
}

/// Every string in a value, keys among them.
pub(crate) fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => {
            fields.iter().flat_map(|(key, value)| std::iter::once(key.as_str()).chain(strings(value))).collect()
        }
        _ => Vec::new(),
    }
}

/// A value or a list of values, as a list.
pub(crate) fn listed(value: &Value) -> Vec<&Value> {
    value.as_array().map_or_else(|| vec![value], |items| items.iter().collect())
}
