#pragma once

/// Compiles a function twice, the second time for processors with AVX2 and FMA; the loader chooses.
#if defined(__x86_64__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif
