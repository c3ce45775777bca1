#pragma once

/// Built once more for processors with AVX2 and fused multiplication, and chosen when the program is loaded.
#if defined(__x86_64__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif
