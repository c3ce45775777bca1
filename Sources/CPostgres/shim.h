#pragma once
#include <libpq-fe.h>

// libpq prints notices to stderr unless told otherwise, and a Swift closure cannot take its untyped callback.
static inline void larder_postgres_no_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}
static inline void larder_postgres_silence(PGconn *connection) {
    PQsetNoticeReceiver(connection, larder_postgres_no_notice, NULL);
}
// Macros whose values Swift cannot import: the letters of PQresultErrorField.
static inline const char *larder_postgres_sqlstate(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}
static inline const char *larder_postgres_primary_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}
