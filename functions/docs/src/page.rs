//! The document as a page: HTML without scripts, readable on a phone.

use std::fmt::Write as _;

use serde_json::{Map, Value};

const STYLE: &str = include_str!("page.css");

/// How deep the fields of a type are shown.
const DEEPEST: usize = 6;

/// The page of a document.
pub(crate) fn of(document: &Value) -> String {
    let title = text(&document["info"]["title"]);
    let about = prose(&document["info"]["description"]);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title}: the API</title><style>{STYLE}</style></head><body>\
         <header><h1>{title}: the API</h1><p>{about}</p>\
         <p>For machines: <a href=\"openapi.json\">openapi.json</a></p></header><main>"
    );
    for tag in each(&document["tags"]) {
        let (name, about) = (text(&tag["name"]), prose(&tag["description"]));
        add(&mut page, format_args!("<section><h2 id=\"{name}\">{name}</h2><p>{about}</p>"));
        for (path, methods) in fields(&document["paths"]) {
            for (method, operation) in fields(methods) {
                if operation["tags"][0] == tag["name"] {
                    show(&mut page, document, method, path, operation);
                }
            }
        }
        page.push_str("</section>");
    }
    page.push_str("</main></body></html>\n");
    page
}

fn show(page: &mut String, document: &Value, method: &str, path: &str, operation: &Value) {
    let (id, summary) = (text(&operation["operationId"]), prose(&operation["summary"]));
    add(
        page,
        format_args!(
            "<details id=\"{id}\"><summary><b>{}</b> <code>{}</code> <span>{summary}</span>\
             </summary><p>{}</p>",
            method.to_uppercase(),
            escaped(path),
            prose(&operation["description"]),
        ),
    );
    let parameters: Vec<Row> =
        each(&operation["parameters"]).map(|it| parameter(document, it)).collect();
    if !parameters.is_empty() {
        page.push_str("<h3>Parameters</h3>");
        table(page, &parameters);
    }
    if operation["requestBody"].is_object() {
        page.push_str("<h3>Body</h3>");
        contents(page, document, &operation["requestBody"]["content"]);
    }
    for (status, answer) in fields(&operation["responses"]) {
        let about = prose(&answer["description"]);
        add(page, format_args!("<h3>{status}</h3><p>{about}</p>"));
        contents(page, document, &answer["content"]);
    }
    page.push_str("</details>");
}

fn contents(page: &mut String, document: &Value, content: &Value) {
    for (_, media) in fields(content) {
        if media["examples"].is_null() {
            let mut rows = Vec::new();
            list(document, &media["schema"], "", 0, &mut rows);
            table(page, &rows);
            example(page, "Example", &media["example"]);
        }
        for (code, of_code) in fields(&media["examples"]) {
            let title = format!("{code}: {}", of_code["summary"].as_str().unwrap_or_default());
            example(page, &title, &of_code["value"]);
        }
    }
}

fn example(page: &mut String, title: &str, value: &Value) {
    if !value.is_null() {
        let json = escaped(&format!("{value:#}"));
        let title = escaped(title);
        add(page, format_args!("<details><summary>{title}</summary><pre>{json}</pre></details>"));
    }
}

/// A field or parameter: its name, its type, and what it means.
struct Row {
    name: String,
    kind: String,
    about: String,
}

fn table(page: &mut String, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    page.push_str("<table>");
    for Row { name, kind, about } in rows {
        let (name, kind, about) = (escaped(name), escaped(kind), with_code(&escaped(about)));
        add(page, format_args!("<tr><th>{name}</th><td>{kind} <small>{about}</small></td></tr>"));
    }
    page.push_str("</table>");
}

fn parameter(document: &Value, parameter: &Value) -> Row {
    let (name, place) = (&parameter["name"], &parameter["in"]);
    let optional = if parameter["required"] == true { "" } else { ", optional" };
    Row {
        name: name.as_str().unwrap_or_default().to_owned(),
        kind: kind(resolved(document, &parameter["schema"])),
        about: format!(
            "{}{optional}. {}",
            place.as_str().unwrap_or_default(),
            parameter["description"].as_str().unwrap_or_default()
        ),
    }
}

