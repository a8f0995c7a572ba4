/* The loops that take the time: classes of ASCII, and sums of rows. Included once for each instruction set by kernels.c.

   KERNEL(name) names a function of this set, TARGET is the attribute that has the compiler use the set. All loops run
   over numbers side by side, so that sums have the same bits whatever the set: nothing is reordered but the squares of
   `length`, which are in 32 lanes everywhere. A product of a layer multiplies and adds in one step where the set has
   that, so its last bits depend on the set. */

/* Lower-case a block of ASCII and say of each byte what it is. White space becomes a blank; a byte that is not
   printable ASCII or white space gets ODD, and its output means nothing. Returns the number of bytes before the first
   odd one, at most CLASS_BLOCK. */
TARGET static size_t KERNEL(classify)(const uint8_t *text, uint8_t *bytes, uint8_t *kinds)
{
#ifdef HAS_VECTORS
    Block code, odd, space, lower, word, kind; /* a comparison gives 255 or 0 */
    memcpy(&code, text, sizeof code);
    lower = code | ((Block)(code - 'A' < 26) & 32);
    word = (Block)((lower - 'a' < 26) | (code - '0' < 10));
    space = (Block)((code == ' ') | (code == '\t') | (code == '\n') | (code == '\r'));
    odd = (Block)((code >= 127) | (code < 32)) & ~space;
    kind = KIND_SIGN ^ ((Block)(code == '_') & (KIND_SIGN ^ KIND_JOINER));
    kind = (space & KIND_SPACE) | (odd & KIND_ODD) | (~(space | odd | word) & kind);
    lower = (space & ' ') | (~space & lower);
    memcpy(bytes, &lower, sizeof lower);
    memcpy(kinds, &kind, sizeof kind);
    uint64_t parts[CLASS_BLOCK / 8];
    memcpy(parts, &odd, sizeof parts);
    if (!(parts[0] | parts[1] | parts[2] | parts[3]))
        return CLASS_BLOCK;
#else
    uint8_t any = 0;
    for (int i = 0; i < CLASS_BLOCK; i++) {
        uint8_t code = text[i];
        uint8_t lower = code | (uint8_t)((uint8_t)(code - 'A') < 26 ? 32 : 0);
        uint8_t word = ((uint8_t)(lower - 'a') < 26) | ((uint8_t)(code - '0') < 10);
        uint8_t space = (code == ' ') | (code == '\t') | (code == '\n') | (code == '\r');
        uint8_t odd = ((code >= 127) | (code < 32)) & !space;
        bytes[i] = space ? ' ' : lower;
        kinds[i] = word ? KIND_LETTER : space ? KIND_SPACE : odd ? KIND_ODD : code == '_' ? KIND_JOINER : KIND_SIGN;
        any |= odd;
    }
    if (!any)
        return CLASS_BLOCK;
#endif
    size_t place = 0;
    while (kinds[place] != KIND_ODD)
        place++;
    return place;
}

/* Add up at most EXACT_TOKENS rows of int8 in 16 bits, which hold their sum: (width) int16. */
TARGET static void KERNEL(sum_bytes)(const int8_t *table, size_t stride, size_t width, const int32_t *ids, size_t count,
                                     int16_t *sums)
{
    size_t start = 0;
#ifdef HAS_VECTORS
    for (; start + 8 * LANES <= width; start += 8 * LANES) { /* eight registers, to which all rows are added in turn */
        KERNEL(Shorts) sum[8];
        for (int k = 0; k < 8; k++)
            sum[k] = (KERNEL(Shorts)){0};
        for (size_t i = 0; i < count; i++) {
            const int8_t *row = table + (size_t)ids[i] * stride + start;
            for (int k = 0; k < 8; k++)
                sum[k] += SHORTS_AT(row + LANES * k);
        }
        memcpy(sums + start, sum, sizeof sum);
    }
    for (; start + LANES <= width; start += LANES) {
        KERNEL(Shorts) sum = {0};
        for (size_t i = 0; i < count; i++)
            sum += SHORTS_AT(table + (size_t)ids[i] * stride + start);
        memcpy(sums + start, &sum, sizeof sum);
    }
#endif
    if (start == width)
        return;
    memset(sums + start, 0, (width - start) * sizeof *sums);
    for (size_t i = 0; i < count; i++) {
        const int8_t *row = table + (size_t)ids[i] * stride;
        for (size_t k = start; k < width; k++)
            sums[k] = (int16_t)(sums[k] + row[k]);
    }
}

