import Testing

@testable import Codecs

@Suite(.timeLimit(.minutes(5)))
struct BlurHashTests {
    private func pixels(_ width: Int, _ height: Int, _ color: (Int, Int) -> [Int]) -> DigestPixels {
        let colors = (0..<width * height).map { color($0 % width, $0 / width) }
        return DigestPixels(
            width: width, height: height, bytes: colors.flatMap { ($0 + [255])[..<4].map { UInt8($0) } })
    }

    /// The expected texts were made by the package blurhash 1.1.5 for Python.
    @Test func `the text equals another program's`() {
        let wide = pixels(32, 24) { x, y in [x * 8 % 256, x * y % 256, (x ^ y) * 4 % 256] }
        #expect(BlurHash.text(wide) == "LxH1n+10v*V_m?WAkUg2eXg1g1f5")
        let high = pixels(24, 32) { x, y in [(x / 6 + y / 8) % 2 == 1 ? 255 : 0, y * 8 % 256, 200 - x * 8] }
        #expect(BlurHash.text(high) == "TxLo}|s]fUqRNdfRgJfjfQr^JmfR")
        let plain = pixels(10, 10) { _, _ in [200, 60, 30] }
        #expect(BlurHash.text(plain) == "LIM_;f}DfQ}D}DsnfQsnfQfQfQfQ")
        let small = pixels(7, 5) { x, y in [x * 40 % 256, y * 50 % 256, 9] }
        #expect(
            BlurHash.text(small, columns: 9, rows: 9)
                == "|qHBBw37Wp$}FI-RFI-RFI*-NJa|nRSMruSMruSMeXe;fQe;fQe;fQe;fQ-+OVa|odSMs-SMs-SMd_e;fQe;fQe;fQe;fQ-"
                + "+OVa|odSMs-SMs-SMd_e;fQe;fQe;fQe;fQ-+OVa|odSMs-SMs-SMeXe;fQe;fQe;fQe;fQ")
        #expect(BlurHash.text(small, columns: 1, rows: 1) == "00HBBw")
    }

    @Test func `transparency is white`() {
        let clear = pixels(8, 8) { x, _ in [0, 0, 0, x < 4 ? 255 : 0] }
        let onWhite = pixels(8, 8) { x, _ in x < 4 ? [0, 0, 0] : [255, 255, 255] }
        #expect(BlurHash.text(clear) == BlurHash.text(onWhite))
    }
}
