/*
 * The native core: what costs most of a call, without an object for each step.
 *
 *   walk           a value as leaves by path, as `_walk.Walk.visit` has it
 *   outline        JSON text in compact form, and the same with long lists cut short, as `_document` samples them
 *   bits           bits a character of a text, as `_voice.Voice.bits` has it
 *   string_format  the format of a short string, as `_shape.string_format` has it
 *   formats        the formats of a result's strings, as `_shape.formats_of` has them
 *   numbers        a result's numbers, as `_keys.numbers_of` has them
 *   tail, replace  the sum of a histogram's tail, and a number in the place of another, as `statistics` has them
 *   between        what was called in a session since, as `_pool.SessionLog.between` has it
 *   digest         64 bits that tell texts apart, as `_canonical.digest` has it, and `blake2b`, as `hashlib` has it
 *   crc32          as `zlib` has it, where the processor multiplies without carries
 *
 * The Python source is the one truth: each function here does the same, or says that it does not (None, or -1) and
 * leaves the case to it. It does so wherever another's code would run: a key that is no exact `str`, an unusual number.
 *
 * What is walked belongs to others. Whatever allocates may run finalisers, which may change it: no reference that is
 * borrowed from a dict or a list is held over that. Depth is bounded before every step inwards.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Two functions have a second form for x86-64 with wide registers; whether it has them is asked at run time. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(NARROW)
#include <immintrin.h>
#define WIDE 1
#else
#define WIDE 0
#endif

/* Bounds: those of `_walk`, which sets them (see `configure`). */
static Py_ssize_t max_keys, max_depth, head_length, tail_length, long_list;
static long long heavy_from;
static PyObject *insides;      /* the known forms of objects: (path, keys) to (names, paths) */
static PyObject *inside;       /* works one out that is not known, and remembers it */
static PyObject *element_path; /* the path of a list's elements */
static PyObject *is_deep;      /* whether items left out of a walk hold more objects than can be told */
static PyObject *no_path;      /* "" */

/* --- References that are held --- */

#define ROOM 48

typedef struct {
    PyObject **items;
    Py_ssize_t count;
    Py_ssize_t room;
    PyObject *here[ROOM];
} Held;

static void
held_init(Held *held)
{
    held->items = held->here;
    held->count = 0;
    held->room = ROOM;
}

static int
held_reserve(Held *held, Py_ssize_t more)
{
    if (more > PY_SSIZE_T_MAX / (Py_ssize_t)(4 * sizeof(PyObject *)) - held->count) {
        PyErr_NoMemory();
        return -1;
    }
    if (held->count + more <= held->room) {
        return 0;
    }
    Py_ssize_t room = 2 * (held->count + more);
    PyObject **items = PyMem_Malloc((size_t)room * sizeof(PyObject *));
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(items, held->items, (size_t)held->count * sizeof(PyObject *));
    if (held->items != held->here) {
        PyMem_Free(held->items);
    }
    held->items = items;
    held->room = room;
    return 0;
}

/* There is room: see `held_reserve`. */
static void
held_push(Held *held, PyObject *item)
{
    Py_INCREF(item);
    held->items[held->count++] = item;
}

static void
held_clear(Held *held)
{
    for (Py_ssize_t i = 0; i < held->count; i++) {
        Py_DECREF(held->items[i]);
    }
    if (held->items != held->here) {
        PyMem_Free(held->items);
    }
    held_init(held);
}

/* --- The walk --- */

typedef struct {
    PyObject *leaves; /* dict of path to list */
    PyObject *forms;  /* dict of (path, names) to None */
    PyObject *typed;  /* list of paths and kinds, by turns */
    Py_ssize_t left;
    int complete;
    int is_heavy;
} Walk;

/* Each step returns 0, or -1 with an exception, or GIVEN_UP where the case is left to Python. */
#define GIVEN_UP (-2)

static int step_objects(Walk *, PyObject **, Py_ssize_t, PyObject *, Py_ssize_t);
static int step_arrays(Walk *, PyObject **, Py_ssize_t, PyObject *, Py_ssize_t);

static PyObject *
kind_of(PyObject *value)
{
    return Py_TYPE(value) == &PyLong_Type ? (PyObject *)&PyFloat_Type : (PyObject *)Py_TYPE(value);
}

static int
note_typed(Walk *walk, PyObject *paths, PyObject *kinds) /* takes `kinds` over, which may be NULL */
{
    if (kinds == NULL) {
        return -1;
    }
    int failed = PyList_Append(walk->typed, paths) < 0 || PyList_Append(walk->typed, kinds) < 0;
    Py_DECREF(kinds);
    return failed ? -1 : 0;
}

