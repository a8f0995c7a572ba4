/* The way from normalised text to token ids.

   Words are what lies between separators. A few at a time are made keys of, then looked up among the words of the
   last texts, and, if they are not there, in the vocabulary. Terms such as c++ are searched around each sign that is the
   first of a term, if the bytes beside it are those of one: the earliest start wins, then the longest term, and it counts
   if it stands between characters that are not \w. That is how `tokenizers` matches added tokens. */

#include "core.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define STEP UINT64_C(0x9E3779B97F4A7C15) /* 2^64 divided by the golden ratio: multiplied, its high bits are mixed */
#define STEP_2 UINT64_C(0xD6E8FEB86659FD93)

enum { BLOCK = 64, FULL = 32, QUEUE = FULL + BLOCK + 2, OTHER_KINDS = 6, LONG_BITS = 10 };

/* A word that waits to be looked up. A key of 0 stands for a term, whose id is `start`, or for a long word. */
typedef struct {
    uint64_t key[2];
    RecentWord *slot;
    size_t start;
    uint32_t length; /* 0: a term */
} Word;

/* What is known of a text on its way. */
typedef struct {
    const Vocabulary *vocabulary;
    Recent *recent;
    const Text *text;
    Ids *ids;
    size_t word;     /* where the next word begins */
    size_t searched; /* where the next term may begin */
    size_t count;
    Word queue[QUEUE];
} Split;

int recent_new(Recent *recent, unsigned bits)
{
    recent->shift = 64 - bits;
    recent->slots = calloc((size_t)1 << bits, sizeof *recent->slots);
    recent->longer = calloc((size_t)1 << LONG_BITS, sizeof *recent->longer);
    return recent->slots && recent->longer ? 0 : -1;
}

void recent_free(Recent *recent)
{
    free(recent->slots);
    free(recent->longer);
}

static unsigned lowest_bit(uint64_t bits)
{
#ifdef __GNUC__
    return (unsigned)__builtin_ctzll(bits);
#else
    unsigned place = 0;
    while (!(bits >> place & 1))
        place++;
    return place;
#endif
}

/* Mark the bytes of a block that have one of some low bits. */
static uint64_t marked(const uint8_t *kinds, uint8_t bits)
{
    uint64_t found = 0;
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8((char)bits), zero = _mm_setzero_si128();
    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i part = _mm_and_si128(_mm_loadu_si128((const __m128i *)(kinds + i)), wanted);
        found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpgt_epi8(part, zero)) << i;
    }
#else
    for (unsigned i = 0; i < BLOCK; i++)
        found |= (uint64_t)((kinds[i] & bits) != 0) << i;
#endif
    return found;
}

static int add_ids(Ids *ids, const int32_t *added, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (ids->count >= EXACT_TOKENS && ids->flush(ids, ids->into) < 0)
            return -1;
        ids->at[ids->count++] = added[i];
    }
    return 0;
}

static int holds(const RecentWord *slot, const uint64_t *key)
{
    return ((slot->key[0] ^ key[0]) | (slot->key[1] ^ key[1])) == 0;
}

/* Remember a short word of few pieces. */
static void remember(const Word *word, const int32_t *ids, size_t count)
{
    memcpy(word->slot->key, word->key, sizeof word->key);
    for (size_t i = 0; i < RECENT_IDS; i++)
        word->slot->ids[i] = i < count ? ids[i] : -1;
}

