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

/// Filters eight columns of eight rows horizontally, from columns of eight; `sums` are rows.
INLINE void sum_columns(const float *transposed, size_t begin, struct larder_filter_table columns, int start,
                        floats sums[group]) {
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
}

INLINE void clip(floats values[group]) {
    for (int row = 0; row < group; row++) {
        values[row] = __builtin_elementwise_min(__builtin_elementwise_max(values[row], (floats){0}), (floats){0} + 255);
    }
}

/// Rounds the first `count` values of each row to bytes, which they must fit.
INLINE void store(const floats values[group], int height, size_t count, uint8_t *out, size_t stride) {
    for (int row = 0; row < height; row++) {
        bytes rounded = __builtin_convertvector(__builtin_convertvector(values[row] + 0.5f, numbers), bytes);
        memcpy(out + (size_t)row * stride, &rounded, count);
    }
}

/// The columns that a filter reads, in whole tiles.
struct span {
    size_t begin, width;
};

INLINE struct span read_columns(struct larder_filter_table columns) {
    int low = columns.first[0], high = low;
    for (int i = 0; i < columns.count; i++) {
        low = columns.first[i] < low ? columns.first[i] : low;
        high = columns.first[i] > high ? columns.first[i] : high;
    }
    size_t begin = (size_t)low / tile * tile, end = ((size_t)(high + columns.taps) + tile - 1) / tile * tile;
    return (struct span){begin, end - begin};
}

size_t larder_resample_scratch(size_t columns) { return 2 * group * columns; }

FOR_EACH_PROCESSOR
void larder_resample(const uint8_t *in, size_t inStride, struct larder_filter_table columns,
                     struct larder_filter_table rows, float scale, float offset, uint8_t *out, size_t outStride,
                     float *scratch) {
    struct span span = read_columns(columns);
    size_t width = span.width;
    float *filtered = scratch, *transposed = scratch + group * width;
    for (int y = 0; y < rows.count; y += group) {
        for (int row = 0; row < group; row++) {
            const uint8_t *from = in + (size_t)rows.first[y + row] * inStride + span.begin;
            const float *weights = rows.weights + (size_t)(y + row) * (size_t)rows.taps;
            for (size_t x = 0; x < width; x += tile) {
                sum_rows(from + x, inStride, rows.taps, weights, filtered + (size_t)row * width + x);
            }
        }
        transpose_rows(filtered, width, transposed);
        int height = rows.count - y < group ? rows.count - y : group;
        for (int x = 0; x < columns.count; x += group) {
            floats sums[group];
            sum_columns(transposed, span.begin, columns, x, sums);
            for (int row = 0; row < group; row++) { sums[row] = sums[row] * scale + offset; }
            clip(sums);
            size_t count = (size_t)(columns.count - x < group ? columns.count - x : group);
            store(sums, height, count, out + (size_t)y * outStride + x, outStride);
        }
    }
}

// MARK: - With alpha

enum { alpha = 3, colors = 3, half = tile / 2 };

/// Filters `half` columns of one row vertically: alpha, and the colours times alpha. The sums of the planes are `room`
/// floats apart.
INLINE void sum_rows_by_alpha(const uint8_t *const in[4], size_t place, size_t stride, int taps, const float *weights,
                              float *out, size_t room) {
    floats sums[colors + 1][half / group] = {0};
    for (int tap = 0; tap < taps; tap++) {
        for (int part = 0; part < half / group; part++) {
            size_t from = place + (size_t)(part * group);
            floats share = weights[tap] * load_bytes(in[alpha] + from);
            sums[alpha][part] += share;
            for (int color = 0; color < colors; color++) { sums[color][part] += share * load_bytes(in[color] + from); }
        }
        place += stride;
    }
    for (int plane = 0; plane <= alpha; plane++) { memcpy(out + (size_t)plane * room, sums[plane], sizeof sums[plane]); }
}

/// The quotients of colours times alpha and alpha, which is not clipped, so that what a filter adds or takes at an edge
/// cancels out; zero where nothing is left of alpha but the rounding of floats.
INLINE void divide(floats values[group], const floats alphas[group]) {
    for (int row = 0; row < group; row++) {
        floats least = (floats){0} + 0.001f;
        floats quotient = values[row] / __builtin_elementwise_max(alphas[row], least);
        values[row] = (floats)((numbers)quotient & (alphas[row] > least));
    }
}

FOR_EACH_PROCESSOR
void larder_resample_alpha(const uint8_t *const in[4], size_t inStride, struct larder_filter_table columns,
                           struct larder_filter_table rows, uint8_t *const out[4], size_t outStride, float *scratch) {
    struct span span = read_columns(columns);
    size_t width = span.width, room = group * width;
    float *filtered = scratch, *transposed = scratch + 4 * room;
    for (int y = 0; y < rows.count; y += group) {
        for (int row = 0; row < group; row++) {
            size_t from = (size_t)rows.first[y + row] * inStride + span.begin;
            const float *weights = rows.weights + (size_t)(y + row) * (size_t)rows.taps;
            for (size_t x = 0; x < width; x += half) {
                sum_rows_by_alpha(in, from + x, inStride, rows.taps, weights, filtered + (size_t)row * width + x, room);
            }
        }
        for (size_t plane = 0; plane < 4; plane++) {
            transpose_rows(filtered + plane * room, width, transposed + plane * room);
        }
        int height = rows.count - y < group ? rows.count - y : group;
        for (int x = 0; x < columns.count; x += group) {
            floats alphas[group], sums[group];
            sum_columns(transposed + alpha * room, span.begin, columns, x, alphas);
            size_t count = (size_t)(columns.count - x < group ? columns.count - x : group);
            size_t place = (size_t)y * outStride + (size_t)x;
            memcpy(sums, alphas, sizeof sums);
            clip(sums);
            store(sums, height, count, out[alpha] + place, outStride);
            for (size_t color = 0; color < colors; color++) {
                sum_columns(transposed + color * room, span.begin, columns, x, sums);
                divide(sums, alphas);
                clip(sums);
                store(sums, height, count, out[color] + place, outStride);
            }
        }
    }
}
