// The system calls that a transcoder may make (seccomp).
#define _GNU_SOURCE
#include "CLinux.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LARDER_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define LARDER_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

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

/// A condition on the lower or upper half of an argument: under `mask` it equals `value`.
struct condition { uint32_t offset, mask, value; };

#define LOW(argument) (uint32_t)offsetof(struct seccomp_data, args[argument])
#define HIGH(argument) (LOW(argument) + 4)
#define ALL 0xffffffffu

enum { maxConditions = 4 };

/// A call that is allowed when its conditions hold; a condition without a mask holds always.
struct checked { uint32_t call; struct condition conditions[maxConditions]; };

enum {
    threadFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
    /// Numbers from here on are those of Linux 5.1 and newer, equal on all architectures.
    firstOfLinux51 = 424,
    maxInstructions = 512,
};

struct program { struct sock_filter code[maxInstructions]; unsigned short length; };

static void add(struct program *program, struct sock_filter instruction) {
    if (program->length < maxInstructions) { program->code[program->length] = instruction; }
    program->length++;
}

static void load(struct program *program, size_t offset) {
    add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void finish(struct program *program, uint32_t answer) {
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/// Compares the loaded word, and skips instructions depending on the result.
static void compare(struct program *program, uint16_t how, uint32_t value, size_t whenTrue, size_t whenFalse) {
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | how | BPF_K, value, (uint8_t)whenTrue, (uint8_t)whenFalse));
}

static void allow_checked(struct program *program, const struct checked *checked) {
    size_t count = 0;
    while (count < maxConditions && checked->conditions[count].mask != 0) { count++; }
    // Three instructions for each condition, and the answer.
    compare(program, BPF_JEQ, checked->call, 0, 3 * count + 1);
    for (size_t index = 0; index < count; index++) {
        const struct condition *condition = &checked->conditions[index];
        load(program, condition->offset);
        add(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, condition->mask));
        compare(program, BPF_JEQ, condition->value, 0, 3 * (count - index - 1) + 1);
    }
    finish(program, SECCOMP_RET_ALLOW);
    load(program, offsetof(struct seccomp_data, nr));
}

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
    // Another architecture's numbers, and those of x32, mean other calls. Only injected code makes them.
    load(&program, offsetof(struct seccomp_data, arch));
    compare(&program, BPF_JEQ, LARDER_ARCHITECTURE, 1, 0);
    finish(&program, SECCOMP_RET_KILL_PROCESS);
    load(&program, offsetof(struct seccomp_data, nr));
    compare(&program, BPF_JGE, 0x40000000, 0, 1);
    finish(&program, SECCOMP_RET_KILL_PROCESS);
    for (size_t index = 0; index < sizeof allowed / sizeof *allowed; index++) {
        compare(&program, BPF_JEQ, allowed[index], 0, 1);
        finish(&program, SECCOMP_RET_ALLOW);
    }
    for (size_t index = 0; index < sizeof checked / sizeof *checked; index++) {
        allow_checked(&program, &checked[index]);
    }
    if (dlsym(RTLD_DEFAULT, "orc_init")) { allow_checked(&program, &liborc); }
    // All others fail and do not kill the process: libraries try calls that they can do without, and which ones differs
    // between versions. For a new call the answer is that of an old kernel, so that the C library makes an older call:
    // `clone` for `clone3`, whose flags are in memory, where a filter cannot read them.
    compare(&program, BPF_JGE, firstOfLinux51, 0, 1);
    finish(&program, SECCOMP_RET_ERRNO | ENOSYS);
    finish(&program, SECCOMP_RET_ERRNO | EPERM);
    if (program.length > maxInstructions) { errno = E2BIG; return -1; }
    struct sock_fprog filter = {.len = program.length, .filter = program.code};
    // For all threads.
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0 ? 0 : -1;
}

#else

int larder_filter_system_calls(int socket) {
    (void)socket;
    errno = ENOSYS;
    return -1;
}

#endif
