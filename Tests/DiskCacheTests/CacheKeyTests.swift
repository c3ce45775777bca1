import DiskCache
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CacheKeyTests {
    @Test(arguments: try KeyVectors.read().derivedKeys)
    func `inserts a suffix where SDWebImage does`(row: KeyVectors.Derived) {
        #expect(CacheKey(row.key).appending(row.suffix) == CacheKey(row.expected), "\(row.note)")
    }

    @Test(arguments: try KeyVectors.read().fileNames)
    func `has SDWebImage's file name`(row: KeyVectors.Name) {
        #expect(same(CacheKey(row.key).fileName, row.expected), "\(row.note)")
    }

    @Test(arguments: try KeyVectors.read().scaleFactors)
    func `has a scale`(row: KeyVectors.Scale) {
        #expect(CacheKey(row.key).scaleFactor == row.expected, "\(row.note)")
    }

    @Test(arguments: [
        ("http://foo/a%402x.jpg", 2), ("https://foo/a%403x.jpg", 3), ("http://foo/a@3x.png", 3), ("photo@2x.png", 2),
        ("ab@2x.p", 1), ("abc@2x.p", 2), ("😀@2x.pn", 2), ("http://foo/a%402X.jpg", 1), ("", 1),
    ])
    func `has a scale by its text`(key: String, expected: Int) {
        #expect(CacheKey(key).scaleFactor == expected)
    }

    // The rules applied to cases beyond the vectors.

    @Test(arguments: [
        // A plain path.
        ("1a://foo/b.png", "1a:/foo/b-T.png"), ("http://foo bar/a.png", "http:/foo bar/a-T.png"),
        ("http://[::1/a.png", "http:/[::1/a-T.png"), ("http://foo:8a/a.png", "http:/foo:8a/a-T.png"),
        ("http://fo%zo/a.png", "http:/fo%zo/a-T.png"), ("图:片.png", "图:片-T.png"),
        // A file URL: treated as a path, with its extension as in the URL.
        ("FILE:///a.png", "FILE:/a-T.png"), ("file://host//a b.png", "file:/host/a b-T.png"),
        ("file:///tmp/a%2Epng", "file:/tmp/a%2Epng-T.png"), ("file:///tmp/a.png?q=1", "file:/tmp/a-T.png"),
        // An opaque URL has no path, so the suffix is appended.
        ("data:image/x.png", "data:image/x.png-T"), ("localhost:8080/a.png", "localhost:8080/a.png-T"),
        ("file:a.png", "file:a.png-T"),
        // The rest of the URL.
        ("http://foo:/a.png", "http://foo/a-T.png"), ("http://foo:080/a.png", "http://foo:80/a-T.png"),
        ("ht[s:a.png", "ht%5Bs%3Aa-T.png"), (":/a.png", "%3A/a-T.png"), (":a.png", ":a.png-T"),
        ("http://[fe80::1%en0]/a.png", "http://[fe80::1%25en0]/a-T.png"),
        ("http://[::1]:80/a.png", "http://[::1]:80/a-T.png"), ("//foo/a.png#b", "//foo/a-T.png#b"),
        ("http://u:p@foo/a.png?q=a b{}#x#y", "http://u:p@foo/a-T.png?q=a%20b%7B%7D#x%23y"),
        ("http://a@b@c/a.png", "http://a%40b@c/a-T.png"), ("http:///a.png", "http:///a-T.png"),
        ("http://例え.jp/a.png", "http://xn--r8jz45g.jp/a-T.png"),
        ("http://é./a.png", "http://xn--9ca./a-T.png"), ("http://é../a.png", "http:/é../a-T.png"),
        ("http://é。/a.png", "http://xn--9ca./a-T.png"), ("http://é..x/a.png", "http:/é..x/a-T.png"),
        ("http://foo/a.png?%c4%e3", "http://foo/a-T.png?%c4%e3"), ("http://foo?a.png", "http://foo?a.png-T"),
        // The path.
        ("http://foo//a///b.png//", "http://foo/a/b-T.png"),
        ("http://foo/a%40b%2fc%20%3f.png", "http://foo/a@b/c%20%3F-T.png"),
        ("http://foo/100%.png", "http://foo/100%25-T.png"), ("http://foo/a%252.png", "http://foo/a%252-T.png"),
        ("http://foo/é.p é", "http://foo/é.p é-T"), ("a%3Ab.png", "a%3Ab-T.png"),
        ("a/b%3Ac.png", "a/b:c-T.png"),
        ("http://foo/a.", "http://foo/a.-T"), ("http://foo/..a.png", "http://foo/..a-T.png"),
        ("http://foo/../.png", "http://foo/../.png-T"), ("", "-T"),
    ])
    func `inserts a suffix`(key: String, expected: String) {
        #expect(CacheKey(key).appending("T") == CacheKey(expected))
    }

    // What iOS 17 to 26 escapes once more, and iOS 27 leaves.
    @Test(arguments: [
        ("https://h/a%20b{.5}", "https://h/a%2520b%7B-T.5%7D", "https://h/a%20b%7B-T.5%7D"),
        ("https://h/a%20b|c.jpg", "https://h/a%2520b%7Cc-T.jpg", "https://h/a%20b%7Cc-T.jpg"),
        ("https://h/café%20x.png", "https://h/caf%C3%A9%2520x-T.png", "https://h/caf%C3%A9%20x-T.png"),
        (
            "https://h/x.png?f[]=1&u=a%20b", "https://h/x-T.png?f%5B%5D=1&u=a%2520b",
            "https://h/x-T.png?f%5B%5D=1&u=a%20b"
        ),
        ("https://h/x.png#a%20|", "https://h/x-T.png#a%2520%7C", "https://h/x-T.png#a%20%7C"),
        ("https://%20:|%20@h/x.png", "https://%20:%7C%2520@h/x-T.png", "https://%20:%7C%20@h/x-T.png"),
        // Each component alone.
        ("https://h/a%20b.png?f[]=1", "https://h/a%20b-T.png?f%5B%5D=1", "https://h/a%20b-T.png?f%5B%5D=1"),
        ("a b:c.png", "a b:c-T.png", "a b:c-T.png"),
        ("foo://bücher/a.png", "foo://xn--bcher-kva/a-T.png", "foo://b%C3%BCcher/a-T.png"),
        ("http://a%41ä/a.png", "http://xn--a%41-ooa/a-T.png", "http:/a%41ä/a-T.png"),
    ])
    func `inserts a suffix by the rules of a system`(key: String, ios17: String, ios27: String) {
        #expect(CacheKey(key).appending("T", rules: .ios17) == CacheKey(ios17))
        #expect(CacheKey(key).appending("T", rules: .ios27) == CacheKey(ios27))
    }

    @Test func `has the key of a thumbnail and a transformer of iOS 17 without an extension`() {
        func key(_ rules: URLRules) -> String? {
            CacheKey("https://h/a%20b").appending("Thumbnail({100.000000,100.000000},1)", rules: rules)?
                .appending("SDImageBlurTransformer(5.000000)", rules: rules)?.text
        }
        let end = "b-Thumbnail(%7B100.000000,100-SDImageBlurTransformer(5.000000).000000%7D,1)"
        #expect(key(.ios17) == "https://h/a%2520" + end)
        #expect(key(.ios27) == "https://h/a%20" + end)
    }

    // UTS 46 with its checks of hyphens, joiners and directions; nil is no URL.
    @Test(arguments: [
        ("straße.de", "xn--strae-oqa.de"), ("STRAẞE.de", "xn--strae-oqa.de"), ("BÜCHER.de", "xn--bcher-kva.de"),
        ("نامه\u{200c}ای.com", "xn--mgba3gch31f060k.com"), ("a\u{200c}b.com", nil), ("-ä.com", nil), ("ä-.com", nil),
        ("ab--ä.com", nil), ("١.com", nil), ("aא.com", nil), ("a..ä", nil), (".ä", nil), ("ä.", "xn--4ca."),
        ("ä。com", "xn--4ca.com"), ("☃.net", "xn--n3h.net"), ("ﬁ.ä", "fi.xn--4ca"), ("xn--a.ä", nil),
        ("\u{301}a.de", nil),
        (String(repeating: "ä", count: 70), nil), ("-a.com", "-a.com"), ("a..b", "a..b"),
    ])
    func `makes Punycode of a host`(host: String, expected: String?) {
        let found = URLRules.ios17.absoluteString(of: "http://\(host)/")
        #expect(found == expected.map { "http://\($0)/" })
        #expect(found == URLRules.ios27.absoluteString(of: "http://\(host)/"))
    }

    @Test(arguments: [
        ("https://h/a b[1]|ä.png?f[]=1#ü", "https://h/a%20b%5B1%5D%7C%C3%A4.png?f%5B%5D=1#%C3%BC"),
        ("http://bücher.de:80/a", "http://xn--bcher-kva.de:80/a"), ("http://h/a.png", "http://h/a.png"),
        ("http://a b/c", nil), ("http://h:8a/", nil), ("", nil),
    ])
    func `is escaped as an app does`(url: String, expected: String?) {
        #expect(URLRules.ios17.absoluteString(of: url) == expected)
        #expect(URLRules.ios27.absoluteString(of: url) == expected)
    }

    @Test(arguments: [
        ("a:b", "image-a%3Ab.png"), ("a/b:c", "image-a/b:c.png"), ("x?y#z%41", "image-x%3Fy%23z%2541.png"),
        ("é", "image-%C3%A9.png"), ("a/", "image-a.png"), ("..", "image-...png"),
        (#"[]{}|\^`"<> "#, "image-%5B%5D%7B%7D%7C%5C%5E%60%22%3C%3E%20.png"),
        ("!$&'()*+,;=~-_.@", "image-!$&'()*+,;=~-_.@.png"),
    ])
    func `escapes any suffix`(suffix: String, expected: String) {
        #expect(CacheKey("image.png").appending(suffix) == CacheKey(expected))
    }

    @Test(arguments: [
        ("a.b:c%2Fd", ".bc%2Fd"), ("http://foo/a.p:n%3Ag", ".png"), ("http://foo/a.%00", ""), ("http://foo/a.:", ""),
        ("http://foo/%C4%E3.jpg?x", ".jpg?x"), ("mailto:a@b.com/", ".com"), ("http://foo/a%", ""),
        ("http://foo/a.%zz", ".%zz"),
        ("http://foo/a.jpg%20", ""), ("http://foo/a b.jpg", ".jpg"), ("http://foo/a.x\u{202e}y", ""),
        ("http://foo/a.%E2%80%8Ex", ""), ("http://foo/a.x%D8%9C", ""), ("http://foo/\u{2066}a.x\u{2065}", ".x\u{2065}"),
        ("http://foo/..png", ".png"), ("http://a b/c.x y", ".x y"), ("http://foo/a.%2020", ""),
        ("http://foo/a.b/", ".b"), ("http://foo/a.b//?c.d", ".b"), ("a.png\u{0}b", ".pngb"),
        ("http://foo/a.\u{301}x", ".\u{301}x"),
        ("http://foo/a.png#", ".png"), ("?a.png", ""), ("//a.png", ""), ("http://foo/a.b\nc", ".b\nc"),
    ])
    func `has a file name with the extension of its path`(key: String, expected: String) {
        #expect(same(String(CacheKey(key).fileName.unicodeScalars.dropFirst(32)), expected))
    }

    @Test func `has a file name of its bytes up to the first NUL`() {
        #expect(CacheKey("a\u{0}b").fileName == CacheKey("a\u{0}c").fileName)
        #expect(CacheKey("a\u{0}b").fileName == CacheKey("a").fileName)
        #expect(CacheKey("a").fileName == "0cc175b9c0f1b6a831c399e269772661")
    }

    @Test func `has a file name that fits a Linux file system`() {
        let longest = CacheKey("http://foo/a." + String(repeating: "é", count: 111))
        #expect(longest.fileName.utf8.count == 255)
        #expect(CacheKey("http://foo/a.x" + String(repeating: "é", count: 111)).fileName.utf8.count == 32)
        #expect(CacheKey("http://foo/" + String(repeating: "a", count: 100_000) + ".png").fileName.utf8.count == 36)
    }

    @Test(arguments: [
        "../../etc/passwd", "http://foo/a.b%2F..%2F..%2Fc", "a.%2e%2e/..", "x./../y", "http://foo/..%2f..",
        "a.b/%2E%2E",
    ])
    func `has a file name without slashes`(key: String) {
        for name in [CacheKey(key), CacheKey(key).appending("/../T")].compactMap({ $0?.fileName }) {
            #expect(!name.utf8.contains(UInt8(ascii: "/")))
            #expect(!name.utf8.contains(0))
            #expect(name.utf8.prefix(32).allSatisfy { "0123456789abcdef".utf8.contains($0) })
        }
    }

    @Test func `has the extension of a system's rules`() {
        let key = CacheKey("http://h/x.j%70g|")
        #expect(SDWebImageNaming().fileName(of: key).hasSuffix(".j%70g|"))
        #expect(SDWebImageNaming(urlRules: .ios27).fileName(of: key).hasSuffix(".jpg|"))
    }

    @Test func `is compared byte by byte`() {
        let composed = CacheKey("caf\u{e9}.jpg")
        let decomposed = CacheKey("cafe\u{301}.jpg")
        #expect(composed.text == decomposed.text, "they are equal as Swift strings")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, CacheKey("caf\u{e9}.jpg")]).count == 2)
        #expect(composed.fileName != decomposed.fileName)
    }
}

/// Compares bytes: Swift's `==` also accepts canonically equivalent texts.
func same(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
