#pragma once
// The few calls of Linux that Swift cannot see: macros, and declarations behind _GNU_SOURCE.
#include <stddef.h>


/// Names the calling thread, at most 15 bytes, for `top -H` and crash reports.
void larder_thread_set_name(const char *name);

/// An event counter that a poll can wait on; -1 and errno on failure. The corresponding C function is `eventfd`.
int larder_eventfd(void);

/// One message over a Unix socket with open descriptors attached (SCM_RIGHTS).
/// Returns the bytes sent, or -1 with errno. At most 253 descriptors, the kernel's limit.
long larder_send_descriptors(int socket, const void *bytes, size_t length, const int *descriptors, int count);

/// Receives one such message; `*count` is in: room in `descriptors`, out: how many came.
/// Received descriptors are close-on-exec. Returns the bytes received, 0 at end of file, or -1 with errno;
/// a message that did not fit, or whose descriptors did not, is -1 with EMSGSIZE and leaves none open.
long larder_receive_descriptors(int socket, void *bytes, size_t length, int *descriptors, int *count);

/// Lets a spawned child start with every descriptor from `first` on closed; `actions` is a `posix_spawn_file_actions_t *`.
/// The corresponding C function is `posix_spawn_file_actions_addclosefrom_np`.
int larder_spawn_close_from(void *actions, int first);