static int
add_leaves(Walk *walk, PyObject *path, PyObject **values, Py_ssize_t count)
{
    PyObject *list = PyDict_GetItemWithError(walk->leaves, path);
    if (list == NULL) {
        if (PyErr_Occurred()) {
            return -1;
        }
        list = PyList_New(count);
        if (list == NULL) {
            return -1;
        }
        for (Py_ssize_t i = 0; i < count; i++) {
            Py_INCREF(values[i]);
            PyList_SET_ITEM(list, i, values[i]);
        }
        int failed = PyDict_SetItem(walk->leaves, path, list);
        Py_DECREF(list);
        return failed;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyList_Append(list, values[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The keys of a dict in order, all of them exact texts; NULL without an exception where one is not. */
static PyObject *
keys_of(PyObject *dict)
{
    Py_ssize_t count = PyDict_GET_SIZE(dict);
    PyObject *keys = PyTuple_New(count);
    if (keys == NULL) {
        return NULL;
    }
    PyObject *key;
    Py_ssize_t place = 0, taken = 0;
    while (PyDict_Next(dict, &place, &key, NULL)) {
        if (taken == count || !PyUnicode_CheckExact(key)) {
            break;
        }
        Py_INCREF(key);
        PyTuple_SET_ITEM(keys, taken++, key);
    }
    if (taken != count || PyDict_GET_SIZE(dict) != count) { /* a finaliser has changed it */
        Py_DECREF(keys);
        return NULL;
    }
    return keys;
}

/* The dict has these very keys in this order: 1, 0, or GIVEN_UP where a key is no exact text. */
static int
has_keys(PyObject *dict, PyObject *keys)
{
    PyObject *key;
    Py_ssize_t place = 0, index = 0, count = PyTuple_GET_SIZE(keys);
    int same = PyDict_GET_SIZE(dict) == count;
    while (PyDict_Next(dict, &place, &key, NULL)) {
        if (!PyUnicode_CheckExact(key)) {
            return GIVEN_UP;
        }
        if (same && index < count) {
            PyObject *other = PyTuple_GET_ITEM(keys, index);
            same = key == other || PyUnicode_Compare(key, other) == 0;
        }
        index++;
    }
    return same;
}

static int
step_column(Walk *walk, PyObject *path, PyObject **values, Py_ssize_t count, Py_ssize_t depth)
{
    PyTypeObject *first = Py_TYPE(values[0]);
    Py_ssize_t alike = 1;
    while (alike < count && Py_TYPE(values[alike]) == first) {
        alike++;
    }
    if (alike == count) {
        if (first == &PyDict_Type) {
            return step_objects(walk, values, count, path, depth + 1);
        }
        if (first == &PyList_Type) {
            return step_arrays(walk, values, count, path, depth + 1);
        }
        if (add_leaves(walk, path, values, count) < 0) {
            return -1;
        }
        return note_typed(walk, path, PyTuple_Pack(1, kind_of(values[0])));
    }
    int nested = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        nested |= Py_TYPE(values[i]) == &PyDict_Type || Py_TYPE(values[i]) == &PyList_Type;
    }
    if (!nested) {
        PyObject *kinds = PyFrozenSet_New(NULL);
        if (kinds == NULL) {
            return -1;
        }
        for (Py_ssize_t i = 0; i < count; i++) {
            if (PySet_Add(kinds, kind_of(values[i])) < 0) {
                Py_DECREF(kinds);
                return -1;
            }
        }
        if (PySet_GET_SIZE(kinds) == 1) { /* integers and floats are one type */
            Py_SETREF(kinds, PyTuple_Pack(1, kind_of(values[0])));
        }
        if (kinds != NULL && add_leaves(walk, path, values, count) < 0) {
            Py_CLEAR(kinds);
        }
        return note_typed(walk, path, kinds);
    }
    /* Objects, arrays and the rest apart, in this order. */
    Held part;
    held_init(&part);
    int status = held_reserve(&part, count);
    for (int wanted = 0; wanted < 3 && status == 0; wanted++) {
        for (Py_ssize_t i = 0; i < count; i++) {
            PyTypeObject *kind = Py_TYPE(values[i]);
            if ((kind == &PyDict_Type ? 0 : kind == &PyList_Type ? 1 : 2) == wanted) {
                held_push(&part, values[i]);
            }
        }
        if (part.count) {
            status = step_column(walk, path, part.items, part.count, depth);
        }
        while (part.count) {
            Py_DECREF(part.items[--part.count]);
        }
    }
    held_clear(&part);
    return status;
}

/* The fields of one object. */
static int
step_fields(Walk *walk, PyObject *paths, PyObject **values, Py_ssize_t count, Py_ssize_t depth)
{
    PyObject *kinds = PyTuple_New(count);
    if (kinds == NULL) {
        return -1;
    }
    int status = 0;
    for (Py_ssize_t i = 0; i < count && status == 0; i++) {
        PyObject *kind = kind_of(values[i]), *below = PyTuple_GET_ITEM(paths, i);
        Py_INCREF(kind);
        PyTuple_SET_ITEM(kinds, i, kind);
        if (kind == (PyObject *)&PyDict_Type) {
            status = step_objects(walk, &values[i], 1, below, depth + 1);
        } else if (kind == (PyObject *)&PyList_Type) {
            status = step_arrays(walk, &values[i], 1, below, depth + 1);
        } else {
            status = add_leaves(walk, below, &values[i], 1);
        }
    }
    if (status) {
        Py_DECREF(kinds);
        return status;
    }
    return note_typed(walk, paths, kinds);
}

/* Objects with the same keys in the same order. */
static int
step_rows(Walk *walk, PyObject *keys, PyObject **rows, Py_ssize_t count, PyObject *path, Py_ssize_t depth)
{
    Py_ssize_t width = PyTuple_GET_SIZE(keys);
    if (walk->left < 0) {
        walk->is_heavy = 1;
        walk->complete = 0;
        return 0;
    }
    if (width > max_keys) {
        return GIVEN_UP;
    }
    PyObject *known = NULL, *form = PyTuple_Pack(2, path, keys);
    if (form == NULL) {
        return -1;
    }
    known = PyDict_GetItemWithError(insides, form);
    Py_XINCREF(known);
    Py_DECREF(form);
    if (known == NULL) {
        if (PyErr_Occurred()) {
            return -1;
        }
        known = PyObject_CallFunctionObjArgs(inside, path, keys, NULL);
        if (known == NULL) {
            return -1;
        }
    }
    if (!PyTuple_CheckExact(known) || PyTuple_GET_SIZE(known) != 2 || !PyTuple_CheckExact(PyTuple_GET_ITEM(known, 1)) ||
        PyTuple_GET_SIZE(PyTuple_GET_ITEM(known, 1)) != width) {
        Py_DECREF(known);
        return GIVEN_UP;
    }
    PyObject *paths = PyTuple_GET_ITEM(known, 1);
    int status = -1;
    form = PyTuple_Pack(2, path, PyTuple_GET_ITEM(known, 0));
    if (form != NULL) {
        status = PyDict_SetItem(walk->forms, form, Py_None);
        Py_DECREF(form);
    }
    walk->left -= (width ? width : 1) * count;
    if (status == 0 && (depth >= max_depth || walk->left < 0)) {
        walk->is_heavy = 1;
        walk->complete = 0;
        Py_DECREF(known);
        return 0;
    }
    /* The values, row by row; then column by column. */
    Held values;
    held_init(&values);
    if (status == 0) {
        status = held_reserve(&values, (count + 1) * width);
    }
    for (Py_ssize_t i = 0; i < count && status == 0; i++) {
        PyObject *value;
        Py_ssize_t place = 0, taken = 0;
        while (PyDict_Next(rows[i], &place, NULL, &value) && taken < width) {
            held_push(&values, value);
            taken++;
        }
        if (taken != width || PyDict_GET_SIZE(rows[i]) != width) {
            status = GIVEN_UP; /* a finaliser has changed it */
        }
    }
    if (status == 0 && count == 1) {
        status = step_fields(walk, paths, values.items, width, depth);
    } else if (status == 0) {
        PyObject *few[ROOM], **column = few;
        if (count > ROOM) {
            column = PyMem_Malloc((size_t)count * sizeof(PyObject *));
            if (column == NULL) {
                PyErr_NoMemory();
                status = -1;
            }
        }
        for (Py_ssize_t j = 0; j < width && status == 0; j++) {
            for (Py_ssize_t i = 0; i < count; i++) {
                column[i] = values.items[i * width + j]; /* held by `values` */
            }
            status = step_column(walk, PyTuple_GET_ITEM(paths, j), column, count, depth);
        }
        if (column != few) {
            PyMem_Free(column);
        }
    }
    held_clear(&values);
    Py_DECREF(known);
    return status;
}

static int
step_objects(Walk *walk, PyObject **values, Py_ssize_t count, PyObject *path, Py_ssize_t depth)
{
    PyObject *keys = keys_of(values[0]);
    if (keys == NULL) {
        return PyErr_Occurred() ? -1 : GIVEN_UP;
    }
    int same = 1;
    for (Py_ssize_t i = 1; i < count && same == 1; i++) {
        same = has_keys(values[i], keys);
    }
    if (same) {
        int status = same < 0 ? same : step_rows(walk, keys, values, count, path, depth);
        Py_DECREF(keys);
        return status;
    }
    Py_DECREF(keys);
    /* Those of the same keys together, in the order in which they came. */
    PyObject *alike = PyDict_New();
    int status = alike == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; i < count && status == 0; i++) {
        keys = keys_of(values[i]);
        if (keys == NULL) {
            status = PyErr_Occurred() ? -1 : GIVEN_UP;
            break;
        }
        PyObject *rows = PyDict_GetItemWithError(alike, keys);
        if (rows != NULL) {
            status = PyList_Append(rows, values[i]);
        } else if (PyErr_Occurred()) {
            status = -1;
        } else if ((rows = PyList_New(0)) == NULL) {
            status = -1;
        } else {
            status = PyList_Append(rows, values[i]) < 0 || PyDict_SetItem(alike, keys, rows) < 0 ? -1 : 0;
            Py_DECREF(rows);
        }
        Py_DECREF(keys);
    }
    PyObject *rows;
    Py_ssize_t place = 0;
    while (status == 0 && PyDict_Next(alike, &place, &keys, &rows)) { /* nobody else has `alike` */
        status = step_rows(walk, keys, ((PyListObject *)rows)->ob_item, PyList_GET_SIZE(rows), path, depth);
    }
    Py_XDECREF(alike);
    return status;
}

static Py_ssize_t
text_length(PyObject *value)
{
    return PyUnicode_CheckExact(value) ? PyUnicode_GET_LENGTH(value) : 0;
}

/* The length of the longest text among the elements of a list, or in them where they are many objects. */
static Py_ssize_t
longest(Held *items, Py_ssize_t rows)
{
    Py_ssize_t most = 0;
    PyTypeObject *first = Py_TYPE(items->items[0]);
    if (first != &PyUnicode_Type && (first != &PyDict_Type || rows <= long_list)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < items->count; i++) {
        PyObject *item = items->items[i];
        if (first == &PyUnicode_Type) {
            Py_ssize_t length = text_length(item);
            most = length > most ? length : most;
        } else if (PyDict_CheckExact(item)) {
            PyObject *value;
            Py_ssize_t place = 0;
            while (PyDict_Next(item, &place, NULL, &value)) {
                Py_ssize_t length = text_length(value);
                most = length > most ? length : most;
            }
        }
    }
    return most;
}

/* Whether the middle of a list holds more objects than can be told: 1, 0, or -1 with an exception. */
static int
holds_much(PyObject *list)
{
    Py_ssize_t end = PyList_GET_SIZE(list) - tail_length;
    for (Py_ssize_t i = head_length; i < end; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        PyTypeObject *kind = Py_TYPE(item);
        if ((kind == &PyDict_Type || kind == &PyList_Type || kind == &PyTuple_Type) && PyObject_GC_IsTracked(item)) {
            PyObject *middle = PyList_GetSlice(list, head_length, end);
            PyObject *answer = middle == NULL ? NULL : PyObject_CallOneArg(is_deep, middle);
            Py_XDECREF(middle);
            int deep = answer == NULL ? -1 : PyObject_IsTrue(answer);
            Py_XDECREF(answer);
            return deep;
        }
    }
    return 0;
}

static int
step_arrays(Walk *walk, PyObject **values, Py_ssize_t count, PyObject *path, Py_ssize_t depth)
{
    PyObject *below = PyObject_CallOneArg(element_path, path);
    if (below == NULL) {
        return -1;
    }
    Held items;
    held_init(&items);
    int status = 0, empty = 1;
    for (Py_ssize_t i = 0; i < count && status == 0; i++) {
        PyObject *list = values[i];
        Py_ssize_t length = PyList_GET_SIZE(list), few = head_length + tail_length;
        empty &= length == 0;
        status = held_reserve(&items, length < few ? length : few);
        if (status) {
            break;
        }
        for (Py_ssize_t j = 0; j < length; j++) {
            if (j == head_length && length > few) {
                j = length - tail_length;
            }
            held_push(&items, PyList_GET_ITEM(list, j));
        }
        if (length > few) {
            walk->complete = 0;
            if (!walk->is_heavy) {
                int deep = holds_much(list);
                if (deep < 0) {
                    status = -1;
                } else {
                    walk->is_heavy = deep || (long long)length * (long long)longest(&items, length) > heavy_from;
                }
            }
        }
    }
    if (status == 0) {
        Py_ssize_t taken = items.count;
        if (depth >= max_depth || taken > walk->left) {
            walk->is_heavy = 1;
            walk->complete = 0;
            taken = depth < max_depth && walk->left > 0 ? (walk->left < taken ? walk->left : taken) : 0;
        }
        walk->left -= taken;
        if (taken) {
            status = step_column(walk, below, items.items, taken, depth);
        } else if (empty) {
            for (Py_ssize_t i = 0; i < count && status == 0; i++) {
                PyObject *nothing = Py_None;
                status = add_leaves(walk, below, &nothing, 1);
            }
            if (status == 0) {
                status = note_typed(walk, below, PyTuple_Pack(1, (PyObject *)Py_TYPE(Py_None)));
            }
        }
    }
    held_clear(&items);
    Py_DECREF(below);
    return status;
}

PyDoc_STRVAR(walk_doc,
"walk(value, budget, leaves, forms, typed)\n--\n\n"
"Walk a value into two empty dicts and an empty list: 1 where it is complete, and 2 more where it is heavy.\n\n"
"-1 where the case is left to Python: what was put into the three is of no use then.");

static PyObject *
core_walk(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5 || !PyDict_CheckExact(args[2]) || !PyDict_CheckExact(args[3]) || !PyList_CheckExact(args[4])) {
        PyErr_SetString(PyExc_TypeError, "walk takes a value, a budget, two dicts and a list");
        return NULL;
    }
    if (insides == NULL) {
        return PyLong_FromLong(-1);
    }
    PyObject *value = args[0];
    Walk walk = {args[2], args[3], args[4], PyLong_AsSsize_t(args[1]), 1, 0};
    if (walk.left == -1 && PyErr_Occurred()) {
        return NULL;
    }
    int status;
    if (PyDict_CheckExact(value)) {
        status = step_objects(&walk, &value, 1, no_path, 0);
    } else if (PyList_CheckExact(value)) {
        status = step_arrays(&walk, &value, 1, no_path, 0);
    } else {
        status = step_column(&walk, no_path, &value, 1, 0);
    }
    if (status == -1) {
        return NULL;
    }
    return PyLong_FromLong(status ? -1 : walk.complete | walk.is_heavy << 1);
}

PyDoc_STRVAR(configure_doc,
"configure(insides, inside, element_path, is_deep, bounds)\n--\n\n"
"Tell what the walk goes by: the known forms, how others are worked out, and its bounds (see ``_walk``).");

static PyObject *
core_configure(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *known, *work_out, *elements, *deep;
    Py_ssize_t keys, depth, head, tail, rows;
    long long heavy;
    if (!PyArg_ParseTuple(args, "O!OOO(nnnnnL)", &PyDict_Type, &known, &work_out, &elements, &deep, &keys, &depth,
                          &head, &tail, &rows, &heavy)) {
        return NULL;
    }
    if (head < 1 || tail != 2) { /* so many places are kept where a list may be cut, see `Level` */
        PyErr_SetString(PyExc_ValueError, "of a long list two elements are looked at from the back, and some before");
        return NULL;
    }
    Py_INCREF(known);
    Py_XSETREF(insides, known);
    Py_INCREF(work_out);
    Py_XSETREF(inside, work_out);
    Py_INCREF(elements);
    Py_XSETREF(element_path, elements);
    Py_INCREF(deep);
    Py_XSETREF(is_deep, deep);
    max_keys = keys;
    max_depth = depth;
    head_length = head;
    tail_length = tail;
    long_list = rows;
    heavy_from = heavy;
    Py_RETURN_NONE;
}

/* --- JSON text --- */

#define DEEPEST 128      /* levels; deeper text is left to Python */
#define MOST_KEYS 64     /* of an object whose keys are not those of the one before */
#define SURE_DIGITS 15   /* of a decimal number, that every double keeps: such a number is its own shortest form */
#define LONGEST_INT 18   /* digits, all of which 64 bits hold */
#define LONGEST_NUMBER 40

typedef struct {
    uint32_t begin, end; /* in what was written */
} Span;

typedef struct {
    int is_object;
    uint32_t count;      /* elements so far */
    uint32_t cut_from;   /* where the first element begins that may be left out */
    uint32_t last[2];    /* where the last elements begin, the newest first */
    uint32_t keys_begin; /* of its keys, in `keys` */
} Level;

typedef struct {
    const unsigned char *at, *end;
    unsigned char *out, *written;
    Span *keys;
    uint32_t key_count, key_room;
    Span *cuts;
    uint32_t cut_count, cut_room;
    /* The keys of the last object that ended at each level: the next one mostly has the same. */
    Span *models[DEEPEST];
    uint32_t model_count[DEEPEST], model_room[DEEPEST];
    Level levels[DEEPEST];
} Scan;

static int
span_push(Span **spans, uint32_t *count, uint32_t *room, uint32_t begin, uint32_t end)
{
    if (*count == *room) {
        uint32_t more = *room ? 2 * *room : 64;
        Span *grown = PyMem_Realloc(*spans, more * sizeof(Span));
        if (grown == NULL) {
            return -1;
        }
        *spans = grown;
        *room = more;
    }
    (*spans)[(*count)++] = (Span){begin, end};
    return 0;
}

static void
skip_space(Scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t')) {
        scan->at++;
    }
}