/* Look up a word that is long, or absent as a whole, and remember it. */
static int look_up_longer(Split *split, const Word *word)
{
    int32_t ids[LONGEST_WORD * 4 + 1]; /* a character has up to four bytes */
    uint64_t key[LONG_BYTES / 8] = {0}, hash = 0;
    const uint8_t *at = split->text->bytes + word->start;
    if (word->length > LONG_BYTES)
        return add_ids(split->ids, ids, look_up_word(split->vocabulary, at, word->length, ids));
    memcpy(key, at, word->length);
    for (size_t i = 0; i < LONG_BYTES / 8; i++)
        hash = (hash ^ key[i]) * STEP ^ hash >> 32;
    LongWord *slot = &split->recent->longer[hash >> (64 - LONG_BITS)];
    if (!memcmp(slot->key, key, sizeof key))
        return add_ids(split->ids, slot->ids, slot->count);
    size_t count = look_up_word(split->vocabulary, at, word->length, ids);
    if (word->key[0] && count <= RECENT_IDS) {
        remember(word, ids, count);
    } else if (count <= LONG_IDS) {
        memcpy(slot->key, key, sizeof key);
        memcpy(slot->ids, ids, count * sizeof *ids);
        slot->count = (uint32_t)count;
    }
    return add_ids(split->ids, ids, count);
}

/* Look up what is not among the last words: a word, or a term, whose id is known. */
static int look_up(Split *split, const Word *word)
{
    int32_t id = (int32_t)word->start;
    if (word->length) {
        if (!word->key[0] ||
            (id = find_word(split->vocabulary, split->text->bytes + word->start, word->length)) < 0)
            return look_up_longer(split, word);
        remember(word, &id, 1);
    }
    return add_ids(split->ids, &id, 1);
}

/* Have the rows of ids asked for. */
static void ask(const Ids *ids, size_t first)
{
#ifdef __GNUC__
    for (size_t i = first; i < ids->count; i++)
        for (size_t byte = 0; byte < ids->asked; byte += 64)
            __builtin_prefetch(ids->rows + (size_t)ids->at[i] * ids->row + byte);
#else
    (void)ids, (void)first;
#endif
}

/* Look up the words that wait. */
static int resolve(Split *split)
{
    Ids *ids = split->ids;
    size_t first = ids->count;
    for (size_t i = 0; i < split->count; i++) {
        const Word *word = &split->queue[i];
        const RecentWord *recent = word->slot;
        if (!holds(recent, word->key) || !word->key[0]) {
            if (look_up(split, word) < 0)
                return -1;
            continue;
        }
        if (ids->count > EXACT_TOKENS - RECENT_IDS && ids->flush(ids, ids->into) < 0)
            return -1;
        memcpy(ids->at + ids->count, recent->ids, sizeof recent->ids);
        ids->count += 1u + (recent->ids[1] >= 0) + (recent->ids[2] >= 0) + (recent->ids[3] >= 0);
    }
    split->count = 0;
    ask(ids, first < ids->count ? first : 0); /* less than before, if they were flushed */
    return 0;
}

/* Make a key of a word, or of nothing: its bytes, or 0 for a long one. */
static inline void set_word(const Split *split, Word *word, size_t start, size_t end)
{
    static const uint8_t ONES[2 * RECENT_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                   255, 255, 255, 255, 255, 255, 255, 255};
    size_t length = end - start, most = length < RECENT_BYTES ? length : RECENT_BYTES;
    uint64_t key[2], mask[2];
    memcpy(key, split->text->bytes + start, sizeof key);
    memcpy(mask, ONES + RECENT_BYTES - most, sizeof mask);
    key[0] &= length > RECENT_BYTES ? 0 : mask[0];
    key[1] &= mask[1];
    RecentWord *slot = split->recent->slots + ((key[0] ^ key[1] * STEP_2) * STEP >> split->recent->shift);
    word->key[0] = key[0];
    word->key[1] = key[1];
    word->slot = slot;
    word->start = start;
    word->length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX; /* unknown in any case */
#ifdef __GNUC__
    __builtin_prefetch(slot);
#endif
}

static int allows(const uint64_t *allowed, uint8_t byte)
{
    return allowed[byte / 64] >> byte % 64 & 1;
}

