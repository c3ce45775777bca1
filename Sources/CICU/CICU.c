#include "CICU.h"

#include <unicode/uidna.h>

int32_t icu_name_to_ascii(const char *name, int32_t length, char *ascii, int32_t capacity) {
    UErrorCode status = U_ZERO_ERROR;
    UIDNA *idna = uidna_openUTS46(UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII, &status);
    if (U_FAILURE(status)) return -1;
    UIDNAInfo info = UIDNA_INFO_INITIALIZER;
    int32_t count = uidna_nameToASCII_UTF8(idna, name, length, ascii, capacity, &info, &status);
    uidna_close(idna);
    return U_SUCCESS(status) && info.errors == 0 ? count : -1;
}
