/* The kernels, compiled for each instruction set that may be there, and the choice among them. */

#include "core.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define HAS_VECTORS
typedef uint8_t Block __attribute__((vector_size(CLASS_BLOCK)));
/* A register of a set has `lanes` numbers of 16 bits, or half as many of 32. */
#define TYPES(set, lanes) \
    typedef int16_t Shorts_##set __attribute__((vector_size(2 * (lanes)))); \
    typedef float Floats_##set __attribute__((vector_size(2 * (lanes)))); \
    typedef float FloatsAt_##set __attribute__((vector_size(2 * (lanes)), aligned(4), may_alias))
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#define HAS_SETS
#include <immintrin.h>
#endif

#if defined(__GNUC__) && defined(__aarch64__)
#include <arm_neon.h>
#define PLAIN_MULTIPLY_ADD(a, b, sum) ((Floats_plain)vfmaq_f32((float32x4_t)(sum), (float32x4_t)(a), (float32x4_t)(b)))
#else
#define PLAIN_MULTIPLY_ADD(a, b, sum) ((a) * (b) + (sum))
#endif

/* SHORTS_AT makes a register of int16 of bytes in memory, FLOATS_AT one of floats of int16. TILE_ROWS rows of a product
   are added up in registers at a time. */
#define TARGET
#define KERNEL(name) name##_plain
#ifdef HAS_VECTORS
#define LANES 8
TYPES(plain, LANES);
typedef int8_t Bytes __attribute__((vector_size(LANES), aligned(1), may_alias));
typedef int16_t Half __attribute__((vector_size(LANES), aligned(2), may_alias));
#define SHORTS_AT(at) __builtin_convertvector(*(const Bytes *)(at), Shorts_plain)
#define FLOATS_AT(at) __builtin_convertvector(*(const Half *)(at), Floats_plain)
#define MULTIPLY_ADD PLAIN_MULTIPLY_ADD
#define TILE_ROWS 6
#endif
#include "kernels.h"
#undef TARGET
#undef KERNEL
#undef LANES
#undef SHORTS_AT
#undef FLOATS_AT
#undef MULTIPLY_ADD
#undef TILE_ROWS

#ifdef HAS_SETS
#define TARGET __attribute__((target("avx2,fma")))
#define KERNEL(name) name##_avx2
#define LANES 16
TYPES(avx2, LANES);
#define SHORTS_AT(at) ((Shorts_avx2)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(at))))
#define FLOATS_AT(at) _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(at))))
#define MULTIPLY_ADD(a, b, sum) _mm256_fmadd_ps(a, b, sum)
#define TILE_ROWS 6
#include "kernels.h"
#undef TARGET
#undef KERNEL
#undef LANES
#undef SHORTS_AT
#undef FLOATS_AT
#undef MULTIPLY_ADD
#undef TILE_ROWS

#define TARGET __attribute__((target("avx2,fma,avx512f,avx512bw,avx512vl")))
#define KERNEL(name) name##_avx512
#define LANES 32
TYPES(avx512, LANES);
#define SHORTS_AT(at) ((Shorts_avx512)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(at))))
#define FLOATS_AT(at) _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(at))))
#define MULTIPLY_ADD(a, b, sum) _mm512_fmadd_ps(a, b, sum)
#define TILE_ROWS 12
#include "kernels.h"
#endif

/* Choose the widest set of this machine. On arm64 the plain set is NEON, which every such processor has. */
const Kernels *best_kernels(void)
{
#ifdef HAS_SETS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return &kernels_plain;
}
