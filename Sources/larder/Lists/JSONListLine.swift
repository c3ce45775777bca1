import Foundation

/// A line of a list in JSON.
enum JSONListLine {
    /// The item of an object with `url` and the other columns, or of a string.
    ///
    /// - Throws: `BadLine` for anything else.
    static func item(_ line: ArraySlice<UInt8>, _ number: Int) throws(BadLine) -> ListItem {
        let value = try? JSONSerialization.jsonObject(with: Data(line), options: .fragmentsAllowed)
        if let url = value as? String { return try ListItem([.url: url], line: number) }
        guard let object = value as? [String: Any] else {
            throw BadLine(line: number, message: "not a JSON object")
        }
        var fields: [ListColumn: String] = [:]
        for column in ListColumn.allCases {
            switch object[column.rawValue] {
            case nil, is NSNull: continue
            case let text as String: fields[column] = text
            case let object as [String: Any] where column == .meta:
                fields[column] = try ListItem.text(of: object, number)
            case let value as NSNumber where column == .priority: fields[column] = "\(value)"
            default: throw BadLine(line: number, message: "\(column.rawValue) has the wrong type")
            }
        }
        return try ListItem(fields, line: number)
    }
}
