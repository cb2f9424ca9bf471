/*
 * What a power cut leaves: preloaded into a process, it keeps of the files in one directory (LIVE)
 * a second copy in another (SYNCED) that has only what was synced.
 *
 *   QUEUEKIT_POWER_LIVE    the directory in which the process works; absolute, without links
 *   QUEUEKIT_POWER_SYNCED  the directory of the copies; names that begin with a dot are the shim's
 *   QUEUEKIT_POWER_CUT     optional, NAME:COUNT: the process dies when it asks for the COUNT-th
 *                          sync of the file NAME (of any file and the directory, if NAME is empty),
 *                          before that sync has any effect
 *
 * The model. A write reaches the file in LIVE, which stands for the page cache, and no copy. A sync
 * of a file makes its copy what the file holds now, its length included, and makes its name
 * durable, as every file system in use does. A sync of the directory makes names durable: a file
 * that was created and not synced is empty then, one that was removed is gone. Nothing else makes
 * anything durable: not close, not rename, not msync, not sync_file_range, not the passing of time.
 * Real disks keep some of what was not synced, too; who examines the copies mixes that in, sector
 * by sector, from LIVE. A copy changes in one step (rename), under a lock, so that the process, or
 * several of them, may be killed at any instruction.
 *
 * What the model does not know ends the process: a rename or link of a tracked file, and a shared
 * writable mapping of one. Excepted is SQLite's index of the log (-shm), which is rebuilt after
 * every cut and never synced. Writes through O_SYNC count as not synced, which is too strict.
 *
 * No real sync is made: nobody cuts the power of the machine that runs the test. And no tracked
 * file is opened here: closing a second descriptor would drop the locks that SQLite holds on it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES (PATH_MAX + 300)

static const char *live, *synced, *cut_name = "";
static long cut_count;

static void die(const char *what, const char *name)
{
    fprintf(stderr, "power loss shim: %s: %s: %m\n", what, name);
    abort();
}

__attribute__((constructor)) static void begin(void)
{
    live = getenv("QUEUEKIT_POWER_LIVE");
    synced = getenv("QUEUEKIT_POWER_SYNCED");
    if (!live || !synced)
        die("it needs", "QUEUEKIT_POWER_LIVE and QUEUEKIT_POWER_SYNCED");
    const char *cut = getenv("QUEUEKIT_POWER_CUT");
    const char *colon = cut ? strrchr(cut, ':') : NULL;
    if (colon) {
        cut_name = strndup(cut, colon - cut);
        cut_count = atol(colon + 1);
    }
}

/* The path below LIVE, "" for LIVE itself, NULL for what is elsewhere. */
static const char *below(const char *path)
{
    size_t length = live ? strlen(live) : 0;
    if (length == 0 || strncmp(path, live, length) != 0)
        return NULL;
    if (path[length] == '\0')
        return "";
    return path[length] == '/' ? path + length + 1 : NULL;
}

/* The same for an open file; `path` is where it is written. */
static const char *tracked(int fd, char path[PATH_BYTES])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_BYTES - 1);
    if (length < 0)
        return NULL;
    path[length] = '\0';
    return below(path);
}

static int ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), of_end = strlen(end);
    return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* Dies if this is the sync at which the power goes. */
static void maybe_cut(const char *name)
{
    if (cut_count == 0 || (*cut_name && strcmp(name, cut_name) != 0))
        return;
    if (__atomic_sub_fetch(&cut_count, 1, __ATOMIC_SEQ_CST) == 0)
        kill(getpid(), SIGKILL);
}

static void write_all(int to, const char *from, ssize_t length, const char *name)
{
    while (length > 0) {
        ssize_t written = write(to, from, length);
        if (written < 0)
            die("cannot write the copy", name);
        from += written;
        length -= written;
    }
}

/* Makes the copy what the file holds now. */
static void sync_content(int fd, const char *name)
{
    char temporary[PATH_BYTES], copy[PATH_BYTES], buffer[1 << 16];
    snprintf(temporary, sizeof temporary, "%s/.copy", synced);
    snprintf(copy, sizeof copy, "%s/%s", synced, name);
    int to = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0)
        die("cannot make the copy", temporary);
    off_t at = 0;
    ssize_t length;
    while ((length = pread(fd, buffer, sizeof buffer, at)) > 0) {
        write_all(to, buffer, length, name);
        at += length;
    }
    if (length < 0)
        die("cannot read; open it for reading, too", name);
    close(to);
    if (rename(temporary, copy) != 0)
        die("cannot replace the copy", copy);
}

/* Calls `each` for every name in `directory` that `other` does not have. */
static void for_each_missing(const char *directory, const char *other, void (*each)(const char *))
{
    DIR *names = opendir(directory);
    if (!names)
        die("cannot list", directory);
    for (struct dirent *entry; (entry = readdir(names));) {
        char there[PATH_BYTES];
        snprintf(there, sizeof there, "%s/%s", other, entry->d_name);
        int skipped = entry->d_name[0] == '.' || ends_with(entry->d_name, "-shm");
        if (!skipped && access(there, F_OK) != 0)
            each(there);
    }
    closedir(names);
}

static void make_empty(const char *copy)
{
    int made = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (made < 0)
        die("cannot make", copy);
    close(made);
}

/* What is missing in LIVE was removed; its copy goes, too. */
static void remove_copy(const char *missing)
{
    char copy[PATH_BYTES];
    snprintf(copy, sizeof copy, "%s/%s", synced, below(missing));
    unlink(copy);
}

/* A sync of `fd`; 0 if the file is not tracked. */
static int keep(int fd)
{
    char path[PATH_BYTES], lock[PATH_BYTES];
    const char *name = tracked(fd, path);
    if (!name || ends_with(name, " (deleted)"))
        return 0;
    if (strchr(name, '/'))
        die("the model has one directory", name);
    snprintf(lock, sizeof lock, "%s/.lock", synced);
    int locked = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (locked < 0 || flock(locked, LOCK_EX) != 0)
        die("cannot lock", lock);
    maybe_cut(name);
    if (*name) {
        sync_content(fd, name);
    } else {
        for_each_missing(live, synced, make_empty);
        for_each_missing(synced, live, remove_copy);
    }
    close(locked);
    return 1;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int fsync(int fd)
{
    return keep(fd) ? 0 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    return keep(fd) ? 0 : REAL(fdatasync)(fd);
}

static void refuse_mapping(int protection, int flags, int fd)
{
    char path[PATH_BYTES];
    int writes = (protection & PROT_WRITE) && (flags & MAP_TYPE) != MAP_PRIVATE;
    const char *name = fd >= 0 && writes ? tracked(fd, path) : NULL;
    if (name && !ends_with(name, "-shm"))
        die("the model has no writable mapping", name);
}

void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset)
{
    refuse_mapping(protection, flags, fd);
    return REAL(mmap)(at, length, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int fd, off64_t offset)
{
    refuse_mapping(protection, flags, fd);
    return REAL(mmap64)(at, length, protection, flags, fd, offset);
}

static void refuse_name(const char *path)
{
    if (below(path))
        die("the model has no rename and no link", path);
}

int rename(const char *from, const char *to)
{
    refuse_name(from);
    refuse_name(to);
    return REAL(rename)(from, to);
}

int link(const char *from, const char *to)
{
    refuse_name(from);
    refuse_name(to);
    return REAL(link)(from, to);
}
