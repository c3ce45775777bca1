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
        Migration("0012_enqueue_list", PackageResources._012_enqueue_list_sql),
        Migration("0013_adding", PackageResources._013_adding_sql),
        Migration("0014_joins", PackageResources._014_joins_sql),
        Migration("0015_worker", PackageResources._015_worker_sql),
        Migration("0016_ready", PackageResources._016_ready_sql),
        Migration("0017_limits", PackageResources._017_limits_sql),
        Migration("0018_pause", PackageResources._018_pause_sql),
        Migration("0019_origins", PackageResources._019_origins_sql),
        Migration("0020_claim", PackageResources._020_claim_sql),
        Migration("0021_complete", PackageResources._021_complete_sql),
        Migration("0022_complete_others", PackageResources._022_complete_others_sql),
        Migration("0023_cancel", PackageResources._023_cancel_sql),
        Migration("0024_retry", PackageResources._024_retry_sql),
        Migration("0025_rescue", PackageResources._025_rescue_sql),
        Migration("0026_finish", PackageResources._026_finish_sql),
        Migration("0027_webhooks", PackageResources._027_webhooks_sql),
        Migration("0028_retention", PackageResources._028_retention_sql),
        Migration("0029_vacuum", PackageResources._029_vacuum_sql),
        Migration("0030_cron", PackageResources._030_cron_sql),
        Migration("0031_schedules", PackageResources._031_schedules_sql),
        Migration("0032_views", PackageResources._032_views_sql),
        Migration("0033_health", PackageResources._033_health_sql),
        Migration("0034_actions", PackageResources._034_actions_sql),
        Migration("0035_due", PackageResources._035_due_sql),
        Migration("0036_roles", PackageResources._036_roles_sql),
    ]

    init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        sql = String(decoding: bytes, as: UTF8.self)
    }
}
