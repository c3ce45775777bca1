// _GNU_SOURCE stands here, not in the public header, where it would clash with other modules' view of glibc.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { maxDescriptors = 253 };

void larder_thread_set_name(const char *name) { pthread_setname_np(pthread_self(), name); }

int larder_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

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
    int room = *count, got = 0, surplus = 0;
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
            if (got < room) { descriptors[got++] = descriptor; } else { close(descriptor); surplus++; }
        }
    }
    if (surplus > 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
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
