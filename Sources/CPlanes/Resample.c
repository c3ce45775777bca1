#include "CPlanes.h"

#include <string.h>

#include "Processors.h"

// No vector crosses a call: what returns one is always inlined.
#pragma clang diagnostic ignored "-Wpsabi"
#define INLINE static inline __attribute__((always_inline))

enum { group = larder_filter_group, tile = 32 };

typedef float floats __attribute__((vector_size(group * sizeof(float))));
typedef uint8_t bytes __attribute__((vector_size(group)));
typedef int32_t numbers __attribute__((vector_size(group * sizeof(int32_t))));

INLINE floats load_bytes(const uint8_t *from) {
    bytes some;
    memcpy(&some, from, sizeof some);
    return __builtin_convertvector(some, floats);
}

/// Filters `tile` columns of one row vertically.
INLINE void sum_rows(const uint8_t *in, size_t stride, int taps, const float *weights, float *out) {
    floats sums[tile / group] = {0};
    for (int tap = 0; tap < taps; tap++) {
        floats weight = weights[tap] - (floats){0};
        for (int part = 0; part < tile / group; part++) { sums[part] += weight * load_bytes(in + part * group); }
        in += stride;
    }
    memcpy(out, sums, sizeof sums);
}

/// Transposes eight vectors.
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

/// Transposes eight rows of floats, one after another, to columns of eight.
INLINE void transpose_rows(const float *rows, size_t width, float *out) {
    for (size_t x = 0; x < width; x += group) {
        floats block[group];
        for (int row = 0; row < group; row++) { memcpy(&block[row], rows + (size_t)row * width + x, sizeof *block); }
        transpose(block);
        memcpy(out + x * group, block, sizeof block);
    }
}

/// Filters eight columns of eight rows horizontally, from columns of eight.
INLINE void sum_columns(const float *transposed, size_t begin, struct larder_filter_table columns, int start,
                        bytes out[group]) {
    floats sums[group];
    for (int i = 0; i < group; i++) {
        const float *from = transposed + ((size_t)columns.first[start + i] - begin) * group;
        const float *weights = columns.weights + (size_t)(start + i) * (size_t)columns.taps;
        floats sum = {0};
        for (int tap = 0; tap < columns.taps; tap++) {
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
void larder_resample(const uint8_t *in, size_t inStride, struct larder_filter_table columns,
                     struct larder_filter_table rows, uint8_t *out, size_t outStride, float *scratch) {
    // Only the columns that the filter reads.
    int low = columns.first[0], high = low;
    for (int i = 0; i < columns.count; i++) {
        low = columns.first[i] < low ? columns.first[i] : low;
        high = columns.first[i] > high ? columns.first[i] : high;
    }
    size_t begin = (size_t)low / tile * tile, end = ((size_t)(high + columns.taps) + tile - 1) / tile * tile;
    size_t width = end - begin;
    float *filtered = scratch, *transposed = scratch + group * width;
    for (int y = 0; y < rows.count; y += group) {
        for (int row = 0; row < group; row++) {
            const uint8_t *from = in + (size_t)rows.first[y + row] * inStride + begin;
            const float *weights = rows.weights + (size_t)(y + row) * (size_t)rows.taps;
            for (size_t x = 0; x < width; x += tile) {
                sum_rows(from + x, inStride, rows.taps, weights, filtered + (size_t)row * width + x);
            }
        }
        transpose_rows(filtered, width, transposed);
        int height = rows.count - y < group ? rows.count - y : group;
        for (int x = 0; x < columns.count; x += group) {
            bytes block[group];
            sum_columns(transposed, begin, columns, x, block);
            size_t count = (size_t)(columns.count - x < group ? columns.count - x : group);
            for (int row = 0; row < height; row++) {
                memcpy(out + (size_t)(y + row) * outStride + x, &block[row], count);
            }
        }
    }
}
