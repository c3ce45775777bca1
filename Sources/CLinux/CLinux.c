// _GNU_SOURCE is defined here and not in the public header, where it would change glibc's declarations for other
// modules.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <limits.h>
#include <linux/openat2.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <fcntl.h>
#include <unistd.h>

enum { maxDescriptors = 253 };

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
const char *__asan_default_options(void);

// Only in builds of scripts/sanitize. A child has no environment to read options from. Its limit on memory must refuse
// an allocation as malloc does, freed memory must not count against it for long, a crash must stay a signal, and
// searching for leaks needs system calls that the sandbox denies.
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:quarantine_size_mb=1:handle_segv=0:abort_on_error=1:detect_leaks=0";
}
#endif
#endif

void larder_thread_set_name(const char *name) { pthread_setname_np(pthread_self(), name); }

long larder_send_descriptors(int socket, const void *bytes, size_t length, const int *descriptors, int count) {
    if (count < 0 || count > maxDescriptors) { errno = EINVAL; return -1; }
    union { struct cmsghdr align; char room[CMSG_SPACE(sizeof(int) * maxDescriptors)]; } control;
    struct iovec body = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1};
    if (count > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.room;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        memcpy(CMSG_DATA(header), descriptors, sizeof(int) * (size_t)count);
    }
    ssize_t sent;
    do { sent = sendmsg(socket, &message, MSG_NOSIGNAL); } while (sent < 0 && errno == EINTR);
    return sent;
}

long larder_receive_descriptors(int socket, void *bytes, size_t length, int *descriptors, int *count) {
    int room = *count, got = 0, excess = 0;
    *count = 0;
    union { struct cmsghdr align; char room[CMSG_SPACE(sizeof(int) * maxDescriptors)]; } control;
    struct iovec body = {.iov_base = bytes, .iov_len = length};
    struct msghdr message = {
        .msg_iov = &body, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    ssize_t received;
    do { received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC); } while (received < 0 && errno == EINTR);
    if (received < 0) { return -1; }
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) { continue; }
        int here = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        for (int index = 0; index < here; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(header) + sizeof(int) * (size_t)index, sizeof descriptor);
            if (got < room) { descriptors[got++] = descriptor; } else { close(descriptor); excess++; }
        }
    }
    if (excess > 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
        for (int index = 0; index < got; index++) { close(descriptors[index]); }
        errno = EMSGSIZE;
        return -1;
    }
    *count = got;
    return received;
}

int larder_spawn_close_from(void *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int larder_set_limit(enum larder_limit_kind kind, unsigned long long value) {
    static const int resources[] = {
        [larder_limit_memory] = RLIMIT_AS, [larder_limit_file_size] = RLIMIT_FSIZE,
        [larder_limit_descriptors] = RLIMIT_NOFILE, [larder_limit_core] = RLIMIT_CORE,
        [larder_limit_processor] = RLIMIT_CPU};
    struct rlimit limit;
    if (getrlimit(resources[kind], &limit) != 0) { return -1; }
    limit.rlim_max = value < limit.rlim_max ? value : limit.rlim_max;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resources[kind], &limit);
}

void larder_limit_heaps(int count) { mallopt(M_ARENA_MAX, count); }

static int kibibytes(const char *text, const char *name, unsigned long long *bytes) {
    const char *line = strstr(text, name);
    if (!line || sscanf(line + strlen(name), " %llu", bytes) != 1) { return -1; }
    *bytes *= 1024;
    return 0;
}

int larder_read_memory(int status, struct larder_memory *memory) {
    char text[4096];
    ssize_t length = pread(status, text, sizeof text - 1, 0);
    if (length <= 0) { return -1; }
    text[length] = 0;
    return kibibytes(text, "VmSize:", &memory->mapped) || kibibytes(text, "VmPeak:", &memory->mapped_peak) ||
                   kibibytes(text, "VmRSS:", &memory->resident) || kibibytes(text, "VmHWM:", &memory->resident_peak)
               ? -1 : 0;
}

int larder_packet_pair(int sockets[2]) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets); }

int larder_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }

struct hangup { int socket, code; };

static void *watch_hangup(void *argument) {
    struct hangup *hangup = argument;
    // Without requested events only a hang-up or an error ends the wait.
    struct pollfd watched = {.fd = hangup->socket};
    while (poll(&watched, 1, -1) < 0 && errno == EINTR) {}
    _exit(hangup->code);
}

int larder_exit_on_hangup(int socket, int code) {
    struct hangup *hangup = malloc(sizeof *hangup);
    if (!hangup) { return ENOMEM; }
    *hangup = (struct hangup){socket, code};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    pthread_t thread;
    int result = pthread_create(&thread, &attributes, watch_hangup, hangup);
    pthread_attr_destroy(&attributes);
    if (result != 0) { free(hangup); }
    return result;
}

int larder_touch_access_time(int descriptor) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    return futimens(descriptor, times);
}

long larder_get_attribute(int descriptor, const char *name, void *bytes, size_t room) {
    return fgetxattr(descriptor, name, bytes, room);
}

