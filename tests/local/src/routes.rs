//! Which function takes a request, by API Gateway's rules.
//!
//! A path written out wins over a parameter, a parameter over a greedy one
//! (`{proxy+}`), a method over `ANY`, and what is left goes to `$default`
//! ([source](https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html)).

use std::collections::HashMap;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::template;

/// The routes of an API, each leading to a `T`.
#[derive(Clone, Debug)]
pub(crate) struct Routes<T> {
    root: Node<T>,
    default: Option<Target<T>>,
}

#[derive(Clone, Debug)]
struct Node<T> {
    literals: HashMap<String, Node<T>>,
    parameter: Option<Box<Node<T>>>,
    greedy: Methods<T>,
    here: Methods<T>,
}

type Methods<T> = Vec<(Option<Method>, Target<T>)>;

#[derive(Clone, Debug)]
struct Target<T> {
    key: String,
    parameters: Vec<String>,
    to: T,
}

/// The route of a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Match<'a, T> {
    /// As in `GET /courses/{courseId}`, or `$default`.
    pub(crate) key: &'a str,
    /// The values of the path's parameters, decoded.
    pub(crate) parameters: HashMap<String, String>,
    /// Where the route leads.
    pub(crate) to: &'a T,
}

/// Two routes that would take the same requests.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("template.yaml has the route {0} twice")]
pub struct Twice(String);

impl<T> Default for Node<T> {
    fn default() -> Self {
        Self { literals: HashMap::new(), parameter: None, greedy: Vec::new(), here: Vec::new() }
    }
}

impl<T> Default for Routes<T> {
    fn default() -> Self {
        Self { root: Node::default(), default: None }
    }
}

impl<T> Routes<T> {
    /// Adds a route. Refuses one that is there already.
    pub(crate) fn add(&mut self, route: &template::Route, to: T) -> Result<(), Twice> {
        let method = route.method.as_ref().map_or("ANY", Method::as_str);
        let mut target =
            Target { key: format!("{method} {}", route.path), parameters: Vec::new(), to };
        if route.path == "$default" {
            target.key.clone_from(&route.path);
            return match self.default.replace(target) {
                Some(before) => Err(Twice(before.key)),
                None => Ok(()),
            };
        }
        let mut node = &mut self.root;
        let mut is_greedy = false;
        for segment in segments(&route.path) {
            let name = segment.strip_prefix('{').and_then(|s| s.strip_suffix('}'));
            let Some(name) = name else {
                node = node.literals.entry(segment.to_owned()).or_default();
                continue;
            };
            is_greedy = name.ends_with('+');
            target.parameters.push(name.trim_end_matches('+').to_owned());
            if !is_greedy {
                node = node.parameter.get_or_insert_default();
            }
        }
        let methods = if is_greedy { &mut node.greedy } else { &mut node.here };
        if methods.iter().any(|(method, _)| *method == route.method) {
            return Err(Twice(target.key));
        }
        methods.push((route.method.clone(), target));
        Ok(())
    }

    /// The route that takes `method` and `path`.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Option<Match<'_, T>> {
        let segments: Vec<&str> = segments(path).collect();
        let mut values = Vec::new();
        let found = self.root.find(method, &segments, &mut values);
        let target = found.or_else(|| {
            values.clear();
            self.default.as_ref()
        })?;
        let names = target.parameters.iter().cloned();
        Some(Match { key: &target.key, parameters: names.zip(values).collect(), to: &target.to })
    }
}

impl<T> Node<T> {
    fn find(
        &self,
        method: &Method,
        segments: &[&str],
        values: &mut Vec<String>,
    ) -> Option<&Target<T>> {
        let Some((segment, rest)) = segments.split_first() else {
            return of_method(&self.here, method);
        };
        let text = decode(segment);
        if let Some(node) = self.literals.get(&text)
            && let Some(found) = node.find(method, rest, values)
        {
            return Some(found);
        }
        let taken = values.len();
        if let Some(node) = self.parameter.as_ref().filter(|_| !segment.is_empty()) {
            values.push(text);
            if let Some(found) = node.find(method, rest, values) {
                return Some(found);
            }
            values.truncate(taken);
        }
        let found = of_method(&self.greedy, method)?;
        values.push(decode(&segments.join("/")));
        Some(found)
    }
}

