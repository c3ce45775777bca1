// Builds the filters of system calls (seccomp). Define _GNU_SOURCE before.
#pragma once
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LARDER_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define LARDER_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef LARDER_ARCHITECTURE

/// A condition on the lower or upper half of an argument: under `mask` it equals `value`.
struct condition { uint32_t offset, mask, value; };

#define LOW(argument) (uint32_t)offsetof(struct seccomp_data, args[argument])
#define HIGH(argument) (LOW(argument) + 4)
#define ALL 0xffffffffu

enum { maxConditions = 4 };

/// A call that is allowed when its conditions hold; a condition without a mask holds always.
struct checked { uint32_t call; struct condition conditions[maxConditions]; };

enum {
    /// Numbers from here on belong to Linux 5.1 and newer, equal on all architectures.
    firstOfLinux51 = 424,
    maxInstructions = 512,
};

struct program { struct sock_filter code[maxInstructions]; unsigned short length; };

static inline void add(struct program *program, struct sock_filter instruction) {
    if (program->length < maxInstructions) { program->code[program->length] = instruction; }
    program->length++;
}

static inline void load(struct program *program, size_t offset) {
    add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static inline void finish(struct program *program, uint32_t answer) {
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer));
}

/// Compares the loaded word, and skips instructions depending on the result.
static inline void compare(
    struct program *program, uint16_t how, uint32_t value, size_t whenTrue, size_t whenFalse) {
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | how | BPF_K, value, (uint8_t)whenTrue, (uint8_t)whenFalse));
}

/// Loads the number of the call. The numbers of another architecture, or of x32, mean other calls. Only injected code
/// makes them.
static inline void begin(struct program *program) {
    load(program, offsetof(struct seccomp_data, arch));
    compare(program, BPF_JEQ, LARDER_ARCHITECTURE, 1, 0);
    finish(program, SECCOMP_RET_KILL_PROCESS);
    load(program, offsetof(struct seccomp_data, nr));
    compare(program, BPF_JGE, 0x40000000, 0, 1);
    finish(program, SECCOMP_RET_KILL_PROCESS);
}

/// Answers a call, whatever its arguments are.
static inline void answer(struct program *program, uint32_t call, uint32_t answer) {
    compare(program, BPF_JEQ, call, 0, 1);
    finish(program, answer);
}

static inline void allow_checked(struct program *program, const struct checked *checked) {
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

/// A new call is answered as by an old kernel, so that the C library makes an older call: `clone` for `clone3`,
/// whose flags are in memory, where a filter cannot read them.
static inline void refuse_new_calls(struct program *program) {
    compare(program, BPF_JGE, firstOfLinux51, 0, 1);
    finish(program, SECCOMP_RET_ERRNO | ENOSYS);
}

/// Installs the filter for all threads of this process. Returns 0, or -1 with errno.
static inline int install(const struct program *program) {
    if (program->length > maxInstructions) { errno = E2BIG; return -1; }
    struct sock_fprog filter = {.len = program->length, .filter = (struct sock_filter *)program->code};
    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0 ? 0 : -1;
}

#endif
