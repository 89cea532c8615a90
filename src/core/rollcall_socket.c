// SPDX-License-Identifier: BSD-3-Clause
/* The socket between weftrun and its processes, and what is a packet. */
#include <core/rollcall.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool core_packet_valid(const core_packet *packet, size_t bytes) {
    return bytes >= sizeof(packet->head) && packet->head.version == CORE_PACKET_VERSION &&
           packet->head.row_bytes == sizeof(core_row) && packet->head.count <= CORE_PACKET_ROWS &&
           bytes == core_packet_bytes(packet->head.count);
}

/* An address has room for some hundred bytes only, so the directory is named by a descriptor. */
static int open_socket(const char *directory, int (*use)(int, const struct sockaddr *, socklen_t)) {
    int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -1;
    int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", at, CORE_ROLLCALL_SOCKET);
    if (made >= 0 && use(made, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        int code = errno;
        close(made);
        errno = code;
        made = -1;
    }
    close(at);
    return made;
}

int core_rollcall_listen(const char *directory) {
    int made = open_socket(directory, bind);
    if (made < 0 || listen(made, 4096) == 0)
        return made;
    close(made);
    return -1;
}

int core_rollcall_connect(const char *directory) {
    return open_socket(directory, connect);
}
