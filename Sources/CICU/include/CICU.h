#pragma once
#include <stdint.h>

/* ICU's own headers are not shown to Swift: they clash with the copy of ICU inside of Foundation. */

/* The name in ASCII by UTS 46, non-transitional, with the checks of bidirectional text and joiners
   (uidna_nameToASCII_UTF8). Returns its length, or -1 when `name` is not valid or the result does not fit. */
int32_t icu_name_to_ascii(const char *name, int32_t length, char *ascii, int32_t capacity);