static int
hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits at `at`; -1 where there are none. */
static int
hex_four(const Scan *scan, const unsigned char *at)
{
    int code = 0;
    if (scan->end - at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) {
            return -1;
        }
        code = code << 4 | digit;
    }
    return code;
}

/* A character as compact JSON has it: never longer than the escape that it was written as. */
static void
put_character(Scan *scan, unsigned int code)
{
    static const char short_forms[] = "btn\0fr"; /* of 8 to 13 */
    unsigned char *out = scan->out;
    if (code == '"' || code == '\\') {
        *out++ = '\\';
        *out++ = (unsigned char)code;
    } else if (code >= 8 && code <= 13 && code != 11) {
        *out++ = '\\';
        *out++ = (unsigned char)short_forms[code - 8];
    } else if (code < 0x20) {
        static const char digits[] = "0123456789abcdef";
        memcpy(out, "\\u00", 4);
        out[4] = (unsigned char)digits[code >> 4];
        out[5] = (unsigned char)digits[code & 15];
        out += 6;
    } else if (code < 0x80) {
        *out++ = (unsigned char)code;
    } else if (code < 0x800) {
        *out++ = (unsigned char)(0xC0 | code >> 6);
        *out++ = (unsigned char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *out++ = (unsigned char)(0xE0 | code >> 12);
        *out++ = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (unsigned char)(0x80 | (code & 0x3F));
    } else {
        *out++ = (unsigned char)(0xF0 | code >> 18);
        *out++ = (unsigned char)(0x80 | (code >> 12 & 0x3F));
        *out++ = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        *out++ = (unsigned char)(0x80 | (code & 0x3F));
    }
    scan->out = out;
}

/* Eight bytes at once: a high bit for each that ends a run of plain characters (a quote, a backslash, a control). */
static uint64_t
ends_of_run(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
    uint64_t found = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word);
    return found & highs;
}

/* How many bytes come before the first that ends a run: that one is told for sure, those behind it are not. */
static int
plain_bytes(const unsigned char *at, uint64_t ends)
{
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    (void)at;
    return __builtin_ctzll(ends) >> 3;
#else
    int plain = 0;
    (void)ends;
    while (at[plain] >= 0x20 && at[plain] != '"' && at[plain] != '\\' && plain < 7) {
        plain++;
    }
    return plain;
#endif
}