/* Add rows of float32 to sums, in their order. */
TARGET static void KERNEL(add_floats)(const float *table, size_t stride, size_t width, const int32_t *ids, size_t count,
                                      float *restrict sums)
{
    for (size_t i = 0; i < count; i++) {
        const float *row = table + (size_t)ids[i] * stride;
        for (size_t k = 0; k < width; k++)
            sums[k] += row[k];
    }
}

/* The same for float16, whose numbers float32 has in full; they are finite. */
TARGET static void KERNEL(add_halves)(const uint16_t *table, size_t stride, size_t width, const int32_t *ids,
                                      size_t count, float *restrict sums)
{
    for (size_t i = 0; i < count; i++) {
        const uint16_t *row = table + (size_t)ids[i] * stride;
        for (size_t k = 0; k < width; k++) {
            uint32_t half = row[k], sign = (half & 0x8000u) << 16, rest = half & 0x7fffu;
            float small = (float)(int32_t)rest * 0x1p-24f, value; /* below 2^-14 the rest counts steps of 2^-24 */
            uint32_t bits = (rest << 13) + (112u << 23), small_bits;
            memcpy(&small_bits, &small, sizeof bits);
            bits = (rest < 0x400u ? small_bits : bits) | sign;
            memcpy(&value, &bits, sizeof value);
            sums[k] += value;
        }
    }
}

