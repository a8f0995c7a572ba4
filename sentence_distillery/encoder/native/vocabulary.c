/* The vocabulary in hash tables, and the way from normalised text to token ids.

   A word is looked up whole; one that is absent is cut by WordPiece, greedily, the longest piece first. A piece that is
   absent is told by one bit of a filter, so that the many lengths that are tried cost little. Terms such as c++ are
   searched around each sign that is the first of a term: the earliest start wins, then the longest term, and it counts
   if it stands between characters that are not \w. That is how `tokenizers` matches added tokens. */

#include "core.h"

#include <stdlib.h>
#include <string.h>

#define SHORT UINT32_MAX
#define STEP UINT64_C(0x9E3779B97F4A7C15) /* 2^64 divided by the golden ratio: multiplied, its high bits are mixed */

enum { KEY_BYTES = 8, FILTER_BITS_EACH = 16, LIMIT_BITS = 12, NO_LIMIT = 255, LIMIT_BYTES = 3, LONGEST_STRING = 512 };

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LITTLE_ENDIAN_WORDS
#endif

/* Load up to eight bytes as a number; eight may be read. */
static uint64_t load(const uint8_t *at, size_t length)
{
    uint64_t key = 0;
#ifdef LITTLE_ENDIAN_WORDS
    memcpy(&key, at, KEY_BYTES);
    return length < KEY_BYTES ? key & ((UINT64_C(1) << length * 8) - 1) : key;
#else
    memcpy(&key, at, length);
    return key;
#endif
}

static unsigned highest_bit(uint64_t bits)
{
#ifdef __GNUC__
    return 63 - (unsigned)__builtin_clzll(bits);
#else
    unsigned place = 63;
    while (!(bits >> place & 1))
        place--;
    return place;
#endif
}

/* The hash of up to eight bytes; `next` appends a byte to a longer one. */
static uint64_t hash_of(uint64_t key)
{
    return key * STEP;
}

static uint64_t next_hash(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * STEP;
}

static uint64_t key_of(const uint8_t *at, size_t length)
{
    if (length <= KEY_BYTES)
        return load(at, length);
    uint64_t hash = length;
    size_t start = 0;
    for (; start + KEY_BYTES <= length; start += KEY_BYTES) {
        hash = (hash ^ load(at + start, KEY_BYTES)) * STEP;
        hash ^= hash >> 32;
    }
    return (hash ^ load(at + start, length - start)) * STEP;
}

static uint8_t *limit_of(const Map *map, const uint8_t *at)
{
    return &map->limits[load(at, LIMIT_BYTES) * STEP >> (64 - LIMIT_BITS)];
}

/* Make room for `count` strings of `bytes` bytes in all, half of the slots free. */
static int map_new(Map *map, size_t count, size_t bytes)
{
    size_t slots = 16, bits = 1024;
    for (map->slot_shift = 60; slots < count * 2; map->slot_shift--)
        slots *= 2;
    for (map->filter_shift = 54; bits < count * FILTER_BITS_EACH; map->filter_shift--)
        bits *= 2;
    map->mask = slots - 1;
    map->pool_room = bytes + count * sizeof(uint32_t) + KEY_BYTES;
    map->slots = malloc(slots * sizeof *map->slots);
    map->filter = calloc(bits / 64, sizeof *map->filter);
    map->limits = calloc((size_t)1 << LIMIT_BITS, sizeof *map->limits);
    map->pool = malloc(map->pool_room);
    if (!map->slots || !map->limits || !map->filter || !map->pool || map->pool_room >= SHORT)
        return -1;
    for (size_t i = 0; i < slots; i++)
        map->slots[i].id = -1;
    return 0;
}

static void map_free(Map *map)
{
    free(map->slots);
    free(map->pool);
    free(map->filter);
    free(map->limits);
}

static int same(const Map *map, const Slot *slot, uint64_t key, const uint8_t *at, size_t length)
{
    if (slot->key != key || (slot->place == SHORT) != (length <= KEY_BYTES))
        return 0;
    if (length <= KEY_BYTES)
        return 1; /* no string has a NUL, so the key has its length, too */
    uint32_t found;
    memcpy(&found, map->pool + slot->place, sizeof found);
    return found == length && !memcmp(map->pool + slot->place + sizeof found, at, length);
}

static int32_t map_find(const Map *map, uint64_t key, const uint8_t *at, size_t length)
{
    for (size_t i = (size_t)(hash_of(key) >> map->slot_shift);; i = (i + 1) & map->mask) {
        const Slot *slot = &map->slots[i];
        if (slot->id < 0 || same(map, slot, key, at, length))
            return slot->id;
    }
}

