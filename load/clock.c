/* A clock that jumps: the time of day is shifted by the seconds at the beginning of a file, which may change.
   The monotonic clock, by which waits are measured, stays as it is: no operating system lets it jump. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift(void) {
    static int file = -2;
    char text[32] = "0";
    if (file == -2) {
        const char *path = getenv("LOAD_CLOCK");
        file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    }
    if (file >= 0) {
        ssize_t size = pread(file, text, sizeof text - 1, 0);
        text[size > 0 ? size : 0] = '\0';
    }
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && clock == CLOCK_REALTIME) now->tv_sec += shift();
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (result != NULL) *result = exact.tv_sec;
    return exact.tv_sec;
}
