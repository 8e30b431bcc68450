//! Which requests for a thing are views: those of people who read it.
//!
//! A look at the headers (`HEAD`), what a browser fetches in case somebody might
//! want it, and what known crawlers fetch are none. Crawlers are known by names
//! that their owners document; one that calls itself something else is taken
//! for a reader.

use crate::http::{self as requests, Request};
use http::Method;

/// Names in the `User-Agent` of crawlers:
/// [Google](https://developers.google.com/search/docs/crawling-indexing/google-common-crawlers),
/// [Bing](https://www.bing.com/webmasters/help/which-crawlers-does-bing-use-8c184ec0),
/// [DuckDuckGo](https://duckduckgo.com/duckduckgo-help-pages/results/duckduckbot),
/// [Yandex](https://yandex.com/support/webmaster/robot-workings/check-yandex-robots.html),
/// [Baidu](https://www.baidu.com/search/robots_english.html),
/// [Apple](https://support.apple.com/en-us/119829),
/// [Meta](https://developers.facebook.com/docs/sharing/webmasters/web-crawlers),
/// [X](https://developer.x.com/en/docs/x-for-websites/cards/guides/getting-started),
/// [LinkedIn](https://www.linkedin.com/robots.txt),
/// [Slack](https://api.slack.com/robots),
/// [Common Crawl](https://commoncrawl.org/ccbot),
/// [Ahrefs](https://ahrefs.com/robot),
/// [Semrush](https://www.semrush.com/bot/).
const CRAWLERS: [&str; 13] = [
    "googlebot",
    "bingbot",
    "duckduckbot",
    "yandexbot",
    "baiduspider",
    "applebot",
    "facebookexternalhit",
    "twitterbot",
    "linkedinbot",
    "slackbot",
    "ccbot",
    "ahrefsbot",
    "semrushbot",
];

/// Where browsers say that nobody has asked for it yet:
/// [`Sec-Purpose`](https://fetch.spec.whatwg.org/#sec-purpose-header), as in
/// `prefetch;prerender`, and its older name.
const PURPOSES: [&str; 2] = ["sec-purpose", "purpose"];

/// Whether an answer to `request` is a view.
pub fn is_view(request: &Request) -> bool {
    request.method() == Method::GET && !is_prefetch(request) && !is_crawler(request)
}

fn is_prefetch(request: &Request) -> bool {
    PURPOSES.into_iter().filter_map(|name| requests::header(request, name)).any(|purpose| {
        purpose.split([';', ',']).any(|word| word.trim().eq_ignore_ascii_case("prefetch"))
    })
}

fn is_crawler(request: &Request) -> bool {
    let agent = requests::header(request, "user-agent").unwrap_or_default().to_ascii_lowercase();
    CRAWLERS.into_iter().any(|name| agent.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(method: Method, header: &'static str, value: &str) -> bool {
        let mut request = Request::default();
        *request.method_mut() = method;
        request.headers_mut().insert(header, value.parse().unwrap());
        is_view(&request)
    }

    #[test]
    fn a_reader_counts_whatever_the_browser() {
        for agent in [
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Mozilla/5.0 (Linux; Android 13; CUBOT P80) AppleWebKit/537.36 Chrome/140.0",
            "curl/8.5.0",
            "",
        ] {
            assert!(counts(Method::GET, "user-agent", agent), "{agent}");
        }
        assert!(is_view(&Request::default()));
        assert!(counts(Method::GET, "purpose", "reading"));
        assert!(counts(Method::GET, "sec-purpose", "x-prefetch"));
    }

    #[test]
    fn a_look_at_the_headers_is_no_view() {
        assert!(!counts(Method::HEAD, "user-agent", "curl/8.5.0"));
    }

    #[test]
    fn what_is_fetched_in_advance_is_no_view() {
        for purpose in
            ["prefetch", "Prefetch", "prefetch;prerender", "prefetch; anonymous-client-ip"]
        {
            assert!(!counts(Method::GET, "sec-purpose", purpose), "{purpose}");
            assert!(!counts(Method::GET, "purpose", purpose), "{purpose}");
        }
    }

    #[test]
    fn what_a_known_crawler_fetches_is_no_view() {
        for agent in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
            "facebookexternalhit/1.1",
            "GOOGLEBOT",
        ] {
            assert!(!counts(Method::GET, "user-agent", agent), "{agent}");
        }
    }
}
