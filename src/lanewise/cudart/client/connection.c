/* The socket to the emulator's process. One request at a time: a lock holds from a request to its reply.
 *
 * A request is {operation, host thread, payload size} and a reply {error, fault, elapsed nanoseconds, payload size},
 * each of u64, and the payload. A process connects when the library is loaded; a child made by fork before its parent
 * used the device connects anew, one made later gets cudaErrorInitializationError, as on the card.
 */
#include "lanewise.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = -1;
static pid_t owner;       /* the process that made the connection */
static bool used;         /* a call went through it */
static bool broken;       /* it could not be made, or it ended */

void lw_complain(const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    if (size < 0) return;
    if (size > (int)sizeof text - 2) size = sizeof text - 2;
    text[size++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, text, size);
    (void)ignored;
}

static bool send_all(struct iovec *parts, int count) {
    while (count) {
        struct msghdr header = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t sent = sendmsg(connection, &header, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return false;
        while (count && (size_t)sent >= parts->iov_len) {
            sent -= parts->iov_len;
            parts++;
            count--;
        }
        if (count) {
            parts->iov_base = (char *)parts->iov_base + sent;
            parts->iov_len -= sent;
        }
    }
    return true;
}

static bool receive_all(void *data, size_t size) {
    char *at = data;
    while (size) {
        ssize_t got = recv(connection, at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= got;
    }
    return true;
}

static bool exchange(uint64_t operation, const void *payload, size_t size, uint64_t answer[4], Message *reply) {
    uint64_t header[3] = {operation, lw_host_thread(), size};
    struct iovec parts[2] = {{header, sizeof header}, {(void *)payload, size}};
    if (!send_all(parts, size ? 2 : 1) || !receive_all(answer, 4 * sizeof *answer)) return false;
    unsigned char *data = NULL;
    if (answer[3]) {
        data = malloc(answer[3]);
        if (!data || !receive_all(data, answer[3])) {
            free(data);
            return false;
        }
    }
    if (reply) {
        reply->data = data;
        reply->size = reply->capacity = answer[3];
    } else {
        free(data);
    }
    return true;
}

/* The arena's memfd comes beside the first byte of the greeting's reply. */
static int receive_fd(void) {
    char byte;
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                            .msg_controllen = sizeof control};
    ssize_t got;
    do got = recvmsg(connection, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    struct cmsghdr *item = got == 1 ? CMSG_FIRSTHDR(&header) : NULL;
    if (!item || item->cmsg_type != SCM_RIGHTS) return -1;
    int fd;
    memcpy(&fd, CMSG_DATA(item), sizeof fd);
    return fd;
}

static bool greet(void) {
    const char *path = getenv("LANEWISE_SOCKET");
    if (!path) {
        lw_complain("lanewise: this program was linked with Lanewise's CUDA runtime: start it with `lanewise run`");
        return false;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return false;
    strcpy(address.sun_path, path);
    connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
        lw_complain("lanewise: no emulator answers at %s (%s): start the program with `lanewise run`", path,
                    strerror(errno));
        return false;
    }
    int fd = receive_fd();
    uint64_t greeting[2] = {PROTOCOL_VERSION, (uint64_t)getpid()}, answer[4];
    Message reply = {0};
    if (fd < 0 || !exchange(OP_HELLO, greeting, sizeof greeting, answer, &reply) || answer[0]) {
        lw_complain("lanewise: the emulator does not speak this library's protocol; build the program anew");
        return false;
    }
    Reader reader = {reply.data, reply.data + reply.size, false};
    uint64_t base = lw_get_u64(&reader), size = lw_get_u64(&reader);
    bool mapped = lw_map_arena(fd, base, size);
    if (mapped) {
        lw_read_properties(&reader);
        lw_install_touch_handler();
    }
    lw_release(&reply);
    return mapped && !reader.failed;
}

static bool connect_locked(void) {
    pid_t self = getpid();
    if (connection >= 0 && owner == self) return !broken;
    if (connection >= 0 && used) return false; /* the child of a process that used the device */
    if (broken && owner == self) return false;
    if (connection >= 0) close(connection);
    owner = self;
    used = false;
    broken = !greet();
    if (broken && connection >= 0) close(connection);
    if (broken) connection = -1;
    return !broken;
}

bool lw_connect(void) {
    if (connection >= 0 && owner == getpid() && !broken) return true;
    pthread_mutex_lock(&lock);
    bool there = connect_locked();
    pthread_mutex_unlock(&lock);
    return there;
}

static cudaError_t call_locked(uint64_t operation, const void *payload, size_t size, Message *reply) {
    uint64_t answer[4];
    if (!connect_locked()) return cudaErrorInitializationError;
    used = true;
    if (!exchange(operation, payload, size, answer, reply)) {
        broken = true;
        lw_complain("lanewise: the emulator's process is gone; no further CUDA call can be answered");
        return cudaErrorDevicesUnavailable;
    }
    if (answer[1]) lw_set_fault((cudaError_t)answer[1]);
    lw_pass_time(answer[2]);
    return (cudaError_t)answer[0];
}

cudaError_t lw_call(uint64_t operation, Message *request, Message *reply) {
    cudaError_t error = cudaErrorMemoryAllocation;
    if (!request || !request->failed) {
        pthread_mutex_lock(&lock);
        error = call_locked(operation, request ? request->data : NULL, request ? request->size : 0, reply);
        pthread_mutex_unlock(&lock);
    }
    if (request) lw_release(request);
    return error;
}

cudaError_t lw_call_reader(uint64_t operation, Message *request, Message *reply, Reader *reader) {
    cudaError_t error = lw_call(operation, request, reply);
    *reader = (Reader){reply->data, reply->data + reply->size, false};
    return error;
}

bool lw_try_call(uint64_t operation, const void *payload, size_t size) {
    const struct timespec pause = {0, 1000000};
    for (int attempt = 0; pthread_mutex_trylock(&lock) != 0; attempt++) {
        if (attempt == 200) return false;
        nanosleep(&pause, NULL);
    }
    cudaError_t error = call_locked(operation, payload, size, NULL);
    pthread_mutex_unlock(&lock);
    return error == cudaSuccess;
}

/* A child must not find the lock held by a thread that it does not have. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void after_fork_in_child(void) { pthread_mutex_init(&lock, NULL); }

__attribute__((constructor)) static void loaded(void) {
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
    if (getenv("LANEWISE_SOCKET")) lw_connect();
}
