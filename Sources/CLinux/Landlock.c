// Denial of files, addresses and other processes (Landlock).
#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdint.h>
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

/// Allows what is beneath a directory to be read; a directory that does not exist needs no rule.
static void allow_reading(int ruleset, const char *directory) {
    struct landlock_path_beneath_attr rule = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
        .parent_fd = open(directory, O_PATH | O_CLOEXEC)};
    if (rule.parent_fd < 0) { return; }
    syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

int larder_deny_files(const char *const *readable, int count) {
    const uint64_t rights[fields] = {every_right(files), every_right(ports), every_right(scopes)};
    int ruleset = create_ruleset(rights);
    if (ruleset < 0) { return -1; }
    // Without a rule, each right is denied everywhere.
    for (int index = 0; index < count; index++) { allow_reading(ruleset, readable[index]); }
    long result = syscall(__NR_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return result == 0 ? 0 : -1;
}