fn of_method<'a, T>(methods: &'a Methods<T>, method: &Method) -> Option<&'a Target<T>> {
    let named = |wanted: Option<&Method>| methods.iter().find(|(m, _)| m.as_ref() == wanted);
    let found = named(Some(method)).or_else(|| named(None));
    found.map(|(_, target)| target)
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}

/// Text without percent-encoding; as it came if that is not UTF-8.
pub(crate) fn decode(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(text: &str) -> template::Route {
        let (method, path) = text.split_once(' ').unwrap_or(("ANY", text));
        template::Route {
            method: (method != "ANY").then(|| method.parse().unwrap()),
            path: path.to_owned(),
        }
    }

    fn routes() -> Routes<usize> {
        let all = [
            "GET /courses",
            "GET /courses/{courseId}",
            "GET /courses/open",
            "ANY /courses/{courseId}",
            "GET /courses/{id}/enrollments",
            "GET /courses/open/{what}/now",
            "DELETE /enrollments/{studentId}/{courseId}",
            "GET /files/{path+}",
            "GET /",
            "$default",
        ];
        let mut routes = Routes::default();
        for (index, text) in all.iter().enumerate() {
            routes.add(&route(text), index).unwrap();
        }
        routes
    }

    #[track_caller]
    fn assert_route(method: &str, path: &str, key: &str, parameters: &[(&str, &str)]) {
        let routes = routes();
        let found = routes.find(&method.parse().unwrap(), path).unwrap();
        assert_eq!(found.key, key, "{method} {path}");
        let mut values: Vec<_> = found.parameters.iter().collect();
        values.sort();
        let values: Vec<_> = values.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(values, parameters, "{method} {path}");
    }

    #[test]
    fn what_is_written_out_wins_over_a_parameter() {
        assert_route("GET", "/courses", "GET /courses", &[]);
        assert_route("GET", "/courses/open", "GET /courses/open", &[]);
        let id = &[("courseId", "7")];
        assert_route("GET", "/courses/7", "GET /courses/{courseId}", id);
        assert_route("PUT", "/courses/7", "ANY /courses/{courseId}", id);
        let open = &[("courseId", "open")];
        assert_route("PUT", "/courses/open", "ANY /courses/{courseId}", open);
        assert_route("GET", "/", "GET /", &[]);
    }

    #[test]
    fn a_path_that_leads_nowhere_is_tried_with_parameters() {
        let id = &[("id", "open")];
        let key = "GET /courses/{id}/enrollments";
        assert_route("GET", "/courses/open/enrollments", key, id);
        let what = &[("what", "x")];
        let key = "GET /courses/open/{what}/now";
        assert_route("GET", "/courses/open/x/now", key, what);
    }

    #[test]
    fn parameters_are_decoded_and_keep_their_order() {
        let both = &[("courseId", "a/b"), ("studentId", "1 é")];
        let key = "DELETE /enrollments/{studentId}/{courseId}";
        assert_route("DELETE", "/enrollments/1%20%C3%A9/a%2Fb", key, both);
        let raw = &[("courseId", "%FF"), ("studentId", "%")];
        assert_route("DELETE", "/enrollments/%/%FF", key, raw);
        let rest = &[("path", "a/b c/d")];
        assert_route("GET", "/files/a/b%20c/d", "GET /files/{path+}", rest);
        assert_route("GET", "/%63ourses", "GET /courses", &[]);
    }

    #[test]
    fn what_no_route_takes_goes_to_the_default() {
        for (method, path) in [
            ("GET", "/nothing"),
            ("POST", "/courses"),
            ("HEAD", "/courses"),
            ("GET", "/courses/"),
            ("GET", "/courses/7/"),
            ("GET", "//courses"),
            ("GET", "/courses//enrollments"),
            ("OPTIONS", "*"),
            ("GET", ""),
        ] {
            if (method, path) != ("GET", "") {
                assert_route(method, path, "$default", &[]);
            }
        }
    }

    #[test]
    fn without_a_default_there_may_be_no_route() {
        let mut routes = Routes::default();
        routes.add(&route("GET /a/{b}"), ()).unwrap();
        assert_eq!(routes.find(&Method::GET, "/a"), None);
        assert_eq!(routes.find(&Method::GET, "/a/b/c"), None);
    }

    #[test]
    fn the_same_route_twice_is_refused() {
        let mut routes = routes();
        for twice in ["GET /courses", "GET /courses/{other}", "$default"] {
            assert!(routes.add(&route(twice), 0).is_err(), "{twice}");
        }
    }
}
