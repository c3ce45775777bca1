#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LARDER_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define LARDER_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/// System calls that codecs do not need. Threads, memory, clocks, and the use of open files stay allowed.
static const uint16_t forbidden[] = {
    // The network. The socket to the pool is already open.
    __NR_socket, __NR_socketpair, __NR_connect, __NR_bind, __NR_listen, __NR_accept, __NR_accept4,
    // Programs and processes.
    __NR_execve, __NR_execveat, __NR_ptrace, __NR_process_vm_readv, __NR_process_vm_writev, __NR_kill, __NR_tkill,
    __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo, __NR_setns,
    __NR_unshare, __NR_pidfd_open, __NR_pidfd_getfd, __NR_pidfd_send_signal, __NR_kcmp,
    // Files by name.
    __NR_openat, __NR_openat2, __NR_open_by_handle_at, __NR_unlinkat, __NR_linkat, __NR_symlinkat, __NR_mkdirat,
    __NR_mknodat, __NR_fchmodat, __NR_fchownat, __NR_fchmod, __NR_fchown, __NR_truncate, __NR_chroot, __NR_pivot_root,
    __NR_mount, __NR_umount2, __NR_renameat2, __NR_memfd_create, __NR_setxattr, __NR_removexattr, __NR_swapon,
#ifdef __NR_renameat
    __NR_renameat,
#endif
#ifdef __NR_open
    __NR_open, __NR_creat, __NR_unlink, __NR_rmdir, __NR_rename, __NR_link, __NR_symlink, __NR_mkdir, __NR_mknod,
    __NR_chmod, __NR_chown, __NR_lchown, __NR_fork, __NR_vfork,
#endif
    // System administration.
    __NR_bpf, __NR_perf_event_open, __NR_userfaultfd, __NR_io_uring_setup, __NR_io_uring_enter, __NR_io_uring_register,
    __NR_add_key, __NR_request_key, __NR_keyctl, __NR_init_module, __NR_finit_module, __NR_delete_module,
    __NR_kexec_load, __NR_reboot, __NR_setuid, __NR_setgid, __NR_setresuid, __NR_setresgid, __NR_capset,
};

enum { maxInstructions = 32 + 2 * sizeof forbidden / sizeof *forbidden };

#ifdef LARDER_ARCHITECTURE
static int forbid_system_calls(void) {
    struct sock_filter program[maxInstructions];
    unsigned short length = 0;
#define ADD(...) program[length++] = (struct sock_filter)__VA_ARGS__
#define LOAD(field) ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field)))
#define FAIL(code) ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code)))
    LOAD(arch);
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LARDER_ARCHITECTURE, 1, 0));
    FAIL(EPERM);
    LOAD(nr);
    // The x32 numbers are other entries to the same calls.
    ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
    FAIL(EPERM);
    // A filter cannot read its flags, which are in memory; the C library then uses the older call.
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1));
    FAIL(ENOSYS);
    for (size_t index = 0; index < sizeof forbidden / sizeof *forbidden; index++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[index], 0, 1));
        FAIL(EPERM);
    }
    // Signals to its own threads, which abort sends, and its own limits.
    const struct { uint32_t call, first; } own[] = {{__NR_tgkill, (uint32_t)getpid()}, {__NR_prlimit64, 0}};
    for (size_t index = 0; index < sizeof own / sizeof *own; index++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own[index].call, 0, 4));
        LOAD(args[0]);
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own[index].first, 0, 1));
        ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
        FAIL(EPERM);
    }
    // Threads are allowed, processes are not.
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 3));
    LOAD(args[0]);
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
    FAIL(EPERM);
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
#undef LOAD
#undef FAIL
    struct sock_fprog filter = {.len = length, .filter = program};
    return (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
}
#else
static int forbid_system_calls(void) { return -1; }
#endif

static int forbid_files(void) {
    long version = syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) { return -1; }
    // All rights of the version: 13 of the first, then one each for linking and for truncating.
    unsigned rights = version >= 3 ? 15 : version == 2 ? 14 : 13;
    struct landlock_ruleset_attr rules = {.handled_access_fs = (1ull << rights) - 1};
    int ruleset = (int)syscall(__NR_landlock_create_ruleset, &rules, sizeof rules, 0);
    if (ruleset < 0) { return -1; }
    int result = (int)syscall(__NR_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return result;
}

int larder_restrict_process(void) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    int restrictions = 0;
    // Files first: the filter of system calls does not allow Landlock's.
    if (forbid_files() == 0) { restrictions |= larder_restricts_files; }
    if (forbid_system_calls() == 0) { restrictions |= larder_restricts_system_calls; }
    return restrictions;
}
