/* The parameters of a child, and the outcome of its launch. */
#ifndef NOISEWATCH_LAUNCH_H
#define NOISEWATCH_LAUNCH_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { STARTED, CGROUP, MEMORY, USER, AFFINITY, QUIET, EXEC, LAYOUT }; /* python_launching.py describes them */
enum { MOST_CPUS = 1 << 13, MOST_NODES = 1 << 10, MOST_GROUPS = 1 << 16, WORD_BITS = 8 * sizeof(unsigned long) };

struct plan {
    char **paths, **argv, **shell_argv, **environment;
    unsigned long cpus[MOST_CPUS / WORD_BITS], seen[MOST_CPUS / WORD_BITS], nodes[MOST_NODES / WORD_BITS];
    gid_t groups[MOST_GROUPS];
    size_t cpu_count, node_count, group_count;
    int must_have_all, cgroup, is_quiet, has_user, layout;
    unsigned int uid, gid;
    unsigned long long blocked, ignored;
    volatile int *guarded; /* shared with the guard, which ends the process with this PID */
};

struct outcome {
    int stage, error;
    int64_t began_ns;
    struct rusage used;
};

/* Starts the child with signals blocked; it shares our memory until it runs the command. Returns its PID, or -1 and
 * sets errno. */
pid_t launch(struct plan *plan, volatile struct outcome *outcome);

#endif
