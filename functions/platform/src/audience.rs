//! Which requests for a thing are views: those of people who read it.
//!
//! A look at the headers (`HEAD`), what a browser fetches in case somebody might
//! want it, and what known crawlers fetch are none. Crawlers are known by whole
//! names, since a word like `bot` stands in the names of telephones too. One that
//! calls itself something else is taken for a reader; and so is what fetches a
//! post for a person who asked for it (`ChatGPT-User`).

use http::{HeaderValue, Method};

use crate::http::Request;

/// Names in the `User-Agent` of crawlers that their owners document.
const DOCUMENTED: [&str; 16] = [
    // https://developers.google.com/search/docs/crawling-indexing/google-common-crawlers
    "googlebot",
    "googleother",
    // https://www.bing.com/webmasters/help/which-crawlers-does-bing-use-8c184ec0
    "bingbot",
    // https://github.com/duckduckgo/duckduckgo-help-pages/blob/master/_docs/results/duckduckbot.md
    "duckduckbot",
    // https://yandex.ru/support/webmaster/en/robot-workings/check-yandex-robots
    "yandexbot",
    // https://support.apple.com/en-us/HT204683
    "applebot",
    // https://developers.facebook.com/docs/sharing/webmasters/crawler
    "facebookexternalhit",
    "meta-externalagent",
    // https://developers.openai.com/api/docs/bots
    "gptbot",
    "oai-searchbot",
    // https://support.claude.com/en/articles/8896518
    "claudebot",
    "claude-searchbot",
    // https://docs.perplexity.ai/docs/resources/perplexity-crawlers
    "perplexitybot",
    // https://commoncrawl.org/big-picture/frequently-asked-questions
    "ccbot",
    // https://ahrefs.com/robot
    "ahrefsbot",
    // https://www.semrush.com/bot
    "semrushbot",
];

/// Names in the `User-Agent` of others that many sites see.
const SEEN: [&str; 5] = ["baiduspider", "bytespider", "linkedinbot", "slackbot", "twitterbot"];

/// Where browsers say that nobody has asked for it yet:
/// [`Sec-Purpose`](https://fetch.spec.whatwg.org/#sec-purpose-header), as in
/// `prefetch;prerender`, and its older name.
const PURPOSES: [&str; 2] = ["sec-purpose", "purpose"];

/// Whether an answer to `request` is a view.
pub fn is_view(request: &Request) -> bool {
    request.method() == Method::GET && !is_prefetch(request) && !is_crawler(request)
}

fn is_prefetch(request: &Request) -> bool {
    let mut purposes = PURPOSES.into_iter().map(|name| lowercase(request, name));
    purposes.any(|purpose| purpose.split([';', ',']).any(|word| word.trim() == "prefetch"))
}

/// A header in lower case, whatever else than ASCII may stand in it.
fn lowercase(request: &Request, name: &str) -> String {
    let value = request.headers().get(name).map(HeaderValue::as_bytes).unwrap_or_default();
    String::from_utf8_lossy(value).to_ascii_lowercase()
}

fn is_crawler(request: &Request) -> bool {
    let agent = lowercase(request, "user-agent");
    DOCUMENTED.into_iter().chain(SEEN).any(|name| agent.contains(name))
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
            "Mozilla/5.0 (compatible; ChatGPT-User/1.0; +https://openai.com/bot)",
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
    fn letters_that_are_not_ascii_hide_nobody() {
        for (header, value) in [("user-agent", "Googlebot \u{e9}"), ("purpose", "prefetch; \u{e9}")]
        {
            let mut request = Request::default();
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            assert!(value.to_str().is_err());
            request.headers_mut().insert(header, value);
            assert!(!is_view(&request), "{header}");
        }
    }

    #[test]
    fn what_a_known_crawler_fetches_is_no_view() {
        for agent in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
            "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
            "meta-externalagent/1.1",
            "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)",
            "Mozilla/5.0 AppleWebKit/537.36; compatible; GPTBot/1.3; +https://openai.com/gptbot",
            "Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
            "CCBot/2.0 (https://commoncrawl.org/faq/)",
            "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
            "GOOGLEBOT",
        ] {
            assert!(!counts(Method::GET, "user-agent", agent), "{agent}");
        }
    }
}