/* The root of the sum of 32 lanes, and of the squares of what is left of a vector. */
TARGET static float KERNEL(root)(float *lanes, const float *rest, size_t left)
{
    for (size_t lane = 0; lane < left; lane++)
        lanes[lane] += rest[lane] * rest[lane];
    for (size_t half = 16; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return sqrtf(lanes[0]);
}

/* The length of a vector. */
TARGET static float KERNEL(length)(const float *vector, size_t width)
{
    float lanes[32];
    size_t start = 0;
#ifdef HAS_VECTORS
    KERNEL(Floats) sum[64 / LANES];
    for (int k = 0; k < 64 / LANES; k++)
        sum[k] = (KERNEL(Floats)){0};
    for (; start + 32 <= width; start += 32)
        for (int k = 0; k < 64 / LANES; k++) {
            KERNEL(Floats) part = *(const KERNEL(FloatsAt) *)(vector + start + LANES / 2 * k);
            sum[k] += part * part;
        }
    memcpy(lanes, sum, sizeof lanes);
#else
    memset(lanes, 0, sizeof lanes);
    for (; start + 32 <= width; start += 32)
        for (size_t lane = 0; lane < 32; lane++)
            lanes[lane] += vector[start + lane] * vector[start + lane];
#endif
    return KERNEL(root)(lanes, vector + start, width - start);
}

/* Make floats of int16, and return their length. */
TARGET static float KERNEL(widen)(const int16_t *sums, size_t width, float *floats)
{
    float lanes[32];
    size_t start = 0;
#ifdef HAS_VECTORS
    KERNEL(Floats) sum[64 / LANES];
    for (int k = 0; k < 64 / LANES; k++)
        sum[k] = (KERNEL(Floats)){0};
    for (; start + 32 <= width; start += 32)
        for (int k = 0; k < 64 / LANES; k++) {
            KERNEL(Floats) part = FLOATS_AT(sums + start + LANES / 2 * k);
            *(KERNEL(FloatsAt) *)(floats + start + LANES / 2 * k) = part;
            sum[k] += part * part;
        }
    memcpy(lanes, sum, sizeof lanes);
#else
    memset(lanes, 0, sizeof lanes);
    for (; start + 32 <= width; start += 32)
        for (size_t lane = 0; lane < 32; lane++) {
            float number = floats[start + lane] = (float)sums[start + lane];
            lanes[lane] += number * number;
        }
#endif
    for (size_t k = start; k < width; k++)
        floats[k] = (float)sums[k];
    return KERNEL(root)(lanes, floats + start, width - start);
}

/* Multiply a vector by a factor. */
TARGET static void KERNEL(scale)(const float *vector, size_t width, float factor, float *scaled)
{
    for (size_t k = 0; k < width; k++)
        scaled[k] = vector[k] * factor;
}

#ifdef HAS_VECTORS
/* Add the products of some rows and LANES columns of a panel to `sums`; `count` is a constant. */
TARGET static inline __attribute__((always_inline)) void KERNEL(add_tile)(const float *rows, size_t stride,
                                                                          size_t inputs, const float *panel,
                                                                          float *sums, size_t sums_stride,
                                                                          const int count)
{
    KERNEL(Floats) sum[TILE_ROWS][2];
    for (int row = 0; row < count; row++)
        for (int half = 0; half < 2; half++)
            sum[row][half] = *(const KERNEL(FloatsAt) *)(sums + (size_t)row * sums_stride + LANES / 2 * half);
    for (size_t input = 0; input < inputs; input++, panel += PANEL) {
        KERNEL(Floats) left = *(const KERNEL(FloatsAt) *)panel, right = *(const KERNEL(FloatsAt) *)(panel + LANES / 2);
        for (int row = 0; row < count; row++) {
            KERNEL(Floats) number = rows[(size_t)row * stride + input] - (KERNEL(Floats)){0};
            sum[row][0] = MULTIPLY_ADD(number, left, sum[row][0]);
            sum[row][1] = MULTIPLY_ADD(number, right, sum[row][1]);
        }
    }
    for (int row = 0; row < count; row++)
        for (int half = 0; half < 2; half++)
            *(KERNEL(FloatsAt) *)(sums + (size_t)row * sums_stride + LANES / 2 * half) = sum[row][half];
}
#endif

/* Add the product of rows, (count, inputs), and a weight in panels to sums, (count, columns). */
TARGET static void KERNEL(add_product)(const float *rows, size_t stride, size_t count, size_t inputs,
                                       const float *panels, size_t columns, float *sums, size_t sums_stride)
{
    for (size_t column = 0; column < columns; column += PANEL, panels += PANEL * inputs) {
#ifdef HAS_VECTORS
        for (size_t part = 0; part < PANEL; part += LANES) {
            const float *panel = panels + part, *from = rows;
            float *into = sums + column + part;
            size_t left = count;
            for (; left >= TILE_ROWS; left -= TILE_ROWS, from += TILE_ROWS * stride, into += TILE_ROWS * sums_stride)
                KERNEL(add_tile)(from, stride, inputs, panel, into, sums_stride, TILE_ROWS);
            for (; left >= 3; left -= 3, from += 3 * stride, into += 3 * sums_stride)
                KERNEL(add_tile)(from, stride, inputs, panel, into, sums_stride, 3);
            for (; left > 0; left--, from += stride, into += sums_stride)
                KERNEL(add_tile)(from, stride, inputs, panel, into, sums_stride, 1);
        }
#else
        for (size_t row = 0; row < count; row++)
            for (size_t input = 0; input < inputs; input++)
                for (size_t k = 0; k < PANEL; k++)
                    sums[row * sums_stride + column + k] += rows[row * stride + input] * panels[input * PANEL + k];
#endif
    }
}

/* Replace negative numbers by 0. */
TARGET static void KERNEL(clip)(float *numbers, size_t count)
{
    for (size_t k = 0; k < count; k++)
        numbers[k] = numbers[k] < 0 ? 0 : numbers[k];
}

/* Write a bit for each number, whether it is above 0, the first one the highest of its byte. */
TARGET static void KERNEL(write_bits)(const float *vector, size_t width, uint8_t *bits)
{
    for (size_t start = 0; start < width; start += 8) {
        uint8_t byte = 0;
        for (size_t k = 0; k < 8 && start + k < width; k++)
            byte |= (uint8_t)((vector[start + k] > 0) << (7 - k));
        bits[start / 8] = byte;
    }
}

/* Write the number of the bucket of each number, from 0 to 255. */
TARGET static void KERNEL(write_buckets)(const float *vector, size_t width, const float *least, const float *steps,
                                         uint8_t *buckets)
{
    for (size_t k = 0; k < width; k++) {
        float bucket = (vector[k] - least[k]) / steps[k];
        buckets[k] = bucket > 0 ? bucket < 255 ? (uint8_t)bucket : 255 : 0;
    }
}

static const Kernels KERNEL(kernels) = {
    KERNEL(classify), KERNEL(sum_bytes), KERNEL(add_floats), KERNEL(add_halves), KERNEL(length),     KERNEL(scale),
    KERNEL(widen),    KERNEL(add_product), KERNEL(clip),     KERNEL(write_bits), KERNEL(write_buckets),
};
