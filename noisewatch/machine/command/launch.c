/* Start a command without copying this process: between vfork and execve the child only makes system calls. */
#define _GNU_SOURCE
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* glibc's functions would change the credentials of all threads of the process. The child must only change its own. */
#ifdef SYS_setresuid32
enum { SET_GROUPS = SYS_setgroups32, SET_GID = SYS_setresgid32, SET_UID = SYS_setresuid32 };
#else
enum { SET_GROUPS = SYS_setgroups, SET_GID = SYS_setresgid, SET_UID = SYS_setresuid };
#endif

enum { BIND_MEMORY = 2, LAST_SIGNAL = 64, FIXED_LAYOUT = 1 };
#define READ_PERSONALITY 0xffffffffUL /* changes nothing */

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int is_in(unsigned long long set, int number) {
    return (int)(set >> (number - 1)) & 1;
}

/* No Python signal handler may run in the child, because it would write to the parent's memory. */
static void set_signals(const struct plan *plan) {
    struct sigaction action = {0};
    for (int number = 1; number <= LAST_SIGNAL; number++) {
        action.sa_handler = is_in(plan->ignored, number) ? SIG_IGN : SIG_DFL;
        sigaction(number, &action, NULL); /* fails for SIGKILL, SIGSTOP and the C library's signals */
    }
}

static void restore_signal_mask(const struct plan *plan) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int number = 1; number <= LAST_SIGNAL; number++)
        if (is_in(plan->blocked, number))
            sigaddset(&blocked, number);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static int redirect_to_null(void) {
    int descriptor = open("/dev/null", O_RDWR);
    if (descriptor < 0)
        return -1;
    for (int number = 0; number <= STDERR_FILENO; number++)
        if (dup2(descriptor, number) < 0)
            return -1;
    return descriptor > STDERR_FILENO ? close(descriptor) : 0;
}

static int bind_memory(const unsigned long *nodes) {
    return (int)syscall(SYS_set_mempolicy, BIND_MEMORY, nodes, MOST_NODES + 1UL); /* the kernel subtracts 1 */
}

/* A flag that is right already is not set again, because seccomp may refuse that. */
static int set_layout(int layout) {
    int before = personality(READ_PERSONALITY);
    if (before == -1)
        return -1;
    int after = layout == FIXED_LAYOUT ? before | ADDR_NO_RANDOMIZE : before & ~ADDR_NO_RANDOMIZE;
    return after == before || personality((unsigned long)after) != -1 ? 0 : -1;
}

static int become_user(const struct plan *plan) {
    if (syscall(SET_GROUPS, plan->group_count, plan->groups) != 0)
        return -1;
    if (syscall(SET_GID, plan->gid, plan->gid, plan->gid) != 0)
        return -1;
    return (int)syscall(SET_UID, plan->uid, plan->uid, plan->uid);
}

static int pin(struct plan *plan) {
    if (syscall(SYS_sched_setaffinity, 0, sizeof plan->cpus, plan->cpus) != 0)
        return -1;
    if (!plan->must_have_all)
        return 0;
    if (syscall(SYS_sched_getaffinity, 0, sizeof plan->seen, plan->seen) < 0)
        return -1;
    errno = EINVAL;
    return memcmp(plan->seen, plan->cpus, sizeof plan->cpus) == 0 ? 0 : -1;
}

/* Returns whether a candidate is in a folder of PATH without search permission. A shell treats it as absent. */
static int is_hidden(const struct plan *plan, const char *path) {
    return strchr(plan->argv[0], '/') == NULL && access(path, F_OK) != 0;
}

/* Runs the first candidate that can be executed. Returns the error that execvp(3) would report. */
static int run_first(const struct plan *plan) {
    int error = ENOENT;
    for (char **path = plan->paths; *path != NULL; path++) {
        execve(*path, plan->argv, plan->environment);
        if (errno == ENOEXEC) {
            plan->shell_argv[1] = *path;
            execve(plan->shell_argv[0], plan->shell_argv, plan->environment);
        }
        if (errno == EACCES)
            error = is_hidden(plan, *path) ? error : EACCES;
        else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV && errno != ETIMEDOUT)
            return errno;
        else if (path == plan->paths && path[1] == NULL)
            return errno;
    }
    return error;
}

static int prepare(struct plan *plan, volatile struct outcome *outcome) {
    outcome->stage = QUIET;
    if (plan->is_quiet && redirect_to_null() != 0)
        return errno;
    outcome->stage = CGROUP;
    if (plan->cgroup >= 0 && write(plan->cgroup, "0", 1) != 1)
        return errno;
    outcome->stage = MEMORY;
    if (plan->node_count > 0 && bind_memory(plan->nodes) != 0)
        return errno;
    outcome->stage = LAYOUT;
    if (plan->layout != 0 && set_layout(plan->layout) != 0)
        return errno;
    outcome->stage = USER;
    if (plan->has_user && become_user(plan) != 0)
        return errno;
    outcome->stage = AFFINITY; /* last, so the child does nothing else on the target CPUs */
    return plan->cpu_count > 0 && pin(plan) != 0 ? errno : 0;
}

static void run_child(struct plan *plan, volatile struct outcome *outcome) {
    set_signals(plan);
    outcome->error = prepare(plan, outcome);
    if (outcome->error == 0) {
        getrusage(RUSAGE_SELF, (struct rusage *)&outcome->used);
        outcome->began_ns = now_ns();
        outcome->stage = STARTED;
        *plan->guarded = (int)getpid();
        restore_signal_mask(plan);
        int error = run_first(plan);
        outcome->stage = EXEC;
        outcome->error = error;
    }
    _exit(127);
}

/* sigprocmask affects only the calling thread, as pthread_sigmask does, but does not require glibc 2.32. */
pid_t launch(struct plan *plan, volatile struct outcome *outcome) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = vfork();
    if (pid == 0)
        run_child(plan, outcome);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}
