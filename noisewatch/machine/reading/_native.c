/* Reading for Python: reread many files in one call, find the changed lines of a table, and parse counts. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000 /* Python 3.11: one build serves all later ones */
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { AT, SINCE_NS, IS_GIVEN_UP, PROGRESS_WORDS }; /* python_reading.py describes them */
enum { FIRST_CAPACITY = 1 << 16 };

struct content {
    char *bytes;
    size_t size, capacity;
};

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int grow(struct content *content) {
    size_t capacity = content->capacity > 0 ? 2 * content->capacity : FIRST_CAPACITY;
    char *bytes = realloc(content->bytes, capacity);
    if (bytes == NULL)
        return ENOMEM;
    content->bytes = bytes;
    content->capacity = capacity;
    return 0;
}

/* Reads the whole file; returns 0 or an error number. */
static int read_whole(int descriptor, struct content *content, size_t largest) {
    content->size = 0;
    for (;;) {
        if (content->size == content->capacity && grow(content) != 0)
            return ENOMEM;
        ssize_t count = pread(descriptor, content->bytes + content->size, content->capacity - content->size,
                              (off_t)content->size);
        if (count == 0)
            return 0;
        if (count < 0 && errno != EINTR)
            return errno;
        content->size += count > 0 ? (size_t)count : 0;
        if (content->size > largest)
            return EFBIG;
    }
}

static int read_at(const char *path, struct content *content, size_t largest) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return errno;
    int error = read_whole(descriptor, content, largest);
    close(descriptor);
    return error;
}

static int is_absent(int error) {
    return error == ENOENT || error == ENOTDIR || error == ESRCH;
}

static int is_unchanged(PyObject *before, const struct content *content) {
    if (!PyBytes_Check(before) || PyBytes_Size(before) != (Py_ssize_t)content->size)
        return 0;
    return memcmp(PyBytes_AsString(before), content->bytes, content->size) == 0;
}

static int add(PyObject *changed, PyObject *pair) {
    int failed = pair == NULL || PyList_Append(changed, pair) != 0;
    Py_XDECREF(pair);
    return failed;
}

/* Reads one file of the list and adds it to `changed` if it differs or is unreadable. Returns non-zero if it sets an
 * exception. */
static int reread_one(PyObject *kept, Py_ssize_t at, struct content *content, size_t largest, PyObject *changed) {
    PyObject *file, *before;
    int error;
    if (!PyArg_ParseTuple(PyList_GetItem(kept, at), "OO", &file, &before))
        return 1;
    const char *path = PyBytes_Check(file) ? PyBytes_AsString(file) : NULL;
    int descriptor = path == NULL ? (int)PyLong_AsLong(file) : -1;
    if (PyErr_Occurred())
        return 1;
    Py_BEGIN_ALLOW_THREADS
    error = path != NULL ? read_at(path, content, largest) : read_whole(descriptor, content, largest);
    Py_END_ALLOW_THREADS
    if (error != 0 && before == Py_None && is_absent(error))
        return 0;
    if (error != 0)
        return add(changed, Py_BuildValue("ni", at, error));
    if (is_unchanged(before, content))
        return 0;
    return add(changed, Py_BuildValue("ny#", at, content->bytes, (Py_ssize_t)content->size));
}

static PyObject *native_reread(PyObject *module, PyObject *arguments) {
    PyObject *kept;
    Py_buffer shared;
    Py_ssize_t largest;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!w*n", &PyList_Type, &kept, &shared, &largest))
        return NULL;
    volatile int64_t *progress = shared.buf;
    struct content content = {0};
    int failed = shared.len < (Py_ssize_t)(PROGRESS_WORDS * sizeof *progress);
    if (failed)
        PyErr_SetString(PyExc_ValueError, "expected a buffer of at least three words for the progress");
    PyObject *changed = failed ? NULL : PyList_New(0);
    for (Py_ssize_t at = 0; changed != NULL && at < PyList_Size(kept) && !progress[IS_GIVEN_UP]; at++) {
        progress[AT] = at;
        progress[SINCE_NS] = now_ns();
        if (reread_one(kept, at, &content, (size_t)largest, changed) != 0)
            Py_CLEAR(changed);
    }
    free(content.bytes);
    PyBuffer_Release(&shared);
    return changed;
}

