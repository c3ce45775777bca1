#include "CPlanes.h"

#include <string.h>

#include "Processors.h"

#define INLINE static inline __attribute__((always_inline))

enum { group = larder_axis_group, tile = 32 };

typedef float floats __attribute__((vector_size(group * sizeof(float))));
typedef uint8_t bytes __attribute__((vector_size(group)));
typedef int32_t numbers __attribute__((vector_size(group * sizeof(int32_t))));

INLINE floats load_bytes(const uint8_t *from) {
    bytes some;
    memcpy(&some, from, sizeof some);
    return __builtin_convertvector(some, floats);
}

/// Down: `tile` columns of one row of the result.
INLINE void sum_rows(const uint8_t *in, size_t stride, int taps, const float *weights, float *out) {
    floats sums[tile / group] = {0};
    for (int tap = 0; tap < taps; tap++) {
        floats weight = weights[tap] - (floats){0};
        for (int part = 0; part < tile / group; part++) { sums[part] += weight * load_bytes(in + part * group); }
        in += stride;
    }
    memcpy(out, sums, sizeof sums);
}

/// Rows become columns, of eight vectors.
INLINE void transpose(floats m[group]) {
    floats pairs[group], fours[group];
    for (int i = 0; i < group; i += 2) {
        pairs[i] = __builtin_shufflevector(m[i], m[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        pairs[i + 1] = __builtin_shufflevector(m[i], m[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < group; i += 4) {
        for (int j = 0; j < 2; j++) {
            fours[i + j] = __builtin_shufflevector(pairs[i + j], pairs[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            fours[i + j + 2] = __builtin_shufflevector(pairs[i + j], pairs[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    }
    for (int i = 0; i < 4; i++) {
        m[i] = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        m[i + 4] = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/// Eight rows of floats, one after another, become columns of eight.
INLINE void turn_rows(const float *rows, size_t columns, float *out) {
    for (size_t x = 0; x < columns; x += group) {
        floats block[group];
        for (int row = 0; row < group; row++) { memcpy(&block[row], rows + (size_t)row * columns + x, sizeof *block); }
        transpose(block);
        memcpy(out + x * group, block, sizeof block);
    }
}

/// Across: eight columns of eight rows of the result, from columns of eight.
INLINE void sum_columns(const float *columns, size_t begin, struct larder_axis across, int start, bytes out[group]) {
    floats sums[group];
    for (int i = 0; i < group; i++) {
        const float *from = columns + ((size_t)across.first[start + i] - begin) * group;
        const float *weights = across.weights + (size_t)(start + i) * (size_t)across.taps;
        floats sum = {0};
        for (int tap = 0; tap < across.taps; tap++) {
            floats column;
            memcpy(&column, from + tap * group, sizeof column);
            sum += weights[tap] * column;
        }
        sums[i] = sum;
    }
    transpose(sums);
    for (int row = 0; row < group; row++) {
        floats value = __builtin_elementwise_max(sums[row] + 0.5f, (floats){0});
        value = __builtin_elementwise_min(value, (floats){0} + 255);
        out[row] = __builtin_convertvector(__builtin_convertvector(value, numbers), bytes);
    }
}

size_t larder_resample_scratch(size_t columns) { return 2 * group * columns; }

FOR_EACH_PROCESSOR
void larder_resample(const uint8_t *in, size_t inStride, struct larder_axis across, struct larder_axis down,
                     uint8_t *out, size_t outStride, float *scratch) {
    // Only the columns that are asked for.
    int low = across.first[0], high = low;
    for (int i = 0; i < across.count; i++) {
        low = across.first[i] < low ? across.first[i] : low;
        high = across.first[i] > high ? across.first[i] : high;
    }
    size_t begin = (size_t)low / tile * tile, end = ((size_t)(high + across.taps) + tile - 1) / tile * tile;
    size_t columns = end - begin;
    float *rows = scratch, *turned = scratch + group * columns;
    for (int y = 0; y < down.count; y += group) {
        for (int row = 0; row < group; row++) {
            const uint8_t *from = in + (size_t)down.first[y + row] * inStride + begin;
            const float *weights = down.weights + (size_t)(y + row) * (size_t)down.taps;
            for (size_t x = 0; x < columns; x += tile) {
                sum_rows(from + x, inStride, down.taps, weights, rows + (size_t)row * columns + x);
            }
        }
        turn_rows(rows, columns, turned);
        int height = down.count - y < group ? down.count - y : group;
        for (int x = 0; x < across.count; x += group) {
            bytes block[group];
            sum_columns(turned, begin, across, x, block);
            size_t width = (size_t)(across.count - x < group ? across.count - x : group);
            for (int row = 0; row < height; row++) {
                memcpy(out + (size_t)(y + row) * outStride + x, &block[row], width);
            }
        }
    }
}
