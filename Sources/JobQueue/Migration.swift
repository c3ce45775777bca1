/// A file of `migrations`, embedded in the program.
struct Migration: Sendable {
    let name: String
    let sql: String

    /// All migrations in order, from number 1. A test compares this list with the directory.
    static let all: [Migration] = [
        Migration("0001_schema", PackageResources._001_schema_sql),
        Migration("0002_maintenance", PackageResources._002_maintenance_sql),
        Migration("0003_queues", PackageResources._003_queues_sql),
        Migration("0004_pipelines", PackageResources._004_pipelines_sql),
        Migration("0005_batches", PackageResources._005_batches_sql),
        Migration("0006_jobs", PackageResources._006_jobs_sql),
        Migration("0007_history", PackageResources._007_history_sql),
        Migration("0008_ledger", PackageResources._008_ledger_sql),
        Migration("0009_retry_rules", PackageResources._009_retry_rules_sql),
        Migration("0010_blocklist", PackageResources._010_blocklist_sql),
        Migration("0011_enqueue", PackageResources._011_enqueue_sql),
        Migration("0012_adding", PackageResources._012_adding_sql),
        Migration("0013_joins", PackageResources._013_joins_sql),
        Migration("0014_worker", PackageResources._014_worker_sql),
        Migration("0015_ready", PackageResources._015_ready_sql),
        Migration("0016_limits", PackageResources._016_limits_sql),
        Migration("0017_pause", PackageResources._017_pause_sql),
        Migration("0018_origins", PackageResources._018_origins_sql),
        Migration("0019_claim", PackageResources._019_claim_sql),
        Migration("0020_complete", PackageResources._020_complete_sql),
        Migration("0021_complete_others", PackageResources._021_complete_others_sql),
        Migration("0022_cancel", PackageResources._022_cancel_sql),
        Migration("0023_retry", PackageResources._023_retry_sql),
        Migration("0024_rescue", PackageResources._024_rescue_sql),
        Migration("0025_finish", PackageResources._025_finish_sql),
        Migration("0026_retention", PackageResources._026_retention_sql),
        Migration("0027_vacuum", PackageResources._027_vacuum_sql),
        Migration("0028_views", PackageResources._028_views_sql),
        Migration("0029_health", PackageResources._029_health_sql),
        Migration("0030_roles", PackageResources._030_roles_sql),
    ]

    init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        sql = String(decoding: bytes, as: UTF8.self)
    }
}
