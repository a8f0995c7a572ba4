/* What Python sees of the core, by its stable interface: one build serves every version from 3.11 on.

   scan_vocabulary(content, start)                 the end of a vocabulary in a tokenizer.json, its sizes, and
                                                   the ids of tokens that are not letters and digits of ASCII alone
   Vocabulary.of_json(content, start, sizes, terms, longest_word, normalizer)
   Vocabulary(words, terms, longest_word, normalizer)
       token_ids(texts) -> (bytes, bytes)          int32 ids, 0 for an unknown word, and int32 counts
       normalized(text) -> str
   Encoder(vocabulary, table, unit, channel, layer)
       vocabulary: None if other tokenizers cut the texts
       channel: None or (numbers, idf, places, dimension, weight of short texts, weight of long ones)
       layer: None, (A, B, True) for x + relu(x A) B, or (W, b, False) for x W + b
       encode(texts, out, form, counts, width) -> int     the least number of known tokens of a text
       embed(ids, offsets, out, form, width)              all tokens count
   read(file, memory, hashed) -> (int, bytes or None)     the bytes that were read, and their SHA-256
   write_buckets(vectors, least, steps, out)              numbers from 0 to 255

   A text in which marks meet that only `tokenizers` sorts has the count -1, and its vector means nothing.

   Texts are read a batch at a time: the batch is held, then the interpreter's lock is released. All that is loaded is
   checked here, so that no id or place leads out of a table. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <io.h>
#define READ(file, memory, size) _read(file, memory, (unsigned)(size))
#else
#include <unistd.h>
#define READ(file, memory, size) read(file, memory, size)
#endif

#define CHANGED "The list of texts changed while it was read."

enum { BATCH = 1024, KEPT_ROOM = 1 << 20, RECENT_BITS = 16, SPARES = 16, FEW_RECENT_BITS = 8, READ_BYTES = 1 << 18 };

typedef struct {
    PyObject_HEAD
    Vocabulary *vocabulary;
} VocabularyObject;

/* What one call needs. */
typedef struct Scratch {
    struct Scratch *next; /* of those that are kept */
    Text text;
    Recent recent;
    Ids ids[2];
    Sums sums;
    Rows rows;     /* if a layer follows */
    float *vector; /* of a text, before it becomes bits */
} Scratch;

typedef struct {
    PyObject_HEAD
    PyObject *owner; /* of the vocabulary */
    const Vocabulary *vocabulary;
    const Kernels *kernels;
    Py_buffer rows;
    Table table;
    Channel *channel;
    Layer *layer;
    Scratch *spare; /* those of the last calls; the interpreter's lock guards them */
    size_t spares;
} EncoderObject;

/* ---- Vocabulary */

static int add_words(Vocabulary *vocabulary, PyObject *words)
{
    Py_ssize_t length;
    for (Py_ssize_t id = 0; id < PyList_Size(words); id++) {
        const char *word = PyUnicode_AsUTF8AndSize(PyList_GetItem(words, id), &length);
        if (!word)
            return -1;
        if (vocabulary_add(vocabulary, (const uint8_t *)word, (size_t)length, (int32_t)id) < 0) {
            PyErr_Format(PyExc_ValueError, "The token %zd is longer than the core can look up.", id);
            return -1;
        }
    }
    return 0;
}

static int add_terms(Vocabulary *vocabulary, PyObject *words, PyObject *terms)
{
    Py_ssize_t length;
    for (Py_ssize_t i = 0; i < PyList_Size(terms); i++) {
        Py_ssize_t id = PyLong_AsSsize_t(PyList_GetItem(terms, i));
        if (id == -1 && PyErr_Occurred())
            return -1;
        PyObject *word = id < 0 ? NULL : PyList_GetItem(words, id);
        const char *term = word ? PyUnicode_AsUTF8AndSize(word, &length) : NULL;
        if (!term)
            return -1;
        if (vocabulary_add_term(vocabulary, (const uint8_t *)term, (size_t)length, (int32_t)id) < 0) {
            PyErr_Format(PyExc_ValueError, "The term %zd is not one that the core finds in a text.", id);
            return -1;
        }
    }
    return 0;
}

/* Count the pieces and the bytes of a list of tokens. */
static int count_tokens(PyObject *words, size_t *pieces, size_t *bytes)
{
    Py_ssize_t length;
    for (Py_ssize_t i = 0; i < PyList_Size(words); i++) {
        const char *word = PyUnicode_AsUTF8AndSize(PyList_GetItem(words, i), &length);
        if (!word)
            return -1;
        *pieces += (size_t)is_piece((const uint8_t *)word, (size_t)length);
        *bytes += (size_t)length;
    }
    return 0;
}