/// Lists the fields of a schema, those of its fields included.
fn list(document: &Value, schema: &Value, prefix: &str, depth: usize, rows: &mut Vec<Row>) {
    if depth > DEEPEST {
        return;
    }
    let schema = resolved(document, schema);
    for part in each(&schema["allOf"]) {
        list(document, part, prefix, depth + 1, rows);
    }
    if schema["items"].is_object() {
        list(document, &schema["items"], &format!("{prefix}[]"), depth + 1, rows);
    }
    for (name, field) in fields(&schema["properties"]) {
        let is_required = each(&schema["required"]).any(|required| *required == **name);
        let dot = if prefix.is_empty() { "" } else { "." };
        let name = format!("{prefix}{dot}{name}");
        let there = resolved(document, field);
        let about = field["description"].as_str().or(there["description"].as_str());
        let optional = if is_required { "" } else { "optional. " };
        let about = format!("{optional}{}", about.unwrap_or_default());
        rows.push(Row { name: name.clone(), kind: kind(there), about });
        list(document, there, &name, depth + 1, rows);
    }
}

/// What a reference leads to, and of something that may be null what it is else.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let named = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
    let schema = named.and_then(|name| document.pointer(name)).unwrap_or(schema);
    let other = each(&schema["oneOf"]).find(|one| one["type"] != "null");
    other.map_or(schema, |other| resolved(document, other))
}

/// A type in a few words.
fn kind(schema: &Value) -> String {
    let values: Vec<String> = each(&schema["enum"]).map(plain).collect();
    if !values.is_empty() {
        return values.join(" | ");
    }
    let named = |name: &str| schema[name].as_str().map(str::to_owned);
    let kind = named("type").or_else(|| each(&schema["type"]).next().map(plain));
    let between = |least: &str, most: &str, what: &str| {
        let [least, most] =
            [&schema[least], &schema[most]].map(|it| (!it.is_null()).then(|| plain(it)));
        match (least, most) {
            (Some(least), Some(most)) => Some(format!("{least}–{most}{what}")),
            (None, Some(most)) => Some(format!("at most {most}{what}")),
            (Some(least), None) => Some(format!("at least {least}{what}")),
            (None, None) => None,
        }
    };
    let parts = [
        kind.or_else(|| schema["allOf"].is_array().then(|| "object".to_owned())),
        named("format").filter(|format| !format.starts_with("int")),
        between("minimum", "maximum", ""),
        between("minLength", "maxLength", " characters"),
        named("pattern").filter(|_| schema["maxLength"].is_null()),
        between("minItems", "maxItems", " items"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn each(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn add(page: &mut String, html: std::fmt::Arguments<'_>) {
    let _ = page.write_fmt(html); // a String takes everything
}

fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

/// A text of the document that may have code in it.
fn prose(value: &Value) -> String {
    with_code(&text(value))
}

/// What stands between backticks, as code, which the document means by them.
fn with_code(html: &str) -> String {
    let parts: Vec<&str> = html.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return html.to_owned(); // one of them has no other
    }
    let parts = parts.into_iter().enumerate().map(|(place, part)| {
        if place.is_multiple_of(2) { part.to_owned() } else { format!("<code>{part}</code>") }
    });
    parts.collect()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn every_operation_is_on_the_page_which_loads_and_runs_nothing() {
        let document = Document::default();
        let page = of(document.as_json());
        for (path, _) in fields(&document.as_json()["paths"]) {
            assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
        }
        for foreign in ["<script", "src=", "<link", "@import", "url(", "http://", "https://"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
    }

    #[test]
    fn what_the_document_says_cannot_become_markup() {
        assert_eq!(escaped("<b a=\"&\">"), "&lt;b a=&quot;&amp;&quot;&gt;");
    }

    #[test]
    fn backticks_make_code_of_what_stands_between_them() {
        assert_eq!(with_code("from `a` to `z`"), "from <code>a</code> to <code>z</code>");
        assert_eq!((with_code("a ` b").as_str(), with_code("").as_str()), ("a ` b", ""));
        assert_eq!(prose(&"`<b>`".into()), "<code>&lt;b&gt;</code>");
    }

    #[test]
    fn a_type_is_told_with_its_limits() {
        let schema = serde_json::json!({ "type": "string", "minLength": 1, "maxLength": 200 });
        assert_eq!(kind(&schema), "string, 1–200 characters");
        let schema = serde_json::json!({ "type": ["integer", "null"], "maximum": 7 });
        assert_eq!(kind(&schema), "integer, at most 7");
    }
}
