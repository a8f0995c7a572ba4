/* The native core of the encoder: UTF-8 in, vectors out. docs/explanation/native-core.md has the way of a text.

   text.c        UTF-8 -> normalised text, a kind for each byte
   vocabulary.c  words, pieces and terms in hash tables
   tokenizer_json.c  the vocabulary in a tokenizer.json
   words.c       normalised text -> words and terms -> token ids
   vectors.c     token ids -> sums -> a vector
   layers.c      sums -> a linear or a hidden layer
   kernels.c     the inner loops for each instruction set
   sha256.c      the digest of a file of weights
   module.c      what Python sees

   A Vocabulary and a Table do not change once they are made, so any number of threads may use them. All that a text
   needs on its way is in a Scratch, one for each call at a time. Nothing is allocated for a text or a token, but a
   buffer that grows to the longest run of text without white space. */

#ifndef SENTENCE_DISTILLERY_CORE_H
#define SENTENCE_DISTILLERY_CORE_H

#include <stddef.h>
#include <stdint.h>

/* What each byte of normalised text belongs to. A character of words is 0 in the bits of SEPARATOR. */
enum {
    KIND_LETTER = 0x00, /* a character of words, \w of a regular expression */
    KIND_SPACE = 0x81,
    KIND_JOINER = 0x02, /* punctuation that is \w: _ */
    KIND_SIGN = 0x82,   /* other punctuation */
    KIND_EMOJI = 0x84,  /* an emoji with a token of its own, which stands apart */
    KIND_EMOJI_W = 0x04, /* the same, \w */
    KIND_ODD = 0x40,    /* no printable ASCII: the kernel leaves it to the table */
    SEPARATOR = 0x7f,
    NO_LETTER = 0x80, /* this bit alone: a character of words that is not \w, such as a mathematical sign */
};

enum {
    CLASS_BLOCK = 32,    /* bytes that are classified at a time */
    EXACT_TOKENS = 255,  /* rows of int8 whose sum 16 bits hold: 32,767 / 128 */
    TEXT_ROOM = 4096,    /* bytes of normalised text after which its words are looked up */
    TEXT_MARGIN = 64,    /* bytes after the end that may be read or written */
    PLACES = 8,          /* of a stem in the lexical channel */
    SHORT_TEXT = 12,     /* known tokens, as encoder/lexical.py has it */
    LONG_TEXT = 32,
    UNKNOWN = 0,         /* the id of the unknown token */
    LONGEST_WORD = 400,  /* characters, of any vocabulary */
    RECENT_IDS = 4,      /* of a word that is remembered, at most */
    RECENT_BYTES = 16,   /* of it */
    LONG_BYTES = 48, /* the same of a long word, or one of many pieces */
    LONG_IDS = 19,
    PANEL = 32,      /* columns of a weight that lie side by side */
    LAYER_ROWS = 96, /* texts that go through a layer at a time */
    FIRST_CODE = 0x80, /* of the characters that have a table of what they become */
    LAST_CODE = 0xA000,
    BYTE_SET = 256 / 64, /* words of 64 bits */
};

typedef struct {
    size_t (*classify)(const uint8_t *text, uint8_t *bytes, uint8_t *kinds);
    void (*sum_bytes)(const int8_t *table, size_t stride, size_t width, const int32_t *ids, size_t count, int16_t *sums);
    void (*add_floats)(const float *table, size_t stride, size_t width, const int32_t *ids, size_t count, float *sums);
    void (*add_halves)(const uint16_t *table, size_t stride, size_t width, const int32_t *ids, size_t count,
                       float *sums);
    float (*length)(const float *vector, size_t width);
    void (*scale)(const float *vector, size_t width, float factor, float *scaled);
    float (*widen)(const int16_t *sums, size_t width, float *floats);
    void (*add_product)(const float *rows, size_t stride, size_t count, size_t inputs, const float *panels,
                        size_t columns, float *sums, size_t sums_stride);
    void (*clip)(float *numbers, size_t count);
    void (*write_bits)(const float *vector, size_t width, uint8_t *bits);
    void (*write_buckets)(const float *vector, size_t width, const float *least, const float *steps, uint8_t *buckets);
} Kernels;

const Kernels *best_kernels(void);

/* ---- text.c */

typedef struct {
    uint8_t *bytes, *kinds; /* TEXT_MARGIN longer than room */
    size_t used, cut, room; /* the words before `cut` are complete */
} Text;

/* Where a text is read, and whether marks met that only the simple path orders. */
typedef struct {
    const uint8_t *at, *end;
    int after_strange, strange;
} Reader;

