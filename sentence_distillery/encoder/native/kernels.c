/* The kernels, compiled for each instruction set that may be there, and the choice among them. */

#include "core.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define HAS_VECTORS
#define LANES 16
typedef int8_t Bytes __attribute__((vector_size(LANES)));
typedef int16_t Shorts __attribute__((vector_size(2 * LANES)));
typedef uint8_t Block __attribute__((vector_size(CLASS_BLOCK)));
#endif

#define TARGET
#define KERNEL(name) name##_plain
#include "kernels.h"
#undef TARGET
#undef KERNEL

#if defined(__GNUC__) && defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define KERNEL(name) name##_avx2
#include "kernels.h"
#undef TARGET
#undef KERNEL
#endif

/* Choose the widest set of this machine. AVX-512 is left out: measured, it is no faster here, since rows come from
   memory. On arm64 the plain set is NEON, which every such processor has. */
const Kernels *best_kernels(void)
{
#if defined(__GNUC__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        return &kernels_avx2;
#endif
    return &kernels_plain;
}
