// The system calls that the program of a coder may not make (seccomp).
#define _GNU_SOURCE
#include "CLinux.h"
#include "FilterProgram.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifdef LARDER_ARCHITECTURE

/// Calls that reach what neither Landlock nor the limits cover. Everything else is allowed, as programs differ.
static const uint16_t denied[] = {
    // Networks, and datagrams to named sockets.
    __NR_socket, __NR_socketpair, __NR_connect, __NR_bind, __NR_sendto, __NR_sendmsg, __NR_sendmmsg,
    // Other processes: to start, signal, trace, delay or read them.
    __NR_tkill, __NR_rt_sigqueueinfo, __NR_rt_tgsigqueueinfo, __NR_ptrace, __NR_process_vm_readv,
    __NR_process_vm_writev, __NR_kcmp, __NR_setpriority, __NR_ioprio_set, __NR_sched_setscheduler,
    __NR_sched_setparam, __NR_sched_setattr, __NR_migrate_pages, __NR_move_pages,
    // The length, owner, mode, dates and attributes of files, and who uses them.
    __NR_truncate, __NR_fchmod, __NR_fchmodat, __NR_fchown, __NR_fchownat, __NR_utimensat, __NR_setxattr,
    __NR_lsetxattr, __NR_fsetxattr, __NR_removexattr, __NR_lremovexattr, __NR_fremovexattr, __NR_inotify_add_watch,
    __NR_fanotify_init,
    // Memory outside of the limit: files in memory, and memory and queues shared by name.
    __NR_memfd_create, __NR_shmget, __NR_semget, __NR_msgget, __NR_mq_open, __NR_mq_unlink,
    // Parts of the kernel that no decoder needs.
    __NR_bpf, __NR_perf_event_open, __NR_userfaultfd, __NR_add_key, __NR_request_key, __NR_keyctl, __NR_mount,
    __NR_umount2, __NR_pivot_root, __NR_chroot, __NR_unshare, __NR_setns, __NR_personality, __NR_name_to_handle_at,
    __NR_open_by_handle_at, __NR_quotactl, __NR_acct, __NR_syslog,
#ifdef __NR_fork
    __NR_fork, __NR_vfork, __NR_chmod, __NR_chown, __NR_lchown, __NR_utime, __NR_utimes, __NR_futimesat,
#endif
};

int larder_filter_program_calls(void) {
    enum {
        namespaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |
                     CLONE_NEWCGROUP,
    };
    const struct checked checked[] = {
        // Threads, and no processes: one process is what the limits of time and memory hold for.
        {__NR_clone, {{LOW(0), CLONE_THREAD, CLONE_THREAD}, {LOW(0), namespaces, 0}}},
        // Signals to itself, as of `abort`.
        {__NR_kill, {{LOW(0), ALL, (uint32_t)getpid()}}},
        {__NR_tgkill, {{LOW(0), ALL, (uint32_t)getpid()}}},
        // Its own limits and processors.
        {__NR_prlimit64, {{LOW(0), ALL, 0}}},
        {__NR_sched_setaffinity, {{LOW(0), ALL, 0}}},
    };
    struct program program = {.length = 0};
    begin(&program);
    // The program ends with the worker.
    compare(&program, BPF_JEQ, __NR_prctl, 0, 4);
    load(&program, LOW(0));
    compare(&program, BPF_JEQ, PR_SET_PDEATHSIG, 0, 1);
    finish(&program, SECCOMP_RET_ERRNO | EPERM);
    load(&program, offsetof(struct seccomp_data, nr));
    for (size_t index = 0; index < sizeof checked / sizeof *checked; index++) {
        allow_checked(&program, &checked[index]);
        answer(&program, checked[index].call, SECCOMP_RET_ERRNO | EPERM);
    }
    for (size_t index = 0; index < sizeof denied / sizeof *denied; index++) {
        answer(&program, denied[index], SECCOMP_RET_ERRNO | EPERM);
    }
    refuse_new_calls(&program);
    finish(&program, SECCOMP_RET_ALLOW);
    return install(&program);
}

#else

int larder_filter_program_calls(void) {
    errno = ENOSYS;
    return -1;
}

#endif
