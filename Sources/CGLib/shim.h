#pragma once
#include <fcntl.h>
#include <glib.h>
#include <sys/stat.h>
// Swift's Glibc module leaves these two out: extended attributes, and the macros that futimens understands.
#include <sys/xattr.h>

/// Sets the access time of an open file to now and leaves its modification time; -1 and errno on failure.
/// The corresponding C function is `futimens`.
static inline int larder_touch_access_time(int descriptor) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    return futimens(descriptor, times);
}
