private import CGLib
import DiskCache
import Measuring

extension Benchmark {
    /// Keys and file names are computed for every job and every variant.
    static let keys = Benchmark(
        name: "keys", question: "What do cache keys and file names cost beyond their MD5?"
    ) { options in
        let urls = (0..<1_000).map {
            "https://images-\($0 % 40).example.com/products/2024/\($0)/photo@2x.jpg?w=1200&v=\($0)"
        }
        let suffix = "Thumbnail({800.000000,800.000000},1)"
        let derived = try urls.map { url in
            guard let key = CacheKey(url).appending(suffix) else { throw MeasuringError("\(url) has no derived key") }
            return key.text
        }
        let passes = 50
        let count = urls.count * passes

        /// By processor time, because nothing here waits.
        func rate(_ texts: [String], _ length: (String) -> Int) throws -> Double {
            var total = 0
            let start = processorSeconds
            for _ in 0..<passes { for text in texts { total += length(text) } }
            let rate = Double(count) / (processorSeconds - start)
            // Uses the result, so that the optimiser keeps the work; every name begins with 32 digits.
            guard total >= 32 * count else { throw MeasuringError("there are names shorter than an MD5") }
            return rate
        }

        let rounds = try await Rounds(
            options.rounds,
            [
                { ["key_original": try rate(urls) { SDWebImageNaming().fileName(of: CacheKey($0)).utf8.count }] },
                { ["bare_md5_original": try rate(urls, bareMD5)] },
                {
                    [
                        "key_variant": try rate(urls) {
                            CacheKey($0).appending(suffix).map(SDWebImageNaming().fileName)?.utf8.count ?? 0
                        }
                    ]
                },
                { ["bare_md5_variant": try rate(derived, bareMD5)] },
            ])
        return Findings(
            measurements: try rounds.measurements([
                Figure("key_original", "keys/CPU s", against: "bare_md5_original"),
                Figure("key_variant", "keys/CPU s", against: "bare_md5_variant"),
                Figure("bare_md5_original", "keys/CPU s"),
                Figure("bare_md5_variant", "keys/CPU s"),
            ]),
            input: "1,000 URLs of about \(urls[0].utf8.count) bytes, one thread")
    }
}

/// Computes the digest of a text as hexadecimal digits.
private func bareMD5(_ text: String) -> Int {
    var text = text
    return text.withUTF8 { bytes in
        guard let digits = g_compute_checksum_for_data(G_CHECKSUM_MD5, bytes.baseAddress, gsize(bytes.count)) else {
            return 0
        }
        defer { g_free(digits) }
        return strlen(digits)
    }
}
