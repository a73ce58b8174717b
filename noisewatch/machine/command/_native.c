/* Starting commands for Python. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000 /* Python 3.11: one build serves all later ones */
#include <Python.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"

/* Returns an array: `before` free pointers, pointers to the bytes objects of a tuple, and a final NULL. If it fails, it
 * returns NULL and sets an exception. */
static char **pointers_to(PyObject *texts, Py_ssize_t before) {
    Py_ssize_t count = PyTuple_Size(texts);
    char **pointers = count < 0 ? NULL : calloc((size_t)(before + count + 1), sizeof *pointers);
    if (count >= 0 && pointers == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t at = 0; pointers != NULL && at < count; at++) {
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(texts, at), &pointers[before + at], NULL) != 0) {
            free(pointers);
            return NULL;
        }
    }
    return pointers;
}

/* Returns `/bin/sh PATH ARGUMENT …` for a script without an interpreter line; run_first fills in PATH. */
static char **shell_argv_of(PyObject *argv) {
    char **pointers = pointers_to(argv, 1);
    if (pointers != NULL)
        pointers[0] = "/bin/sh";
    return pointers;
}

static PyObject *result_of(pid_t pid, const struct outcome *outcome) {
    const struct rusage *used = &outcome->used;
    return Py_BuildValue("iiiL(LLllllll)", pid, outcome->stage, outcome->error, (long long)outcome->began_ns,
                         (long long)used->ru_utime.tv_sec * 1000000 + used->ru_utime.tv_usec,
                         (long long)used->ru_stime.tv_sec * 1000000 + used->ru_stime.tv_usec, used->ru_minflt,
                         used->ru_majflt, used->ru_inblock, used->ru_oublock, used->ru_nvcsw, used->ru_nivcsw);
}

static PyObject *run_plan(struct plan *plan) {
    struct outcome outcome = {0};
    int dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    pid_t pid = launch(plan, &outcome);
    if (pid < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    if (plan->has_user && dumpable == 1)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the child shares our memory: changing its user cleared our flag */
    if (outcome.stage != STARTED)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    return result_of(pid, &outcome);
}

/* Returns a number of the tuple. If it is negative or not below `limit`, returns -1 and sets an exception. */
static long long number_at(PyObject *numbers, Py_ssize_t at, long long limit) {
    long long number = PyLong_AsLongLong(PyTuple_GetItem(numbers, at));
    if (number >= 0 && number < limit)
        return number;
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "a number is out of range");
    return -1;
}

/* Sets the bit of each number in `words`. If a number is out of range, returns non-zero and sets an exception. */
static int set_bits(PyObject *numbers, unsigned long *words, long long limit) {
    for (Py_ssize_t at = 0; at < PyTuple_Size(numbers); at++) {
        long long number = number_at(numbers, at, limit);
        if (number < 0)
            return 1;
        words[number / WORD_BITS] |= 1UL << (number % WORD_BITS);
    }
    return 0;
}

static int set_groups(PyObject *numbers, struct plan *plan) {
    for (size_t at = 0; at < plan->group_count; at++) {
        long long number = number_at(numbers, (Py_ssize_t)at, at < MOST_GROUPS ? UINT32_MAX : 0);
        if (number < 0)
            return 1;
        plan->groups[at] = (gid_t)number;
    }
    return 0;
}

/* Fills the plan; the caller frees all allocations in any case. Returns non-zero and sets an exception on failure. */
static int parse_plan(struct plan *plan, Py_buffer *guarded, PyObject *arguments) {
    PyObject *paths, *argv, *environment, *cpus, *nodes, *groups;
    PyTypeObject *tuple = &PyTuple_Type;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!pO!ipIIO!pKKiw*", tuple, &paths, tuple, &argv, tuple, &environment, tuple,
                          &cpus, &plan->must_have_all, tuple, &nodes, &plan->cgroup, &plan->has_user, &plan->uid,
                          &plan->gid, tuple, &groups, &plan->is_quiet, &plan->blocked, &plan->ignored,
                          &plan->layout, guarded))
        return 1;
    plan->guarded = guarded->buf;
    plan->cpu_count = (size_t)PyTuple_Size(cpus);
    plan->node_count = (size_t)PyTuple_Size(nodes);
    plan->group_count = (size_t)PyTuple_Size(groups);
    if (set_bits(cpus, plan->cpus, MOST_CPUS) || set_bits(nodes, plan->nodes, MOST_NODES) || set_groups(groups, plan))
        return 1;
    return (plan->paths = pointers_to(paths, 0)) == NULL || (plan->argv = pointers_to(argv, 0)) == NULL ||
           (plan->shell_argv = shell_argv_of(argv)) == NULL || (plan->environment = pointers_to(environment, 0)) == NULL;
}

static PyObject *native_launch(PyObject *module, PyObject *arguments) {
    (void)module;
    struct plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return PyErr_NoMemory();
    Py_buffer guarded = {0};
    PyObject *result = parse_plan(plan, &guarded, arguments) == 0 ? run_plan(plan) : NULL;
    if (guarded.buf != NULL)
        PyBuffer_Release(&guarded);
    free(plan->paths);
    free(plan->argv);
    free(plan->shell_argv);
    free(plan->environment);
    free(plan);
    return result;
}

static PyObject *native_prctl(PyObject *module, PyObject *arguments) {
    int option;
    unsigned long value;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "ik", &option, &value))
        return NULL;
    if (prctl(option, value, 0, 0, 0) != 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    Py_RETURN_NONE;
}

static PyObject *native_signalfd(PyObject *module, PyObject *arguments) {
    unsigned long long numbers;
    sigset_t set;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "K", &numbers))
        return NULL;
    sigemptyset(&set);
    for (int number = 1; number <= 64; number++)
        if ((numbers >> (number - 1)) & 1)
            sigaddset(&set, number);
    int descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return descriptor >= 0 ? PyLong_FromLong(descriptor) : PyErr_SetFromErrno(PyExc_OSError);
}

static PyMethodDef methods[] = {
    {"launch", native_launch, METH_VARARGS, NULL},
    {"prctl", native_prctl, METH_VARARGS, NULL},
    {"signalfd", native_signalfd, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Starting commands in C; python_launching.py describes each function.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__native(void) {
    return PyModule_Create(&definition);
}
