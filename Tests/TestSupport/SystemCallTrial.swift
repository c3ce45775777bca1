import Foundation

/// A libjpeg that, on an image of one width, makes system calls that no codec needs, writes the result of each to the
/// last output, and ends the process.
public final class SystemCallTrial: Sendable {
    /// What the library does; the raw value is the width in pixels of the JPEG that causes it.
    public enum Kind: Int, Sendable {
        /// It tries all calls.
        case calls = 620
        /// It makes one call through the entry for 32-bit programs (x86-64 alone).
        case entryOf32Bit = 621
        /// It makes one call by its x32 number (x86-64 alone).
        case x32 = 622

        /// An image that causes it.
        public var image: [UInt8] { MadeJPEG.bytes(rawValue, 64) }
    }

    private let library: CompiledC
    private let directory: TemporaryDirectory

    /// Builds it.
    public init() async throws {
        library = try await .preloaded(Self.source)
        directory = try TemporaryDirectory(open: true)
        for name in ["changed", "deleted", "renamed"] { try directory.write([], to: name) }
        try FileManager.default.createDirectory(
            atPath: directory.file("removed"), withIntermediateDirectories: false)
        // For a child that runs as another user.
        for name in ["", "changed", "deleted", "renamed", "removed"] {
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.file(name))
        }
    }

    /// The lines of a child's environment that load the library.
    public var environment: [String] {
        [library.environment, "TRIAL_DIRECTORY=\(directory.path)", "TRIAL_PARENT=\(getpid())"]
    }

    /// The results by name: 0 for a call that succeeded, otherwise its error number.
    public static func results(_ report: [UInt8]) -> [String: Int32] {
        let lines = String(decoding: report, as: UTF8.self).split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(
            lines.compactMap { $0.count == 2 ? (String($0[0]), Int32($0[1]) ?? -1) : nil }, uniquingKeysWith: { $1 })
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <linux/bpf.h>
        #include <linux/capability.h>
        #include <sched.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/epoll.h>
        #include <sys/eventfd.h>
        #include <sys/fanotify.h>
        #include <sys/file.h>
        #include <sys/inotify.h>
        #include <sys/ioctl.h>
        #include <sys/ipc.h>
        #include <sys/mman.h>
        #include <sys/mount.h>
        #include <sys/msg.h>
        #include <sys/personality.h>
        #include <sys/prctl.h>
        #include <sys/ptrace.h>
        #include <sys/resource.h>
        #include <sys/sem.h>
        #include <sys/sendfile.h>
        #include <sys/shm.h>
        #include <sys/signalfd.h>
        #include <sys/socket.h>
        #include <sys/stat.h>
        #include <sys/swap.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <sys/timerfd.h>
        #include <sys/uio.h>
        #include <sys/un.h>
        #include <sys/xattr.h>
        #include <unistd.h>
        #include <jpeglib.h>

        static int source = -1, output = -1;
        static off_t written;

        static void report(const char *name, long result) {
            int number = errno;
            char line[100];
            int length = snprintf(line, sizeof line, "%s %d\\n", name, result < 0 ? number : 0);
            written += pwrite(output, line, (size_t)length, written);
        }

        #define TRY(name, ...) do { errno = 0; report(name, (long)(__VA_ARGS__)); } while (0)
        #define CALL(name, ...) TRY(#name, syscall(__NR_##name, __VA_ARGS__))
        #define NEWER(name, number, ...) TRY(name, syscall(number, __VA_ARGS__))

        static char *inside(const char *name) {
            char *path;
            return asprintf(&path, "%s/%s", getenv("TRIAL_DIRECTORY"), name) < 0 ? NULL : path;
        }

        static void *map(int protection, int descriptor) {
            return mmap(NULL, 4096, protection, MAP_PRIVATE | (descriptor < 0 ? MAP_ANONYMOUS : 0), descriptor, 0);
        }

        static long map_shared(int descriptor) {
            return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) == MAP_FAILED ? -1 : 0;
        }

        static void try_given_descriptors(void) {
            char bytes[256];
            TRY("=pwrite_original", pwrite(source, "x", 1, 0));
            TRY("=mmap_original", map_shared(source));
            TRY("+pread", pread(source, bytes, sizeof bytes, 0));
            TRY("+write", write(output, "", 0));
            TRY("+mmap", map(PROT_READ, source));
            TRY("+mmap_memory", map(PROT_READ | PROT_WRITE, -1));
            TRY("ioctl_TIOCSTI", ioctl(2, TIOCSTI, "x"));
            TRY("ioctl_FIONREAD", ioctl(2, FIONREAD, bytes));
            TRY("fcntl_SETOWN", fcntl(output, F_SETOWN, getpid()));
            TRY("fcntl_SETSIG", fcntl(output, F_SETSIG, SIGUSR1));
            TRY("fcntl_SETFL", fcntl(output, F_SETFL, O_APPEND));
            TRY("fcntl_SETLEASE", fcntl(output, F_SETLEASE, F_RDLCK));
            TRY("fcntl_GETFL", fcntl(output, F_GETFL));
            TRY("lseek", lseek(source, 0, SEEK_SET));
            TRY("fcntl_DUPFD", fcntl(output, F_DUPFD, 10));
            TRY("fcntl_ADD_SEALS", fcntl(output, F_ADD_SEALS, F_SEAL_WRITE));
            TRY("fsetxattr", fsetxattr(output, "user.trial", "x", 1, 0));
            TRY("fgetxattr", fgetxattr(output, "user.trial", bytes, 1));
            TRY("fremovexattr", fremovexattr(output, "user.trial"));
            TRY("futimens", futimens(output, NULL));
            TRY("fchmod", fchmod(output, 0600));
            TRY("fchown", fchown(output, -1, -1));
            TRY("ftruncate", ftruncate(source, 0));
            TRY("fallocate", fallocate(output, FALLOC_FL_KEEP_SIZE, 1 << 20, 4096));
            TRY("flock", flock(output, LOCK_EX | LOCK_NB));
            TRY("fsync", fsync(output));
            TRY("dup", dup(output));
            TRY("sendfile", sendfile(2, source, NULL, 0));
            TRY("copy_file_range", copy_file_range(source, NULL, output, NULL, 0, 0));
            TRY("splice", splice(source, NULL, 2, NULL, 0, 0));
            TRY("fstatfs", syscall(__NR_fstatfs, output, bytes));
            TRY("sendmsg_elsewhere", sendmsg(2, &(struct msghdr){0}, 0));
            TRY("recvmsg_elsewhere", recvmsg(2, &(struct msghdr){0}, 0));
        }

        static void try_names(void) {
            char bytes[256];
            struct stat status;
            char *changed = inside("changed");
            const struct timespec never[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
            TRY("open_passwd", open("/etc/passwd", O_RDONLY));
            TRY("open_proc", open("/proc/self/mem", O_RDWR));
            TRY("open_new", open(inside("new"), O_WRONLY | O_CREAT, 0600));
            const unsigned long long how[3] = {O_RDONLY, 0, 0};
            NEWER("openat2", 437, AT_FDCWD, "/etc/passwd", how, sizeof how);
            TRY("stat", stat("/etc/passwd", &status));
            TRY("statx", syscall(__NR_statx, AT_FDCWD, "/etc/passwd", 0, 0, NULL));
            TRY("access", access("/etc/passwd", R_OK));
            NEWER("faccessat2", 439, AT_FDCWD, "/etc/passwd", R_OK, 0);
            TRY("readlink", readlink("/proc/self/exe", bytes, sizeof bytes));
            CALL(getcwd, bytes, sizeof bytes);
            TRY("chdir", chdir("/"));
            TRY("chroot", chroot("/"));
            TRY("truncate", truncate(changed, 0));
            TRY("chmod", syscall(__NR_fchmodat, AT_FDCWD, changed, 0777));
            NEWER("fchmodat2", 452, AT_FDCWD, changed, 0777, 0);
            TRY("chown", chown(changed, -1, -1));
            TRY("utimensat", utimensat(AT_FDCWD, changed, never, 0));
            TRY("setxattr", setxattr(changed, "user.trial", "x", 1, 0));
            TRY("lsetxattr", lsetxattr(changed, "user.trial", "x", 1, 0));
            TRY("removexattr", removexattr(changed, "user.trial"));
            TRY("rename", rename(inside("renamed"), inside("renamed2")));
            TRY("unlink", unlink(inside("deleted")));
            TRY("rmdir", rmdir(inside("removed")));
            TRY("mkdir", mkdir(inside("directory"), 0700));
            TRY("link", link(changed, inside("link")));
            TRY("symlink", symlink("/etc/passwd", inside("symlink")));
            TRY("mknod", mknod(inside("pipe"), S_IFIFO | 0600, 0));
            struct { struct file_handle head; char room[128]; } handle = {.head.handle_bytes = 128};
            int mount_id;
            TRY("name_to_handle_at", name_to_handle_at(AT_FDCWD, changed, &handle.head, &mount_id, 0));
            TRY("open_by_handle_at", open_by_handle_at(AT_FDCWD, &handle.head, O_RDONLY));
            TRY("mount", mount("none", getenv("TRIAL_DIRECTORY"), "tmpfs", 0, NULL));
            TRY("umount2", umount2("/proc", MNT_DETACH | 0x40000000));
            const unsigned long long attributes[4] = {0};
            NEWER("mount_setattr", 442, AT_FDCWD, "/", 0, attributes, sizeof attributes);
            NEWER("open_tree", 428, AT_FDCWD, "/", 1);
            NEWER("fsopen", 430, "tmpfs", 0);
            CALL(pivot_root, "/", "/");
            TRY("swapon", swapon("/nonexistent", 0));
            TRY("swapoff", swapoff("/nonexistent"));
            CALL(quotactl, 0, "/nonexistent", 0, NULL);
            CALL(acct, NULL);
        }

        static void try_processes(pid_t parent) {
            char byte;
            struct iovec here = {&byte, 1}, there = {(void *)4096, 1};
            cpu_set_t processors;
            memset(&processors, 0xff, sizeof processors);
            TRY("kill", kill(parent, 0));
            CALL(tkill, parent, 0);
            CALL(tgkill, parent, parent, 0);
            siginfo_t information = {.si_code = SI_QUEUE};
            CALL(rt_sigqueueinfo, parent, 0, &information);
            TRY("ptrace", ptrace(PTRACE_SEIZE, parent, NULL, NULL));
            TRY("process_vm_readv", process_vm_readv(parent, &here, 1, &there, 1, 0));
            TRY("process_vm_writev", process_vm_writev(parent, &here, 1, &there, 1, 0));
            CALL(kcmp, parent, getpid(), 0, 0, 0);
            NEWER("pidfd_open", 434, parent, 0);
            NEWER("pidfd_send_signal", 424, -1, 0, NULL, 0);
            NEWER("pidfd_getfd", 438, -1, 0, 0);
            NEWER("process_madvise", 440, -1, &here, 1, 0, 0);
            TRY("sched_setaffinity", sched_setaffinity(parent, sizeof processors, &processors));
            struct sched_param parameter = {0};
            TRY("sched_setscheduler", sched_setscheduler(0, SCHED_IDLE, &parameter));
            TRY("setpriority", setpriority(PRIO_PROCESS, 0, 19));
            struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY}, limit;
            TRY("setrlimit", syscall(__NR_setrlimit, RLIMIT_AS, &most));
            TRY("prlimit64", prlimit(0, RLIMIT_AS, &most, NULL));
            TRY("prlimit64_other", prlimit(parent, RLIMIT_NOFILE, NULL, &limit));
            TRY("unshare", unshare(CLONE_NEWUSER));
            TRY("setns", setns(-1, 0));
            TRY("setsid", setsid());
            TRY("setpgid", setpgid(0, 0));
            CALL(setuid, 0);
            CALL(setgid, 0);
            CALL(setresuid, 0, 0, 0);
            CALL(setgroups, 0, NULL);
            struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
            const struct __user_cap_data_struct all[2] = {{1, 1, 0}, {0, 0, 0}};
            CALL(capset, &header, all);
            CALL(personality, 0xffffffff);
            TRY("prctl_SET_DUMPABLE", prctl(PR_SET_DUMPABLE, 1));
            TRY("prctl_SET_PTRACER", prctl(PR_SET_PTRACER, parent));
            TRY("prctl_GET_SECCOMP", prctl(PR_GET_SECCOMP));
            TRY("setitimer", setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL));
            pid_t child;
            TRY("fork", (child = fork()) == 0 ? (_exit(0), 0) : child);
            TRY("vfork", (child = vfork()) == 0 ? (_exit(0), 0) : child);
            NEWER("clone3", 435, NULL, 0);
        }

        static void try_kernel(void) {
            char bytes[256] = {0};
            TRY("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
            TRY("socket_unix", socket(AF_UNIX, SOCK_STREAM, 0));
            TRY("socket_netlink", socket(AF_NETLINK, SOCK_RAW, 0));
            int pair[2];
            TRY("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
            const struct sockaddr_un address = {AF_UNIX, "/nonexistent"};
            TRY("connect", connect(3, (const struct sockaddr *)&address, sizeof address));
            TRY("bind", bind(2, (const struct sockaddr *)&address, sizeof address));
            TRY("listen", listen(2, 1));
            TRY("accept", accept4(2, NULL, NULL, 0));
            TRY("sendto", sendto(2, "", 0, 0, NULL, 0));
            int memory;
            TRY("shmget", memory = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
            if (memory >= 0) { shmctl(memory, IPC_RMID, NULL); }
            int queue;
            TRY("msgget", queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600));
            if (queue >= 0) { msgctl(queue, IPC_RMID, NULL); }
            int semaphore;
            TRY("semget", semaphore = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
            if (semaphore >= 0) { semctl(semaphore, 0, IPC_RMID); }
            CALL(mq_open, "trial", O_RDONLY, 0, NULL);
            TRY("sethostname", sethostname("", (size_t)-1));
            TRY("setdomainname", setdomainname("", (size_t)-1));
            CALL(reboot, 0, 0, 0, NULL);
            CALL(kexec_load, 0, 0, NULL, ~0ul);
            CALL(init_module, NULL, 0, "");
            CALL(finit_module, -1, "", 0);
            CALL(delete_module, "trial", 0);
            CALL(syslog, 10, NULL, 0);
            CALL(bpf, BPF_PROG_GET_NEXT_ID, bytes, 64);
            CALL(perf_event_open, bytes, 0, -1, -1, 0);
            CALL(userfaultfd, 0);
            CALL(keyctl, 0, -3, 0, 0, 0);
            CALL(add_key, "user", "trial", "x", 1, -2);
            CALL(request_key, "user", "trial", NULL, 0);
            NEWER("io_uring_setup", 425, 1, bytes);
            NEWER("io_uring_enter", 426, -1, 0, 0, 0, NULL, 0);
            NEWER("io_uring_register", 427, -1, 0, NULL, 0);
            NEWER("landlock_create_ruleset", 444, NULL, 0, 1);
            CALL(seccomp, 2, 0, bytes);
            TRY("memfd_create", memfd_create("trial", 0));
            NEWER("memfd_secret", 447, 0);
            TRY("mmap_code", map(PROT_READ | PROT_EXEC, -1) == MAP_FAILED ? -1 : 0);
            TRY("mmap_code_of_file", map(PROT_READ | PROT_EXEC, source) == MAP_FAILED ? -1 : 0);
            TRY("mprotect_code", mprotect(map(PROT_READ, -1), 4096, PROT_READ | PROT_EXEC));
            CALL(pkey_mprotect, map(PROT_READ, -1), 4096, PROT_READ | PROT_EXEC, -1);
            CALL(mlock, bytes, sizeof bytes); // AddressSanitizer replaces the C function.
            CALL(mbind, NULL, 0, 0, NULL, 0, 0);
            TRY("inotify_init", inotify_init1(0));
            TRY("fanotify_init", fanotify_init(0, 0));
            TRY("epoll_create", epoll_create1(0));
            TRY("eventfd", eventfd(0, 0));
            TRY("timerfd_create", timerfd_create(CLOCK_MONOTONIC, 0));
            timer_t timer;
            CALL(timer_create, CLOCK_MONOTONIC, NULL, &timer);
            sigset_t none;
            sigemptyset(&none);
            TRY("signalfd", signalfd(-1, &none, 0));
            TRY("pipe", pipe2(pair, 0));
            NEWER("a_call_of_the_future", 1000, 0);
        #ifdef __x86_64__
            CALL(iopl, 3);
            CALL(modify_ldt, 0, bytes, sizeof bytes);
        #endif
        }

        static void try_programs(void) {
            char *const none[] = {NULL};
            CALL(execveat, output, "", none, none, AT_EMPTY_PATH);
            // The last: where it succeeds, it has no line.
            TRY("execve", execve("/bin/true", none, none));
        }

        static void find_descriptors(void) {
            for (int descriptor = 4; descriptor < 64; descriptor++) {
                char byte;
                if (pread(descriptor, &byte, 1, 0) < 0) { continue; }
                // The original can only be read, as the child's own status, which it opened before.
                if (pwrite(descriptor, "", 0, 0) < 0) { source = descriptor; } else { output = descriptor; }
            }
        }

        boolean jpeg_start_decompress(j_decompress_ptr info) {
            boolean (*real)(j_decompress_ptr) = (boolean (*)(j_decompress_ptr))dlsym(RTLD_NEXT, "jpeg_start_decompress");
            switch (info->image_width) {
            case \(Kind.calls.rawValue):
                find_descriptors();
                try_given_descriptors();
                try_kernel();
                try_names();
                try_processes(atoi(getenv("TRIAL_PARENT")));
                try_programs();
                _exit(0);
        #ifdef __x86_64__
            case \(Kind.entryOf32Bit.rawValue): {
                // `getpid`, which the filter allows by its own number.
                long result = 20;
                __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
                _exit(0);
            }
            case \(Kind.x32.rawValue):
                syscall(0x40000000 | __NR_getpid);
                _exit(0);
        #endif
            default: return real(info);
            }
        }

        """
}
