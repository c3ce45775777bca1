#include "CPlanes.h"

#include "Processors.h"

/// `sum / divisor` rounded to the nearest, at most 255; `sum` is a whole number of at least 0, `divisor` is even.
/// Floats hold such sums exactly. The quarter compensates the rounding of `1 / divisor` for whole quotients.
static inline __attribute__((always_inline)) uint8_t nearest(float sum, float divisor) {
    int value = (int)((sum + divisor / 2 + 0.25f) * (1 / divisor));
    return (uint8_t)(value < 255 ? value : 255);
}

FOR_EACH_PROCESSOR
void larder_rgb_row(const uint8_t *restrict rgb, size_t count, uint8_t *restrict luma, uint8_t *restrict cb,
                    uint8_t *restrict cr) {
    for (size_t x = 0; x < count; x++) {
        float r = rgb[3 * x], g = rgb[3 * x + 1], b = rgb[3 * x + 2];
        // JFIF 1.02: Y = 0.299 R + 0.587 G + 0.114 B, Cb = (B - Y) / 1.772 + 128, Cr = (R - Y) / 1.402 + 128.
        luma[x] = nearest(299 * r + 587 * g + 114 * b, 1000);
        cb[x] = nearest(886 * b - 299 * r - 587 * g + 128 * 1772, 1772);
        cr[x] = nearest(701 * r - 587 * g - 114 * b + 128 * 1402, 1402);
    }
}
