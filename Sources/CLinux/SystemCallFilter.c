// The system calls that a transcoder may make (seccomp).
#define _GNU_SOURCE
#include "CLinux.h"
#include "FilterProgram.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/prctl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef LARDER_ARCHITECTURE

/// Calls that are allowed with all arguments: none takes a path, and none changes another process.
static const uint16_t allowed[] = {
    // Open files.
    __NR_read, __NR_pread64, __NR_write, __NR_writev, __NR_pwrite64, __NR_fstat, __NR_close,
    // Memory.
    __NR_brk, __NR_munmap, __NR_mremap, __NR_madvise,
    // Threads, and the end.
    __NR_futex, __NR_set_robust_list, __NR_rseq, __NR_sched_yield, __NR_sched_getaffinity, __NR_getcpu, __NR_gettid,
    __NR_getpid, __NR_exit, __NR_exit_group,
    // Its own signals.
    __NR_rt_sigaction, __NR_rt_sigprocmask, __NR_rt_sigreturn, __NR_sigaltstack,
    // Time, and waiting.
    __NR_clock_gettime, __NR_clock_getres, __NR_gettimeofday, __NR_clock_nanosleep, __NR_nanosleep, __NR_ppoll,
    __NR_restart_syscall,
#ifdef __NR_poll
    __NR_poll, __NR_time,
#endif
    // Random bytes, the memory of the machine, and what this process has used.
    __NR_getrandom, __NR_sysinfo, __NR_getrusage,
};

enum {
    threadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
};

int larder_filter_system_calls(int socket) {
    const struct checked checked[] = {
        // Memory that no code is executed from.
        {__NR_mmap, {{LOW(2), PROT_EXEC, 0}}},
        {__NR_mprotect, {{LOW(2), PROT_EXEC, 0}}},
        // Threads, and no processes.
        {__NR_clone, {{LOW(0), ALL, threadFlags}}},
        // The socket to the pool.
        {__NR_recvmsg, {{LOW(0), ALL, (uint32_t)socket}}},
        {__NR_sendmsg, {{LOW(0), ALL, (uint32_t)socket}}},
        // The processors of the calling thread.
        {__NR_sched_setaffinity, {{LOW(0), ALL, 0}}},
        // Names of threads.
        {__NR_prctl, {{LOW(0), ALL, PR_SET_NAME}}},
        // `abort`.
        {__NR_tgkill, {{LOW(0), ALL, (uint32_t)getpid()}}},
        // Reading its own limits: without new ones, the third argument.
        {__NR_prlimit64, {{LOW(0), ALL, 0}, {LOW(2), ALL, 0}, {HIGH(2), ALL, 0}}},
    };
    // The memory that liborc writes code to, where libvips uses it.
    const struct checked liborc = {
        __NR_mmap, {{LOW(1), ALL, 64 << 10}, {HIGH(1), ALL, 0}, {LOW(2), ALL, PROT_READ | PROT_WRITE | PROT_EXEC},
                    {LOW(3), ALL, MAP_PRIVATE | MAP_ANONYMOUS}}};
    struct program program = {.length = 0};
    begin(&program);
    for (size_t index = 0; index < sizeof allowed / sizeof *allowed; index++) {
        answer(&program, allowed[index], SECCOMP_RET_ALLOW);
    }
    for (size_t index = 0; index < sizeof checked / sizeof *checked; index++) {
        allow_checked(&program, &checked[index]);
    }
    if (dlsym(RTLD_DEFAULT, "orc_init")) { allow_checked(&program, &liborc); }
    // All others fail and do not kill the process: libraries try calls that they can do without, and which ones differs
    // between versions.
    refuse_new_calls(&program);
    finish(&program, SECCOMP_RET_ERRNO | EPERM);
    return install(&program);
}

#else

int larder_filter_system_calls(int socket) {
    (void)socket;
    errno = ENOSYS;
    return -1;
}

#endif
