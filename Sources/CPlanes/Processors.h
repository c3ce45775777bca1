#pragma once

#if defined(__has_feature)
#define LARDER_IS_SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#else
#define LARDER_IS_SANITIZED 0
#endif

/// Compiles a function twice, the second time for processors with AVX2 and FMA; the loader chooses. Once in builds of
/// scripts/sanitize, where the loader would call a sanitizer that is not initialised yet.
#if defined(__x86_64__) && !LARDER_IS_SANITIZED
#define FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif
