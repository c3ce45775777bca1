/// The OpenAPI description of what `larder serve` answers; that of the API is made from its routes.
enum DashboardOpenAPI {
    static var document: JSONObject { document(of: paths) }

    static func document(of paths: JSONObject) -> JSONObject {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "Larder", "version": Larder.version,
                "description": "The API of `larder serve`. Changes need --allow-changes and a JSON body.",
            ] as JSONObject,
            "paths": paths,
            "components": [
                "securitySchemes": ["token": ["type": "http", "scheme": "bearer"] as JSONObject] as JSONObject,
                "schemas": ["Event": event] as JSONObject,
            ] as JSONObject,
            "security": [["token": [String]()] as JSONObject, [:] as JSONObject],
        ]
    }

    private static var paths: JSONObject {
        var paths: JSONObject = [:]
        for (path, operations) in others { paths[path] = operations }
        for (path, routes) in Dictionary(grouping: DashboardRoute.all, by: \.path) {
            var operations: JSONObject = [:]
            for route in routes { operations[route.method.lowercased()] = operation(route) }
            paths["/api/v1/\(path)"] = operations
        }
        return paths
    }

    private static func operation(_ route: DashboardRoute) -> JSONObject {
        let inPath = route.path.contains("{id}") ? [parameter(.number("id"), in: "path")] : []
        var operation: JSONObject = [
            "summary": route.summary,
            "parameters": inPath + route.arguments.map { parameter($0, in: "query") },
            "responses": [
                "200": response("The answer.", answer(of: route)),
                "default": error,
            ] as JSONObject,
        ]
        if route.method == "POST" {
            var properties: JSONObject = [:]
            for field in route.fields { properties[field.name] = type(field.type) }
            let body = object(properties, required: route.fields.filter(\.isRequired).map(\.name))
            operation["requestBody"] =
                [
                    "required": true,
                    "content": ["application/json": ["schema": body] as JSONObject] as JSONObject,
                ] as JSONObject
        }
        return operation
    }

    static var error: JSONObject { response("An error.", ["$ref": "json-output.schema.json#/$defs/error"]) }

    static func parameter(_ field: DashboardRoute.Field, in place: String) -> JSONObject {
        ["name": field.name, "in": place, "required": place == "path", "schema": type(field.type)]
    }

    private static func response(_ description: String, _ schema: JSONObject) -> JSONObject {
        contents(description, ["application/json": schema])
    }

    /// A response with one of these media types, each with its schema.
    static func contents(_ description: String, _ schemas: [String: JSONObject]) -> JSONObject {
        var content: JSONObject = [:]
        for (type, schema) in schemas { content[type] = ["schema": schema] as JSONObject }
        return ["description": description, "content": content]
    }

    private static func answer(of route: DashboardRoute) -> JSONObject {
        var properties: JSONObject = [:]
        for (field, content) in route.answer { properties[field] = schema(content) }
        return object(properties, required: route.answer.map(\.field))
    }

    private static func schema(_ content: DashboardRoute.Content) -> JSONObject {
        switch content {
        case .lines(let command): return ["type": "array", "items": line(of: command)]
        case .line(let command): return line(of: command)
        case .value(let name): return type(name)
        case .objects(let fields): return ["type": "array", "items": object(of: fields)]
        case .object(let fields): return object(of: fields)
        case .schema(let schema): return schema()
        }
    }

    /// An object with these fields, all of them by default.
    static func object(of fields: [String: String], required: [String]? = nil) -> JSONObject {
        var properties: JSONObject = [:]
        for (name, kind) in fields { properties[name] = type(kind) }
        return object(properties, required: required ?? fields.keys.sorted())
    }

    static func line(of command: String) -> JSONObject {
        ["$ref": "json-output.schema.json#/properties/\(command.replacing(" ", with: "%20"))"]
    }

    static func object(_ properties: JSONObject, required: [String]) -> JSONObject {
        ["type": "object", "properties": properties, "required": required, "additionalProperties": false]
    }

    private static func type(_ name: String) -> JSONObject {
        if name.hasSuffix("[]") { return ["type": "array", "items": type(String(name.dropLast(2)))] }
        return name.hasSuffix("?") ? ["type": [String(name.dropLast()), "null"]] : ["type": name]
    }
}
