extension DashboardOpenAPI {
    /// The description of what `larder serve` answers with several databases, besides the dashboards below
    /// `/databases/N/`, each of which describes itself.
    static var ofSeveralDatabases: JSONObject {
        let json: [String: JSONObject] = ["application/json": ["type": "object"]]
        return document(of: [
            "/api/v1/batches": ["get": joinedBatches] as JSONObject,
            "/api/v1/openapi.json": ["get": operation("This description.", [:], json)] as JSONObject,
            "/databases/{number}/api/v1/openapi.json": [
                "get": operation(
                    "The description of one database's dashboard. Its paths are below `/databases/{number}`.",
                    ["number": "integer"], json)
            ] as JSONObject,
            "/livez": ["get": operation("Whether the server runs.", [:], ["text/plain": text])] as JSONObject,
            "/readyz": ["get": operation("Whether all databases answer.", [:], ["text/plain": text])] as JSONObject,
        ])
    }

    private static var joinedBatches: JSONObject {
        let database = ["database": "string", "databaseNumber": "integer", "error": "string?"]
        let answer = object(
            [
                "batches": ["type": "array", "items": line(of: "status")] as JSONObject,
                "databases": ["type": "array", "items": object(of: database)] as JSONObject,
            ], required: ["batches", "databases"])
        return [
            "summary": "The newest batches of all databases, and for each database what keeps it from answering.",
            "parameters": [parameter(.optionalNumber("limit"), in: "query")],
            "responses": [
                "200": contents("The answer.", ["application/json": answer]), "default": error,
            ] as JSONObject,
        ]
    }
}