/* Tell whether a separator may be an emoji or the first sign of a term. */
static int is_special(const Vocabulary *vocabulary, const Text *text, size_t place)
{
    uint8_t byte = text->bytes[place];
    if (byte >= 128)
        return (text->kinds[place] & KIND_EMOJI_W) != 0;
    return allows(vocabulary->before[byte], place ? text->bytes[place - 1] : ' ') &
           allows(vocabulary->after[byte], text->bytes[place + 1]);
}

/* Tell whether a match stands between characters that are not \w; a cut comes after a blank. */
static int stands_alone(const Text *text, const Match *match)
{
    int before = match->start == 0 || text->kinds[match->start - 1] & NO_LETTER;
    return before && (match->end == text->cut || text->kinds[match->end] & NO_LETTER);
}

/* Look for a term at a separator: an emoji, or one whose first sign it is and that stands alone. */
static int term_at(Split *split, size_t place, Match *match)
{
    const Text *text = split->text;
    if (text->bytes[place] >= 128) {
        size_t length;
        decode_utf8(text->bytes + place, text->bytes + text->cut, &length);
        *match = (Match){place, place + length, look_up_emoji(split->vocabulary, text->bytes + place, length)};
        return 1;
    }
    size_t first = split->word > split->searched ? split->word : split->searched;
    if (first > place || !find_term(split->vocabulary, text, first, place, match))
        return 0;
    split->searched = match->end;
    return stands_alone(text, match);
}

/* Have a term wait if there is one at a separator, and the word before it. */
static int add_term(Split *split, size_t place)
{
    Match match;
    if (place >= split->text->cut || !term_at(split, place, &match))
        return 0;
    if (match.start > split->word)
        set_word(split, &split->queue[split->count++], split->word, match.start);
    split->queue[split->count++] = (Word){.slot = split->recent->slots, .start = (size_t)match.id};
    split->word = match.end;
    return 1;
}

/* Leave out the bits before a place of a block. */
static uint64_t bits_from(uint64_t bits, size_t block, size_t place)
{
    return place <= block ? bits : place - block < BLOCK ? bits & (UINT64_MAX << (place - block)) : 0;
}

/* Split a block at its separators. */
static int split_block(Split *split, size_t block)
{
    const Text *text = split->text;
    uint64_t separators = bits_from(marked(text->kinds + block, SEPARATOR), block, split->word), special = 0;
    size_t start = split->word, count = split->count;
    for (uint64_t signs = marked(text->kinds + block, OTHER_KINDS); signs; signs &= signs - 1) {
        unsigned k = lowest_bit(signs);
        special |= (uint64_t)is_special(split->vocabulary, text, block + k) << k;
    }
    if (text->cut - block < BLOCK - 1) /* a separator at the cut is the last one */
        separators &= (UINT64_C(2) << (text->cut - block)) - 1;
    while (separators) {
        unsigned k = lowest_bit(separators);
        size_t place = block + k;
        if (special >> k & 1) {
            split->word = start;
            split->count = count;
            int found = add_term(split, place);
            count = split->count;
            if (found) {
                start = split->word;
                separators = bits_from(separators, block, start);
                continue;
            }
        }
        set_word(split, &split->queue[count], start, place);
        count += place > start;
        start = place + 1;
        separators &= separators - 1;
    }
    split->word = start;
    split->count = count;
    return count < FULL ? 0 : resolve(split);
}

int look_up_text(const Vocabulary *vocabulary, Recent *recent, const Text *text, Ids *ids)
{
    Split split; /* its queue is not set */
    split.vocabulary = vocabulary;
    split.recent = recent;
    split.text = text;
    split.ids = ids;
    split.word = split.searched = split.count = 0;
    memset(text->bytes + text->used, ' ', TEXT_MARGIN); /* what is read beyond the end means nothing, but is defined */
    memset(text->kinds + text->used, KIND_SPACE, TEXT_MARGIN);
    for (size_t start = 0; start <= text->cut; start += BLOCK)
        if (split_block(&split, start) < 0) /* the margin ends the last word */
            return -1;
    return resolve(&split);
}
