extension DashboardOpenAPI {
    /// The operations that are not routes: the stream of events, the preview, and the files for people and programs.
    static var others: [String: JSONObject] {
        [
            DashboardEvents.path: ["get": events],
            DashboardPreview.path: ["post": preview],
            "/api/v1/openapi.json": [
                "get": operation("This description.", [:], ["application/json": ["type": "object"]])
            ],
            "/report/{id}": [
                "get": operation("The report of a batch as a page.", ["id": "integer"], ["text/html": text])
            ],
            "/cache/{key}": [
                "get": file("The file of a key of the cache; a `?` in the key is written `%3F`.", ["key"])
            ],
            "/batch/{name}/{variant}/{job}": [
                "get": file(
                    "A file that a job of a batch stored. `name` may be the number; `variant` may be `original`.",
                    ["name", "variant", "job"])
            ],
            "/metrics": ["get": operation("The metrics of the queues, for Prometheus.", [:], ["text/plain": text])],
            "/livez": ["get": operation("Whether the server runs.", [:], ["text/plain": text])],
            "/readyz": ["get": operation("Whether the database answers.", [:], ["text/plain": text])],
        ]
    }

    static var text: JSONObject { ["type": "string"] }

    /// An operation with parameters in its path, by type.
    static func operation(
        _ summary: String, _ parameters: [String: String], _ content: [String: JSONObject]
    ) -> JSONObject {
        [
            "summary": summary,
            "parameters": parameters.keys.sorted().map {
                parameter(DashboardRoute.Field(name: $0, type: parameters[$0] ?? "string"), in: "path")
            },
            "responses": ["200": contents("The answer.", content), "default": error] as JSONObject,
        ]
    }

    /// An operation that answers with an image, or a part of one.
    private static func file(_ summary: String, _ names: [String]) -> JSONObject {
        let image: [String: JSONObject] = ["image/*": [:], "application/octet-stream": [:]]
        return [
            "summary": summary,
            "parameters": names.map { parameter(.text($0), in: "path") }
                + ["Range", "If-Range", "If-None-Match"].map { parameter(.optionalText($0), in: "header") },
            "responses": [
                "200": contents("The file; it never changes.", image), "206": contents("The range.", image),
                "304": ["description": "The file is the one that the client has."] as JSONObject,
                "404": contents("There is no such file, or images are not served.", ["text/plain": text]),
                "416": ["description": "The file has no such range."] as JSONObject, "default": error,
            ] as JSONObject,
        ]
    }

    private static var events: JSONObject {
        [
            "summary":
                "Server-sent events named `answer`, whose data is an Event: the answer to each path, and again when it has changed.",
            "parameters": [
                [
                    "name": "paths", "in": "query", "required": true, "schema": text,
                    "description":
                        "1 to 12 paths of GET below `/api/v1/`, separated by spaces, their own `?` and `=` escaped.",
                ] as JSONObject
            ],
            "responses": [
                "200": contents("The stream.", ["text/event-stream": text]), "default": error,
            ] as JSONObject,
        ]
    }

    /// The data of an event.
    static var event: JSONObject {
        object(
            ["path": text, "status": ["type": "integer"] as JSONObject, "answer": ["type": "object"] as JSONObject],
            required: ["answer", "path", "status"])
    }

    private static var preview: JSONObject {
        let file: JSONObject = [
            "type": "string", "contentEncoding": "base64",
            "description": "An image of at most \(PreviewRequest.mostBytes) bytes.",
        ]
        let variants: JSONObject = [
            "type": "array", "maxItems": PreviewRequest.mostVariants, "items": ["type": "object"] as JSONObject,
        ]
        let bodies = [
            object(["url": text, "variants": variants], required: ["url", "variants"]),
            object(["file": file, "variants": variants], required: ["file", "variants"]),
        ]
        let source = object(
            of: [
                "key": "string?", "cached": "boolean", "format": "string", "width": "integer", "height": "integer",
                "bytes": "integer", "ms": "integer", "data": "string",
            ], required: ["bytes", "cached", "format", "height", "key", "ms", "width"])
        let variant = object(
            of: [
                "name": "string", "key": "string?", "file": "string?", "format": "string", "width": "integer",
                "height": "integer", "bytes": "integer", "ms": "integer", "quality": "integer?", "data": "string",
                "error": "object",
            ], required: ["file", "key", "name"])
        return [
            "summary": """
            Makes variants of the image of a URL, or of a file, and stores nothing. `data` is a `data:` URL; `error` \
            is why a variant cannot be made.
            """,
            "requestBody": [
                "required": true,
                "content": ["application/json": ["schema": ["oneOf": bodies] as JSONObject] as JSONObject]
                    as JSONObject,
            ] as JSONObject,
            "responses": [
                "200": contents(
                    "The answer.",
                    [
                        "application/json": object(
                            ["source": source, "variants": ["type": "array", "items": variant] as JSONObject],
                            required: ["source", "variants"])
                    ]), "default": error,
            ] as JSONObject,
        ]
    }
}