static int fill_vocabulary(Vocabulary *vocabulary, PyObject *words, PyObject *terms)
{
    size_t pieces = 0, bytes = 0, count = (size_t)PyList_Size(words);
    if (count_tokens(words, &pieces, &bytes) < 0)
        return -1;
    vocabulary->size = (int32_t)count;
    if (vocabulary_new(vocabulary, count - pieces, pieces, (size_t)PyList_Size(terms), bytes) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    if (add_words(vocabulary, words) < 0 || add_terms(vocabulary, words, terms) < 0)
        return -1;
    if (normalizer_finish(&vocabulary->normalizer) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static VocabularyObject *vocabulary_empty(PyTypeObject *type, int longest, int normalizer)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    VocabularyObject *made = (VocabularyObject *)allocate(type, 0);
    if (!made)
        return NULL;
    made->vocabulary = calloc(1, sizeof *made->vocabulary);
    if (!made->vocabulary) {
        Py_DECREF(made);
        PyErr_NoMemory();
        return NULL;
    }
    made->vocabulary->longest_word = (size_t)longest;
    made->vocabulary->normalizer.kind = normalizer;
    return made;
}

static PyObject *vocabulary_make(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(named))
{
    PyObject *words, *terms;
    int longest, normalizer;
    if (!PyArg_ParseTuple(arguments, "O!O!ii", &PyList_Type, &words, &PyList_Type, &terms, &longest, &normalizer))
        return NULL;
    if (longest < 1 || longest > LONGEST_WORD || (normalizer != NORMALIZER_FULL && normalizer != NORMALIZER_BERT) ||
        PyList_Size(words) < 1 || PyList_Size(words) > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "The core does not know such a vocabulary.");
        return NULL;
    }
    VocabularyObject *made = vocabulary_empty(type, longest, normalizer);
    if (!made)
        return NULL;
    if (fill_vocabulary(made->vocabulary, words, terms) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

/* ---- A vocabulary in a tokenizer.json */

static int is_plain(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z');
}

/* Tell whether a token is letters and digits of ASCII, perhaps a continuation of such. */
static int is_plain_token(const TokenReader *reader)
{
    size_t i = is_piece(reader->token, reader->length) ? 2 : 0;
    while (i < reader->length && is_plain(reader->token[i]))
        i++;
    return i == reader->length;
}

/* Note the last token and its id in a dictionary. */
static int note_token(PyObject *found, const TokenReader *reader)
{
    PyObject *token = PyUnicode_FromStringAndSize((const char *)reader->token, (Py_ssize_t)reader->length);
    PyObject *id = token ? PyLong_FromLong(reader->count - 1) : NULL;
    int set = id ? PyDict_SetItem(found, token, id) : -1;
    Py_XDECREF(token);
    Py_XDECREF(id);
    return set;
}

/* Start to read at a place of a content, which the caller holds. */
static int token_reader(TokenReader *reader, Py_buffer *content, Py_ssize_t start)
{
    if (start < 0 || start > content->len) {
        PyErr_SetString(PyExc_ValueError, "The vocabulary is not in the content.");
        return -1;
    }
    reader->at = (const uint8_t *)content->buf + start;
    reader->end = (const uint8_t *)content->buf + content->len;
    reader->count = -1;
    return 0;
}

/* None for what a parser of JSON has to read, or (end, (tokens, pieces, bytes), odd). */
static PyObject *scan_vocabulary(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer content;
    Py_ssize_t start;
    TokenReader reader;
    size_t pieces = 0, bytes = 0;
    int found = -1;
    if (!PyArg_ParseTuple(arguments, "y*n", &content, &start))
        return NULL;
    PyObject *result = NULL, *odd = PyDict_New();
    if (odd && token_reader(&reader, &content, start) == 0) {
        while ((found = next_token(&reader)) > 0) {
            bytes += reader.length;
            pieces += (size_t)is_piece(reader.token, reader.length);
            if ((reader.count == 1 || !is_plain_token(&reader)) && note_token(odd, &reader) < 0)
                break;
        }
        if (found == 0)
            result = Py_BuildValue("n(nnn)O", (Py_ssize_t)(reader.at - (const uint8_t *)content.buf),
                                   (Py_ssize_t)reader.count, (Py_ssize_t)pieces, (Py_ssize_t)bytes, odd);
        else if (found < 0)
            result = Py_NewRef(Py_None);
    }
    Py_XDECREF(odd);
    PyBuffer_Release(&content);
    return result;
}

/* Add the tokens of an object, which are all different; returns -1 without an error for anything else. */
static int add_tokens(Vocabulary *vocabulary, TokenReader *reader)
{
    int found;
    while ((found = next_token(reader)) > 0)
        if (vocabulary_add(vocabulary, reader->token, reader->length, reader->count - 1) < 0)
            return -1;
    return found < 0 || reader->count != vocabulary->size ||
                   vocabulary->words.count + vocabulary->pieces.count != (size_t)reader->count
               ? -1
               : 0;
}

typedef struct {
    const uint8_t *bytes; /* of a str that the caller holds */
    size_t length;
    int32_t id;
} Term;

/* List the terms of a dict, which holds their bytes; returns NULL without memory, or for an id out of range. */
static Term *terms_of(PyObject *terms, int32_t size)
{
    PyObject *term, *number;
    Py_ssize_t place = 0, length, count = 0;
    Term *found = malloc((size_t)(PyDict_Size(terms) + 1) * sizeof *found);
    while (found && PyDict_Next(terms, &place, &term, &number)) {
        const char *bytes = PyUnicode_AsUTF8AndSize(term, &length);
        long id = bytes ? PyLong_AsLong(number) : -1;
        if (id < 0 || id >= size) {
            free(found);
            return NULL;
        }
        found[count++] = (Term){(const uint8_t *)bytes, (size_t)length, (int32_t)id};
    }
    return found;
}

static int add_listed(Vocabulary *vocabulary, const Term *terms, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (vocabulary_add_term(vocabulary, terms[i].bytes, terms[i].length, terms[i].id) < 0)
            return -1;
    return 0;
}

static int fill_from_json(Vocabulary *vocabulary, TokenReader *reader, const Py_ssize_t *sizes, PyObject *terms)
{
    size_t tokens = (size_t)sizes[0], pieces = (size_t)sizes[1], bytes = (size_t)sizes[2];
    size_t count = (size_t)PyDict_Size(terms);
    vocabulary->size = (int32_t)tokens;
    Term *listed = terms_of(terms, vocabulary->size);
    int failed = !listed;
    if (failed)
        return -1;

    /* Nobody else knows the vocabulary yet, so other threads may run. */
    Py_BEGIN_ALLOW_THREADS
    failed = vocabulary_new(vocabulary, tokens - pieces, pieces, count, bytes) < 0 ||
             add_tokens(vocabulary, reader) < 0 || add_listed(vocabulary, listed, count) < 0 ||
             normalizer_finish(&vocabulary->normalizer) < 0;
    Py_END_ALLOW_THREADS
    free(listed);
    return failed ? -1 : 0;
}

static PyObject *vocabulary_of_json(PyObject *type, PyObject *arguments)
{
    Py_buffer content;
    Py_ssize_t start, sizes[3];
    PyObject *terms;
    TokenReader reader;
    int longest, normalizer;
    if (!PyArg_ParseTuple(arguments, "y*n(nnn)O!ii", &content, &start, &sizes[0], &sizes[1], &sizes[2], &PyDict_Type,
                          &terms, &longest, &normalizer))
        return NULL;
    VocabularyObject *made = NULL;
    int known = longest >= 1 && longest <= LONGEST_WORD && (normalizer == NORMALIZER_FULL || normalizer == NORMALIZER_BERT),
        fits = sizes[0] >= 1 && sizes[0] <= content.len && sizes[0] <= INT32_MAX && sizes[1] >= 0 && sizes[1] <= sizes[0] && sizes[2] >= 0 &&
               sizes[2] <= content.len;
    if (!known || !fits)
        PyErr_SetString(PyExc_ValueError, "The core does not know such a vocabulary.");
    else if (token_reader(&reader, &content, start) == 0)
        made = vocabulary_empty((PyTypeObject *)type, longest, normalizer);
    if (made && fill_from_json(made->vocabulary, &reader, sizes, terms) < 0) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "The content holds no vocabulary that the core can look up.");
        Py_DECREF(made);
        made = NULL;
    }
    PyBuffer_Release(&content);
    return (PyObject *)made;
}

static void end_object(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static void vocabulary_end(PyObject *object)
{
    VocabularyObject *made = (VocabularyObject *)object;
    if (made->vocabulary)
        vocabulary_free(made->vocabulary);
    free(made->vocabulary);
    end_object(object);
}

/* ---- Encoder */

static int set_table(EncoderObject *made, PyObject *rows, float unit)
{
    if (PyObject_GetBuffer(rows, &made->rows, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return -1;
    const Py_buffer *view = &made->rows;
    char type = view->format && strlen(view->format) == 1 ? view->format[0] : 0;
    Py_ssize_t size = type == TYPE_INT8 ? 1 : type == TYPE_FLOAT16 ? 2 : type == TYPE_FLOAT32 ? 4 : 0;
    if (!size || view->itemsize != size || view->ndim != 2 || view->shape[0] < (made->vocabulary ? made->vocabulary->size : 1) ||
        view->shape[1] < 1 || view->shape[1] > 1 << 24 || (uintptr_t)view->buf % (uintptr_t)size) {
        PyErr_SetString(PyExc_ValueError, "The table is not int8, float16 or float32 with a row for each token.");
        return -1;
    }
    made->table = (Table){view->buf, (size_t)view->shape[0], (size_t)view->shape[1], type, unit};
    return 0;
}

/* The names of C's types by which buffers tell what they hold; which one has so many bits differs between systems. */
#define INT32 "il"
#define UINT32 "IL"
#define INT64 "lq"
#define FLOAT32 "f"

static int holds(const Py_buffer *view, const char *formats, Py_ssize_t size)
{
    return view->format && strlen(view->format) == 1 && strchr(formats, view->format[0]) && view->itemsize == size &&
           (uintptr_t)view->buf % (uintptr_t)size == 0;
}

/* Copy an array of numbers of 32 bits out of its buffer, and count them. */
static void *copied(PyObject *array, const char *formats, size_t *count)
{
    Py_buffer view;
    if (PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return NULL;
    void *copy = NULL;
    if (!holds(&view, formats, 4)) {
        PyErr_SetString(PyExc_ValueError, "An array that the core copies has another type.");
    } else {
        *count = (size_t)view.len / 4;
        copy = malloc((size_t)view.len + 4);
        if (copy)
            memcpy(copy, view.buf, (size_t)view.len);
        else
            PyErr_NoMemory();
    }
    PyBuffer_Release(&view);
    return copy;
}

static int channel_fits(const Channel *channel, size_t tokens, size_t stems, size_t places, size_t rows)
{
    if (channel->dimension < 1 || channel->dimension > 1 << 24 || tokens < rows || places != stems * PLACES)
        return 0;
    for (size_t i = 0; i < tokens; i++)
        if (channel->numbers[i] < 0 || (size_t)channel->numbers[i] >= stems)
            return 0;
    for (size_t i = 0; i < places; i++)
        if (channel->places[i] >> 1 >= channel->dimension)
            return 0;
    return 1;
}

static int set_channel(EncoderObject *made, PyObject *given)
{
    PyObject *numbers, *idf, *places;
    Py_ssize_t dimension;
    size_t tokens = 0, stems = 0, entries = 0;
    Channel *channel = made->channel = calloc(1, sizeof *channel);
    if (!channel) {
        PyErr_NoMemory();
        return -1;
    }
    if (!PyArg_ParseTuple(given, "OOOnff", &numbers, &idf, &places, &dimension, &channel->short_weight,
                          &channel->long_weight))
        return -1;
    if (!(channel->numbers = copied(numbers, INT32, &tokens)) || !(channel->idf = copied(idf, FLOAT32, &stems)) ||
        !(channel->places = copied(places, UINT32, &entries)))
        return -1;
    channel->stems = stems;
    channel->dimension = dimension < 0 ? 0 : (size_t)dimension;
    if (channel_fits(channel, tokens, stems, entries, made->table.count))
        return 0;
    PyErr_SetString(PyExc_ValueError, "The lexical channel points outside its table.");
    return -1;
}

static int is_floats(const Py_buffer *view, int dimensions)
{
    return view->ndim == dimensions && holds(view, FLOAT32, 4);
}

/* Copy a matrix of float32 into panels. */
static float *matrix_panels(PyObject *matrix, size_t *rows, size_t *columns)
{
    Py_buffer view;
    float *panels = NULL;
    if (PyObject_GetBuffer(matrix, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return NULL;
    if (!is_floats(&view, 2) || view.shape[0] < 1 || view.shape[1] < 1 || view.shape[0] > 1 << 24 ||
        view.shape[1] > 1 << 24) {
        PyErr_SetString(PyExc_ValueError, "A weight of a layer is no matrix of float32.");
    } else {
        *rows = (size_t)view.shape[0];
        *columns = (size_t)view.shape[1];
        panels = new_panels(view.buf, *rows, *columns);
        if (!panels)
            PyErr_NoMemory();
    }
    PyBuffer_Release(&view);
    return panels;
}

/* Load a layer. A hidden one has a second matrix, a linear one a bias. */
static int set_layer(EncoderObject *made, PyObject *given)
{
    PyObject *first, *second;
    int hidden;
    size_t columns = 0, narrowed = 0;
    Layer *layer = made->layer = calloc(1, sizeof *layer);
    if (!layer) {
        PyErr_NoMemory();
        return -1;
    }
    if (!PyArg_ParseTuple(given, "OOp", &first, &second, &hidden))
        return -1;
    float *panels = matrix_panels(first, &layer->inputs, &columns);
    if (hidden) {
        layer->widen = panels;
        layer->units = columns;
        layer->narrow = matrix_panels(second, &narrowed, &layer->outputs);
    } else {
        layer->narrow = panels;
        layer->bias = copied(second, FLOAT32, &layer->outputs);
    }
    if (!panels || !(hidden ? layer->narrow : layer->bias))
        return -1;
    int fits = hidden ? narrowed == columns && layer->outputs == layer->inputs : layer->outputs == columns;
    if (fits && layer->inputs == made->table.dimension && !made->channel)
        return 0;
    PyErr_SetString(PyExc_ValueError, "The layer does not fit the table.");
    return -1;
}

/* Tell whether an object is of a type of this module. */
static int is_vocabulary(PyTypeObject *type, PyObject *given)
{
    PyObject *module = PyType_GetModule(type);
    PyObject *expected = module ? PyObject_GetAttrString(module, "Vocabulary") : NULL;
    int known = expected ? PyObject_IsInstance(given, expected) : -1;
    Py_XDECREF(expected);
    if (!known)
        PyErr_SetString(PyExc_TypeError, "The first argument is a Vocabulary or None.");
    return known;
}

static PyObject *encoder_make(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(named))
{
    PyObject *vocabulary, *rows, *channel, *layer;
    float unit;
    if (!PyArg_ParseTuple(arguments, "OOfOO", &vocabulary, &rows, &unit, &channel, &layer))
        return NULL;
    if (vocabulary != Py_None && is_vocabulary(type, vocabulary) < 1)
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    EncoderObject *made = (EncoderObject *)allocate(type, 0);
    if (!made)
        return NULL;
    if (vocabulary != Py_None) {
        Py_INCREF(vocabulary);
        made->owner = vocabulary;
        made->vocabulary = ((VocabularyObject *)vocabulary)->vocabulary;
    }
    made->kernels = best_kernels();
    if (set_table(made, rows, unit) < 0 || (channel != Py_None && set_channel(made, channel) < 0) ||
        (layer != Py_None && set_layer(made, layer) < 0)) {
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

static void scratch_free(Scratch *scratch)
{
    if (!scratch)
        return;
    text_free(&scratch->text);
    recent_free(&scratch->recent);
    sums_free(&scratch->sums);
    rows_free(&scratch->rows);
    free(scratch->vector);
    free(scratch);
}

static void encoder_end(PyObject *object)
{
    EncoderObject *made = (EncoderObject *)object;
    for (Scratch *next, *scratch = made->spare; scratch; scratch = next) {
        next = scratch->next;
        scratch_free(scratch);
    }
    if (made->channel) {
        free(made->channel->numbers);
        free(made->channel->idf);
        free(made->channel->places);
        free(made->channel);
    }
    layer_free(made->layer);
    if (made->rows.obj)
        PyBuffer_Release(&made->rows);
    Py_XDECREF(made->owner);
    end_object(object);
}

/* The most numbers of a vector. */
static size_t widest(const EncoderObject *encoder)
{
    if (encoder->layer)
        return encoder->layer->outputs;
    return encoder->table.dimension + (encoder->channel ? encoder->channel->dimension : 0);
}

/* Take the scratch of an earlier call, or make one. */
static Scratch *scratch_take(EncoderObject *encoder)
{
    Scratch *scratch = encoder->spare;
    if (scratch) {
        encoder->spare = scratch->next;
        encoder->spares--;
        return scratch;
    }
    scratch = calloc(1, sizeof *scratch);
    if (scratch && text_new(&scratch->text) == 0 && recent_new(&scratch->recent, RECENT_BITS) == 0 &&
        sums_new(&scratch->sums, &encoder->table, encoder->channel, encoder->kernels) == 0 &&
        (!encoder->layer || rows_new(&scratch->rows, encoder->layer) == 0) &&
        (scratch->vector = malloc(widest(encoder) * sizeof *scratch->vector)))
        return scratch;
    scratch_free(scratch);
    PyErr_NoMemory();
    return NULL;
}

/* Keep a scratch for the next call, unless a long text made it large. */
static void scratch_give(EncoderObject *encoder, Scratch *scratch)
{
    if (encoder->spares == SPARES || scratch->text.room > KEPT_ROOM) {
        scratch_free(scratch);
        return;
    }
    scratch->next = encoder->spare;
    encoder->spare = scratch;
    encoder->spares++;
}

typedef struct {
    const uint8_t *bytes;
    size_t length;
} View;

/* Look a text up, to the end. Returns 0, 1 for a strange one, or -1 without memory. */
static int look_up(const Vocabulary *vocabulary, const Kernels *kernels, Recent *recent, Text *text, Ids *ids, View view)
{
    Reader reader = {view.bytes, view.bytes + view.length, 0, 0};
    text->used = text->cut = 0;
    ids->count = 0;
    do {
        if (read_text(&reader, &vocabulary->normalizer, kernels, text) < 0 ||
            look_up_text(vocabulary, recent, text, ids) < 0)
            return -1;
        drop_read(text);
    } while (reader.at < reader.end);
    return reader.strange;
}

/* The texts of a batch: what they hold, and the objects that hold it. */
typedef struct {
    View views[BATCH];
    PyObject *owners[BATCH];
    int32_t counts[BATCH];
    size_t count;
} Batch;

/* Join pairs of surrogates, and replace a lone one, as text that comes from outside may have. */
static PyObject *whole_surrogates(PyObject *text)
{
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return NULL;
    PyErr_Clear();
    PyObject *pairs = PyUnicode_AsEncodedString(text, "utf-16", "surrogatepass");
    PyObject *whole = pairs ? PyUnicode_FromEncodedObject(pairs, "utf-16", "replace") : NULL;
    Py_XDECREF(pairs);
    return whole;
}

static void batch_release(Batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        Py_DECREF(batch->owners[i]);
    batch->count = 0;
}

/* Hold the texts from `first` on, up to a full batch. */
static int batch_hold(Batch *batch, PyObject *texts, Py_ssize_t first, Py_ssize_t count)
{
    batch->count = 0;
    for (Py_ssize_t i = first; i < first + count; i++) {
        Py_ssize_t length;
        PyObject *text = PyList_GetItem(texts, i);
        if (!text)
            goto failed;
        Py_INCREF(text);
        const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
        if (!bytes) {
            PyObject *whole = whole_surrogates(text);
            Py_DECREF(text);
            text = whole;
            bytes = text ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
            if (!bytes) {
                Py_XDECREF(text);
                goto failed;
            }
        }
        batch->owners[batch->count] = text;
        batch->views[batch->count++] = (View){(const uint8_t *)bytes, (size_t)length};
    }
    return 0;
failed:
    batch_release(batch);
    return -1;
}

/* Vectors of `width` numbers, `row` bytes from one to the next. */
typedef struct {
    char *out;
    size_t width, row;
    int form, type; /* TYPE_FLOAT32, or bits: TYPE_BITS, or TYPE_INT8 for the same less 128 */
} Wanted;

/* Write bits for the vector of a text. */
static void write_bits(const Kernels *kernels, const Wanted *wanted, size_t number, const float *vector)
{
    uint8_t *bits = (uint8_t *)wanted->out + number * wanted->row;
    kernels->write_bits(vector, wanted->width, bits);
    for (size_t k = 0; k < wanted->row && wanted->type == TYPE_INT8; k++)
        bits[k] ^= 0x80;
}

/* Where the vector of a text is written before it is made bits, if it is. */
static float *vector_place(const Scratch *scratch, const Wanted *wanted, size_t number)
{
    return wanted->type == TYPE_FLOAT32 ? (float *)(wanted->out + number * wanted->row) : scratch->vector;
}

/* Send the texts that wait through the layer, and write their vectors; `end` follows the last one. */
static void write_layered(const EncoderObject *encoder, Scratch *scratch, const Wanted *wanted, size_t end)
{
    const Kernels *kernels = encoder->kernels;
    size_t stride, width = wanted->width, number = end - scratch->rows.filled;
    if (number == end)
        return;
    const float *row = rows_finish(&scratch->rows, encoder->layer, kernels, width, &stride);
    for (; number < end; number++, row += stride) {
        float *vector = vector_place(scratch, wanted, number);
        if (wanted->form == AS_UNIT)
            write_unit(kernels, row, width, kernels->length(row, width), vector);
        else
            memcpy(vector, row, width * sizeof *vector);
        if (wanted->type != TYPE_FLOAT32)
            write_bits(kernels, wanted, number, vector);
    }
}

/* Numbers of the sum that are needed. */
static size_t summed_width(const EncoderObject *encoder, const Wanted *wanted)
{
    return encoder->layer ? encoder->table.dimension : wanted->width;
}

/* Write the vector of a text whose last ids are known, or have it wait until enough of them go through the layer. */
static void write_text(const EncoderObject *encoder, Scratch *scratch, Ids *ids, const Wanted *wanted, size_t number)
{
    Sums *sums = &scratch->sums;
    if (encoder->layer) { /* a hidden layer has no bias: a multiple of a sum stays one */
        int form = encoder->layer->units && wanted->form == AS_UNIT ? AS_SUM : AS_MEAN;
        sums_finish(sums, ids, form, rows_next(&scratch->rows, encoder->layer));
        if (scratch->rows.filled == LAYER_ROWS)
            write_layered(encoder, scratch, wanted, number + 1);
        return;
    }
    float *vector = vector_place(scratch, wanted, number);
    sums_finish(sums, ids, wanted->form, vector);
    if (wanted->type != TYPE_FLOAT32)
        write_bits(encoder->kernels, wanted, number, vector);
}

/* The way of a batch. A text whose ids are known waits until those of the next one are, so that its rows have time to come
   from memory. */
typedef struct {
    const EncoderObject *encoder;
    Scratch *scratch;
    Batch *batch;
    const Wanted *wanted;
    Ids *waiting;  /* NULL: none */
    size_t number; /* of the text that waits */
    int begun;     /* the sums are of the text that is looked up, which is long */
} Way;

/* Write the vector of a text, the last of whose ids are known. */
static void way_finish(Way *way, Ids *ids, size_t number)
{
    write_text(way->encoder, way->scratch, ids, way->wanted, number);
    size_t known = way->scratch->sums.known;
    if (way->batch->counts[number] >= 0)
        way->batch->counts[number] = known > INT32_MAX ? INT32_MAX : (int32_t)known;
}

static void way_finish_waiting(Way *way)
{
    if (!way->waiting)
        return;
    sums_start(&way->scratch->sums, summed_width(way->encoder, way->wanted));
    way_finish(way, way->waiting, way->number);
    way->waiting = NULL;
}

/* Take a full buffer of ids of a long text, whose sums begin then. */
static int way_flush(Ids *ids, void *into)
{
    Way *way = into;
    if (!way->begun) {
        way_finish_waiting(way);
        sums_start(&way->scratch->sums, summed_width(way->encoder, way->wanted));
        way->begun = 1;
    }
    return sums_flush(ids, &way->scratch->sums);
}

/* Encode a batch without the interpreter's lock. */
static int encode_batch(const EncoderObject *encoder, Scratch *scratch, Batch *batch, const Wanted *wanted)
{
    Way way = {.encoder = encoder, .scratch = scratch, .batch = batch, .wanted = wanted};
    scratch->sums.every = 0;
    for (size_t i = 0; i < batch->count; i++) {
        Ids *ids = &scratch->ids[i % 2];
        sums_ask(&scratch->sums, summed_width(encoder, wanted), ids);
        ids->flush = way_flush;
        ids->into = &way;
        way.begun = 0;
        int strange = look_up(encoder->vocabulary, encoder->kernels, &scratch->recent, &scratch->text, ids, batch->views[i]);
        batch->counts[i] = strange ? -1 : 0;
        if (way.begun)
            way_finish(&way, ids, i);
        way_finish_waiting(&way);
        if (strange < 0)
            return -1;
        way.waiting = way.begun ? NULL : ids;
        way.number = i;
    }
    way_finish_waiting(&way);
    write_layered(encoder, scratch, wanted, batch->count);
    return 0;
}

static int is_count_list(const Py_buffer *view, Py_ssize_t rows)
{
    return view->ndim == 1 && view->shape[0] == rows && holds(view, INT32, 4);
}

/* Say what is asked for, by the array that is to be written; -1 if it is of another shape or type. */
static int set_wanted(Wanted *wanted, const EncoderObject *encoder, const Py_buffer *out, Py_ssize_t rows, long form,
                      long width)
{
    int type = out->format && strlen(out->format) == 1 ? out->format[0] : 0;
    int bits = type == TYPE_INT8 || type == TYPE_BITS;
    if (form < AS_UNIT || form > AS_SUM || (encoder->layer && form == AS_SUM) || width < 1 || (size_t)width > widest(encoder) ||
        out->ndim != 2 || out->shape[0] != rows || out->shape[1] != (bits ? (width + 7) / 8 : width) ||
        !(bits || is_floats(out, 2))) {
        PyErr_SetString(PyExc_ValueError, "The array for vectors has another shape or type, or there is no such form.");
        return -1;
    }
    size_t row = (size_t)out->shape[1] * (size_t)out->itemsize;
    *wanted = (Wanted){out->buf, (size_t)width, row, (int)form, type};
    return 0;
}

/* Encode a list into a matrix that was checked; `counts` may be NULL. */
static PyObject *encode_list(EncoderObject *encoder, PyObject *texts, Wanted wanted, int32_t *counts)
{
    Batch batch;
    int32_t least = INT32_MAX;
    Py_ssize_t rows = PyList_Size(texts);
    Scratch *scratch = scratch_take(encoder);
    if (!scratch)
        return NULL;
    for (Py_ssize_t first = 0; first < rows; first += BATCH) {
        int failed;
        Py_ssize_t count = rows - first < BATCH ? rows - first : BATCH;
        if (PyList_Size(texts) != rows || batch_hold(&batch, texts, first, count) < 0) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_RuntimeError, CHANGED);
            scratch_give(encoder, scratch);
            return NULL;
        }
        Py_BEGIN_ALLOW_THREADS;
        failed = encode_batch(encoder, scratch, &batch, &wanted);
        Py_END_ALLOW_THREADS;
        wanted.out += batch.count * wanted.row;
        for (size_t i = 0; i < batch.count; i++) {
            least = batch.counts[i] < least ? batch.counts[i] : least;
            if (counts)
                counts[(size_t)first + i] = batch.counts[i];
        }
        batch_release(&batch);
        if (failed) {
            scratch_free(scratch);
            return PyErr_NoMemory();
        }
    }
    scratch_give(encoder, scratch);
    return PyLong_FromLong(least);
}

/* Read a form and a width. */
static int read_numbers(PyObject *form, PyObject *width, long *numbers)
{
    numbers[0] = PyLong_AsLong(form);
    numbers[1] = PyErr_Occurred() ? -1 : PyLong_AsLong(width);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *encoder_encode(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    EncoderObject *encoder = (EncoderObject *)self;
    Py_buffer out, counts = {0};
    PyObject *result = NULL;
    Wanted wanted;
    long numbers[2];
    if (count != 5 || !PyList_Check(arguments[0]) || !encoder->vocabulary) {
        PyErr_SetString(PyExc_TypeError,
                        "encode takes a list of texts, an array for vectors, a form, counts and a width.");
        return NULL;
    }
    if (read_numbers(arguments[2], arguments[4], numbers) < 0 ||
        PyObject_GetBuffer(arguments[1], &out, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE | PyBUF_FORMAT) < 0)
        return NULL;
    if (arguments[3] != Py_None &&
        PyObject_GetBuffer(arguments[3], &counts, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE | PyBUF_FORMAT) < 0) {
        PyBuffer_Release(&out);
        return NULL;
    }
    Py_ssize_t rows = PyList_Size(arguments[0]);
    if (counts.obj && !is_count_list(&counts, rows))
        PyErr_SetString(PyExc_ValueError, "The array for counts has another shape or type.");
    else if (set_wanted(&wanted, encoder, &out, rows, numbers[0], numbers[1]) == 0)
        result = encode_list(encoder, arguments[0], wanted, counts.buf);
    PyBuffer_Release(&out);
    if (counts.obj)
        PyBuffer_Release(&counts);
    return result;
}

/* ---- Vectors of token ids */

/* Ids of texts: those of text i are from `offsets[i]` up to `offsets[i + 1]`. */
typedef struct {
    const int32_t *ids;
    const int64_t *offsets;
    int64_t count; /* of ids */
    size_t texts;
} Tokens;

/* Sum the rows of a text but the last ones, which stay in `ids`; -1 if a number leads out of the table or the list. Each
   is checked when it is read, since another thread may write there. */
static int take_tokens(const Tokens *tokens, size_t text, Sums *sums, Ids *ids)
{
    int64_t start = tokens->offsets[text], stop = tokens->offsets[text + 1];
    if (start < 0 || stop < start || stop > tokens->count)
        return -1;
    for (ids->count = 0; start < stop; start++) {
        int32_t id = tokens->ids[start];
        if (id < 0 || (size_t)id >= sums->table->count)
            return -1;
        if (ids->count == EXACT_TOKENS && sums_flush(ids, sums) < 0)
            return -1;
        ids->at[ids->count++] = id;
    }
    return 0;
}

static int embed_tokens(const EncoderObject *encoder, Scratch *scratch, const Tokens *tokens, const Wanted *wanted)
{
    Ids *ids = &scratch->ids[0];
    scratch->sums.every = 1;
    for (size_t text = 0; text < tokens->texts; text++) {
        sums_start(&scratch->sums, summed_width(encoder, wanted));
        if (take_tokens(tokens, text, &scratch->sums, ids) < 0)
            return -1;
        write_text(encoder, scratch, ids, wanted, text);
    }
    write_layered(encoder, scratch, wanted, tokens->texts);
    return 0;
}

static PyObject *embed_checked(EncoderObject *encoder, const Py_buffer *ids, const Py_buffer *offsets,
                               const Py_buffer *out, const long *numbers)
{
    Wanted wanted;
    int failed;
    if (ids->ndim != 1 || !holds(ids, INT32, 4) || offsets->ndim != 1 || !holds(offsets, INT64, 8) ||
        offsets->shape[0] < 1) {
        PyErr_SetString(PyExc_ValueError, "Token ids are int32, and offsets int64.");
        return NULL;
    }
    if (set_wanted(&wanted, encoder, out, offsets->shape[0] - 1, numbers[0], numbers[1]) < 0)
        return NULL;
    Tokens tokens = {ids->buf, offsets->buf, ids->shape[0], (size_t)offsets->shape[0] - 1};
    Scratch *scratch = scratch_take(encoder);
    if (!scratch)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    failed = embed_tokens(encoder, scratch, &tokens, &wanted);
    Py_END_ALLOW_THREADS;
    if (failed) {
        scratch_free(scratch);
        PyErr_SetString(PyExc_ValueError, "A token id is outside the table, or an offset outside the ids.");
        return NULL;
    }
    scratch_give(encoder, scratch);
    Py_RETURN_NONE;
}

static PyObject *encoder_embed(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    Py_buffer views[3];
    PyObject *result = NULL;
    long numbers[2];
    int held = 0;
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "embed takes token ids, offsets, an array for vectors, a form and a width.");
        return NULL;
    }
    if (read_numbers(arguments[3], arguments[4], numbers) < 0)
        return NULL;
    for (int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT; held < 3; held++)
        if (PyObject_GetBuffer(arguments[held], &views[held], held == 2 ? flags | PyBUF_WRITABLE : flags) < 0)
            break;
    if (held == 3)
        result = embed_checked((EncoderObject *)self, &views[0], &views[1], &views[2], numbers);
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    return result;
}

/* ---- Token ids */

typedef struct {
    int32_t *at;
    size_t count, room;
} Collected;

static int collect(Ids *ids, void *into)
{
    Collected *collected = into;
    if (!ids->count) /* there may be no array yet */
        return 0;
    if (collected->count + ids->count > collected->room) {
        size_t room = (collected->room + ids->count) * 2;
        int32_t *at = realloc(collected->at, room * sizeof *at);
        if (!at)
            return -1;
        collected->at = at;
        collected->room = room;
    }
    memcpy(collected->at + collected->count, ids->at, ids->count * sizeof *ids->at);
    collected->count += ids->count;
    ids->count = 0;
    return 0;
}

static int collect_batch(const Vocabulary *vocabulary, Recent *recent, Text *text, Batch *batch, Collected *collected)
{
    Ids ids = {.flush = collect, .into = collected};
    const Kernels *kernels = best_kernels();
    for (size_t i = 0; i < batch->count; i++) {
        size_t before = collected->count;
        int strange = look_up(vocabulary, kernels, recent, text, &ids, batch->views[i]);
        if (strange < 0 || collect(&ids, collected) < 0)
            return -1;
        if (strange)
            collected->count = before;
        batch->counts[i] = strange ? -1 : (int32_t)(collected->count - before);
    }
    return 0;
}

static int collect_list(const Vocabulary *vocabulary, PyObject *texts, Recent *recent, Text *text, Collected *collected,
                        int32_t *counts)
{
    Batch batch;
    Py_ssize_t rows = PyList_Size(texts);
    for (Py_ssize_t first = 0; first < rows; first += BATCH) {
        int failed;
        Py_ssize_t count = rows - first < BATCH ? rows - first : BATCH;
        if (PyList_Size(texts) != rows) {
            PyErr_SetString(PyExc_RuntimeError, CHANGED);
            return -1;
        }
        if (batch_hold(&batch, texts, first, count) < 0)
            return -1;
        Py_BEGIN_ALLOW_THREADS;
        failed = collect_batch(vocabulary, recent, text, &batch, collected);
        Py_END_ALLOW_THREADS;
        memcpy(counts + first, batch.counts, batch.count * sizeof *counts);
        batch_release(&batch);
        if (failed) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static PyObject *vocabulary_token_ids(PyObject *self, PyObject *texts)
{
    if (!PyList_Check(texts)) {
        PyErr_SetString(PyExc_TypeError, "token_ids takes a list of texts.");
        return NULL;
    }
    Text text;
    Recent recent;
    Collected collected = {0};
    Py_ssize_t rows = PyList_Size(texts);
    int held = recent_new(&recent, rows < BATCH ? FEW_RECENT_BITS : RECENT_BITS);
    int32_t *counts = calloc((size_t)rows + 1, sizeof *counts);
    PyObject *result = NULL;
    if (text_new(&text) < 0 || held < 0 || !counts)
        PyErr_NoMemory();
    else if (collect_list(((VocabularyObject *)self)->vocabulary, texts, &recent, &text, &collected, counts) == 0)
        result = Py_BuildValue("y#y#", collected.at ? (const char *)collected.at : "",
                               (Py_ssize_t)(collected.count * sizeof *collected.at), (const char *)counts,
                               (Py_ssize_t)((size_t)rows * sizeof *counts));
    text_free(&text);
    recent_free(&recent);
    free(collected.at);
    free(counts);
    return result;
}

/* Append a text, part by part, to a list. */
static int normalize_into(const Vocabulary *vocabulary, View view, Text *text, PyObject *parts)
{
    Reader reader = {view.bytes, view.bytes + view.length, 0, 0};
    do {
        if (read_text(&reader, &vocabulary->normalizer, best_kernels(), text) < 0) {
            PyErr_NoMemory();
            return -1;
        }
        PyObject *part = PyUnicode_FromStringAndSize((const char *)text->bytes, (Py_ssize_t)text->cut);
        int appended = part ? PyList_Append(parts, part) : -1;
        Py_XDECREF(part);
        if (appended < 0)
            return -1;
        drop_read(text);
    } while (reader.at < reader.end);
    return 0;
}

/* Return a text as the words are looked up in it, for tests. */
static PyObject *vocabulary_normalized(PyObject *self, PyObject *given)
{
    Py_ssize_t length;
    Text text;
    PyObject *joined = NULL, *parts, *nothing;
    const char *bytes = PyUnicode_AsUTF8AndSize(given, &length);
    if (!bytes)
        return NULL;
    parts = PyList_New(0);
    nothing = PyUnicode_FromString("");
    if (text_new(&text) < 0)
        PyErr_NoMemory();
    else if (parts && nothing &&
             normalize_into(((VocabularyObject *)self)->vocabulary, (View){(const uint8_t *)bytes, (size_t)length}, &text,
                            parts) == 0)
        joined = PyUnicode_Join(nothing, parts);
    text_free(&text);
    Py_XDECREF(parts);
    Py_XDECREF(nothing);
    return joined;
}

/* ---- Precision */

/* Write the buckets of vectors whose arrays were checked. */
static void bucket_rows(const Py_buffer *vectors, const float *least, const float *steps, uint8_t *out)
{
    const Kernels *kernels = best_kernels();
    size_t rows = (size_t)vectors->shape[0], width = (size_t)vectors->shape[1];
    const float *vector = vectors->buf;
    for (size_t row = 0; row < rows; row++)
        kernels->write_buckets(vector + row * width, width, least, steps, out + row * width);
}

static PyObject *module_write_buckets(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    Py_buffer views[4];
    int held = 0, fits = 0;
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "write_buckets takes vectors, the least numbers, steps and an array.");
        return NULL;
    }
    for (int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT; held < 4; held++)
        if (PyObject_GetBuffer(arguments[held], &views[held], held == 3 ? flags | PyBUF_WRITABLE : flags) < 0)
            break;
    if (held == 4) {
        Py_ssize_t width = views[0].ndim == 2 ? views[0].shape[1] : 0;
        fits = is_floats(&views[0], 2) && is_floats(&views[1], 1) && is_floats(&views[2], 1) &&
               views[1].shape[0] == width && views[2].shape[0] == width && views[3].itemsize == 1 &&
               views[3].len == views[0].len / 4;
        if (!fits)
            PyErr_SetString(PyExc_ValueError, "The arrays have other shapes or types.");
    }
    if (fits) {
        Py_BEGIN_ALLOW_THREADS;
        bucket_rows(&views[0], views[1].buf, views[2].buf, views[3].buf);
        Py_END_ALLOW_THREADS;
    }
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    if (!fits)
        return NULL;
    Py_RETURN_NONE;
}

/* ---- The module */

/* ---- read */

/* Fill memory from an open file, and hash each part while it is in the processor's cache; returns the bytes read. */
static size_t read_whole(int file, uint8_t *memory, size_t size, Sha256 *state)
{
    size_t count = 0, hashed = 0;
    while (count < size) {
        size_t wanted = size - count < READ_BYTES ? size - count : READ_BYTES;
        long found = (long)READ(file, memory + count, wanted);
        if (found < 0 && errno == EINTR)
            continue;
        if (found <= 0)
            break;
        count += (size_t)found;
        if (state) {
            sha256_blocks(state, memory + hashed, (count - hashed) / SHA256_BLOCK);
            hashed = count - count % SHA256_BLOCK;
        }
    }
    return count;
}

/* Fill a buffer from a file: the bytes that were read, and their SHA-256, or None if it is not asked for, or if this
   processor has no instructions for it. */
static PyObject *module_read(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer memory;
    uint8_t digest[SHA256_BYTES];
    Sha256 state;
    size_t count;
    int file, hashed;
    if (!PyArg_ParseTuple(arguments, "iw*p", &file, &memory, &hashed))
        return NULL;
    hashed = hashed && sha256_is_fast();
    Py_BEGIN_ALLOW_THREADS
    if (hashed)
        sha256_start(&state);
    count = read_whole(file, memory.buf, (size_t)memory.len, hashed ? &state : NULL);
    if (hashed)
        sha256_end(&state, (const uint8_t *)memory.buf + (count - count % SHA256_BLOCK), count % SHA256_BLOCK, count, digest);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&memory);
    return hashed ? Py_BuildValue("ny#", (Py_ssize_t)count, (const char *)digest, (Py_ssize_t)SHA256_BYTES)
                  : Py_BuildValue("nO", (Py_ssize_t)count, Py_None);
}

static PyMethodDef encoder_methods[] = {
    {"encode", (PyCFunction)(void (*)(void))encoder_encode, METH_FASTCALL, NULL},
    {"embed", (PyCFunction)(void (*)(void))encoder_embed, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef vocabulary_methods[] = {
    {"token_ids", vocabulary_token_ids, METH_O, NULL},
    {"normalized", vocabulary_normalized, METH_O, NULL},
    {"of_json", vocabulary_of_json, METH_VARARGS | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef module_methods[] = {
    {"scan_vocabulary", scan_vocabulary, METH_VARARGS, NULL},
    {"read", module_read, METH_VARARGS, NULL},
    {"write_buckets", (PyCFunction)(void (*)(void))module_write_buckets, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot encoder_slots[] = {
    {Py_tp_new, encoder_make},
    {Py_tp_dealloc, encoder_end},
    {Py_tp_methods, encoder_methods},
    {0, NULL},
};

static PyType_Slot vocabulary_slots[] = {
    {Py_tp_new, vocabulary_make},
    {Py_tp_dealloc, vocabulary_end},
    {Py_tp_methods, vocabulary_methods},
    {0, NULL},
};

static PyType_Spec encoder_spec = {
    "sentence_distillery.encoder.native._core.Encoder", sizeof(EncoderObject), 0, Py_TPFLAGS_DEFAULT, encoder_slots};

static PyType_Spec vocabulary_spec = {"sentence_distillery.encoder.native._core.Vocabulary", sizeof(VocabularyObject), 0,
                                      Py_TPFLAGS_DEFAULT, vocabulary_slots};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    int added = type ? PyModule_AddObjectRef(module, name, type) : -1;
    Py_XDECREF(type);
    return added;
}

static int module_start(PyObject *module)
{
    if (add_type(module, "Vocabulary", &vocabulary_spec) < 0 || add_type(module, "Encoder", &encoder_spec) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "unicode_tables", unicode_version());
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_start}, {0, NULL}};

static PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "sentence_distillery.encoder.native._core",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