/* A set of characters from U+2000 on, as a bitmap of two ranges; only emoji are in it. */
typedef struct {
    uint64_t low[0x1000 / 64], high[0x1000 / 64]; /* U+2000 to U+2FFF, U+1F000 to U+1FFFF */
} Emoji;

enum { NORMALIZER_FULL, NORMALIZER_BERT };

/* What a character becomes, if that is at most six bytes whose kinds are a pattern. */
typedef struct {
    uint8_t bytes[6], length, pattern;
} Become;

/* What decides how a text is normalised. */
typedef struct {
    int kind;
    Emoji emoji;
    Become *become; /* for the codes from FIRST_CODE up to LAST_CODE */
} Normalizer;

int text_new(Text *text);
void text_free(Text *text);
int emoji_add(Emoji *emoji, uint32_t code);

/* Make the table, once all emoji are added. */
int normalizer_finish(Normalizer *normalizer);

/* Append normalised text until the end of the text, or until there is enough of it that may be cut. Returns 0, or -1
   without memory. */
int read_text(Reader *reader, const Normalizer *normalizer, const Kernels *kernels, Text *text);
void drop_read(Text *text);
uint32_t decode_utf8(const uint8_t *at, const uint8_t *end, size_t *length);
const char *unicode_version(void);

/* ---- vocabulary.c */

typedef struct {
    uint64_t key;   /* up to eight bytes of a string as they are, or the hash of a longer one */
    int32_t id;     /* -1: free */
    uint32_t place; /* in the pool: length and bytes of a longer one; SHORT for a short one */
} Slot;

typedef struct {
    Slot *slots;
    uint8_t *pool;
    uint64_t *filter; /* a bit for the hash of each string: most that are absent are told by it alone */
    uint8_t *limits;  /* by the hash of three bytes: the length of the longest string that begins with them */
    size_t mask, count, pool_used, pool_room, longest;
    unsigned slot_shift, filter_shift; /* the high bits of a hash that are left */
} Map;

typedef struct {
    Map words, pieces, terms, beginnings; /* beginnings: terms up to their first sign */
    Normalizer normalizer;
    /* for each sign of ASCII that is the first of a term: the bytes that may stand on either side of it */
    uint64_t before[128][BYTE_SET], after[128][BYTE_SET];
    size_t longest_word;                 /* characters, at most LONGEST_WORD; a longer one is unknown */
    int32_t size; /* above every id */
} Vocabulary;

/* Counts of tokens; `bytes` is the length of all together. */
int vocabulary_new(Vocabulary *vocabulary, size_t words, size_t pieces, size_t terms, size_t bytes);
int is_piece(const uint8_t *token, size_t length);
int vocabulary_add(Vocabulary *vocabulary, const uint8_t *token, size_t length, int32_t id);
int vocabulary_add_term(Vocabulary *vocabulary, const uint8_t *term, size_t length, int32_t id);
void vocabulary_free(Vocabulary *vocabulary);

/* ---- tokenizer_json.c */

typedef struct {
    const uint8_t *at, *end;
    int32_t count; /* tokens that were read; -1 before the object begins */
    size_t length;
    uint8_t token[512 + 8]; /* the last one, UTF-8 */
} TokenReader;

int next_token(TokenReader *reader);

/* ---- vocabulary.c */

/* Find a word of at most RECENT_BYTES as a whole; -1 if it is absent. */
int32_t find_word(const Vocabulary *vocabulary, const uint8_t *word, size_t length);

/* Look a word up, whole or in pieces: writes at most LONGEST_WORD * 4 ids, and returns how many. */
size_t look_up_word(const Vocabulary *vocabulary, const uint8_t *word, size_t length, int32_t *ids);
int32_t look_up_emoji(const Vocabulary *vocabulary, const uint8_t *emoji, size_t length);

typedef struct {
    size_t start, end;
    int32_t id;
} Match;

/* Find the term whose first sign is at `sign` and that starts earliest, from `first` on, and of these the longest. */
int find_term(const Vocabulary *vocabulary, const Text *text, size_t first, size_t sign, Match *match);

/* ---- words.c */

/* Token ids on their way: when the buffer is full, `flush` gets them. Their rows are asked for at once, so that they have
   come from memory when they are summed: `row` bytes apart, of which `asked` are needed. */
typedef struct Ids {
    int32_t at[EXACT_TOKENS + RECENT_IDS];
    size_t count;
    int (*flush)(struct Ids *ids, void *into);
    void *into;
    const char *rows;
    size_t row, asked;
} Ids;

/* A word as a key, its bytes and then zeros, and its ids, the free ones -1. */
typedef struct {
    uint64_t key[2];
    int32_t ids[RECENT_IDS];
} RecentWord;

