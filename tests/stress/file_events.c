/* Records each change of a name and each flush below one folder; ends the process after a chosen event or time.
 *
 * Loaded before the C library (LD_PRELOAD), it does nothing until record_file_events() is called; see
 * tests/stress/power_cuts.py, which reads what it writes. One line an event, with tabs between:
 *
 *     create PATH | folder PATH | rename FROM TO | exchange A B | remove PATH | sync PATH NUMBER
 *
 * The bytes of a file that is flushed are copied to STORE/NUMBER: a power cut leaves at least these.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST 4096

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[LONGEST], store[LONGEST];
static int events = -1;
static long number, last;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Ends the process at a moment in time, between two events. */
static void *end_later(void *seconds) {
    usleep((useconds_t)(*(double *)seconds * 1e6));
    pthread_mutex_lock(&lock);
    kill(getpid(), SIGKILL);
    return NULL;
}

void record_file_events(const char *folder, const char *log, const char *copies, long end_after, double seconds) {
    static double delay;
    pthread_t thread;
    snprintf(root, sizeof root, "%s/", folder);
    snprintf(store, sizeof store, "%s", copies);
    number = 0;
    last = end_after;
    events = REAL(open)(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    delay = seconds;
    if (seconds >= 0 && pthread_create(&thread, NULL, end_later, &delay)) abort();
}

/* The absolute name for a descriptor and a path; the folders of the tests are not reached through links. */
static void resolve(int folder, const char *path, char *out) {
    char link[64];
    ssize_t n = 0;
    if (path[0] != '/') {
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        n = readlink(link, out, LONGEST - 2);
        if (n < 0) n = 0;
        if (path[0]) out[n++] = '/';
    }
    snprintf(out + n, LONGEST - n, "%s", path);
}

static int ours(const char *path) { return events >= 0 && !strncmp(path, root, strlen(root)); }

static void note(const char *kind, const char *a, const char *b) {
    char line[2 * LONGEST + 64];
    int n = snprintf(line, sizeof line, "%s\t%s\t%s\n", kind, a, b);
    if (write(events, line, n) != n) abort();
    if (++number == last) kill(getpid(), SIGKILL);
}

static int opened(int folder, const char *path, int flags, int mode, int (*real)(int, const char *, int, ...)) {
    char name[LONGEST];
    struct stat status;
    if (events < 0 || !(flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) return real(folder, path, flags, mode);
    resolve(folder, path, name);
    if (!ours(name)) return real(folder, path, flags, mode);
    pthread_mutex_lock(&lock);
    int there = !lstat(name, &status);
    int result = real(folder, path, flags, mode), error = errno;
    if (result >= 0 && !there) note("create", name, "");
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

#define MODE                                                                                                           \
    int mode = 0;                                                                                                      \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                                               \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, int);                                                                                      \
        va_end(rest);                                                                                                  \
    }

int open(const char *path, int flags, ...) {
    MODE
    return opened(AT_FDCWD, path, flags, mode, REAL(openat));
}
int open64(const char *path, int flags, ...) {
    MODE
    return opened(AT_FDCWD, path, flags, mode, REAL(openat64));
}
int openat(int folder, const char *path, int flags, ...) {
    MODE
    return opened(folder, path, flags, mode, REAL(openat));
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE
    return opened(folder, path, flags, mode, REAL(openat64));
}

static FILE *streamed(const char *path, const char *mode, FILE *(*real)(const char *, const char *)) {
    char name[LONGEST];
    struct stat status;
    resolve(AT_FDCWD, path, name);
    if (!ours(name) || mode[0] == 'r') return real(path, mode);
    pthread_mutex_lock(&lock);
    int there = !lstat(name, &status);
    FILE *result = real(path, mode);
    int error = errno;
    if (result && !there) note("create", name, "");
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}
FILE *fopen(const char *path, const char *mode) { return streamed(path, mode, REAL(fopen)); }
FILE *fopen64(const char *path, const char *mode) { return streamed(path, mode, REAL(fopen64)); }

/* Does something to one or two names, and records it if it succeeded. */
#define DONE(kind, call, a, b)                                                                                         \
    if (!ours(a)) return call;                                                                                         \
    pthread_mutex_lock(&lock);                                                                                         \
    int result = call, error = errno;                                                                                  \
    if (!result) note(kind, a, b);                                                                                     \
    pthread_mutex_unlock(&lock);                                                                                       \
    errno = error;                                                                                                     \
    return result

int mkdir(const char *path, mode_t mode) {
    char name[LONGEST];
    resolve(AT_FDCWD, path, name);
    DONE("folder", REAL(mkdir)(path, mode), name, "");
}
int mkdirat(int folder, const char *path, mode_t mode) {
    char name[LONGEST];
    resolve(folder, path, name);
    DONE("folder", REAL(mkdirat)(folder, path, mode), name, "");
}
int unlink(const char *path) {
    char name[LONGEST];
    resolve(AT_FDCWD, path, name);
    DONE("remove", REAL(unlink)(path), name, "");
}
int rmdir(const char *path) {
    char name[LONGEST];
    resolve(AT_FDCWD, path, name);
    DONE("remove", REAL(rmdir)(path), name, "");
}
int unlinkat(int folder, const char *path, int flags) {
    char name[LONGEST];
    resolve(folder, path, name);
    DONE("remove", REAL(unlinkat)(folder, path, flags), name, "");
}
int rename(const char *from, const char *to) {
    char a[LONGEST], b[LONGEST];
    resolve(AT_FDCWD, from, a);
    resolve(AT_FDCWD, to, b);
    DONE("rename", REAL(rename)(from, to), a, b);
}
int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    char a[LONGEST], b[LONGEST];
    resolve(from_folder, from, a);
    resolve(to_folder, to, b);
    DONE("rename", REAL(renameat)(from_folder, from, to_folder, to), a, b);
}
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags) {
    char a[LONGEST], b[LONGEST];
    resolve(from_folder, from, a);
    resolve(to_folder, to, b);
    DONE(flags & RENAME_EXCHANGE ? "exchange" : "rename",
         REAL(renameat2)(from_folder, from, to_folder, to, flags), a, b);
}

static int flushed(int descriptor, int (*real)(int)) {
    char name[LONGEST], copy[LONGEST + 32], own[64], buffer[1 << 16];
    struct stat status;
    ssize_t n;
    if (events < 0) return real(descriptor);
    resolve(descriptor, "", name);
    if (!ours(name) && strncmp(name, root, strlen(root) - 1)) return real(descriptor);
    pthread_mutex_lock(&lock);
    int result = real(descriptor), error = errno;
    if (!result && !fstat(descriptor, &status) && status.st_nlink) {
        char shown[32];
        snprintf(shown, sizeof shown, "%ld", number);
        if (S_ISREG(status.st_mode)) {
            snprintf(own, sizeof own, "/proc/self/fd/%d", descriptor);
            snprintf(copy, sizeof copy, "%s/%s", store, shown);
            int in = REAL(open)(own, O_RDONLY | O_CLOEXEC), out = REAL(open)(copy, O_WRONLY | O_CREAT | O_TRUNC, 0600);
            if (in < 0 || out < 0) abort();
            while ((n = read(in, buffer, sizeof buffer)) > 0)
                if (write(out, buffer, n) != n) abort();
            close(in);
            close(out);
        }
        note("sync", name, shown);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}
int fsync(int descriptor) { return flushed(descriptor, REAL(fsync)); }
int fdatasync(int descriptor) { return flushed(descriptor, REAL(fdatasync)); }
