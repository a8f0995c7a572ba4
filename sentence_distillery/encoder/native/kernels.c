/* The kernels, compiled for each instruction set that may be there, and the choice among them. */

#include "core.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define HAS_VECTORS
typedef uint8_t Block __attribute__((vector_size(CLASS_BLOCK)));
typedef float Floats __attribute__((vector_size(64)));
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#define HAS_SETS
#include <immintrin.h>
#endif

/* LANES numbers of 16 bits are a register of a set; SHORTS_AT(at) makes one of bytes. */
#define TARGET
#define KERNEL(name) name##_plain
#ifdef HAS_VECTORS
#define LANES 8
typedef int8_t Bytes __attribute__((vector_size(LANES)));
typedef int16_t Shorts_plain __attribute__((vector_size(2 * LANES)));
static inline Shorts_plain shorts_at(const int8_t *at)
{
    Bytes bytes;
    memcpy(&bytes, at, sizeof bytes);
    return __builtin_convertvector(bytes, Shorts_plain);
}
#define SHORTS_AT(at) shorts_at(at)
#endif
#include "kernels.h"
#undef TARGET
#undef KERNEL
#undef LANES
#undef SHORTS_AT

#ifdef HAS_SETS
#define TARGET __attribute__((target("avx2")))
#define KERNEL(name) name##_avx2
#define LANES 16
typedef int16_t Shorts_avx2 __attribute__((vector_size(2 * LANES)));
#define SHORTS_AT(at) ((Shorts_avx2)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(at))))
#include "kernels.h"
#undef TARGET
#undef KERNEL
#undef LANES
#undef SHORTS_AT

#define TARGET __attribute__((target("avx2,avx512f,avx512bw,avx512vl")))
#define KERNEL(name) name##_avx512
#define LANES 32
typedef int16_t Shorts_avx512 __attribute__((vector_size(2 * LANES)));
#define SHORTS_AT(at) ((Shorts_avx512)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(at))))
#include "kernels.h"
#undef TARGET
#undef KERNEL
#undef LANES
#undef SHORTS_AT
#endif

/* Choose the widest set of this machine. On arm64 the plain set is NEON, which every such processor has. */
const Kernels *best_kernels(void)
{
#ifdef HAS_SETS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2"))
        return &kernels_avx2;
#endif
    return &kernels_plain;
}
