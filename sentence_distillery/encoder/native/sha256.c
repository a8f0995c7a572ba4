/* SHA-256 (FIPS 180-4) by the instructions that x86-64 processors have for it, as fast as OpenSSL, whose import takes
   longer than loading all else. Where a processor has none, Python's hashlib computes it. */

#include "core.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("sha,sse4.1,ssse3")))

enum { LENGTH_BYTES = 8, SHA_BIT = 1 << 29 /* of EBX in leaf 7 of cpuid */ };

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

int sha256_is_fast(void)
{
    unsigned eax, ebx, ecx, edx;
    return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & SHA_BIT);
}

void sha256_start(Sha256 *state)
{
    *state = (Sha256){{0x9b05688c, 0x510e527f, 0xbb67ae85, 0x6a09e667}, {0x5be0cd19, 0x1f83d9ab, 0xa54ff53a, 0x3c6ef372}};
}

/* Four rounds each time, sixteen times for a block; `words` has the last sixteen of the schedule. */
TARGET void sha256_blocks(Sha256 *state, const uint8_t *at, size_t blocks)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i abef = _mm_loadu_si128((const __m128i *)state->abef), cdgh = _mm_loadu_si128((const __m128i *)state->cdgh);
    for (; blocks; blocks--, at += SHA256_BLOCK) {
        __m128i words[4], abef_before = abef, cdgh_before = cdgh;
        for (int i = 0; i < 16; i++) {
            __m128i *word = &words[i & 3];
            if (i < 4) {
                *word = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)at + i), swap);
            } else {
                __m128i last = words[(i + 3) & 3], middle = _mm_alignr_epi8(last, words[(i + 2) & 3], 4);
                __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(*word, words[(i + 1) & 3]), middle);
                *word = _mm_sha256msg2_epu32(sum, last);
            }
            __m128i added = _mm_add_epi32(*word, _mm_loadu_si128((const __m128i *)ROUND + i));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    _mm_storeu_si128((__m128i *)state->abef, abef);
    _mm_storeu_si128((__m128i *)state->cdgh, cdgh);
}

void sha256_end(Sha256 *state, const uint8_t *rest, size_t length, uint64_t size, uint8_t digest[SHA256_BYTES])
{
    /* the rest, a bit, zeros, and the number of bits */
    uint8_t end[2 * SHA256_BLOCK] = {0};
    size_t blocks = length + 1 + LENGTH_BYTES > SHA256_BLOCK ? 2 : 1;
    memcpy(end, rest, length);
    end[length] = 0x80;
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        end[blocks * SHA256_BLOCK - 1 - i] = (uint8_t)(size * 8 >> i * 8);
    sha256_blocks(state, end, blocks);

    const uint32_t *abef = state->abef, *cdgh = state->cdgh;
    const uint32_t found[] = {abef[3], abef[2], cdgh[3], cdgh[2], abef[1], abef[0], cdgh[1], cdgh[0]};
    for (int i = 0; i < SHA256_BYTES; i++)
        digest[i] = (uint8_t)(found[i / 4] >> (24 - i % 4 * 8));
}

#else

int sha256_is_fast(void)
{
    return 0;
}

void sha256_start(Sha256 *state)
{
    memset(state, 0, sizeof *state);
}

void sha256_blocks(Sha256 *state, const uint8_t *at, size_t blocks)
{
    (void)state, (void)at, (void)blocks;
}

void sha256_end(Sha256 *state, const uint8_t *rest, size_t length, uint64_t size, uint8_t digest[SHA256_BYTES])
{
    (void)state, (void)rest, (void)length, (void)size;
    memset(digest, 0, SHA256_BYTES);
}

#endif