/* A string, from its opening quote to behind its closing one; 0, or -1 where it is none. */
static int
scan_string(Scan *scan)
{
    const unsigned char *at = scan->at + 1, *end = scan->end;
    *scan->out++ = '"';
    for (;;) {
        /* What is written is never ahead of what is read: where eight bytes can be read, there is room for them. */
        while (end - at >= 8) {
            uint64_t word, ends;
            memcpy(&word, at, 8);
            memcpy(scan->out, &word, 8);
            ends = ends_of_run(word);
            if (ends) {
                int plain = plain_bytes(at, ends);
                at += plain;
                scan->out += plain;
                break;
            }
            at += 8;
            scan->out += 8;
        }
        while (at < end && *at >= 0x20 && *at != '"' && *at != '\\') {
            *scan->out++ = *at++;
        }
        if (at == end || *at < 0x20) {
            return -1;
        }
        if (*at == '"') {
            *scan->out++ = '"';
            scan->at = at + 1;
            return 0;
        }
        if (end - at < 2) {
            return -1;
        }
        unsigned char escape = at[1];
        at += 2;
        switch (escape) {
        case '"': case '\\': case '/':
            put_character(scan, escape);
            break;
        case 'b': put_character(scan, 8); break;
        case 't': put_character(scan, 9); break;
        case 'n': put_character(scan, 10); break;
        case 'f': put_character(scan, 12); break;
        case 'r': put_character(scan, 13); break;
        case 'u': {
            int code = hex_four(scan, at);
            at += 4;
            if (code < 0 || (code >= 0xDC00 && code < 0xE000)) {
                return -1;
            }
            if (code >= 0xD800 && code < 0xDC00) { /* the first of two that are one character */
                if (end - at < 6 || at[0] != '\\' || at[1] != 'u') {
                    return -1;
                }
                int low = hex_four(scan, at + 2);
                if (low < 0xDC00 || low > 0xDFFF) {
                    return -1;
                }
                at += 6;
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
            put_character(scan, (unsigned int)code);
            break;
        }
        default:
            return -1;
        }
    }
}

/* The number is what Python writes of it, without an exponent: its shortest form, on which all writers agree. */
static int
is_shortest(const unsigned char *begin, Py_ssize_t length)
{
    char text[LONGEST_NUMBER + 1];
    if (length > LONGEST_NUMBER) {
        return 0;
    }
    memcpy(text, begin, (size_t)length);
    text[length] = 0;
    double value = PyOS_string_to_double(text, NULL, NULL);
    if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    char *written = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (written == NULL) {
        PyErr_Clear();
        return 0;
    }
    int same = strcmp(written, text) == 0;
    PyMem_Free(written);
    return same;
}

static int
is_digit(const unsigned char *at, const unsigned char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

/* A number that compact JSON writes in the same way; 0, or -1 for any other. */
static int
scan_number(Scan *scan)
{
    const unsigned char *begin = scan->at, *at = begin, *end = scan->end;
    at += *at == '-';
    const unsigned char *digits = at;
    while (is_digit(at, end)) {
        at++;
    }
    Py_ssize_t whole = at - digits;
    if (whole == 0 || whole > LONGEST_INT || (*digits == '0' && whole > 1)) {
        return -1;
    }
    if (at < end && *at == '.') {
        const unsigned char *fraction = ++at;
        while (is_digit(at, end)) {
            at++;
        }
        Py_ssize_t parts = at - fraction;
        if (parts == 0 || (at < end && (*at | 0x20) == 'e')) {
            return -1;
        }
        int is_plain = whole + parts <= SURE_DIGITS && (at[-1] != '0' || parts == 1);
        if (*digits == '0' && parts > 1) { /* below a thousandth it may be written with an exponent */
            is_plain = is_plain && (fraction[0] != '0' || fraction[1] != '0' || (parts > 2 && fraction[2] != '0'));
        }
        if (!is_plain && !is_shortest(begin, at - begin)) {
            return -1;
        }
    } else if ((at < end && (*at | 0x20) == 'e') || (*digits == '0' && digits != begin)) {
        return -1; /* -0 is a float to some, and an integer to others */
    }
    memcpy(scan->out, begin, (size_t)(at - begin));
    scan->out += at - begin;
    scan->at = at;
    return 0;
}

static int
scan_word(Scan *scan, const char *word, Py_ssize_t length)
{
    if (scan->end - scan->at < length || memcmp(scan->at, word, (size_t)length) != 0) {
        return -1;
    }
    memcpy(scan->out, word, (size_t)length);
    scan->out += length;
    scan->at += length;
    return 0;
}

static int
same_text(const Scan *scan, Span one, Span other)
{
    return one.end - one.begin == other.end - other.begin &&
           memcmp(scan->written + one.begin, scan->written + other.begin, one.end - one.begin) == 0;
}

/* Note a key of the innermost object; -1 where it came before there, or where that cannot be told soon. */
static int
note_key(Scan *scan, int depth, Span key)
{
    Level *level = &scan->levels[depth];
    uint32_t index = scan->key_count - level->keys_begin;
    if (index < scan->model_count[depth] && same_text(scan, scan->models[depth][index], key)) {
        /* As in the object before, whose keys are distinct. They were so up to here, or else the rest is compared: */
        if (level->cut_from == index) {
            level->cut_from = index + 1; /* of an object: so many keys are as in the one before */
            return span_push(&scan->keys, &scan->key_count, &scan->key_room, key.begin, key.end);
        }
    }
    if (index >= MOST_KEYS) {
        return -1;
    }
    for (uint32_t i = level->keys_begin; i < scan->key_count; i++) {
        if (same_text(scan, scan->keys[i], key)) {
            return -1;
        }
    }
    return span_push(&scan->keys, &scan->key_count, &scan->key_room, key.begin, key.end);
}

/* The next key is that of the object before, in the same place and written as it: 1, else 0; -1 without memory. */
static int
known_key(Scan *scan, int depth)
{
    Level *level = &scan->levels[depth];
    uint32_t index = scan->key_count - level->keys_begin;
    if (level->cut_from != index || index >= scan->model_count[depth]) {
        return 0;
    }
    Span model = scan->models[depth][index];
    size_t length = model.end - model.begin;
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, scan->written + model.begin, length) != 0) {
        return 0;
    }
    uint32_t begin = (uint32_t)(scan->out - scan->written);
    memcpy(scan->out, scan->at, length);
    scan->out += length;
    scan->at += length;
    level->cut_from = index + 1;
    return span_push(&scan->keys, &scan->key_count, &scan->key_room, begin, begin + (uint32_t)length) < 0 ? -1 : 1;
}

/* An object ends: its keys are the model of the next one at this level. */
static int
end_object(Scan *scan, int depth)
{
    Level *level = &scan->levels[depth];
    uint32_t count = scan->key_count - level->keys_begin;
    if (level->cut_from != count || scan->model_count[depth] != count) {
        if (count > scan->model_room[depth]) {
            Span *grown = PyMem_Realloc(scan->models[depth], count * sizeof(Span));
            if (grown == NULL) {
                return -1;
            }
            scan->models[depth] = grown;
            scan->model_room[depth] = count;
        }
        if (count) {
            memcpy(scan->models[depth], scan->keys + level->keys_begin, count * sizeof(Span));
        }
        scan->model_count[depth] = count;
    }
    scan->key_count = level->keys_begin;
    return 0;
}

/* A list ends: of a long one the middle is left out, and with it what was left out there. */
static int
end_array(Scan *scan, Level *level)
{
    if (level->count <= (uint32_t)(head_length + tail_length)) {
        return 0;
    }
    uint32_t begin = level->cut_from, end = level->last[1], first = scan->cut_count;
    while (first > 0 && scan->cuts[first - 1].begin >= begin) {
        first--;
    }
    uint32_t beyond = first;
    while (beyond < scan->cut_count && scan->cuts[beyond].begin < end) {
        beyond++;
    }
    if (beyond == first) {
        if (span_push(&scan->cuts, &scan->cut_count, &scan->cut_room, 0, 0) < 0) {
            return -1;
        }
        memmove(scan->cuts + first + 1, scan->cuts + first, (scan->cut_count - 1 - first) * sizeof(Span));
    } else {
        memmove(scan->cuts + first + 1, scan->cuts + beyond, (scan->cut_count - beyond) * sizeof(Span));
        scan->cut_count -= beyond - first - 1;
    }
    scan->cuts[first] = (Span){begin, end};
    return 0;
}

