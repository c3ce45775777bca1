/// The times in answers that pass by themselves: the page counts them on, so an answer that differs in these alone is
/// not sent again.
enum PassingTimes {
    private static let names = ["seconds", "etaSeconds", "heartbeatAt"].map { Array("\"\($0)\":".utf8) }

    /// The JSON without the values of these fields, which are numbers or times.
    static func removed(from json: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        kept.reserveCapacity(json.count)
        var place = 0
        while place < json.count {
            let byte = json[place]
            if byte == UInt8(ascii: "\""), let name = names.first(where: { json[place...].starts(with: $0) }) {
                kept += name
                place += name.count
                while place < json.count, json[place] != UInt8(ascii: ","), json[place] != UInt8(ascii: "}") {
                    place += 1
                }
            } else {
                kept.append(byte)
                place += 1
            }
        }
        return kept
    }
}
