#include "CPlanes.h"

#include "Processors.h"

#define INLINE static inline __attribute__((always_inline))

/// `sum / divisor` rounded to the nearest, at most 255; `sum` is a whole number of at least 0, `divisor` is even.
/// Floats hold such sums exactly. The quarter compensates the rounding of `1 / divisor` for whole quotients.
INLINE uint8_t nearest(float sum, float divisor) {
    int value = (int)((sum + divisor / 2 + 0.25f) * (1 / divisor));
    return (uint8_t)(value < 255 ? value : 255);
}

/// Rounded to the nearest within 0 to 255.
INLINE uint8_t clamped(float value) {
    int whole = (int)(value + 0.5f);
    whole = whole < 255 ? whole : 255;
    return (uint8_t)(value > 0 ? whole : 0);
}

FOR_EACH_PROCESSOR
void larder_split_rgb(const uint8_t *restrict pixels, size_t count, uint8_t *restrict red, uint8_t *restrict green,
                      uint8_t *restrict blue) {
    for (size_t x = 0; x < count; x++) {
        red[x] = pixels[3 * x];
        green[x] = pixels[3 * x + 1];
        blue[x] = pixels[3 * x + 2];
    }
}

FOR_EACH_PROCESSOR
void larder_split_rgba(const uint8_t *restrict pixels, size_t count, uint8_t *restrict red, uint8_t *restrict green,
                       uint8_t *restrict blue, uint8_t *restrict alpha) {
    for (size_t x = 0; x < count; x++) {
        red[x] = pixels[4 * x];
        green[x] = pixels[4 * x + 1];
        blue[x] = pixels[4 * x + 2];
        alpha[x] = pixels[4 * x + 3];
    }
}

FOR_EACH_PROCESSOR
void larder_join_rgb(const uint8_t *restrict red, const uint8_t *restrict green, const uint8_t *restrict blue,
                     size_t count, uint8_t *restrict pixels) {
    for (size_t x = 0; x < count; x++) {
        pixels[3 * x] = red[x];
        pixels[3 * x + 1] = green[x];
        pixels[3 * x + 2] = blue[x];
    }
}

FOR_EACH_PROCESSOR
void larder_join_rgba(const uint8_t *restrict red, const uint8_t *restrict green, const uint8_t *restrict blue,
                      const uint8_t *restrict alpha, size_t count, uint8_t *restrict pixels) {
    for (size_t x = 0; x < count; x++) {
        pixels[4 * x] = red[x];
        pixels[4 * x + 1] = green[x];
        pixels[4 * x + 2] = blue[x];
        pixels[4 * x + 3] = alpha[x];
    }
}

FOR_EACH_PROCESSOR
void larder_rgb_to_ycc(const uint8_t *restrict red, const uint8_t *restrict green, const uint8_t *restrict blue,
                       size_t count, uint8_t *restrict luma, uint8_t *restrict cb, uint8_t *restrict cr) {
    for (size_t x = 0; x < count; x++) {
        float r = red[x], g = green[x], b = blue[x];
        // JFIF 1.02: Y = 0.299 R + 0.587 G + 0.114 B, Cb = (B - Y) / 1.772 + 128, Cr = (R - Y) / 1.402 + 128.
        luma[x] = nearest(299 * r + 587 * g + 114 * b, 1000);
        cb[x] = nearest(886 * b - 299 * r - 587 * g + 128 * 1772, 1772);
        cr[x] = nearest(701 * r - 587 * g - 114 * b + 128 * 1402, 1402);
    }
}

FOR_EACH_PROCESSOR
void larder_rgb_to_limited_ycc(const uint8_t *restrict red, const uint8_t *restrict green,
                               const uint8_t *restrict blue, size_t count, uint8_t *restrict luma,
                               uint8_t *restrict cb, uint8_t *restrict cr) {
    for (size_t x = 0; x < count; x++) {
        float r = red[x], g = green[x], b = blue[x], y = 0.299f * r + 0.587f * g + 0.114f * b;
        luma[x] = clamped(16 + 219.0f / 255 * y);
        cb[x] = clamped(128 + 224.0f / 255 / 1.772f * (b - y));
        cr[x] = clamped(128 + 224.0f / 255 / 1.402f * (r - y));
    }
}

FOR_EACH_PROCESSOR
void larder_ycc_to_rgb(const uint8_t *restrict luma, const uint8_t *restrict cb, const uint8_t *restrict cr,
                       size_t count, uint8_t *restrict red, uint8_t *restrict green, uint8_t *restrict blue) {
    for (size_t x = 0; x < count; x++) {
        float y = luma[x], b = (float)cb[x] - 128, r = (float)cr[x] - 128;
        red[x] = clamped(y + 1.402f * r);
        green[x] = clamped(y - 0.344136f * b - 0.714136f * r);
        blue[x] = clamped(y + 1.772f * b);
    }
}

/// The place of a linear value in a table of 65536.
INLINE uint16_t place(float value) {
    value = value > 0 ? value : 0;
    value = value < 1 ? value : 1;
    return (uint16_t)(value * 65535 + 0.5f);
}

FOR_EACH_PROCESSOR
void larder_convert_colors(uint8_t *restrict red, uint8_t *restrict green, uint8_t *restrict blue, size_t count,
                           const float *restrict curves, const float *restrict matrix, const uint8_t *restrict bytes) {
    for (size_t x = 0; x < count; x++) {
        float r = curves[red[x]], g = curves[256 + green[x]], b = curves[512 + blue[x]];
        red[x] = bytes[place(matrix[0] * r + matrix[1] * g + matrix[2] * b)];
        green[x] = bytes[place(matrix[3] * r + matrix[4] * g + matrix[5] * b)];
        blue[x] = bytes[place(matrix[6] * r + matrix[7] * g + matrix[8] * b)];
    }
}

FOR_EACH_PROCESSOR
void larder_halve_rows(const uint8_t *restrict upper, const uint8_t *restrict lower, size_t count,
                       uint8_t *restrict out) {
    for (size_t x = 0; x < count; x++) {
        // As libjpeg: halves are rounded down and up in turn.
        unsigned sum = (unsigned)upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1];
        out[x] = (uint8_t)((sum + 1 + (x & 1)) >> 2);
    }
}
