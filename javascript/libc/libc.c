/* What the core needs of a C library, where there is none: memory, and a few functions on bytes.

   Blocks are handed out one after the other, and only the last one is given back: the core allocates when a model is
   loaded, and later only to let a buffer grow. The memory of a model ends with its instance. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 65536
#define HEADER 16 /* before a block: its size */

extern uint8_t __heap_base;
static uintptr_t top, last; /* the first free byte, and the last block */

static size_t *size_of(uintptr_t block)
{
    return (size_t *)(block - HEADER);
}

/* Let memory reach to `end`. */
static int reach(uint64_t end)
{
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
    if (end <= have)
        return 1;
    uint64_t pages = (end - have + PAGE - 1) / PAGE;
    return pages <= PAGE && __builtin_wasm_memory_grow(0, (size_t)pages) != SIZE_MAX;
}

void *malloc(size_t size)
{
    if (!top)
        top = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
    uint64_t end = ((uint64_t)top + HEADER + size + 15) & ~UINT64_C(15);
    if (end > UINT32_MAX || !reach(end))
        return NULL;
    last = top + HEADER;
    top = (uintptr_t)end;
    *size_of(last) = size;
    return (void *)last;
}

void free(void *block)
{
    if (block && (uintptr_t)block == last) {
        top = last - HEADER;
        last = 0;
    }
}

void *calloc(size_t count, size_t size)
{
    if (size && count > UINT32_MAX / size)
        return NULL;
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *block, size_t size)
{
    size_t held = block ? *size_of((uintptr_t)block) : 0;
    free(block); /* the last one stays where it is, and grows */
    void *moved = malloc(size);
    if (moved && block && moved != block)
        memcpy(moved, block, held < size ? held : size);
    return moved;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    return __builtin_memcpy(to, from, size);
}

void *memmove(void *to, const void *from, size_t size)
{
    return __builtin_memmove(to, from, size);
}

void *memset(void *to, int byte, size_t size)
{
    return __builtin_memset(to, byte, size);
}

int memcmp(const void *one, const void *other, size_t size)
{
    const uint8_t *a = one, *b = other;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i])
            return a[i] - b[i];
    return 0;
}

void *memchr(const void *block, int byte, size_t size)
{
    const uint8_t *at = block;
    for (size_t i = 0; i < size; i++)
        if (at[i] == (uint8_t)byte)
            return (void *)(at + i);
    return NULL;
}
