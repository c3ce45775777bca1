// Drops a process's privileges before it reads data that it does not trust.
#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int larder_drop_privileges(void) {
    // A terminal takes input and signals from the processes of its own session only.
    if (setsid() < 0 && getsid(0) != getpid()) { return -1; }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) { return -1; }
    // Only a privileged process may do so; for others `no_new_privs` has the same effect.
    for (unsigned long number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; number++) {
        prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    if (syscall(__NR_capset, &header, none) != 0) { return -1; }
    // Processes of the same user can then neither trace it nor read its memory.
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}