/* A word that is longer, or has more pieces. */
typedef struct {
    uint64_t key[LONG_BYTES / 8];
    int32_t ids[LONG_IDS];
    uint32_t count;
} LongWord;

/* The words that were looked up last, each in the slot of its hash: most words of most texts are among some thousands. */
typedef struct {
    RecentWord *slots;
    LongWord *longer;
    unsigned shift; /* the high bits of a hash that are left */
} Recent;

int recent_new(Recent *recent, unsigned bits);
void recent_free(Recent *recent);

/* Look up the tokens of some normalised text. Returns 0, or -1 if `flush` did. */
int look_up_text(const Vocabulary *vocabulary, Recent *recent, const Text *text, Ids *ids);

/* ---- vectors.c */

enum { AS_UNIT, AS_MEAN, AS_SUM };
enum { TYPE_INT8 = 'b', TYPE_FLOAT16 = 'e', TYPE_FLOAT32 = 'f', TYPE_BITS = 'B' };

typedef struct {
    const void *rows; /* (count, dimension), of `type` */
    size_t count, dimension;
    int type;
    float unit; /* of a mean: the step between levels */
} Table;

/* The lexical channel: `numbers` has the stem of each token, the others a row for each stem. */
typedef struct {
    int32_t *numbers;
    float *idf;
    uint32_t *places; /* (stems, PLACES), each the dimension times two, and one more for a minus */
    size_t stems, dimension;
    float short_weight, long_weight; /* of texts up to SHORT_TEXT tokens, and from LONG_TEXT on */
} Channel;

typedef struct {
    const Table *table;
    const Channel *channel; /* or NULL */
    const Kernels *kernels;
    size_t width;   /* of the vectors asked for */
    size_t summed;  /* of the table, at most its dimension */
    size_t known;   /* tokens of this text */
    size_t listed;  /* stems of this text */
    int spilled;    /* int8: more tokens than 16 bits hold */
    int every;      /* unknown tokens count, too */
    int16_t *part;
    int64_t *whole;
    float *vector;
    uint32_t *counts, *stems; /* of each stem, and those that occur */
} Sums;

int sums_new(Sums *sums, const Table *table, const Channel *channel, const Kernels *kernels);
void sums_free(Sums *sums);
void sums_start(Sums *sums, size_t width);
void sums_ask(const Sums *sums, size_t width, Ids *ids);
int sums_flush(Ids *ids, void *sums);
void sums_finish(Sums *sums, Ids *ids, int form, float *out);

/* Scale a vector of some length to length 1, one of length 0 to zeros. */
void write_unit(const Kernels *kernels, const float *vector, size_t width, float length, float *out);

/* ---- layers.c */

/* What follows the sum s of a text: s + relu(s A) B, or m W + b of the mean m. Weights lie in panels: PANEL columns of
   each row of the weight, row after row, and then the next columns, the last ones filled up with zeros. */
typedef struct {
    size_t inputs, units, outputs; /* units: of A; 0 for a linear layer */
    float *widen;                  /* A, or NULL */
    float *narrow;                 /* B, or W */
    float *bias;                   /* b, (outputs), or NULL */
} Layer;

/* Rows of texts on their way through a layer, LAYER_ROWS at most. */
typedef struct {
    float *inputs, *units, *outputs; /* each row is PANEL numbers times a whole number long */
    size_t filled;                   /* rows of `inputs` */
} Rows;

float *new_panels(const float *weight, size_t rows, size_t columns);
void layer_free(Layer *layer);
int rows_new(Rows *rows, const Layer *layer);
void rows_free(Rows *rows);

/* Where the numbers of the next text go. */
float *rows_next(Rows *rows, const Layer *layer);

/* Compute the first `width` outputs of each row; returns the first row, and how far it is to the next one. */
const float *rows_finish(Rows *rows, const Layer *layer, const Kernels *kernels, size_t width, size_t *stride);

/* ---- sha256.c */

enum { SHA256_BYTES = 32, SHA256_BLOCK = 64 };

/* The state as the processor's instructions have it: the words A, B, E, F of the standard, the last one first. */
typedef struct {
    uint32_t abef[4], cdgh[4];
} Sha256;

/* Whether this processor has instructions for it; if not, the others are not to be called. */
int sha256_is_fast(void);
void sha256_start(Sha256 *state);
void sha256_blocks(Sha256 *state, const uint8_t *at, size_t blocks);

/* Add the `length` bytes that are no whole block, after `size` bytes in all. */
void sha256_end(Sha256 *state, const uint8_t *rest, size_t length, uint64_t size, uint8_t digest[SHA256_BYTES]);

#endif
