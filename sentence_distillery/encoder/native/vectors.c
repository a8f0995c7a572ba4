/* Token ids to a vector: sums of rows, the lexical channel, and the length.

   Rows of int8 are summed in 16 bits, EXACT_TOKENS at a time, and the parts of a longer text in 64: exact. Rows of
   floats are added one after the other in float32. */

#include "core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORTEST 1e-18f /* length of a vector whose squares float32 has in full */

static size_t size_of(int type)
{
    return type == TYPE_INT8 ? 1 : type == TYPE_FLOAT16 ? 2 : 4;
}

int sums_new(Sums *sums, const Table *table, const Channel *channel, const Kernels *kernels)
{
    size_t dimension = table->dimension + (channel ? channel->dimension : 0);
    *sums = (Sums){.table = table, .channel = channel, .kernels = kernels};
    sums->vector = malloc((dimension + 16) * sizeof *sums->vector);
    sums->part = malloc((dimension + 16) * sizeof *sums->part);
    sums->whole = malloc((dimension + 16) * sizeof *sums->whole);
    if (!sums->vector || !sums->part || !sums->whole)
        return -1;
    if (channel) {
        sums->counts = calloc(channel->stems + 1, sizeof *sums->counts);
        sums->stems = malloc((channel->stems + 1) * sizeof *sums->stems);
        if (!sums->counts || !sums->stems)
            return -1;
    }
    return 0;
}

void sums_free(Sums *sums)
{
    free(sums->vector);
    free(sums->part);
    free(sums->whole);
    free(sums->counts);
    free(sums->stems);
}

/* Begin a text, of whose vector the first `width` numbers are wanted. */
void sums_start(Sums *sums, size_t width)
{
    sums->width = width;
    sums->summed = width < sums->table->dimension ? width : sums->table->dimension;
    sums->known = 0;
    sums->spilled = 0;
    if (sums->table->type != TYPE_INT8)
        memset(sums->vector, 0, sums->summed * sizeof *sums->vector);
}

/* Have the rows of ids asked for as soon as these are known. */
void sums_ask(const Sums *sums, size_t width, Ids *ids)
{
    const Table *table = sums->table;
    ids->rows = table->rows;
    ids->row = table->dimension * size_of(table->type);
    ids->asked = (width < table->dimension ? width : table->dimension) * size_of(table->type);
}

static int with_channel(const Sums *sums)
{
    return sums->channel && sums->width > sums->table->dimension;
}

static void count_stems(Sums *sums, const int32_t *ids, size_t count)
{
    const Channel *channel = sums->channel;
    for (size_t i = 0; i < count; i++) {
        uint32_t stem = (uint32_t)channel->numbers[ids[i]];
        if (sums->counts[stem]++ == 0)
            sums->stems[sums->listed++] = stem;
#ifdef __GNUC__
        __builtin_prefetch(&channel->idf[stem]);
        __builtin_prefetch(&channel->places[stem * PLACES]);
#endif
    }
}

/* Leave out unknown tokens, whose row is zero. */
static size_t keep_known(Ids *ids)
{
    size_t known = 0;
    for (size_t i = 0; i < ids->count; i++) {
        ids->at[known] = ids->at[i];
        known += ids->at[i] != UNKNOWN;
    }
    return known;
}

static void add_rows(Sums *sums, const int32_t *ids, size_t count)
{
    const Table *table = sums->table;
    const Kernels *kernels = sums->kernels;
    if (table->type == TYPE_FLOAT32)
        kernels->add_floats(table->rows, table->dimension, sums->summed, ids, count, sums->vector);
    else if (table->type == TYPE_FLOAT16)
        kernels->add_halves(table->rows, table->dimension, sums->summed, ids, count, sums->vector);
    else
        kernels->sum_bytes(table->rows, table->dimension, sums->summed, ids, count, sums->part);
}

/* Take the ids of a text, which may have more. */
static void take(Sums *sums, Ids *ids)
{
    size_t known = sums->every ? ids->count : keep_known(ids);
    add_rows(sums, ids->at, known);
    if (with_channel(sums))
        count_stems(sums, ids->at, known);
    sums->known += known;
    ids->count = 0;
}

/* Take a full buffer of ids. */
int sums_flush(Ids *ids, void *into)
{
    Sums *sums = into;
    take(sums, ids);
    if (sums->table->type != TYPE_INT8)
        return 0;
    if (!sums->spilled)
        memset(sums->whole, 0, sums->summed * sizeof *sums->whole);
    sums->spilled = 1;
    for (size_t k = 0; k < sums->summed; k++)
        sums->whole[k] += sums->part[k];
    return 0;
}