/* A whole text: 0, or -1 where it is no JSON, or none that is told here. */
static int
scan_text(Scan *scan)
{
    int depth = -1;
    for (;;) {
        /* A value begins here. */
        skip_space(scan);
        if (scan->at == scan->end) {
            return -1;
        }
        unsigned char c = *scan->at;
        if (c == '{' || c == '[') {
            if (++depth == DEEPEST) {
                return -1;
            }
            Level *level = &scan->levels[depth];
            *level = (Level){c == '{', 0, 0, {0, 0}, scan->key_count};
            *scan->out++ = c;
            scan->at++;
            skip_space(scan);
            if (scan->at == scan->end) {
                return -1;
            }
            if (*scan->at != (c == '{' ? '}' : ']')) {
                if (c == '[') {
                    level->count = 1;
                    level->last[0] = (uint32_t)(scan->out - scan->written);
                    continue;
                }
                goto key;
            }
        } else {
            int status;
            if (c == '"') {
                status = scan_string(scan);
            } else if (c == 't') {
                status = scan_word(scan, "true", 4);
            } else if (c == 'f') {
                status = scan_word(scan, "false", 5);
            } else if (c == 'n') {
                status = scan_word(scan, "null", 4);
            } else {
                status = scan_number(scan);
            }
            if (status < 0 || depth < 0) {
                return -1; /* the text of one scalar is left to Python */
            }
        }
        /* It has ended: what follows? */
        for (;;) {
            skip_space(scan);
            if (depth < 0) {
                return scan->at == scan->end ? 0 : -1;
            }
            if (scan->at == scan->end) {
                return -1;
            }
            Level *level = &scan->levels[depth];
            c = *scan->at++;
            *scan->out++ = c;
            if (c == ',') {
                if (level->is_object) {
                    skip_space(scan);
                    goto key;
                }
                uint32_t here = (uint32_t)(scan->out - scan->written);
                if (level->count == (uint32_t)head_length) {
                    level->cut_from = here;
                }
                level->count++;
                level->last[1] = level->last[0];
                level->last[0] = here;
                break;
            }
            if (c != (level->is_object ? '}' : ']')) {
                return -1;
            }
            if ((level->is_object ? end_object(scan, depth) : end_array(scan, level)) < 0) {
                return -1;
            }
            depth--;
        }
        continue;
    key:
        if (scan->at == scan->end || *scan->at != '"') {
            return -1;
        }
        int status = known_key(scan, depth);
        if (status < 0) {
            return -1;
        }
        if (!status) {
            Span key = {(uint32_t)(scan->out - scan->written), 0};
            if (scan_string(scan) < 0) {
                return -1;
            }
            key.end = (uint32_t)(scan->out - scan->written);
            if (note_key(scan, depth, key) < 0) {
                return -1;
            }
        }
        skip_space(scan);
        if (scan->at == scan->end || *scan->at != ':') {
            return -1;
        }
        *scan->out++ = ':';
        scan->at++;
    }
}

PyDoc_STRVAR(outline_doc,
"outline(text)\n--\n\n"
"The compact JSON of the text of an object or an array, and the same with long lists cut short; None for none cut.\n\n"
"None where that is left to Python: for text that is no JSON, or has numbers or keys that are not told here.");

static PyObject *
core_outline(PyObject *module, PyObject *text)
{
    (void)module;
    if (!PyUnicode_CheckExact(text)) {
        PyErr_SetString(PyExc_TypeError, "outline takes a text");
        return NULL;
    }
    if (insides == NULL) {
        Py_RETURN_NONE;
    }
    PyObject *raw = NULL;
    const char *bytes;
    Py_ssize_t length;
    if (PyUnicode_IS_COMPACT_ASCII(text)) {
        bytes = PyUnicode_AsUTF8AndSize(text, &length); /* of such a text, the text itself */
    } else if ((raw = PyUnicode_AsUTF8String(text)) != NULL) {
        bytes = PyBytes_AS_STRING(raw);
        length = PyBytes_GET_SIZE(raw);
    } else {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
            return NULL;
        }
        PyErr_Clear(); /* a lone surrogate */
        Py_RETURN_NONE;
    }
    if (bytes == NULL || length >= (Py_ssize_t)1 << 30) {
        Py_XDECREF(raw);
        if (bytes == NULL) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    PyObject *written = PyBytes_FromStringAndSize(NULL, length), *answer = NULL, *outline = NULL;
    Scan *scan = written == NULL ? NULL : PyMem_Calloc(1, sizeof(Scan));
    if (scan == NULL) {
        Py_XDECREF(raw);
        Py_XDECREF(written);
        return written == NULL ? NULL : PyErr_NoMemory();
    }
    scan->at = (const unsigned char *)bytes;
    scan->end = scan->at + length;
    scan->out = scan->written = (unsigned char *)PyBytes_AS_STRING(written);
    if (scan_text(scan) == 0) {
        Py_ssize_t size = scan->out - scan->written;
        if (scan->cut_count) {
            Py_ssize_t left = size;
            for (uint32_t i = 0; i < scan->cut_count; i++) {
                left -= scan->cuts[i].end - scan->cuts[i].begin;
            }
            outline = PyBytes_FromStringAndSize(NULL, left);
            if (outline != NULL) {
                char *out = PyBytes_AS_STRING(outline);
                uint32_t from = 0;
                for (uint32_t i = 0; i <= scan->cut_count; i++) {
                    uint32_t to = i < scan->cut_count ? scan->cuts[i].begin : (uint32_t)size;
                    memcpy(out, scan->written + from, to - from);
                    out += to - from;
                    from = i < scan->cut_count ? scan->cuts[i].end : to;
                }
            }
        } else {
            outline = Py_None;
            Py_INCREF(outline);
        }
        if (outline != NULL && (size == length || _PyBytes_Resize(&written, size) == 0)) {
            answer = PyTuple_Pack(2, written, outline);
        }
    } else if (!PyErr_Occurred()) {
        answer = Py_None;
        Py_INCREF(answer);
    }
    for (int i = 0; i < DEEPEST; i++) {
        PyMem_Free(scan->models[i]);
    }
    PyMem_Free(scan->keys);
    PyMem_Free(scan->cuts);
    PyMem_Free(scan);
    Py_XDECREF(outline);
    Py_XDECREF(written);
    Py_XDECREF(raw);
    return answer;
}

/* --- Bits a character --- */

PyDoc_STRVAR(bits_doc,
"bits(text, counts, size, scored)\n--\n\n"
"P of the scored characters of a text, by counts of grams: the product that ``_voice.Voice.bits`` takes bits from.");

static PyObject *
core_bits(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4 || !PyBytes_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "bits takes bytes, an array of counts and two numbers");
        return NULL;
    }
    Py_ssize_t size = PyLong_AsSsize_t(args[2]), scored = PyLong_AsSsize_t(args[3]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Py_buffer counts;
    if (PyObject_GetBuffer(args[1], &counts, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (counts.len != 2 * 4096 || scored <= 0 || size <= 0 || scored > size || size > 1 << 30 ||
        size + 3 > PyBytes_GET_SIZE(args[0])) {
        PyBuffer_Release(&counts);
        PyErr_SetString(PyExc_ValueError, "bits takes 4,096 counts, and no more places than there are");
        return NULL;
    }
    const uint16_t *slots = counts.buf;
    const unsigned char *text = (const unsigned char *)PyBytes_AS_STRING(args[0]);
    double likelihood = 1.0;
    const double back_off = 2.0, of_unseen = 2.0 * (1.0 / 200.0);
    for (Py_ssize_t i = 0; i < scored; i++) {
        const unsigned char *at = text + (2 * i + 1) * size / (2 * scored);
        uint64_t three = (uint64_t)at[0] << 16 | (uint64_t)at[1] << 8 | at[2], four = three << 8 | at[3];
        double ones = slots[((three & 255) * 0x17D4EB2Fu) >> 16 & 4095];
        double pairs = slots[((four & 65535) * 0x12B2AE3Du) >> 16 & 4095];
        double threes = slots[(three * 0x15EBCA77u) >> 24 & 4095];
        double fours = slots[(four * 0x1E3779B1u) >> 24 & 4095];
        double backed = (pairs + of_unseen) / (ones + back_off);
        backed *= back_off; /* in steps, each rounded: no step may be joined with the next */
        backed += fours;
        backed /= threes + back_off;
        likelihood *= backed;
    }
    PyBuffer_Release(&counts);
    return PyFloat_FromDouble(likelihood);
}

/* --- Formats --- */

#define FORMAT_READ 32 /* characters */

/* The format of a text that is all ASCII. */
static PyObject *
format_of(PyObject *value)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(value);
    const Py_UCS1 *from = PyUnicode_1BYTE_DATA(value);
    char format[FORMAT_READ];
    length = length < FORMAT_READ ? length : FORMAT_READ;
    for (Py_ssize_t i = 0; i < length; i++) {
        char c = (char)from[i];
        format[i] = c >= '0' && c <= '9' ? '9' : c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : c;
    }
    return PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, format, length);
}

PyDoc_STRVAR(string_format_doc,
"string_format(value)\n--\n\n"
"Letters as ``a`` and ``A``, digits as ``9``, the rest as it is; None where the text is not all ASCII.");

static PyObject *
core_string_format(PyObject *module, PyObject *value)
{
    (void)module;
    if (!PyUnicode_CheckExact(value) || !PyUnicode_IS_COMPACT_ASCII(value)) {
        Py_RETURN_NONE;
    }
    return format_of(value);
}

