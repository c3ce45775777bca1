#include "CPlanes.h"

#include "Processors.h"

/// The nearest whole number to `sum / divisor`, `sum` being whole and at least half of `divisor` less than zero. Floats
/// of this size are exact; the quarter keeps a whole quotient from falling short of itself by the rounding of its division.
static inline __attribute__((always_inline)) uint8_t nearest(float sum, float divisor) {
    int value = (int)((sum + divisor / 2 + 0.25f) * (1 / divisor));
    return (uint8_t)(value < 255 ? value : 255);
}

FOR_EACH_PROCESSOR
void larder_rgb_row(const uint8_t *restrict rgb, size_t count, uint8_t *restrict luma, uint8_t *restrict blue,
                    uint8_t *restrict red) {
    for (size_t x = 0; x < count; x++) {
        float r = rgb[3 * x], g = rgb[3 * x + 1], b = rgb[3 * x + 2];
        // JFIF 1.02: luma is 0.299 R + 0.587 G + 0.114 B; chroma is (B - luma) / 1.772 and (R - luma) / 1.402, from 128.
        luma[x] = nearest(299 * r + 587 * g + 114 * b, 1000);
        blue[x] = nearest(886 * b - 299 * r - 587 * g + 128 * 1772, 1772);
        red[x] = nearest(701 * r - 587 * g - 114 * b + 128 * 1402, 1402);
    }
}
