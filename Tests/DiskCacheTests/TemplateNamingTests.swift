import ImageModel
import Testing

@testable import DiskCache

/// Paths by a template: the layouts of three applications, refused templates, and hostile URLs.
@Suite(.timeLimit(.minutes(1)))
struct TemplateNamingTests {
    struct Recipe: Sendable, CustomTestStringConvertible {
        let template, url, original, variant, path: String
        var testDescription: String { template }
    }

    /// WordPress: `generate_filename` and `get_suffix` of wp-includes/class-wp-image-editor.php. Magento 2:
    /// `getRelativePath` of Magento/Catalog/Model/View/Asset/Image.php; the variant's name is the MD5 of its parameters.
    static let recipes = [
        Recipe(
            template: "{dir:2}/{stem}[-{width}x{height}].{ext}",
            url: "https://example.com/wp-content/uploads/2026/11/Sea%20View.JPG", original: "2026/11/Sea View.JPG",
            variant: #"{"name":"thumbnail","transform":[{"type":"resize","width":150,"height":150}]}"#,
            path: "2026/11/Sea View-150x150.jpg"),
        Recipe(
            template: "product/[cache/{variant}/]{dir:3}/{stem}.{ext}",
            url: "https://shop.example.com/media/catalog/product/m/b/mb01-blue-0.jpg",
            original: "product/m/b/mb01-blue-0.jpg",
            variant: #"{"name":"8c23c5a0b5d1e4c6f0a7b9d2e3f41526","thumbnail":{"width":240,"height":300}}"#,
            path: "product/cache/8c23c5a0b5d1e4c6f0a7b9d2e3f41526/m/b/mb01-blue-0.jpg"),
        Recipe(
            template: "{host}/{dir}/{stem}[-{variant.width}w].{ext}", url: "https://Example.com:8443/photos/a.png?v=1",
            original: "example.com/photos/a.png",
            variant: #"{"name":"w800","thumbnail":{"width":800,"height":8000},"format":"webp"}"#,
            path: "example.com/photos/a-800w.webp"),
    ]

    private func naming(_ template: String) throws -> TemplateNaming { TemplateNaming(try PathTemplate(template)) }

    private func path(_ template: String, _ url: String) throws -> String {
        try naming(template).fileName(of: CacheKey(url))
    }

    @Test(arguments: recipes)
    func `a template gives the paths of an application`(_ recipe: Recipe) throws {
        let naming = try naming(recipe.template)
        let key = CacheKey(recipe.url)
        #expect(naming.fileName(of: key) == recipe.original)
        let variant = try #require(try naming.key(of: try Variant(json: recipe.variant.utf8), from: key))
        #expect(naming.fileName(of: variant) == recipe.path)
        #expect(naming.isFileName(recipe.path))
    }

    @Test func `the digest, the day and a missing extension have their own forms`() throws {
        let day = TemplateNaming(try PathTemplate("{date}/{sha256}.{ext}"), day: Timestamp(seconds: 1_798_761_599))
        let digest = SHA256Digest.hex(of: "https://h/a".utf8)
        #expect(day.fileName(of: CacheKey("https://h/a")) == "2026-12-31/\(digest)")
        #expect(try path("{dir}/{stem}.{ext}", "https://h/b/") == "b/index")
        #expect(try path("{dir}/{stem}.{ext}", "https://h/b/.jpg") == "b/_jpg")
        #expect(try path("{stem}.{ext}", "no URL at all.jpg") == "no URL at all.jpg")
    }

    @Test(arguments: [
        ("{dir}/{stme}", PathTemplateError.unknown(word: "stme")), ("{stem", .unbalanced("{stem")),
        ("stem}{stem}", .unbalanced("stem}{stem}")), ("[[{stem}]]", .unbalanced("[[{stem}]]")),
        ("[{stem}", .unbalanced("[{stem}")), ("{host}/{dir}/{variant}.{ext}", .sameForAllURLs),
    ])
    func `a template with an unknown word, without a brace, or without a stem is refused`(
        _ text: String, _ expected: PathTemplateError
    ) {
        #expect(throws: expected) { try PathTemplate(text) }
    }

    @Test(arguments: [
        "", "/{stem}", "../{stem}", "a//{stem}", "{stem}/", ".{stem}", "a\u{0}{stem}", "a\\{stem}", "{stem:2}",
        "{dir:0}/{stem}", String(repeating: "a", count: 1_025) + "{stem}",
    ])
    func `a template that is no relative path is refused`(_ text: String) {
        #expect(throws: PathTemplateError.self) { try PathTemplate(text) }
    }

    @Test(arguments: [
        "https://h/../../etc/passwd", "https://h/%2e%2e/%2E%2E/etc/passwd", "https://h/a/..%2f..%2f..%2fetc%2fpasswd",
        "https://h/a%00b/c%0a.jpg", "https://h/..", "https://h/.", "https://h//////", "https://../x",
        "https://h/.larder-cache-id", "https://h/.htaccess", "https://h/a\\..\\b.jpg", "https://h/%ff%fe/x.jpg",
        "https://h/\u{202E}gpj.exe", "data:image/png;base64,AAAA/../..", "../../../x", "/etc/passwd", "",
        "https://h/" + String(repeating: "a", count: 5_000) + ".jpg",
        "https://h/" + String(repeating: "ä/", count: 3_000),
        "https://h/x/%CC%81../%CC%81" + String(repeating: "a", count: 250),
        "https://h/a\u{1F}../../x\u{1F}..x..\u{1F}/../../etc",
    ])
    func `no URL leaves the directory, has a hidden name or too long a path`(_ url: String) throws {
        for template in ["{dir}/{stem}.{ext}", "{host}/{dir:1}/{stem}[-{variant}-{width}-{height}].{ext}"] {
            let path = try path(template, url)
            let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            #expect(parts.allSatisfy { (1...255).contains($0.count) }, "\(path)")
            #expect(!parts.contains { $0.first == UInt8(ascii: ".") }, "\(path)")
            #expect(!path.unicodeScalars.contains { $0.value < 0x20 || $0 == "\\" || $0.value == 0x202E }, "\(path)")
            #expect(path.utf8.count <= 3_072)
            #expect(try naming(template).isFileName(path))
        }
    }

    @Test(arguments: [
        ("shell.php", "shell_php"), ("a.JPG", "a.JPG"), ("a.tar.gz", "a.tar_gz"), ("a.svg", "a.svg"),
        ("a.htm_", "a_htm_"),
    ])
    func `only extensions of images are kept`(_ name: String, _ expected: String) throws {
        #expect(try path("{dir}/{stem}.{ext}", "https://h/uploads/" + name) == "uploads/" + expected)
    }

    @Test func `long names that differ at their end stay different`() throws {
        let long = "https://h/" + String(repeating: "a", count: 300)
        let first = try path("{stem}.{ext}", long + "1.jpg")
        #expect(try path("{stem}.{ext}", long + "2.jpg") != first)
        #expect(first.hasSuffix(".jpg"))
    }

    @Test func `a format that is chosen later has no extension before`() throws {
        let variant = try Variant(json: #"{"name":"v","format":"auto","formats":["webp","jpeg"]}"#.utf8)
        let naming = try naming("{dir}/{stem}[-{variant}].{ext}")
        #expect {
            _ = try naming.suffixes(of: variant)
        } throws: {
            ($0 as? VariantError)?.path == "$.format"
        }
        #expect(naming.variantKey(of: CacheKey("https://h/a.jpg"), suffixes: ["raw"]) == nil)
    }
}
