#pragma once
// Calls of Linux that Swift cannot import: macros, and declarations that need _GNU_SOURCE.
#include <stddef.h>

/// Names the calling thread, at most 15 bytes, for `top -H` and crash reports.
void larder_thread_set_name(const char *name);

/// One message over a Unix socket with open descriptors attached (SCM_RIGHTS).
/// Returns the bytes sent, or -1 with errno. At most 253 descriptors, the kernel's limit.
long larder_send_descriptors(int socket, const void *bytes, size_t length, const int *descriptors, int count);

/// Receives one such message. `*count` is the room in `descriptors` before, and the number received after the call.
/// Received descriptors are close-on-exec. Returns the bytes received, 0 at end of file, or -1 with errno;
/// a message that did not fit, or whose descriptors did not, is -1 with EMSGSIZE and leaves none open.
long larder_receive_descriptors(int socket, void *bytes, size_t length, int *descriptors, int *count);

/// Lets a spawned child start with every descriptor from `first` on closed
/// (`posix_spawn_file_actions_addclosefrom_np`). `actions` is a `posix_spawn_file_actions_t *`.
int larder_spawn_close_from(void *actions, int first);

/// The kinds of limits of `larder_set_limit`.
/// Memory and files are in bytes, processor time in seconds.
enum larder_limit_kind {
    larder_limit_memory, larder_limit_file_size, larder_limit_descriptors, larder_limit_core, larder_limit_processor
};

/// Sets the soft and the hard limit of this process, which it cannot raise again. Returns 0, or -1 with errno
/// (`setrlimit`).
int larder_set_limit(enum larder_limit_kind kind, unsigned long long value);

/// Limits the heaps of all threads together; fewer heaps hold less free memory (`mallopt`).
void larder_limit_heaps(int count);

/// The memory of a process, in bytes.
struct larder_memory {
    unsigned long long mapped, mapped_peak, resident, resident_peak;
};

/// Reads it from an open `/proc/self/status`. Returns 0, or -1.
int larder_read_memory(int status, struct larder_memory *memory);

/// A pair of connected sockets that keep messages apart (SOCK_SEQPACKET), closed on exec; 0, or -1 with errno.
int larder_packet_pair(int sockets[2]);

/// A pipe, read end first, closed on exec, on which neither end waits; 0, or -1 with errno (`pipe2`).
int larder_pipe(int ends[2]);

/// Starts a thread that ends the process with `code` once the other end of `socket` closes, also while every other
/// thread runs a codec. Returns 0, or an errno.
int larder_exit_on_hangup(int socket, int code);

/// Sets the access time of an open file to now and leaves its modification time; -1 and errno on failure (`futimens`).
int larder_touch_access_time(int descriptor);

/// The length of an extended attribute of an open file, read into `bytes` when there is room; -1 and errno on failure
/// (`fgetxattr`).
long larder_get_attribute(int descriptor, const char *name, void *bytes, size_t room);

/// Sets an extended attribute of an open file; -1 and errno on failure (`fsetxattr`).
int larder_set_attribute(int descriptor, const char *name, const void *bytes, size_t length);

/// Copies up to `length` bytes from `*position` of one file to the current position of another, within the kernel, and
/// advances both positions; file systems share the blocks if they can. Returns the bytes copied, 0 at the end of the
/// source, or -1 with errno (`copy_file_range`).
long larder_copy_range(int source, long long *position, int target, size_t length);

/// Shares the blocks of equal bytes in two files, from the beginning up to `*length`; the kernel compares them first.
/// Names, dates and contents stay. Sets `*length` to the number of shared bytes. Returns 0, or -1 with errno: EILSEQ
/// when the bytes differ. The corresponding request is `ioctl(FIDEDUPERANGE)`.
int larder_share_bytes(int source, int target, unsigned long long *length);

/// The attributes of a directory entry; times in nanoseconds since 1970, clamped to 64 bits.
struct larder_entry {
    long long size, allocated;
    long long accessed, modified, changed;
    /// The birth; the modification when the file system records none.
    long long created;
    unsigned long long inode;
    unsigned mode, links;
};

/// Reads it in one call, of a symbolic link itself; 0, or -1 with errno (`statx`).
int larder_read_entry(int directory, const char *name, struct larder_entry *entry);

/// Opens a file for reading without changing its access time; only its owner and root may do so, and for others reading
/// changes it. Does not wait for a named pipe. Returns the descriptor, close-on-exec, or -1 with errno.
int larder_open_unseen(const char *path);

