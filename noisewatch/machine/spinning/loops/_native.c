/* The loops for Python. They write to buffers, and release the interpreter's lock while they run. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000 /* Python 3.11: one build serves all later ones */
#include <Python.h>

#include <sys/mman.h>

#include "loops.h"

/* Returns the buffer's length in 64-bit words. If it is less than `least`, returns -1 and sets an exception. */
static int64_t words_of(const Py_buffer *view, int64_t least) {
    int64_t count = (int64_t)(view->len / (Py_ssize_t)sizeof(int64_t));
    if (count >= least)
        return count;
    PyErr_Format(PyExc_ValueError, "expected a buffer of at least %lld words", (long long)least);
    return -1;
}

static PyObject *native_spin(PyObject *module, PyObject *arguments, PyObject *named) {
    static char *names[] = {"gaps",      "totals",   "until_ns",       "threshold_ns",
                            "schedstat", "delay_ns", "delay_every_ns", NULL};
    Py_buffer gaps, totals;
    long long until, threshold, delay = 0, delay_every = 0;
    int schedstat = -1;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "w*w*LL|iLL", names, &gaps, &totals, &until, &threshold,
                                     &schedstat, &delay, &delay_every))
        return NULL;
    int64_t capacity = words_of(&gaps, GAP_WORDS) / GAP_WORDS;
    struct spin wanted = {
        .gaps = gaps.buf, .capacity = capacity, .totals = totals.buf, .until = until, .threshold = threshold,
        .schedstat = schedstat, .delay = delay, .delay_every = delay_every};
    int fits = capacity > 0 && words_of(&totals, SPIN_WORDS) > 0;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        spin(&wanted);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&gaps);
    PyBuffer_Release(&totals);
    return fits ? PyLong_FromLongLong(wanted.delay_count) : NULL;
}

/* Returns the number of samples for which there is room. If there is none, returns 0 and sets an exception. */
static int64_t room_for_samples(const Py_buffer *samples, const Py_buffer *count) {
    int64_t capacity = words_of(samples, WORK_WORDS) / WORK_WORDS;
    return capacity > 0 && words_of(count, 1) > 0 ? capacity : 0;
}

typedef int64_t repeated(int64_t *samples, int64_t capacity, int64_t *count, int64_t until, int64_t size);

static PyObject *repeat(PyObject *arguments, repeated *piece) {
    Py_buffer samples, count;
    long long until, size;
    if (!PyArg_ParseTuple(arguments, "w*w*LL", &samples, &count, &until, &size))
        return NULL;
    int64_t capacity = room_for_samples(&samples, &count);
    if (capacity > 0) {
        Py_BEGIN_ALLOW_THREADS
        piece(samples.buf, capacity, count.buf, until, size);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&samples);
    PyBuffer_Release(&count);
    if (capacity == 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *native_dense(PyObject *module, PyObject *arguments) {
    (void)module;
    return repeat(arguments, dense);
}

static PyObject *native_chain(PyObject *module, PyObject *arguments) {
    (void)module;
    return repeat(arguments, chain);
}

/* Returns the number of cache lines. If it is not a power of two, returns 0 and sets an exception. */
static uint32_t lines_of(const Py_buffer *memory) {
    uint64_t line = LINK_WORDS * sizeof(uint32_t), lines = (uint64_t)memory->len / line;
    if (lines > 0 && lines <= UINT32_MAX && (lines & (lines - 1)) == 0 && lines * line == (uint64_t)memory->len)
        return (uint32_t)lines;
    PyErr_SetString(PyExc_ValueError, "expected a power of two of cache lines");
    return 0;
}

static PyObject *native_chase(PyObject *module, PyObject *arguments) {
    Py_buffer samples, count, memory;
    long long until, steps;
    unsigned long at;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "w*w*Ly*Lk", &samples, &count, &until, &memory, &steps, &at))
        return NULL;
    int64_t capacity = room_for_samples(&samples, &count);
    struct ring ring = {.links = memory.buf, .lines = lines_of(&memory), .at = (uint32_t)at};
    int fits = capacity > 0 && ring.lines > 0;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        chase(samples.buf, capacity, count.buf, until, &ring, steps);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&samples);
    PyBuffer_Release(&count);
    PyBuffer_Release(&memory);
    return fits ? PyLong_FromUnsignedLong(ring.at) : NULL;
}