static uint64_t in_filter(const Map *map, uint64_t hash)
{
    uint64_t place = hash >> map->filter_shift;
    return map->filter[place >> 6] >> (place & 63) & 1;
}

/* Note the hash of a string for the filter, and its length. */
static void note(Map *map, const uint8_t *at, size_t length)
{
    uint64_t hash = hash_of(load(at, length < KEY_BYTES ? length : KEY_BYTES));
    for (size_t k = KEY_BYTES; k < length; k++)
        hash = next_hash(hash, at[k]);
    map->filter[hash >> map->filter_shift >> 6] |= (uint64_t)1 << (hash >> map->filter_shift & 63);
    if (length > map->longest)
        map->longest = length;
    if (length >= LIMIT_BYTES && length > *limit_of(map, at))
        *limit_of(map, at) = (uint8_t)(length < NO_LIMIT ? length : NO_LIMIT);
}

/* Add a string; the first id of a string stays. Returns -1 if it is too long, or there is no room. */
static int map_add(Map *map, const uint8_t *string, size_t length, int32_t id)
{
    uint8_t at[LONGEST_STRING + KEY_BYTES];
    if (length == 0 || memchr(string, 0, length)) /* no text has a NUL left */
        return 0;
    if (length > LONGEST_STRING)
        return -1;
    memcpy(at, string, length);
    memset(at + length, 0, KEY_BYTES); /* as far as a number is loaded */
    uint64_t key = key_of(at, length);
    if (map_find(map, key, at, length) >= 0)
        return 0;
    if ((map->count + 1) * 2 > map->mask + 1)
        return -1;
    uint32_t place = SHORT, size = (uint32_t)length;
    if (length > KEY_BYTES) {
        if (map->pool_used + sizeof size + length > map->pool_room)
            return -1;
        place = (uint32_t)map->pool_used;
        memcpy(map->pool + place, &size, sizeof size);
        memcpy(map->pool + place + sizeof size, at, length);
        map->pool_used += sizeof size + length;
    }
    size_t i = (size_t)(hash_of(key) >> map->slot_shift);
    while (map->slots[i].id >= 0)
        i = (i + 1) & map->mask;
    map->slots[i] = (Slot){key, id, place};
    map->count++;
    note(map, at, length);
    return 0;
}

int is_piece(const uint8_t *token, size_t length)
{
    return length > 2 && token[0] == '#' && token[1] == '#';
}

/* Make room: tables no larger than they need be stay in the processor's cache. */
int vocabulary_new(Vocabulary *vocabulary, size_t words, size_t pieces, size_t terms, size_t bytes)
{
    return map_new(&vocabulary->words, words, bytes) || map_new(&vocabulary->pieces, pieces, bytes) ||
                   map_new(&vocabulary->terms, terms, bytes) || map_new(&vocabulary->beginnings, terms, bytes)
               ? -1
               : 0;
}

void vocabulary_free(Vocabulary *vocabulary)
{
    map_free(&vocabulary->words);
    map_free(&vocabulary->pieces);
    map_free(&vocabulary->terms);
    map_free(&vocabulary->beginnings);
    free(vocabulary->normalizer.become);
}

/* Add a token that words are cut into, a whole word or a continuation. */
int vocabulary_add(Vocabulary *vocabulary, const uint8_t *token, size_t length, int32_t id)
{
    if (is_piece(token, length))
        return map_add(&vocabulary->pieces, token + 2, length - 2, id);
    return map_add(&vocabulary->words, token, length, id);
}

