// Denial of files, addresses and other processes (Landlock).
#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The kernel's `struct landlock_ruleset_attr`, of which older headers have less: rights to files and to ports, and the
/// scopes of abstract sockets and signals.
enum { files, ports, scopes, fields };

static int create_ruleset(const uint64_t rights[fields]) {
    // The kernel refuses a longer structure than its own unless the rest is 0.
    return (int)syscall(__NR_landlock_create_ruleset, rights, fields * sizeof *rights, 0);
}

/// All rights of a kind that this kernel has, as bits; it refuses a set with any other.
static uint64_t every_right(int kind) {
    for (unsigned count = 63; count > 0; count--) {
        uint64_t rights[fields] = {0};
        rights[kind] = (1ull << count) - 1;
        int ruleset = create_ruleset(rights);
        if (ruleset >= 0) {
            close(ruleset);
            return rights[kind];
        }
    }
    return 0;
}

enum {
    reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    /// The rights that an entry which is no directory can have.
    ofFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE,
};

/// Allows rights to an open file, or to what is beneath an open directory.
static void allow_open(int ruleset, int descriptor, uint64_t rights) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) { return; }
    struct landlock_path_beneath_attr rule = {
        .allowed_access = S_ISDIR(status.st_mode) ? rights : rights & ofFiles, .parent_fd = descriptor};
    syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/// The same by name; what does not exist needs no rule.
static void allow(int ruleset, const char *path, uint64_t rights) {
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0) { return; }
    allow_open(ruleset, descriptor, rights);
    close(descriptor);
}

/// A set of rules that denies every right everywhere but by its rules; -1 with errno.
static int deny_all(void) {
    const uint64_t rights[fields] = {every_right(files), every_right(ports), every_right(scopes)};
    return create_ruleset(rights);
}

static int enter(int ruleset) {
    long result = syscall(__NR_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return result == 0 ? 0 : -1;
}

int larder_deny_files(const char *const *readable, int count) {
    int ruleset = deny_all();
    if (ruleset < 0) { return -1; }
    for (int index = 0; index < count; index++) { allow(ruleset, readable[index], reading); }
    return enter(ruleset);
}

int larder_deny_program_files(const char *const *paths, int count) {
    int ruleset = deny_all();
    if (ruleset < 0) { return -1; }
    for (int index = 0; index < count; index++) {
        allow(ruleset, paths[index], reading | LANDLOCK_ACCESS_FS_EXECUTE);
    }
    allow(ruleset, "/dev/null", reading | LANDLOCK_ACCESS_FS_WRITE_FILE);
    // Programs that take no pipe open `/dev/stdin`.
    allow_open(ruleset, STDIN_FILENO, reading);
    return enter(ruleset);
}
