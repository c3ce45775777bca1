#pragma once
#include <stddef.h>
#include <stdint.h>

/// libFuzzer's loop, in the compiler's library `clang_rt.fuzzer_no_main`, which `scripts/fuzz` links.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*read)(const uint8_t *bytes, size_t count));
