actor Connection {
    init(_ configuration: PostgresJobQueue.Configuration, name: String) {}
}
