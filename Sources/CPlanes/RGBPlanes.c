#include "CPlanes.h"

#include "Processors.h"

/// The whole number nearest to `sum / divisor`, at most 255; `sum` is whole and not negative, `divisor` even. Floats hold
/// such sums exactly. The quarter keeps a whole quotient from falling short of itself by the rounding of `1 / divisor`.
static inline __attribute__((always_inline)) uint8_t nearest(float sum, float divisor) {
    int value = (int)((sum + divisor / 2 + 0.25f) * (1 / divisor));
    return (uint8_t)(value < 255 ? value : 255);
}

FOR_EACH_PROCESSOR
void larder_rgb_row(const uint8_t *restrict rgb, size_t count, uint8_t *restrict luma, uint8_t *restrict blue,
                    uint8_t *restrict red) {
    for (size_t x = 0; x < count; x++) {
        float r = rgb[3 * x], g = rgb[3 * x + 1], b = rgb[3 * x + 2];
        // JFIF 1.02: luma is 0.299 R + 0.587 G + 0.114 B; from 128 on, blue is (B - luma) / 1.772 and red is
        // (R - luma) / 1.402.
        luma[x] = nearest(299 * r + 587 * g + 114 * b, 1000);
        blue[x] = nearest(886 * b - 299 * r - 587 * g + 128 * 1772, 1772);
        red[x] = nearest(701 * r - 587 * g - 114 * b + 128 * 1402, 1402);
    }
}
