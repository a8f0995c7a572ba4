/* What JavaScript sees of the core: one encoder in each instance of the module.

   All addresses are of the instance's memory. JavaScript takes a block by `take`, writes to it and names it; what is
   loaded is checked here, so that no id or place leads out of a table. Functions return 0, or a number below 0. */

#include "core.h"

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name)))

enum { RECENT_BITS = 13 };
enum { NO_MEMORY = -1, BAD_TOKEN = -2, BAD_TERM = -3, BAD_TABLE = -4, BAD_CHANNEL = -5 };

static Vocabulary vocabulary;
static Table table;
static Channel channel;
static int has_channel;
static Text text;
static Recent recent;
static Ids ids;
static Sums sums;

/* Take a block of memory; 0 without. */
EXPORT(take) void *take_block(size_t size)
{
    return malloc(size);
}

/* Load the vocabulary: `ends` has the end of each token in `bytes`, `terms` the ids of those that are terms. */
EXPORT(load_vocabulary)
int load_vocabulary(const uint8_t *bytes, const uint32_t *ends, size_t words, const uint32_t *terms, size_t count,
                    size_t longest, int normalizer)
{
    if (words < 1 || longest < 1 || longest > LONGEST_WORD)
        return BAD_TABLE;
    vocabulary.longest_word = longest;
    vocabulary.normalizer.kind = normalizer ? NORMALIZER_BERT : NORMALIZER_FULL;
    vocabulary.size = (int32_t)words;
    size_t pieces = 0;
    for (size_t id = 0; id < words; id++) {
        size_t start = id ? ends[id - 1] : 0;
        pieces += (size_t)is_piece(bytes + start, ends[id] - start);
    }
    if (vocabulary_new(&vocabulary, words - pieces, pieces, count, ends[words - 1]) < 0)
        return NO_MEMORY;
    for (size_t id = 0; id < words; id++) {
        size_t start = id ? ends[id - 1] : 0;
        if (vocabulary_add(&vocabulary, bytes + start, ends[id] - start, (int32_t)id) < 0)
            return BAD_TOKEN;
    }
    for (size_t i = 0; i < count; i++) {
        size_t id = terms[i];
        if (id >= words)
            return BAD_TERM;
        size_t start = id ? ends[id - 1] : 0;
        if (vocabulary_add_term(&vocabulary, bytes + start, ends[id] - start, (int32_t)id) < 0)
            return BAD_TERM;
    }
    return normalizer_finish(&vocabulary.normalizer) < 0 ? NO_MEMORY : 0;
}

/* Load the table: `type` is a letter of core.h. */
EXPORT(load_table) int load_table(const void *rows, size_t count, size_t dimension, int type, float unit)
{
    if (count < (size_t)vocabulary.size || dimension < 1 || dimension > 1 << 16)
        return BAD_TABLE;
    table = (Table){rows, count, dimension, type, unit};
    return 0;
}

/* Write the places of stems with these hashes, (stems, PLACES), as encoder/lexical.py computes them: SplitMix64. */
EXPORT(place_stems) void place_stems(const int32_t *hashes, size_t stems, size_t dimension, uint32_t *places)
{
    uint32_t block = (uint32_t)(dimension / PLACES);
    for (size_t i = 0; i < stems * PLACES; i++) {
        uint64_t mixed = (uint64_t)((int64_t)hashes[i / PLACES] * PLACES + (int64_t)(i % PLACES));
        mixed *= UINT64_C(0x9E3779B97F4A7C15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
        mixed ^= mixed >> 31;
        uint32_t place = (uint32_t)((mixed >> 1) % block) + block * (uint32_t)(i % PLACES);
        places[i] = place * 2 + (uint32_t)(mixed & 1 ? 0 : 1);
    }
}

/* Load the lexical channel, as core.h describes it, for tokens up to the vocabulary's size. */
EXPORT(load_channel)
int load_channel(int32_t *numbers, float *idf, uint32_t *places, size_t stems, size_t dimension, float short_weight,
                 float long_weight)
{
    if (dimension < 1 || dimension > 1 << 16)
        return BAD_CHANNEL;
    for (int32_t i = 0; i < vocabulary.size; i++)
        if (numbers[i] < 0 || (size_t)numbers[i] >= stems)
            return BAD_CHANNEL;
    for (size_t i = 0; i < stems * PLACES; i++)
        if (places[i] >> 1 >= dimension)
            return BAD_CHANNEL;
    channel = (Channel){numbers, idf, places, stems, dimension, short_weight, long_weight};
    has_channel = 1;
    return 0;
}

/* Make what a text needs on its way. */
EXPORT(start) int start(void)
{
    ids.flush = sums_flush;
    ids.into = &sums;
    if (text_new(&text) < 0 || recent_new(&recent, RECENT_BITS) < 0 ||
        sums_new(&sums, &table, has_channel ? &channel : NULL, best_kernels()) < 0)
        return NO_MEMORY;
    return 0;
}

/* Look a text up, to the end. Returns 0, 1 for one whose marks are not sorted, or -1. */
static int look_up(const uint8_t *bytes, size_t length, Ids *into)
{
    Reader reader = {bytes, bytes + length, 0, 0};
    text.used = text.cut = 0;
    into->count = 0;
    do {
        if (read_text(&reader, &vocabulary.normalizer, best_kernels(), &text) < 0 ||
            look_up_text(&vocabulary, &recent, &text, into) < 0)
            return NO_MEMORY;
        drop_read(&text);
    } while (reader.at < reader.end);
    return reader.strange;
}

/* Encode texts: `ends` has the end of each in `bytes`, `out` is (count, width). `strange` gets 1 for a text whose marks
   are not sorted; its vector counts if JavaScript has sorted them. */
EXPORT(encode)
int encode(const uint8_t *bytes, const uint32_t *ends, size_t count, size_t width, int form, float *out,
           uint8_t *strange)
{
    size_t start = 0;
    for (size_t i = 0; i < count; i++) {
        sums_start(&sums, width);
        int found = look_up(bytes + start, ends[i] - start, &ids);
        if (found < 0)
            return found;
        sums_finish(&sums, &ids, form, out + i * width);
        strange[i] = (uint8_t)found;
        start = ends[i];
    }
    return 0;
}

/* Keep the first ids of a text: as many as there is room for. */
typedef struct {
    int32_t *at;
    size_t count, room;
} Kept;

static int keep(Ids *found, void *into)
{
    Kept *kept = into;
    size_t left = kept->room - kept->count, count = found->count < left ? found->count : left;
    memcpy(kept->at + kept->count, found->at, count * sizeof *found->at);
    kept->count += count;
    found->count = 0;
    return 0;
}

/* Write the ids of a text's tokens, at most `room`, and return their number. */
EXPORT(token_ids) int token_ids(const uint8_t *bytes, size_t length, int32_t *out, size_t room)
{
    static Ids own;
    Kept kept = {out, 0, room};
    own.flush = keep;
    own.into = &kept;
    if (look_up(bytes, length, &own) < 0)
        return NO_MEMORY;
    keep(&own, &kept);
    return (int)kept.count;
}