PyDoc_STRVAR(formats_doc,
"formats(strings, leaves, known, most, formats)\n--\n\n"
"Fill in the format of the first text at each path, as ``_shape.formats_of`` does; False where that is left to it.");

static PyObject *
core_formats(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5 || !PyTuple_CheckExact(args[0]) || !PyDict_CheckExact(args[1]) || !PyDict_CheckExact(args[2]) ||
        !PyDict_CheckExact(args[4])) {
        PyErr_SetString(PyExc_TypeError, "formats takes a tuple, two dicts, a number and a dict");
        return NULL;
    }
    PyObject *strings = args[0], *leaves = args[1], *known = args[2], *formats = args[4];
    Py_ssize_t most = PyLong_AsSsize_t(args[3]);
    if (most == -1 && PyErr_Occurred()) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(strings); i++) {
        PyObject *path = PyTuple_GET_ITEM(strings, i), *value = NULL;
        /* Free text, which has no format? */
        PyObject *categories = PyDict_GetItemWithError(known, path);
        if (categories == Py_None) {
            continue;
        }
        PyObject *values = PyErr_Occurred() ? NULL : PyDict_GetItemWithError(leaves, path);
        if (PyErr_Occurred()) {
            return NULL;
        }
        if (values == NULL || !PyList_CheckExact(values)) {
            goto left_to_python;
        }
        /* The first text among the first values. */
        for (Py_ssize_t j = 0; j < PyList_GET_SIZE(values) && (j == 0 || j < most) && value == NULL; j++) {
            PyObject *other = PyList_GET_ITEM(values, j);
            value = PyUnicode_CheckExact(other) ? other : NULL;
        }
        if (value == NULL) {
            continue;
        }
        if (!PyUnicode_IS_COMPACT_ASCII(value)) {
            goto left_to_python;
        }
        PyObject *format = format_of(value);
        if (format == NULL || PyDict_SetItem(formats, path, format) < 0) {
            Py_XDECREF(format);
            return NULL;
        }
        Py_DECREF(format);
    }
    Py_RETURN_TRUE;
left_to_python:
    PyDict_Clear(formats);
    Py_RETURN_FALSE;
}

/* --- Statistics --- */

/* The numbers of an array of doubles, writable; 0, or -1 with an exception. */
static int
doubles_of(PyObject *array, Py_buffer *numbers)
{
    if (PyObject_GetBuffer(array, numbers, PyBUF_CONTIG | PyBUF_FORMAT) < 0) {
        return -1;
    }
    if (numbers->itemsize != sizeof(double) || numbers->format == NULL || strcmp(numbers->format, "d") != 0) {
        PyBuffer_Release(numbers);
        PyErr_SetString(PyExc_TypeError, "an array of doubles is wanted");
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(tail_doc,
"tail(numbers, first)\n--\n\nThe sum of an array of doubles from a place on, to the digit as ``sum`` has it.");

static PyObject *
core_tail(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "tail takes an array and a place");
        return NULL;
    }
    Py_ssize_t first = PyLong_AsSsize_t(args[1]);
    Py_buffer numbers;
    if ((first == -1 && PyErr_Occurred()) || doubles_of(args[0], &numbers) < 0) {
        return NULL;
    }
    const double *at = numbers.buf;
    double sum = 0.0;
#if PY_VERSION_HEX >= 0x030C0000
    double lost = 0.0; /* from 3.12 on `sum` keeps what rounding takes (Neumaier 1974) */
#endif
    for (Py_ssize_t i = first < 0 ? 0 : first; i < numbers.len / (Py_ssize_t)sizeof(double); i++) {
#if PY_VERSION_HEX >= 0x030C0000
        double more = sum + at[i];
        lost += fabs(sum) >= fabs(at[i]) ? (sum - more) + at[i] : (at[i] - more) + sum;
        sum = more;
#else
        sum += at[i];
#endif
    }
    PyBuffer_Release(&numbers);
#if PY_VERSION_HEX >= 0x030C0000
    if (lost != 0.0 && isfinite(lost)) {
        sum += lost;
    }
#endif
    return PyFloat_FromDouble(sum);
}

/* The first place in ascending order at which a number is at least this one, or with `after` above it. */
static Py_ssize_t
place_in(const double *ordered, Py_ssize_t count, double number, int after)
{
    Py_ssize_t low = 0;
    while (low < count) {
        Py_ssize_t middle = low + (count - low) / 2;
        if (after ? number < ordered[middle] : !(ordered[middle] < number)) {
            count = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

PyDoc_STRVAR(replace_doc,
"replace(ordered, old, new)\n--\n\n"
"Put a number in the place of another in an ascending array, as ``statistics.Ring`` does; False where it is not there.");

static PyObject *
core_replace(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3 || !PyFloat_CheckExact(args[1]) || !PyFloat_CheckExact(args[2])) {
        PyErr_SetString(PyExc_TypeError, "replace takes an array and two numbers");
        return NULL;
    }
    Py_buffer numbers;
    if (doubles_of(args[0], &numbers) < 0) {
        return NULL;
    }
    double *ordered = numbers.buf, old = PyFloat_AS_DOUBLE(args[1]), new = PyFloat_AS_DOUBLE(args[2]);
    Py_ssize_t length = numbers.len / (Py_ssize_t)sizeof(double);
    Py_ssize_t from = place_in(ordered, length, old, 0), to = place_in(ordered, length, new, 1);
    int is_there = from < length && ordered[from] == old;
    if (is_there && to > from) { /* what lies between moves down by one */
        memmove(ordered + from, ordered + from + 1, (size_t)(to - 1 - from) * sizeof(double));
        ordered[to - 1] = new;
    } else if (is_there) {
        memmove(ordered + to + 1, ordered + to, (size_t)(from - to) * sizeof(double));
        ordered[to] = new;
    }
    PyBuffer_Release(&numbers);
    return PyBool_FromLong(is_there);
}

PyDoc_STRVAR(numbers_doc,
"numbers(paths, leaves, most, numbers)\n--\n\n"
"Fill in the mean of the first finite numbers at each path, on the signed-log scale, as ``_keys.numbers_of`` does.");

static PyObject *
core_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4 || !PyTuple_CheckExact(args[0]) || !PyDict_CheckExact(args[1]) || !PyDict_CheckExact(args[3])) {
        PyErr_SetString(PyExc_TypeError, "numbers takes a tuple, a dict, a number and a dict");
        return NULL;
    }
    PyObject *paths = args[0];
    Py_ssize_t most = PyLong_AsSsize_t(args[2]);
    if (most == -1 && PyErr_Occurred()) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(paths); i++) {
        PyObject *path = PyTuple_GET_ITEM(paths, i), *values = PyDict_GetItemWithError(args[1], path);
        if (values == NULL || !PyList_CheckExact(values)) {
            if (!PyErr_Occurred()) {
                PyErr_SetObject(values == NULL ? PyExc_KeyError : PyExc_TypeError, path);
            }
            return NULL;
        }
        double total = 0.0;
        Py_ssize_t finite = 0;
        for (Py_ssize_t j = 0; j < PyList_GET_SIZE(values) && j < most; j++) {
            PyObject *value = PyList_GET_ITEM(values, j);
            if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value)) {
                continue;
            }
            double x = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : PyLong_AsDouble(value);
            if (x == -1.0 && PyErr_Occurred()) {
                return NULL;
            }
            if (x - x == 0.0) {
                total += x >= 0.0 ? log(1.0 + x) : -log(1.0 - x);
                finite++;
            }
        }
        if (finite) {
            PyObject *mean = PyFloat_FromDouble(total / (double)finite);
            if (mean == NULL || PyDict_SetItem(args[3], path, mean) < 0) {
                Py_XDECREF(mean);
                return NULL;
            }
            Py_DECREF(mean);
        }
    }
    Py_RETURN_NONE;
}

/* --- What was called in between --- */

/* The marks of a call's arguments, as numbers; `known` is 0 where they are more than these, or no such numbers. */
typedef struct {
    long long marks[8];
    Py_ssize_t count;
    int known;
} Marks;

static Marks
marks_of(PyObject *tuple)
{
    Marks marks = {{0}, PyTuple_GET_SIZE(tuple), 0};
    if (marks.count > 8) {
        return marks;
    }
    for (Py_ssize_t i = 0; i < marks.count; i++) {
        PyObject *mark = PyTuple_GET_ITEM(tuple, i);
        int beyond = 0;
        marks.marks[i] = PyLong_CheckExact(mark) ? PyLong_AsLongLongAndOverflow(mark, &beyond) : 0;
        if (beyond || !PyLong_CheckExact(mark)) {
            return marks;
        }
    }
    marks.known = 1;
    return marks;
}