static PyObject *native_stream(PyObject *module, PyObject *arguments) {
    Py_buffer samples, count, source, target;
    long long until, lines;
    unsigned long at;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "w*w*Ly*w*Lk", &samples, &count, &until, &source, &target, &lines, &at))
        return NULL;
    int64_t capacity = room_for_samples(&samples, &count);
    struct copy copy = {.source = source.buf, .source_bytes = (size_t)source.len, .target = target.buf,
                        .target_bytes = (size_t)target.len, .at = at};
    int has_lines = source.len > 0 && source.len % LINE_BYTES == 0 && target.len > 0 && target.len % LINE_BYTES == 0;
    int is_aligned = (uintptr_t)target.buf % LINE_BYTES == 0 && at % LINE_BYTES == 0 && at < copy.source_bytes;
    int fits = capacity > 0 && has_lines && is_aligned;
    if (capacity > 0 && !fits)
        PyErr_SetString(PyExc_ValueError, "expected whole and aligned cache lines");
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        stream(samples.buf, capacity, count.buf, until, &copy, lines);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&samples);
    PyBuffer_Release(&count);
    PyBuffer_Release(&source);
    PyBuffer_Release(&target);
    return fits ? PyLong_FromSize_t(copy.at) : NULL;
}

static PyObject *native_fill_ring(PyObject *module, PyObject *arguments) {
    Py_buffer memory;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "w*", &memory))
        return NULL;
    uint32_t lines = lines_of(&memory);
    if (lines > 0)
        fill_ring(memory.buf, lines);
    PyBuffer_Release(&memory);
    if (lines == 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *timed(PyObject *arguments, int64_t (*chain)(int64_t)) {
    long long length;
    if (!PyArg_ParseTuple(arguments, "L", &length))
        return NULL;
    int64_t ns = chain(length);
    if (ns < 0)
        Py_RETURN_NONE;
    return PyLong_FromLongLong(ns);
}

static PyObject *native_multiplications(PyObject *module, PyObject *arguments) {
    (void)module;
    return timed(arguments, time_multiplications);
}

static PyObject *native_additions(PyObject *module, PyObject *arguments) {
    (void)module;
    return timed(arguments, time_additions);
}

static PyObject *native_clock_readings(PyObject *module, PyObject *arguments) {
    (void)module;
    return timed(arguments, time_clock_readings);
}

static PyObject *native_lock(PyObject *module, PyObject *arguments) {
    Py_buffer most_needed;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "w*", &most_needed))
        return NULL;
    if (mlockall(MCL_CURRENT | MCL_ONFAULT) != 0)
        mlock(most_needed.buf, (size_t)most_needed.len);
    PyBuffer_Release(&most_needed);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"spin", (PyCFunction)(void (*)(void))native_spin, METH_VARARGS | METH_KEYWORDS, NULL},
    {"dense", native_dense, METH_VARARGS, NULL},
    {"chain", native_chain, METH_VARARGS, NULL},
    {"chase", native_chase, METH_VARARGS, NULL},
    {"stream", native_stream, METH_VARARGS, NULL},
    {"fill_ring", native_fill_ring, METH_VARARGS, NULL},
    {"multiplications_ns", native_multiplications, METH_VARARGS, NULL},
    {"additions_ns", native_additions, METH_VARARGS, NULL},
    {"clock_readings_ns", native_clock_readings, METH_VARARGS, NULL},
    {"lock_memory", native_lock, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "The measuring loops in C; python_loops.py describes each function.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__native(void) {
    return PyModule_Create(&definition);
}