static int is_ordinary(float length)
{
    return length > SHORTEST && length < INFINITY;
}

/* Squares that float32 lacks are avoided. */
void write_unit(const Kernels *kernels, const float *vector, size_t width, float length, float *out)
{
    float largest = 0;
    if (is_ordinary(length)) {
        kernels->scale(vector, width, 1 / length, out);
        return;
    }
    int finite = 1;
    for (size_t k = 0; k < width; k++) {
        finite &= isfinite(vector[k]) != 0;
        largest = fabsf(vector[k]) > largest ? fabsf(vector[k]) : largest;
    }
    for (size_t k = 0; k < width; k++)
        out[k] = !finite ? NAN : largest > 0 ? vector[k] / largest : 0;
    length = kernels->length(out, width);
    for (size_t k = 0; k < width && length > 0; k++)
        out[k] /= length;
}

/* Add up the channel after the sums: each stem adds its weight at its places. */
static float *add_stems(Sums *sums)
{
    const Channel *channel = sums->channel;
    float *part = sums->vector + sums->summed;
    memset(part, 0, channel->dimension * sizeof *part);
    for (size_t i = 0; i < sums->listed; i++) {
        size_t stem = sums->stems[i];
        uint32_t count = sums->counts[stem];
        float weight = (float)(channel->idf[stem] * (1 + (count > 1 ? log(count) : 0.0)));
        float signed_weight[] = {weight, -weight};
        const uint32_t *places = channel->places + stem * PLACES;
        for (size_t k = 0; k < PLACES; k++)
            part[places[k] >> 1] += signed_weight[places[k] & 1];
        sums->counts[stem] = 0;
    }
    sums->listed = 0;
    return part;
}

/* Return the weight that the channel has in a text of so many known tokens. */
static float weight_of(const Channel *channel, size_t known)
{
    float share = known <= SHORT_TEXT  ? 0
                  : known >= LONG_TEXT ? 1
                                       : (float)(known - SHORT_TEXT) / (LONG_TEXT - SHORT_TEXT);
    return channel->short_weight + (channel->long_weight - channel->short_weight) * share;
}

/* Write sums and channel at unit length: the channel has `weight` times the length of the sums before. */
static void write_with_channel(const Sums *sums, float length, float *part, int form, float *out)
{
    const Kernels *kernels = sums->kernels;
    size_t width = sums->width, own = sums->summed, dimension = sums->channel->dimension;
    float weight = weight_of(sums->channel, sums->known);
    float part_length = kernels->length(part, dimension), whole = length * sqrtf(1 + weight * weight);
    if (form == AS_UNIT && width == own + dimension && is_ordinary(whole) && is_ordinary(length) &&
        is_ordinary(part_length)) {
        kernels->scale(sums->vector, own, 1 / whole, out);
        kernels->scale(part, dimension, weight * length / (whole * part_length), out + own);
        return;
    }
    write_unit(kernels, part, dimension, part_length, part);
    kernels->scale(part, dimension, weight * length, part);
    if (form == AS_UNIT)
        write_unit(kernels, sums->vector, width, kernels->length(sums->vector, width), out);
    else
        memcpy(out, sums->vector, width * sizeof *out);
}

/* Write the vector of a text: of unit length, as the mean of its known tokens, or as their sum. */
void sums_finish(Sums *sums, Ids *ids, int form, float *out)
{
    const Kernels *kernels = sums->kernels;
    float length = -1; /* of the sums, if it is known */
    take(sums, ids);
    if (sums->table->type == TYPE_INT8 && !sums->spilled)
        length = kernels->widen(sums->part, sums->summed, sums->vector);
    else if (sums->spilled)
        for (size_t k = 0; k < sums->summed; k++)
            sums->vector[k] = (float)(sums->whole[k] + sums->part[k]);
    if (form == AS_MEAN) {
        float factor = sums->table->unit / (float)(sums->known ? sums->known : 1);
        kernels->scale(sums->vector, sums->summed, factor, sums->vector);
        length = -1;
    }
    if (length < 0 && (form == AS_UNIT || with_channel(sums)))
        length = kernels->length(sums->vector, sums->summed);
    if (with_channel(sums))
        write_with_channel(sums, length, add_stems(sums), form, out);
    else if (form == AS_UNIT)
        write_unit(kernels, sums->vector, sums->width, length, out);
    else
        memcpy(out, sums->vector, sums->width * sizeof *out);
}