/* Whether two lists of marks have one in common: 1, 0, or -1 with an exception. */
static int
share_a_mark(PyObject *one, PyObject *other, const Marks *ones, const Marks *others)
{
    if (ones->known && others->known) {
        for (Py_ssize_t i = 0; i < ones->count; i++) {
            for (Py_ssize_t j = 0; j < others->count; j++) {
                if (ones->marks[i] == others->marks[j]) {
                    return 1;
                }
            }
        }
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(one); i++) {
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(other); j++) {
            int same = PyObject_RichCompareBool(PyTuple_GET_ITEM(one, i), PyTuple_GET_ITEM(other, j), Py_EQ);
            if (same) {
                return same;
            }
        }
    }
    return 0;
}

/* Whether two lists of marks are equal: 1, 0, or -1 with an exception. */
static int
same_marks(PyObject *one, PyObject *other, const Marks *ones, const Marks *others)
{
    if (!ones->known || !others->known) {
        return PyObject_RichCompareBool(one, other, Py_EQ);
    }
    return ones->count == others->count &&
           memcmp(ones->marks, others->marks, (size_t)ones->count * sizeof(long long)) == 0;
}

/* Note a tool, by twice its number and one more where it shares an argument; a dict keeps the order. */
static int
note_tool(PyObject *tools, PyObject *tool, int shares)
{
    PyObject *twice = PyNumber_Add(tool, tool), *mark = twice;
    if (twice != NULL && shares) {
        PyObject *one = PyLong_FromLong(1);
        mark = one == NULL ? NULL : PyNumber_Add(twice, one);
        Py_XDECREF(one);
        Py_DECREF(twice);
    }
    if (mark == NULL) {
        return -1;
    }
    int failed = PyDict_SetItem(tools, mark, Py_None);
    Py_DECREF(mark);
    return failed;
}

PyDoc_STRVAR(between_doc,
"between(calls, tool, asked)\n--\n\n"
"Whether the same call was made before, the tools called since, and the results of those that share an argument.");

static PyObject *
core_between(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3 || !PyList_CheckExact(args[0]) || !PyLong_CheckExact(args[1]) || !PyTuple_CheckExact(args[2])) {
        PyErr_SetString(PyExc_TypeError, "between takes a list of calls, a number and a tuple of marks");
        return NULL;
    }
    PyObject *calls = args[0], *tool = args[1], *asked = args[2], *answer = NULL;
    PyObject *tools = PyDict_New(), *results = PyList_New(0), *latest = NULL;
    Marks wanted = marks_of(asked);
    int shared = 0, asked_before = 0, status = tools == NULL || results == NULL ? -1 : 0;
    for (Py_ssize_t i = PyList_GET_SIZE(calls) - 1; i >= 0 && status == 0 && !asked_before; i--) {
        if (i >= PyList_GET_SIZE(calls)) {
            continue; /* it has become shorter under way */
        }
        PyObject *call = PyList_GET_ITEM(calls, i);
        if (!PyTuple_CheckExact(call) || PyTuple_GET_SIZE(call) != 3 ||
            !PyTuple_CheckExact(PyTuple_GET_ITEM(call, 2))) {
            PyErr_SetString(PyExc_TypeError, "a call is a number, a digest and a tuple of marks");
            status = -1;
            break;
        }
        Py_INCREF(call);
        PyObject *other = PyTuple_GET_ITEM(call, 0), *values = PyTuple_GET_ITEM(call, 2);
        Marks had = marks_of(values);
        int same = other == tool ? 1 : PyObject_RichCompareBool(other, tool, Py_EQ);
        if (same > 0) {
            same = same_marks(values, asked, &had, &wanted);
        }
        if (same > 0) {
            asked_before = 1;
        } else if (same == 0) {
            int shares = share_a_mark(asked, values, &wanted, &had);
            if (shares > 0 && PyList_Append(results, PyTuple_GET_ITEM(call, 1)) < 0) {
                shares = -1;
            }
            int changed = shares < 0 || latest == NULL || shares != shared;
            if (!changed && other != latest) {
                changed = PyObject_RichCompareBool(other, latest, Py_NE); /* one tool is often called several times */
            }
            if (shares < 0 || changed < 0 || (changed && note_tool(tools, other, shares) < 0)) {
                status = -1;
            }
            shared = shares;
            Py_INCREF(other);
            Py_XSETREF(latest, other);
        } else {
            status = -1;
        }
        Py_DECREF(call);
    }
    if (status == 0) {
        PyObject *noted = PySequence_Tuple(tools), *had = PyList_AsTuple(results);
        if (noted != NULL && had != NULL) {
            answer = PyTuple_Pack(3, asked_before ? Py_True : Py_False, noted, had);
        }
        Py_XDECREF(noted);
        Py_XDECREF(had);
    }
    Py_XDECREF(latest);
    Py_XDECREF(tools);
    Py_XDECREF(results);
    return answer;
}

/* --- BLAKE2b (RFC 7693), without a key --- */

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

static const unsigned char order[12][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
};

static uint64_t
rotated(uint64_t word, int by)
{
    return word >> by | word << (64 - by);
}

static uint64_t
little_endian(const unsigned char *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
}

static void
compress(uint64_t *state, const unsigned char *block, uint64_t taken, int is_last)
{
    uint64_t m[16], v[16];
    for (int i = 0; i < 16; i++) {
        m[i] = little_endian(block + 8 * i);
    }
    for (int i = 0; i < 8; i++) {
        v[i] = state[i];
        v[i + 8] = initial[i];
    }
    v[12] ^= taken;
    if (is_last) {
        v[14] = ~v[14];
    }
#define MIX(a, b, c, d, x, y)                                                                                          \
    v[a] += v[b] + (x);                                                                                                \
    v[d] = rotated(v[d] ^ v[a], 32);                                                                                   \
    v[c] += v[d];                                                                                                      \
    v[b] = rotated(v[b] ^ v[c], 24);                                                                                   \
    v[a] += v[b] + (y);                                                                                                \
    v[d] = rotated(v[d] ^ v[a], 16);                                                                                   \
    v[c] += v[d];                                                                                                      \
    v[b] = rotated(v[b] ^ v[c], 63);
#define ROUND(n)                                                                                                       \
    MIX(0, 4, 8, 12, m[order[n][0]], m[order[n][1]])                                                                   \
    MIX(1, 5, 9, 13, m[order[n][2]], m[order[n][3]])                                                                   \
    MIX(2, 6, 10, 14, m[order[n][4]], m[order[n][5]])                                                                  \
    MIX(3, 7, 11, 15, m[order[n][6]], m[order[n][7]])                                                                  \
    MIX(0, 5, 10, 15, m[order[n][8]], m[order[n][9]])                                                                  \
    MIX(1, 6, 11, 12, m[order[n][10]], m[order[n][11]])                                                                \
    MIX(2, 7, 8, 13, m[order[n][12]], m[order[n][13]])                                                                 \
    MIX(3, 4, 9, 14, m[order[n][14]], m[order[n][15]])
    /* Written out, so that every index is known to the compiler: a loop takes three times as long. */
    ROUND(0) ROUND(1) ROUND(2) ROUND(3) ROUND(4) ROUND(5) ROUND(6) ROUND(7) ROUND(8) ROUND(9) ROUND(10) ROUND(11)
#undef ROUND
#undef MIX
    for (int i = 0; i < 8; i++) {
        state[i] ^= v[i] ^ v[i + 8];
    }
}

#if WIDE

/* The same with the state as four rows of four words: a round mixes all columns at once, then all diagonals. */
__attribute__((target("avx2"))) static void
compress_rows(uint64_t *state, const unsigned char *block, uint64_t taken, int is_last)
{
    uint64_t m[16];
    memcpy(m, block, sizeof m); /* the processors of this family are little-endian */
    const __m256i by_24 = _mm256_setr_epi8(3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10,
                                           3, 4, 5, 6, 7, 0, 1, 2, 11, 12, 13, 14, 15, 8, 9, 10);
    const __m256i by_16 = _mm256_setr_epi8(2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9,
                                           2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 13, 14, 15, 8, 9);
    const __m256i low = _mm256_loadu_si256((const __m256i *)state);
    const __m256i high = _mm256_loadu_si256((const __m256i *)(state + 4));
    __m256i a = low, b = high, c = _mm256_loadu_si256((const __m256i *)initial);
    __m256i d = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(initial + 4)),
                                 _mm256_setr_epi64x((long long)taken, 0, is_last ? -1 : 0, 0));
#define WORDS(n, i) _mm256_setr_epi64x((long long)m[order[n][i]], (long long)m[order[n][i + 2]],                       \
                                       (long long)m[order[n][i + 4]], (long long)m[order[n][i + 6]])
