import FoundationEssentials
import Terminal

/// A list line in JSON.
enum JSONListLine {
    /// The item of an object with `url` and the other columns, or of a string. `misspelt` checks the field names.
    ///
    /// - Throws: `BadLine` for anything else.
    static func item(
        _ line: ArraySlice<UInt8>, _ number: Int, _ misspelt: inout MisspeltColumns
    ) throws(BadLine) -> ListItem {
        let data = Data(line)
        if line.first == UInt8(ascii: "\""), let url = try? JSONDecoder().decode(String.self, from: data) {
            return try ListItem([.url: url], line: number)
        }
        let fields: Fields
        do {
            fields = try JSONDecoder().decode(Fields.self, from: data)
        } catch DecodingError.typeMismatch(_, let context) {
            let column = context.codingPath.first?.stringValue
            throw BadLine(line: number, message: column.map { "\($0) has the wrong type" } ?? "not a JSON object")
        } catch {
            throw BadLine(line: number, message: "not a JSON object")
        }
        misspelt.add(fields.names)
        return try ListItem(fields.texts, meta: fields.meta, line: number)
    }

    /// An object's columns. Tries the most likely type first, since a wrong one costs an error.
    private struct Fields: Decodable {
        var texts: [ListColumn: String] = [:]
        var meta: [String: MetaValue]?
        let names: [String]

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: JSONObject.Name.self).allKeys.map(\.stringValue)
            let line = try decoder.container(keyedBy: ListColumn.self)
            for column in line.allKeys where try !line.decodeNil(forKey: column) {
                if column == .priority, let number = try? line.decode(Decimal.self, forKey: column) {
                    texts[column] = "\(number)"
                } else if column == .meta, let object = try? line.decode([String: MetaValue].self, forKey: column) {
                    meta = object
                } else {
                    texts[column] = try line.decode(String.self, forKey: column)
                }
            }
        }
    }
}
