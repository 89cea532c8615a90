// SPDX-License-Identifier: BSD-3-Clause
/**
 * What a job has in the file system: the session directory, and shared memory that killed ranks could leave.
 */
#include "weftrun.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory's lock tells that its weftrun lives: unlike a process number it is never used again by somebody else, and
 * it is seen across containers that share the directory. Front and job both hold it. */

static bool is_own_directory(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

static const char *base_directory(void) {
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime && *runtime == '/' && strlen(runtime) < 128 && is_own_directory(runtime) &&
        access(runtime, W_OK | X_OK) == 0)
        return runtime;
    const char *temporary = getenv("TMPDIR");
    const bool usable = temporary && *temporary == '/' && strlen(temporary) < 64;
    return usable && access(temporary, W_OK | X_OK) == 0 ? temporary : "/tmp";
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info, (void)kind, (void)where;
    remove(path); /* what cannot be removed is left to the next sweep */
    return 0;
}

static void remove_tree(const char *path) {
    if (is_own_directory(path))
        nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static bool name_extension(const char *session, char name[PATH_MAX]) {
    return snprintf(name, PATH_MAX, "%s/extension", session) < PATH_MAX;
}

/* By a link, so that also another weftrun finds it, which sweeps up after one that was killed. */
bool weftrun_session_extend(const char *path, const char *other) {
    char name[PATH_MAX];
    return name_extension(path, name) && symlink(other, name) == 0;
}

void weftrun_session_remove(const char *path) {
    char name[PATH_MAX], other[PATH_MAX];
    if (!is_own_directory(path))
        return;
    ssize_t length = name_extension(path, name) ? readlink(name, other, sizeof(other) - 1) : -1;
    if (length > 0) {
        other[length] = 0;
        remove_tree(other);
    }
    remove_tree(path);
}

/* Opens and locks a directory of ours; -1 and errno when it is not ours (EPERM) or somebody holds it (EWOULDBLOCK). */
static int lock(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    errno = fd < 0 ? errno : EPERM;
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    int code = errno;
    if (fd >= 0)
        close(fd);
    errno = code;
    return -1;
}

static void sweep(const char *base, const char *prefix) {
    DIR *directory = opendir(base);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", base, entry->d_name);
        int fd = lock(path);
        if (fd >= 0) {
            weftrun_session_remove(path);
            close(fd);
        }
    }
    closedir(directory);
}

/* Between mkdir and the lock another weftrun's sweep may take the directory for a dead one's: then it is not there any
 * more. */
static bool is_at(int fd, const char *path) {
    struct stat opened, found;
    return fstat(fd, &opened) == 0 && lstat(path, &found) == 0 && opened.st_dev == found.st_dev &&
           opened.st_ino == found.st_ino;
}

/* Makes and locks the directory. 0; an errno, EEXIST where another name may do. */
static int take_directory(const char *path) {
    if (mkdir(path, 0700) != 0)
        return errno;
    int fd = lock(path), code = errno;
    if (fd >= 0 && is_at(fd, path))
        return 0; /* fd stays open: it is the lock */
    if (fd >= 0)
        close(fd);
    if (fd >= 0 || code == EWOULDBLOCK || code == ENOENT)
        return EEXIST; /* another weftrun's sweep has it */
    rmdir(path);
    return code;
}

bool weftrun_session_open(char *path, size_t bytes) {
    const char *base = base_directory();
    char prefix[64];
    snprintf(prefix, sizeof(prefix), "weftrun-%ld-", (long)geteuid());
    sweep(base, prefix);
    int code = EEXIST;
    for (int try = 0; try < 100 && code == EEXIST; try++) {
        /* The number is taken when a container with the same process number shares the directory. */
        if (try == 0)
            snprintf(path, bytes, "%s/%s%ld", base, prefix, (long)getpid());
        else
            snprintf(path, bytes, "%s/%s%ld-%d", base, prefix, (long)getpid(), try);
        code = take_directory(path);
    }
    if (code)
        weftrun_say("cannot make and lock the directory %s: %s", path, strerror(code));
    return code == 0;
}

static void remove_sysv(const pid_t *pids, int count, time_t start) {
    FILE *table = fopen("/proc/sysvipc/shm", "re");
    if (!table)
        return;
    char line[512];
    while (fgets(line, sizeof(line), table)) {
        long created;
        int id, creator;
        unsigned long attached;
        /* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime … */
        if (sscanf(line, "%*d %d %*o %*u %d %*d %lu %*u %*u %*u %*u %*u %*u %ld", &id, &creator, &attached, &created) !=
                4 ||
            attached > 0 || created < start)
            continue;
        for (int i = 0; i < count; i++)
            if (pids[i] == creator)
                shmctl(id, IPC_RMID, NULL);
    }
    fclose(table);
}

/* Granted only when nobody else has the file open or mapped. Another weftrun may just look at it. */
static bool is_unused(int fd) {
    for (int tries = 1; fcntl(fd, F_SETLEASE, F_WRLCK) != 0; tries++) {
        if (errno != EAGAIN || tries == 3)
            return false;
        usleep(1000);
    }
    return true;
}

/* UCX's names do not tell the owner; a write lease tells whether there is one. */
static void remove_posix(time_t start) {
    static const char prefix[] = "ucx_shm_posix_";
    DIR *directory = opendir("/dev/shm");
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        struct stat info;
        int fd = openat(dirfd(directory), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_mtime >= start &&
            is_unused(fd))
            unlinkat(dirfd(directory), entry->d_name, 0);
        close(fd);
    }
    closedir(directory);
}

void weftrun_session_remove_shared_memory(const pid_t *pids, int count, time_t start) {
    remove_sysv(pids, count, start);
    remove_posix(start);
}