#define MIX_ROWS(x, y)                                                                                                 \
    a = _mm256_add_epi64(_mm256_add_epi64(a, b), x);                                                                   \
    d = _mm256_shuffle_epi32(_mm256_xor_si256(d, a), 0xb1);                                                            \
    c = _mm256_add_epi64(c, d);                                                                                        \
    b = _mm256_shuffle_epi8(_mm256_xor_si256(b, c), by_24);                                                            \
    a = _mm256_add_epi64(_mm256_add_epi64(a, b), y);                                                                   \
    d = _mm256_shuffle_epi8(_mm256_xor_si256(d, a), by_16);                                                            \
    c = _mm256_add_epi64(c, d);                                                                                        \
    b = _mm256_xor_si256(b, c);                                                                                        \
    b = _mm256_or_si256(_mm256_srli_epi64(b, 63), _mm256_add_epi64(b, b));
#define TURN(one, two, three)                                                                                          \
    b = _mm256_permute4x64_epi64(b, one);                                                                              \
    c = _mm256_permute4x64_epi64(c, two);                                                                              \
    d = _mm256_permute4x64_epi64(d, three);
#define ROUND(n)                                                                                                       \
    MIX_ROWS(WORDS(n, 0), WORDS(n, 1)) TURN(0x39, 0x4e, 0x93) MIX_ROWS(WORDS(n, 8), WORDS(n, 9)) TURN(0x93, 0x4e, 0x39)
    ROUND(0) ROUND(1) ROUND(2) ROUND(3) ROUND(4) ROUND(5) ROUND(6) ROUND(7) ROUND(8) ROUND(9) ROUND(10) ROUND(11)
#undef ROUND
#undef TURN
#undef MIX_ROWS
#undef WORDS
    _mm256_storeu_si256((__m256i *)state, _mm256_xor_si256(low, _mm256_xor_si256(a, c)));
    _mm256_storeu_si256((__m256i *)(state + 4), _mm256_xor_si256(high, _mm256_xor_si256(b, d)));
}

#endif

/* The first 16 bytes of the digest of so many bytes, as two numbers. */
static void
blake2b(const unsigned char *text, Py_ssize_t length, int size, uint64_t digest[2])
{
    void (*compressed)(uint64_t *, const unsigned char *, uint64_t, int) = compress;
#if WIDE
    if (__builtin_cpu_supports("avx2")) {
        compressed = compress_rows;
    }
#endif
    uint64_t state[8], taken = 0;
    memcpy(state, initial, sizeof state);
    state[0] ^= 0x01010000u ^ (uint64_t)size;
    while (length > 128) {
        taken += 128;
        compressed(state, text, taken, 0);
        text += 128;
        length -= 128;
    }
    unsigned char last[128] = {0};
    if (length) {
        memcpy(last, text, (size_t)length);
    }
    compressed(state, last, taken + (uint64_t)length, 1);
    digest[0] = state[0];
    digest[1] = state[1];
}

static int
digest_of(PyObject *text, int size, uint64_t digest[2])
{
    Py_buffer bytes;
    if (PyObject_GetBuffer(text, &bytes, PyBUF_SIMPLE) < 0) {
        return -1;
    }
    blake2b(bytes.buf, bytes.len, size, digest);
    PyBuffer_Release(&bytes);
    return 0;
}

PyDoc_STRVAR(digest_doc, "digest(text)\n--\n\nThe first 64 bits of the BLAKE2b of bytes, of eight bytes, as a number.");

static PyObject *
core_digest(PyObject *module, PyObject *text)
{
    (void)module;
    uint64_t digest[2];
    return digest_of(text, 8, digest) < 0 ? NULL : PyLong_FromUnsignedLongLong(digest[0]);
}

PyDoc_STRVAR(blake2b_doc, "blake2b(text)\n--\n\nThe BLAKE2b of bytes, of sixteen bytes.");

static PyObject *
core_blake2b(PyObject *module, PyObject *text)
{
    (void)module;
    uint64_t digest[2];
    unsigned char bytes[16];
    if (digest_of(text, 16, digest) < 0) {
        return NULL;
    }
    for (int i = 0; i < 16; i++) {
        bytes[i] = (unsigned char)(digest[i / 8] >> 8 * (i % 8));
    }
    return PyBytes_FromStringAndSize((const char *)bytes, 16);
}

/* --- CRC-32, by carry-less multiplication --- */

#if WIDE

/*
 * A register of 128 bits is moved on over what follows by two multiplications, and four such are moved at once; at the
 * end what is left is reduced to 32 bits (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction", Intel 2009, whose constants these are for the polynomial of zlib, its bits reversed).
 */
#define MOVED(register_, by, next)                                                                                     \
    _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(register_, by, 0x00), _mm_clmulepi64_si128(register_, by, 0x11)), \
                  next)
#define AT(place) _mm_loadu_si128((const __m128i *)(text + (place)))

/* The checksum of so many bytes: a multiple of 16, and 64 at least. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t
crc32_multiplied(const unsigned char *text, Py_ssize_t length)
{
    const __m128i by_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i low = _mm_setr_epi32(-1, 0, -1, 0);
    __m128i a = _mm_xor_si128(AT(0), _mm_cvtsi32_si128(-1)), b = AT(16), c = AT(32), d = AT(48);
    for (text += 64, length -= 64; length >= 64; text += 64, length -= 64) {
        a = MOVED(a, by_64, AT(0));
        b = MOVED(b, by_64, AT(16));
        c = MOVED(c, by_64, AT(32));
        d = MOVED(d, by_64, AT(48));
    }
    a = MOVED(a, by_16, b);
    a = MOVED(a, by_16, c);
    a = MOVED(a, by_16, d);
    for (; length >= 16; text += 16, length -= 16) {
        a = MOVED(a, by_16, AT(0));
    }
    /* To 96 bits, to 64, and by Barrett's reduction to 32. */
    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
    a = _mm_xor_si128(_mm_srli_si128(a, 4),
                      _mm_clmulepi64_si128(_mm_and_si128(a, low), _mm_set_epi64x(0, 0x0163cd6124), 0x00));
    const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    b = _mm_clmulepi64_si128(_mm_and_si128(a, low), polynomial, 0x10);
    b = _mm_clmulepi64_si128(_mm_and_si128(b, low), polynomial, 0x00);
    return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(a, b), 1);
}

#undef MOVED
#undef AT

#endif

PyDoc_STRVAR(crc32_doc,
"crc32(text)\n--\n\n"
"The CRC-32 of bytes, as `zlib` has it; None where that is left to it: of few bytes, and on other processors.");

static PyObject *
core_crc32(PyObject *module, PyObject *text)
{
    (void)module;
    if (!PyBytes_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "crc32 takes bytes");
        return NULL;
    }
#if WIDE
    const unsigned char *bytes = (const unsigned char *)PyBytes_AS_STRING(text);
    Py_ssize_t length = PyBytes_GET_SIZE(text), whole = length & ~(Py_ssize_t)15;
    if (whole >= 64 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) {
        uint32_t rest = ~crc32_multiplied(bytes, whole);
        for (; whole < length; whole++) {
            rest ^= bytes[whole];
            for (int bit = 0; bit < 8; bit++) {
                rest = rest >> 1 ^ (0xedb88320u & (0u - (rest & 1u)));
            }
        }
        return PyLong_FromUnsignedLong(~rest);
    }
#endif
    Py_RETURN_NONE;
}

/* --- The module --- */

static PyMethodDef methods[] = {
    {"walk", (PyCFunction)(void (*)(void))core_walk, METH_FASTCALL, walk_doc},
    {"configure", core_configure, METH_VARARGS, configure_doc},
    {"outline", core_outline, METH_O, outline_doc},
    {"string_format", core_string_format, METH_O, string_format_doc},
    {"formats", (PyCFunction)(void (*)(void))core_formats, METH_FASTCALL, formats_doc},
    {"numbers", (PyCFunction)(void (*)(void))core_numbers, METH_FASTCALL, numbers_doc},
    {"tail", (PyCFunction)(void (*)(void))core_tail, METH_FASTCALL, tail_doc},
    {"replace", (PyCFunction)(void (*)(void))core_replace, METH_FASTCALL, replace_doc},
    {"between", (PyCFunction)(void (*)(void))core_between, METH_FASTCALL, between_doc},
    {"digest", core_digest, METH_O, digest_doc},
    {"blake2b", core_blake2b, METH_O, blake2b_doc},
    {"crc32", core_crc32, METH_O, crc32_doc},
    {"bits", (PyCFunction)(void (*)(void))core_bits, METH_FASTCALL, bits_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "The native core of agentguard.verification; see _native.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__core(void)
{
    no_path = PyUnicode_InternFromString("");
    return no_path == NULL ? NULL : PyModule_Create(&definition);
}