static const char *end_of_line(const char *at, const char *end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline != NULL ? newline : end;
}

static int add_line(PyObject *changed, Py_ssize_t number, Py_ssize_t begin, Py_ssize_t end) {
    PyObject *line = Py_BuildValue("nnn", number, begin, end);
    int failed = line == NULL || PyList_Append(changed, line) != 0;
    Py_XDECREF(line);
    return failed;
}

static PyObject *changed_lines(const Py_buffer *before, const Py_buffer *after) {
    const char *old = before->buf, *old_end = old + before->len;
    const char *begin = after->buf, *new = begin, *new_end = begin + after->len;
    PyObject *changed = PyList_New(0);
    for (Py_ssize_t number = 0; changed != NULL; number++) {
        const char *old_stop = end_of_line(old, old_end), *new_stop = end_of_line(new, new_end);
        int is_same = old_stop - old == new_stop - new && memcmp(old, new, (size_t)(new_stop - new)) == 0;
        if (!is_same && add_line(changed, number, new - begin, new_stop - begin))
            Py_CLEAR(changed);
        if ((old_stop == old_end) != (new_stop == new_end)) {
            Py_XDECREF(changed);
            Py_RETURN_NONE;
        }
        if (new_stop == new_end)
            break;
        old = old_stop + 1;
        new = new_stop + 1;
    }
    return changed;
}

static PyObject *native_changed_lines(PyObject *module, PyObject *arguments) {
    Py_buffer before, after;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*y*", &before, &after))
        return NULL;
    PyObject *changed = changed_lines(&before, &after);
    PyBuffer_Release(&before);
    PyBuffer_Release(&after);
    return changed;
}

static int is_blank(char character) {
    return character == ' ' || (character >= '\t' && character <= '\r');
}

enum { MOST_DIGITS = 18 }; /* any count with so few digits fits into a signed 64-bit integer */

/* Returns the count at `*at` and advances `*at` to its end; -1 if there is none, or if it is too long. */
static int64_t next_count(const char **at, const char *end) {
    const char *begin = *at;
    while (begin < end && is_blank(*begin))
        begin++;
    int64_t count = 0;
    const char *digit = begin;
    while (digit < end && *digit >= '0' && *digit <= '9' && digit - begin < MOST_DIGITS)
        count = 10 * count + (*digit++ - '0');
    if (digit == begin || (digit < end && !is_blank(*digit)))
        return -1;
    *at = digit;
    return count;
}

static PyObject *counts_in(const char *begin, const char *at, const char *end, Py_ssize_t count) {
    PyObject *counts = PyTuple_New(count);
    for (Py_ssize_t place = 0; counts != NULL && place < count; place++) {
        int64_t number = next_count(&at, end);
        if (number < 0) {
            Py_DECREF(counts);
            Py_RETURN_NONE;
        }
        PyObject *item = PyLong_FromLongLong(number);
        if (item == NULL || PyTuple_SetItem(counts, place, item) != 0)
            Py_CLEAR(counts);
    }
    if (counts == NULL)
        return NULL;
    while (at < end && is_blank(*at))
        at++;
    return Py_BuildValue("Nn", counts, (Py_ssize_t)(at - begin));
}

static PyObject *native_counts(PyObject *module, PyObject *arguments) {
    Py_buffer text;
    Py_ssize_t begin, end, count;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "y*nnn", &text, &begin, &end, &count))
        return NULL;
    const char *bytes = text.buf;
    int fits = begin >= 0 && begin <= end && end <= text.len && count >= 0;
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "expected a range within the text");
    PyObject *result = fits ? counts_in(bytes, bytes + begin, bytes + end, count) : NULL;
    PyBuffer_Release(&text);
    return result;
}

static PyMethodDef methods[] = {
    {"reread", native_reread, METH_VARARGS, NULL},
    {"changed_lines", native_changed_lines, METH_VARARGS, NULL},
    {"counts", native_counts, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "Reading in C; python_reading.py describes each function.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__native(void) {
    return PyModule_Create(&definition);
}