/// Opens a file to be started later, whatever has taken its name by then. Returns the descriptor, close-on-exec, which
/// cannot read, or -1 with errno (`O_PATH`).
int larder_open_program(const char *path);

/// Opens a directory to look up files beneath it, whatever takes its name later. Returns the descriptor, close-on-exec,
/// which cannot read, or -1 with errno (`O_PATH`).
int larder_open_directory(const char *path);

/// Looks up a path beneath an open directory. No symbolic link is followed, and the kernel refuses a path that leaves
/// the directory, also while another process renames directories. Nothing is opened for reading, so devices and pipes
/// see nothing. Returns a descriptor, close-on-exec, for `fstat` and `/proc/self/fd`, or -1 with errno: EXDEV for a
/// path that leaves the directory, ELOOP for a link, ENOSYS before Linux 5.6 (`openat2`).
int larder_look_up_beneath(int directory, const char *path);

/// Opens a new file without a name in a directory, for reading and writing. Returns the descriptor, close-on-exec, or
/// -1 with errno: EOPNOTSUPP or EISDIR where the file system has no such files (`O_TMPFILE`).
int larder_open_unnamed(const char *directory);

/// The processor time of all threads of a process in nanoseconds, or -1 when it has ended. Asks the kernel: a library
/// that changes clocks (libfaketime) would change this one, too.
long long larder_processor_time(int process);

/// Opens a process so that its end can be waited for with `poll`. Returns the descriptor, close-on-exec, or -1 with
/// errno (`pidfd_open`).
int larder_open_process(int process);

/// Has the kernel kill this process when the thread that started it ends. Call it after privileges are given up, which
/// undoes it. Returns 0, or -1 with errno.
int larder_end_with_parent(void);

/// Opens an empty file in memory; `name` only serves debugging. Returns the descriptor, close-on-exec, or -1 with errno
/// (`memfd_create`).
int larder_memory_file(const char *name);

/// The processors that a thread may run on.
struct larder_processors {
    unsigned long bits[16];
};

/// Binds this thread, and every thread that it starts later, to the current processor, and stores the previous set in
/// `before`. Returns 0, or -1 with errno (`sched_setaffinity`).
int larder_pin_processor(struct larder_processors *before);

/// Undoes `larder_pin_processor`.
void larder_unpin_processor(const struct larder_processors *before);

/// Leaves the session, gives up every capability, and makes this process one that other processes cannot trace and
/// that gains no privileges by starting a program. Call it before there is a second thread. Returns 0, or -1 with
/// errno.
int larder_drop_privileges(void);

/// Denies the calling thread, and those that it starts later, all files by name but for reading what is beneath `count`
/// directories, and what else the kernel's version of Landlock can deny: ports, abstract sockets, signals to other
/// processes. It cannot be undone; a second call denies more. Returns 0, or -1 with errno where the kernel or a
/// container does not support it.
int larder_deny_files(const char *const *readable, int count);

/// Allows all threads of this process only the system calls that decoding and encoding make (seccomp). Others fail with
/// EPERM, those newer than Linux 5.0 with ENOSYS; calls of another architecture end the process. It cannot be undone.
/// `socket` is the one descriptor for messages. Returns 0, or -1 with errno where the kernel or a container does not
/// support it.
int larder_filter_system_calls(int socket);

/// Denies this thread, and the program that it starts later, all files by name but to read and start what is beneath
/// `count` files and directories, to open the file of descriptor 0, and to use `/dev/null`. Otherwise like
/// `larder_deny_files`.
int larder_deny_program_files(const char *const *paths, int count);

/// Denies this process, and the program that it starts later, the system calls for networks, other processes, the
/// attributes of files, and memory outside of its limit (seccomp). It may have threads and start another program in its
/// place. Otherwise like `larder_filter_system_calls`.
int larder_filter_program_calls(void);

/// The length of an open file, or -1 with errno (`fstat`). The C library's own function may make the call that takes a
/// path, too.
long long larder_file_length(int descriptor);

/// Starts a process that exits at once and waits for it; -1 with errno where that is denied.
int larder_try_fork(void);

/// Gives up, for this thread and for programs it starts, the capability to raise a priority (CAP_SYS_NICE). Returns 0,
/// or -1 with errno.
int larder_keep_priority(void);
