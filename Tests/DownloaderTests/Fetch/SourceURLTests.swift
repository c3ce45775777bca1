import TestSupport
import Testing

@testable import Downloader

struct SourceURLTests {
    @Test(arguments: [
        ("HTTP://Example.COM/a", "http://example.com"), ("https://example.com:443/", "https://example.com"),
        ("http://example.com:8080", "http://example.com:8080"), ("http://example.com./x", "http://example.com"),
        ("http://[::1]:81/", "http://[::1]:81"), ("http://[0:0::0:1]/", "http://[::1]"),
        ("http://user:pw@example.com/", "http://example.com"), ("http://2130706433/", "http://127.0.0.1"),
        ("http://0177.0.0.1/", "http://127.0.0.1"), ("http://0x7f.1/", "http://127.0.0.1"),
        ("http://127.1./", "http://127.0.0.1"), ("http://2130706433./", "http://127.0.0.1"),
        ("http://bücher.example/", "http://xn--bcher-kva.example"),
        ("http://１２７.0.0.1/", "http://127.0.0.1"), ("http://127%2e0.0.1/", "http://127.0.0.1"),
        ("http://example.com:/x", "http://example.com"),
    ])
    func `the origin is normalised`(text: String, expected: String) throws {
        #expect(try SourceURL(text).origin.description == expected)
    }

    @Test(arguments: [
        "", " ", "image.png", "//example.com/x", "http:/example.com", "http:example.com", "http://", "http:///x",
        "http://exa mple.com/", "http://example.com:0/", "http://example.com:65536/", "http://example.com:x/",
        "http://[::1/", "http://[fe80::1%25eth0]/", "http://a\\@b/", "http://good.example\\@127.0.0.1/",
        "http://exa\u{0}mple.com/", "http://example.com/\n", "http://example.com/\u{7f}", "http://./", "http://../",
        "http://?x", "http://#x", "http://user@/", "http://@/", "http://a@b@c/",
    ])
    func `malformed URLs are refused with 1000`(text: String) {
        let error = #expect(throws: FetchError.self) { _ = try SourceURL(text) }
        #expect(error?.row == "SDWebImageErrorDomain 1000")
    }

    @Test(arguments: ["ftp://example.com/", "file:///etc/passwd", "data:image/png;base64,AA", "gopher://127.0.0.1/"])
    func `other schemes are refused with -1002`(text: String) {
        let error = #expect(throws: FetchError.self) { _ = try SourceURL(text) }
        #expect(error?.row == "NSURLErrorDomain -1002")
    }

    @Test func `the limit is 32 KiB`() throws {
        let start = "http://example.com/"
        _ = try SourceURL(start + String(repeating: "a", count: 32 * 1024 - start.utf8.count))
        #expect(throws: FetchError.self) {
            _ = try SourceURL(start + String(repeating: "a", count: 32 * 1024 - start.utf8.count + 1))
        }
    }

    @Test func `the identity is the bytes, not the characters`() throws {
        let composed = try SourceURL("http://example.com/\u{e9}")
        let decomposed = try SourceURL("http://example.com/e\u{301}")
        #expect(composed != decomposed)
        #expect(composed.bytes == Array("http://example.com/\u{e9}".utf8))
    }

    @Test(arguments: [
        ("http://example.com/a b?c d#e f", "http://example.com/a%20b?c%20d"),
        ("http://example.com/é%C3%a9", "http://example.com/%C3%A9%C3%a9"),
        ("http://example.com/a/../b/./c", "http://example.com/a/../b/./c"),
        ("http://example.com?q", "http://example.com/?q"),
        ("http://example.com/\"<>", "http://example.com/%22%3C%3E"),
        ("http://example.com/100%", "http://example.com/100%"),
    ])
    func `the URL sent is percent-encoded ASCII`(text: String, expected: String) throws {
        #expect(try SourceURL(text).requestText == expected)
    }

    @Test func `the description contains neither user nor password nor query`() throws {
        let url = try SourceURL("https://user:secret@example.com:8443/a%20b?token=secret#secret")
        #expect(url.description == "https://example.com:8443/a%20b")
        #expect(url.hasUserinfo)
        #expect(try !SourceURL("https://example.com/@").hasUserinfo)
    }

    @Test(arguments: [
        ("/x", "http://u:p@example.com/x"), ("x", "http://u:p@example.com/a/x"),
        ("../x", "http://u:p@example.com/x"),
        ("?q", "http://u:p@example.com/a/b?q"), ("//other.example/x", "http://other.example/x"),
        ("https://other.example/x", "https://other.example/x"), ("é y", "http://u:p@example.com/a/%C3%A9%20y"),
        ("//bücher.example/é", "http://xn--bcher-kva.example/%C3%A9"),
    ])
    func `a redirect is resolved against the URL`(location: String, expected: String) throws {
        let next = try SourceURL("http://u:p@example.com/a/b?old").resolving(Array(location.utf8))
        #expect(next.requestText == expected)
    }

    @Test func `a redirect to another scheme or a malformed URL is refused, naming its source`() throws {
        let url = try SourceURL("http://example.com/a?secret")
        for (location, row) in [
            ("file:///etc/passwd", "NSURLErrorDomain -1002"), ("gopher://x/", "NSURLErrorDomain -1002"),
            ("http://[", "SDWebImageErrorDomain 1000"), ("", "SDWebImageErrorDomain 1000"),
            ("http://a b/", "SDWebImageErrorDomain 1000"), ("/\r\nX: y", "SDWebImageErrorDomain 1000"),
        ] {
            let error = #expect(throws: FetchError.self) { _ = try url.resolving(Array(location.utf8)) }
            #expect(error?.row == row, "\(location)")
            #expect(error?.message.hasPrefix("http://example.com/a: redirect: ") == true)
        }
    }
}
