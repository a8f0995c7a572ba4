/* Normalise a text as the tokenizer does, from tables of what it does with each code point.

   Runs of printable ASCII, the most of most texts, are lower-cased and classified block by block. Any other character
   is looked up: it stays, is dropped, becomes a blank, stands apart, or becomes other characters.

   Characters are normalised one by one, but combining marks are sorted by their class. That shows only if two marks
   meet that are not dropped as accents, in scripts that few tokenizers know. Such a text is marked as strange. */

#include "core.h"
#include "unicode_tables.h"

#include <stdlib.h>
#include <string.h>

enum { LETTER, SYMBOL, SIGN, JOINER, DROPPED, SPACE, IDEOGRAPH, HANGUL, STRANGE_LETTER, STRANGE_SYMBOL, EXPANDED = 16 };

enum { LOW_START = 0x2000, HIGH_START = 0x1F000, RANGE = 0x1000, LARGEST = 0x10FFFF, ABSENT = 0x110000 };

static const uint8_t KIND_OF[] = {KIND_LETTER, NO_LETTER, KIND_SIGN, KIND_JOINER, 0, KIND_SPACE, 0, 0, KIND_LETTER, NO_LETTER};

const char *unicode_version(void)
{
    return UNICODE_TABLES;
}

int emoji_add(Emoji *emoji, uint32_t code)
{
    if (code - LOW_START < RANGE)
        emoji->low[(code - LOW_START) / 64] |= (uint64_t)1 << code % 64;
    else if (code - HIGH_START < RANGE)
        emoji->high[(code - HIGH_START) / 64] |= (uint64_t)1 << code % 64;
    else
        return -1;
    return 0;
}

static int is_emoji(const Emoji *emoji, uint32_t code)
{
    if (code - LOW_START < RANGE)
        return emoji->low[(code - LOW_START) / 64] >> code % 64 & 1;
    return code - HIGH_START < RANGE && (emoji->high[(code - HIGH_START) / 64] >> code % 64 & 1);
}

/* Decode a character; a byte that begins none is one of its own. `length` is at least 1 and stays within the text. */
uint32_t decode_utf8(const uint8_t *at, const uint8_t *end, size_t *length)
{
    size_t left = (size_t)(end - at);
    uint32_t first = at[0];
    *length = 1;
    if (first < 0x80)
        return first;
    size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    if (size == 1 || size > left)
        return ABSENT;
    uint32_t code = first & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++)
        code = code << 6 | (at[i] & 0x3Fu);
    *length = size;
    return code <= LARGEST ? code : ABSENT;
}

