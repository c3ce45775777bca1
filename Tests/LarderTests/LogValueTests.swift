import Testing

@testable import Terminal

/// Values in log lines.
struct LogValueTests {
    @Test(arguments: [
        ("plain", "plain"), ("http://h/a.jpg", "http://h/a.jpg"), ("", #""""#), ("two words", #""two words""#),
        (#"called "x""#, #""called \"x\"""#), (#"a\b"#, #""a\\b""#), ("a\nb=c", #""a\nb=c""#), ("a=b", #""a=b""#),
        ("\u{1B}[2J", #""\x1b[2J""#),
    ])
    func `values other than one plain word are quoted and escaped`(value: String, line: String) {
        #expect(LogValue.quoted(value) == line)
    }
}