int larder_set_attribute(int descriptor, const char *name, const void *bytes, size_t length) {
    return fsetxattr(descriptor, name, bytes, length, 0);
}

long larder_copy_range(int source, long long *position, int target, size_t length) {
    off64_t from = *position;
    ssize_t copied = copy_file_range(source, &from, target, NULL, length, 0);
    if (copied > 0) *position = from;
    return copied;
}

int larder_share_bytes(int source, int target, unsigned long long *length) {
    // The limit of file systems for one call.
    enum { step = 16 << 20 };
    union {
        struct file_dedupe_range head;
        char room[sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info)];
    } range;
    unsigned long long done = 0, wanted = *length;
    *length = 0;
    while (done < wanted) {
        memset(&range, 0, sizeof range);
        range.head.src_offset = done;
        range.head.src_length = wanted - done < step ? wanted - done : step;
        range.head.dest_count = 1;
        struct file_dedupe_range_info *result = range.head.info;
        result->dest_fd = target;
        result->dest_offset = done;
        if (ioctl(source, FIDEDUPERANGE, &range) != 0) { return -1; }
        if (result->status < 0) { errno = -result->status; return -1; }
        if (result->status == FILE_DEDUPE_RANGE_DIFFERS) { errno = EILSEQ; return -1; }
        // A last piece that is less than the file system can share.
        if (result->bytes_deduped == 0) { break; }
        done += result->bytes_deduped;
    }
    *length = done;
    return 0;
}

static long long nanoseconds(struct statx_timestamp time) {
    long long sum;
    if (__builtin_mul_overflow(time.tv_sec, 1000000000LL, &sum) || __builtin_add_overflow(sum, time.tv_nsec, &sum)) {
        return time.tv_sec < 0 ? LLONG_MIN : LLONG_MAX;
    }
    return sum;
}

int larder_read_entry(int directory, const char *name, struct larder_entry *entry) {
    struct statx status;
    // A network file system may answer from its cache, because expiry does not need the latest second.
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) {
        return -1;
    }
    *entry = (struct larder_entry){
        .size = (long long)status.stx_size, .allocated = (long long)status.stx_blocks * 512,
        .accessed = nanoseconds(status.stx_atime), .modified = nanoseconds(status.stx_mtime),
        .changed = nanoseconds(status.stx_ctime),
        .created = nanoseconds(status.stx_mask & STATX_BTIME ? status.stx_btime : status.stx_mtime),
        .inode = status.stx_ino, .mode = status.stx_mode, .links = status.stx_nlink};
    return 0;
}

int larder_open_unseen(const char *path) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    int descriptor = open(path, flags | O_NOATIME);
    return descriptor < 0 && errno == EPERM ? open(path, flags) : descriptor;
}

int larder_open_program(const char *path) { return open(path, O_PATH | O_CLOEXEC); }

int larder_open_directory(const char *path) { return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); }

int larder_look_up_beneath(int directory, const char *path) {
    struct open_how how = {
        .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int descriptor;
    // EAGAIN: a directory was renamed meanwhile, and the kernel cannot tell whether `..` stayed beneath.
    int attempts = 100;
    do {
        descriptor = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
    } while (descriptor < 0 && (errno == EAGAIN || errno == EINTR) && --attempts > 0);
    return descriptor;
}

int larder_open_unnamed(const char *directory) { return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666); }

long long larder_processor_time(int process) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) != 0 || syscall(SYS_clock_gettime, clock, &time) != 0) { return -1; }
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int larder_open_process(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int larder_end_with_parent(void) { return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); }

int larder_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

_Static_assert(sizeof(struct larder_processors) == sizeof(cpu_set_t), "the set has the size of the C library's");

int larder_pin_processor(struct larder_processors *before) {
    int here = sched_getcpu();
    if (here < 0 || sched_getaffinity(0, sizeof *before, (cpu_set_t *)before->bits) != 0) { return -1; }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)here, &one);
    return sched_setaffinity(0, sizeof one, &one);
}

void larder_unpin_processor(const struct larder_processors *before) {
    sched_setaffinity(0, sizeof *before, (const cpu_set_t *)before->bits);
}

long long larder_file_length(int descriptor) {
    struct stat status;
    return syscall(__NR_fstat, descriptor, &status) == 0 ? (long long)status.st_size : -1;
}

int larder_try_fork(void) {
    pid_t process = fork();
    if (process == 0) { _exit(0); }
    if (process > 0) { waitpid(process, NULL, 0); }
    return process < 0 ? -1 : 0;
}

int larder_keep_priority(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    unsigned bit = 1u << CAP_SYS_NICE;
    if (syscall(SYS_capget, &header, sets) != 0) { return -1; }
    // A program that root starts gets all capabilities that this set has.
    if ((sets[0].effective & (1u << CAP_SETPCAP)) != 0) { prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0); }
    sets[0].effective &= ~bit;
    sets[0].permitted &= ~bit;
    sets[0].inheritable &= ~bit;
    return (int)syscall(SYS_capset, &header, sets);
}