static size_t encode_utf8(uint32_t code, uint8_t *at)
{
    if (code < 0x800) {
        at[0] = (uint8_t)(0xC0 | code >> 6);
        at[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    at[0] = (uint8_t)(0xE0 | code >> 12);
    at[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    at[2] = (uint8_t)(0x80 | (code & 0x3F));
    return 3;
}

static unsigned entry_of(uint32_t code, int normalizer)
{
    if (code > LARGEST)
        return DROPPED;
    const uint16_t *blocks = normalizer == NORMALIZER_FULL ? FULL_BLOCKS : BERT_BLOCKS;
    return ENTRIES[((size_t)blocks[code >> BLOCK_BITS] << BLOCK_BITS) + (code & ((1u << BLOCK_BITS) - 1))];
}

int text_new(Text *text)
{
    *text = (Text){.room = TEXT_ROOM * 2};
    text->bytes = malloc(text->room + TEXT_MARGIN);
    text->kinds = malloc(text->room + TEXT_MARGIN);
    return text->bytes && text->kinds ? 0 : -1;
}

void text_free(Text *text)
{
    free(text->bytes);
    free(text->kinds);
}

/* Make room for a block and for the longest expansion. */
static int has_room(Text *text)
{
    if (text->used + TEXT_MARGIN <= text->room)
        return 1;
    size_t room = text->room * 2;
    uint8_t *bytes = realloc(text->bytes, room + TEXT_MARGIN);
    if (!bytes)
        return 0;
    text->bytes = bytes;
    uint8_t *kinds = realloc(text->kinds, room + TEXT_MARGIN);
    if (!kinds)
        return 0;
    text->kinds = kinds;
    text->room = room;
    return 1;
}

/* Append a character of normalised text of at most four bytes; there is room, also for four kinds. */
static void append(Text *text, const uint8_t *bytes, size_t length, uint8_t kind)
{
    uint8_t *at = text->bytes + text->used;
    for (size_t i = 0; i < length; i++)
        at[i] = bytes[i];
    memset(text->kinds + text->used, kind, 4);
    text->used += length;
}

static void append_blank(Text *text)
{
    append(text, (const uint8_t *)" ", 1, KIND_SPACE);
}

/* Append a character of a kind from LETTER to STRANGE_SYMBOL that stays as it is, unless it is an emoji. */
static void append_kind(Reader *reader, const Emoji *emoji, Text *text, const uint8_t *bytes, size_t length,
                        uint32_t code, unsigned entry)
{
    uint8_t kind = KIND_OF[entry];
    int strange = entry >= STRANGE_LETTER;
    reader->strange |= strange & reader->after_strange;
    reader->after_strange = strange;
    if (is_emoji(emoji, code))
        kind = kind & NO_LETTER ? KIND_EMOJI : KIND_EMOJI_W;
    append(text, bytes, length, kind);
}

static void append_hangul(Text *text, uint32_t syllable)
{
    uint8_t bytes[3];
    uint32_t letters[] = {0x1100 + syllable / 588, 0x1161 + syllable % 588 / 28, 0x11A7 + syllable % 28};
    for (int i = 0; i < (syllable % 28 ? 3 : 2); i++)
        append(text, bytes, encode_utf8(letters[i], bytes), KIND_LETTER);
}

static void append_expansion(Reader *reader, const Emoji *emoji, Text *text, unsigned number)
{
    const uint8_t *at = EXPANSIONS + EXPANSION_OFFSETS[number];
    for (unsigned left = *at++; left > 0; left--) {
        size_t length = at[1];
        uint32_t code = decode_utf8(at + 2, at + 2 + length, &length);
        append_kind(reader, emoji, text, at + 2, length, code, at[0]);
        at += 2 + length;
    }
}

/* Append what a character becomes. */
static void append_character(Reader *reader, const Normalizer *normalizer, Text *text)
{
    size_t length;
    const uint8_t *at = reader->at;
    uint32_t code = decode_utf8(at, reader->end, &length);
    unsigned entry = entry_of(code, normalizer->kind);
    const Emoji *emoji = &normalizer->emoji;
    reader->at += length;
    if (entry == DROPPED)
        return; /* what is dropped does not part two marks */
    if (entry >= EXPANDED) {
        append_expansion(reader, emoji, text, entry - EXPANDED);
        return;
    }
    if (entry == IDEOGRAPH || entry == HANGUL || entry == SPACE) {
        reader->after_strange = 0;
        if (entry != HANGUL)
            append_blank(text);
        if (entry == IDEOGRAPH) {
            append(text, at, length, KIND_LETTER);
            append_blank(text);
        }
        if (entry == HANGUL)
            append_hangul(text, code - 0xAC00);
        return;
    }
    append_kind(reader, emoji, text, at, length, code, entry);
}

/* The kinds of the bytes that a character becomes: all the same, or a character between blanks. */
enum { PATTERNS = 8 };

static const uint8_t PATTERN[PATTERNS][8] = {
#define ALL(kind) {kind, kind, kind, kind, kind, kind, kind, kind}
    ALL(KIND_LETTER), ALL(NO_LETTER), ALL(KIND_SIGN),
    {KIND_SPACE, KIND_LETTER, KIND_LETTER, KIND_LETTER, KIND_SPACE, KIND_SPACE, KIND_SPACE, KIND_SPACE},
    ALL(KIND_JOINER), ALL(KIND_SPACE), ALL(KIND_EMOJI), ALL(KIND_EMOJI_W),
#undef ALL
};

enum { OTHERWISE = 255 }; /* the length of what is no pattern */

int normalizer_finish(Normalizer *normalizer)
{
    Text text;
    normalizer->become = calloc(LAST_CODE - FIRST_CODE, sizeof *normalizer->become);
    if (text_new(&text) < 0 || !normalizer->become)
        return -1;
    memset(text.kinds, 0, TEXT_MARGIN);
    for (uint32_t code = FIRST_CODE; code < LAST_CODE; code++) {
        Become *become = &normalizer->become[code - FIRST_CODE];
        uint8_t bytes[4];
        Reader reader = {bytes, bytes + encode_utf8(code, bytes), 0, 0};
        text.used = 0;
        append_character(&reader, normalizer, &text);
        memcpy(become->bytes, text.bytes, sizeof become->bytes);
        become->length = OTHERWISE;
        for (uint8_t k = 0; k < PATTERNS && text.used <= sizeof become->bytes && !reader.after_strange; k++)
            if (become->length == OTHERWISE && !memcmp(text.kinds, PATTERN[k], text.used)) {
                become->length = (uint8_t)text.used;
                become->pattern = k;
            }
    }
    text_free(&text);
    return 0;
}

/* Append a run of characters that become patterns, up to any other one, the end, or until there is enough. */
static int append_run(Reader *reader, const Normalizer *normalizer, Text *text, size_t enough)
{
    const uint8_t *at = reader->at;
    while (text->used < enough && reader->end - at >= 3) {
        uint32_t code = (at[0] & 0x1Fu) << 6 | (at[1] & 0x3F);
        size_t length = 2;
        if (at[0] >= 0xE0) {
            code = (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3F);
            length = 3;
        }
        if (at[0] < 0xC0 || at[0] >= 0xF0 || code - FIRST_CODE >= LAST_CODE - FIRST_CODE)
            break;
        const Become *become = &normalizer->become[code - FIRST_CODE];
        if (become->length == OTHERWISE)
            break;
        if (!has_room(text))
            return -1;
        memcpy(text->bytes + text->used, become, 8);
        memcpy(text->kinds + text->used, PATTERN[become->pattern], 8);
        text->used += become->length;
        reader->after_strange &= become->length == 0; /* what is dropped does not part two marks */
        at += length;
    }
    reader->at = at;
    return 0;
}

/* Append a run of printable ASCII, block by block, up to the first other byte, the end, or until there is enough. */
static int append_ascii(Reader *reader, const Kernels *kernels, Text *text, size_t enough)
{
    while (reader->at < reader->end && text->used < enough) {
        if (!has_room(text))
            return -1;
        uint8_t last[CLASS_BLOCK];
        const uint8_t *block = reader->at;
        size_t left = (size_t)(reader->end - reader->at);
        if (left < CLASS_BLOCK) { /* the kernel reads whole blocks */
            memset(last, ' ', sizeof last);
            memcpy(last, block, left);
            block = last;
        }
        size_t plain = kernels->classify(block, text->bytes + text->used, text->kinds + text->used);
        size_t taken = plain < left ? plain : left;
        text->used += taken;
        reader->at += taken;
        if (taken)
            reader->after_strange = 0;
        if (plain < CLASS_BLOCK)
            return 0;
    }
    return 0;
}

static size_t after_last_blank(const Text *text)
{
    size_t place = text->used;
    while (place > 0 && text->kinds[place - 1] != KIND_SPACE)
        place--;
    return place;
}

/* A blank ends all words and terms, so text may be cut after it. If a long run has none, it is read on to twice its
   length before the next search. */
int read_text(Reader *reader, const Normalizer *normalizer, const Kernels *kernels, Text *text)
{
    size_t enough = text->used * 2 > TEXT_ROOM ? text->used * 2 : TEXT_ROOM;
    while (reader->at < reader->end) {
        if (text->used >= enough) {
            if ((text->cut = after_last_blank(text)) > 0)
                return 0;
            enough = text->used * 2;
        }
        if (!has_room(text))
            return -1;
        if (*reader->at < 0x80 && append_ascii(reader, kernels, text, enough) < 0)
            return -1;
        if (append_run(reader, normalizer, text, enough) < 0)
            return -1;
        if (reader->at < reader->end && text->used < enough)
            append_character(reader, normalizer, text);
    }
    text->cut = text->used;
    return 0;
}

/* Forget the text before the cut, and keep the rest for the words that follow. */
void drop_read(Text *text)
{
    text->used -= text->cut;
    memmove(text->bytes, text->bytes + text->cut, text->used);
    memmove(text->kinds, text->kinds + text->cut, text->used);
    text->cut = 0;
}
