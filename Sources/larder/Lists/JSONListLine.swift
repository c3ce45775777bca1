import FoundationEssentials

/// A line of a list in JSON.
enum JSONListLine {
    /// The item of an object with `url` and the other columns, or of a string.
    ///
    /// - Throws: `BadLine` for anything else.
    static func item(_ line: ArraySlice<UInt8>, _ number: Int) throws(BadLine) -> ListItem {
        let value = try? JSONDecoder().decode(MetaValue.self, from: Data(line))
        if case .string(let url) = value { return try ListItem([.url: url], line: number) }
        guard case .object(let object) = value else {
            throw BadLine(line: number, message: "not a JSON object")
        }
        var fields: [ListColumn: String] = [:]
        for column in ListColumn.allCases {
            switch object[column.rawValue] {
            case nil, .null: continue
            case .string(let text): fields[column] = text
            case .object(let object) where column == .meta:
                fields[column] = try ListItem.text(of: object, number)
            case .decimal(let value) where column == .priority: fields[column] = "\(value)"
            default: throw BadLine(line: number, message: "\(column.rawValue) has the wrong type")
            }
        }
        return try ListItem(fields, line: number)
    }
}