static int is_sign(uint8_t byte)
{
    return byte > ' ' && byte < 127 && !((byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z'));
}

/* Allow a byte beside the first sign of a term; NULL: the term has none there, so any may follow. */
static void allow(uint64_t *allowed, const uint8_t *byte)
{
    if (byte)
        allowed[*byte / 64] |= UINT64_C(1) << *byte % 64;
    else
        memset(allowed, 255, BYTE_SET * sizeof *allowed);
}

/* Add a term: a single character of the emoji, or one with a sign of ASCII. Returns -1 for any other. */
int vocabulary_add_term(Vocabulary *vocabulary, const uint8_t *term, size_t length, int32_t id)
{
    size_t sign = 0, first;
    if (length == 0)
        return -1;
    uint32_t code = decode_utf8(term, term + length, &first);
    if (first == length && emoji_add(&vocabulary->normalizer.emoji, code) == 0)
        return map_add(&vocabulary->terms, term, length, id);
    while (sign < length && !is_sign(term[sign]))
        sign++;
    if (sign == length)
        return -1;
    allow(vocabulary->before[term[sign]], sign ? term + sign - 1 : NULL);
    allow(vocabulary->after[term[sign]], sign + 1 < length ? term + sign + 1 : NULL);
    return map_add(&vocabulary->beginnings, term, sign + 1, 0) || map_add(&vocabulary->terms, term, length, id) ? -1 : 0;
}

static int within_character(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Mark the lengths from `start` + 1 on, up to 64 of them, of which a string may be in the map; `hash` goes on. */
static uint64_t mark_lengths(const Map *map, const uint8_t *at, size_t start, size_t most, uint64_t *hash)
{
    uint64_t marked = 0;
    size_t end = most - start < 64 ? most - start : 64, k = 0;
    if (!start) { /* these hashes do not wait for one another */
        for (; k < end && k < KEY_BYTES; k++)
            if (!within_character(at[k + 1]))
                marked |= in_filter(map, hash_of(load(at, k + 1))) << k; /* no branch: none could be foreseen */
        *hash = hash_of(load(at, KEY_BYTES));
    }
    for (; k < end; k++) {
        *hash = next_hash(*hash, at[start + k]);
        if (!within_character(at[start + k + 1]))
            marked |= in_filter(map, *hash) << k;
    }
    return marked;
}

/* Find the longest string of a map with which a text begins; 0 if there is none. The filter is asked for up to 64
   lengths at a time, and then the map for those that may be there, the longest first. */
static size_t longest_match(const Map *map, const uint8_t *at, size_t left, int32_t *id)
{
    uint64_t hash = 0;
    size_t most = *limit_of(map, at), best = 0;
    if (most < LIMIT_BYTES) /* shorter strings are not in the table of limits */
        most = LIMIT_BYTES - 1;
    else if (most == NO_LIMIT)
        most = map->longest;
    if (most > left)
        most = left;
    for (size_t start = 0; start < most; start += 64) {
        uint64_t marked = mark_lengths(map, at, start, most, &hash);
        while (marked) {
            unsigned k = highest_bit(marked);
            size_t length = start + k + 1;
            int32_t found = map_find(map, key_of(at, length), at, length);
            if (found >= 0) {
                *id = found;
                best = length;
                break;
            }
            marked ^= UINT64_C(1) << k;
        }
    }
    return best;
}

/* Cut a word into pieces; 0 if it is unknown. */
static size_t cut(const Vocabulary *vocabulary, const uint8_t *word, size_t length, int32_t *ids)
{
    size_t count = 0;
    for (size_t start = 0; start < length; count++) {
        size_t found = start ? longest_match(&vocabulary->pieces, word + start, length - start, &ids[count])
                             : longest_match(&vocabulary->words, word, length - 1, &ids[count]); /* not all of it */
        if (!found)
            return 0;
        start += found;
    }
    return count;
}

static size_t characters(const uint8_t *at, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += (at[i] & 0xC0) != 0x80;
    return count;
}

int32_t find_word(const Vocabulary *vocabulary, const uint8_t *word, size_t length)
{
    return map_find(&vocabulary->words, key_of(word, length), word, length);
}

size_t look_up_word(const Vocabulary *vocabulary, const uint8_t *word, size_t length, int32_t *ids)
{
    size_t count = 0;
    if (length <= vocabulary->longest_word || characters(word, length) <= vocabulary->longest_word) {
        if ((ids[0] = find_word(vocabulary, word, length)) >= 0)
            return 1;
        count = cut(vocabulary, word, length, ids);
    }
    if (count)
        return count;
    ids[0] = UNKNOWN;
    return 1;
}

int32_t look_up_emoji(const Vocabulary *vocabulary, const uint8_t *emoji, size_t length)
{
    return map_find(&vocabulary->terms, key_of(emoji, length), emoji, length);
}

int find_term(const Vocabulary *vocabulary, const Text *text, size_t first, size_t sign, Match *match)
{
    const Map *terms = &vocabulary->terms, *beginnings = &vocabulary->beginnings;
    if (sign + 1 - first > beginnings->longest)
        first = sign + 1 - beginnings->longest;
    for (size_t start = first; start <= sign; start++) {
        const uint8_t *at = text->bytes + start;
        size_t begun = sign + 1 - start;
        if (begun <= KEY_BYTES && !in_filter(beginnings, hash_of(load(at, begun))))
            continue; /* most are told by this alone */
        if (map_find(beginnings, key_of(at, begun), at, begun) < 0)
            continue;
        size_t length = longest_match(terms, at, text->cut - start, &match->id);
        if (length > sign - start) { /* a shorter one has another first sign, if it has any */
            match->start = start;
            match->end = start + length;
            return 1;
        }
    }
    return 0;
}
