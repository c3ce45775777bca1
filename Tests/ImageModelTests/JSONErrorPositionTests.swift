import Testing

@testable import ImageModel

struct JSONErrorPositionTests {
    @Test(arguments: [
        ("{}", nil), (#" [1, -0.5e+3, "\u00e9\"", {"a": [true, false, null]}] "#, nil), ("", "line 1, column 1"),
        ("{\"a\":1}\nx", "line 2, column 1"), ("[1 2]", "line 1, column 4"), ("tru", "line 1, column 4"),
        ("\"a\nb\"", "line 1, column 3"), ("[-]", "line 1, column 3"),
    ])
    func `the position of a JSON error has line and column`(text: String, place: String?) {
        #expect(JSONErrorPosition.text(in: Array(text.utf8)) == place)
    }
}
