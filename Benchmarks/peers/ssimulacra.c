// SSIMULACRA 2.1 of two images of linear RGB, for Benchmarks/peers/ssimulacra, which builds it:
// cc -O3 -ffast-math -march=native -shared -fPIC -o ssimulacra.so ssimulacra.c -lm
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { channels = 3, scales = 6, radius = 5, measures = 6, maxSide = 8192 };

/// Both passes of a Gaussian of sigma 1.5; edges are mirrored.
static void blur(const float *in, float *out, float *scratch, int width, int height) {
    static float weights[2 * radius + 1], line[maxSide + 2 * radius];
    if (weights[radius] == 0) {
        float sum = 0;
        for (int tap = -radius; tap <= radius; tap++) { sum += expf((float)(-tap * tap) / 4.5f); }
        for (int tap = -radius; tap <= radius; tap++) { weights[tap + radius] = expf((float)(-tap * tap) / 4.5f) / sum; }
    }
    for (int y = 0; y < height; y++) {
        const float *row = in + (size_t)y * (size_t)width;
        memcpy(line + radius, row, (size_t)width * sizeof *row);
        for (int tap = 0; tap < radius; tap++) {
            line[radius - 1 - tap] = row[tap];
            line[radius + width + tap] = row[width - 1 - tap];
        }
        for (int x = 0; x < width; x++) {
            float sum = 0;
            for (int tap = 0; tap <= 2 * radius; tap++) { sum += weights[tap] * line[x + tap]; }
            scratch[(size_t)y * (size_t)width + (size_t)x] = sum;
        }
    }
    memset(out, 0, (size_t)width * (size_t)height * sizeof *out);
    for (int y = 0; y < height; y++) {
        float *to = out + (size_t)y * (size_t)width;
        for (int tap = -radius; tap <= radius; tap++) {
            int from = y + tap < 0 ? -1 - y - tap : y + tap >= height ? 2 * height - 1 - y - tap : y + tap;
            const float *row = scratch + (size_t)from * (size_t)width, weight = weights[tap + radius];
            for (int x = 0; x < width; x++) { to[x] += weight * row[x]; }
        }
    }
}

/// To XYB, made positive; both as planes.
static void to_xyb(const float *rgb, float *restrict xyb, size_t count) {
    const float bias = 0.0037930732552754493f, root = powf(bias, 1 / 3.0f);
    const float *r = rgb, *g = rgb + count, *b = rgb + 2 * count;
    for (size_t i = 0; i < count; i++) {
        float l = powf(0.3f * r[i] + 0.622f * g[i] + 0.078f * b[i] + bias, 1 / 3.0f) - root;
        float m = powf(0.23f * r[i] + 0.692f * g[i] + 0.078f * b[i] + bias, 1 / 3.0f) - root;
        float blue = 0.24342268924547819f * r[i] + 0.20476744424496821f * g[i] + 0.5518098665095536f * b[i];
        float s = powf(blue + bias, 1 / 3.0f);
        float y = (l + m) / 2;
        xyb[i] = 14 * (l - m) / 2 + 0.42f;
        xyb[count + i] = y + 0.01f;
        xyb[2 * count + i] = s - root - y + 0.55f;
    }
}

/// Halves planes in place: means of the samples that are there.
static void halve(float *planes, int width, int height) {
    int half = (width + 1) / 2, low = (height + 1) / 2;
    float *out = malloc((size_t)half * (size_t)low * channels * sizeof *out), *to = out;
    for (int channel = 0; channel < channels; channel++) {
        const float *plane = planes + (size_t)channel * (size_t)width * (size_t)height;
        for (int y = 0; y < low; y++) {
            const float *upper = plane + (size_t)(2 * y) * (size_t)width;
            const float *lower = 2 * y + 1 < height ? upper + width : upper;
            for (int x = 0; x < half; x++) {
                int next = 2 * x + 1 < width ? 2 * x + 1 : 2 * x;
                *to++ = (upper[2 * x] + upper[next] + lower[2 * x] + lower[next]) / 4;
            }
        }
    }
    memcpy(planes, out, (size_t)half * (size_t)low * channels * sizeof *out);
    free(out);
}

/// The measures of one channel at one scale: means and fourth roots of the means of fourth powers, of the structural
/// difference, added edges and lost edges. `m` are blurred: one, other, their squares, and the product.
static void compare(const float *one, const float *other, float *const m[5], size_t count, double found[measures]) {
    double sums[measures] = {0};
    for (size_t i = 0; i < count; i++) {
        float mean = m[0][i], second = m[1][i], gap = mean - second;
        float covariance = 2 * (m[4][i] - mean * second) + 0.0009f;
        float variances = m[2][i] - mean * mean + m[3][i] - second * second + 0.0009f;
        float structure = fmaxf(0, 1 - (1 - gap * gap) * covariance / variances);
        float edges = (1 + fabsf(other[i] - second)) / (1 + fabsf(one[i] - mean)) - 1;
        float parts[3] = {structure, fmaxf(0, edges), fmaxf(0, -edges)};
        for (int part = 0; part < 3; part++) {
            float square = parts[part] * parts[part];
            sums[part] += (double)parts[part];
            sums[3 + part] += (double)(square * square);
        }
    }
    for (int part = 0; part < 3; part++) {
        found[part] = sums[part] / (double)count;
        found[3 + part] = sqrt(sqrt(sums[3 + part] / (double)count));
    }
}

/// The score; both images, three planes of linear values from 0 to 1 each, are overwritten. `weights` are those of the
/// reference: by channel, scale and measure. A scale that a small image does not have counts nothing.
double score(float *one, float *other, int width, int height, const double *weights) {
    double sum = 0;
    size_t most = (size_t)width * (size_t)height;
    float *memory = malloc(most * sizeof *memory * (2 * channels + 7));
    float *xyb[2] = {memory, memory + channels * most}, *scratch = memory + 2 * channels * most, *product = scratch + most;
    float *blurred[5];
    for (int i = 0; i < 5; i++) { blurred[i] = product + (size_t)(i + 1) * most; }
    for (int scale = 0; scale < scales && width >= 8 && height >= 8; scale++) {
        size_t count = (size_t)width * (size_t)height;
        to_xyb(one, xyb[0], count);
        to_xyb(other, xyb[1], count);
        for (int channel = 0; channel < channels; channel++) {
            const float *a = xyb[0] + (size_t)channel * count, *b = xyb[1] + (size_t)channel * count;
            const float *pairs[5][2] = {{a, NULL}, {b, NULL}, {a, a}, {b, b}, {a, b}};
            for (int i = 0; i < 5; i++) {
                const float *from = pairs[i][0];
                if (pairs[i][1]) {
                    for (size_t j = 0; j < count; j++) { product[j] = pairs[i][0][j] * pairs[i][1][j]; }
                    from = product;
                }
                blur(from, blurred[i], scratch, width, height);
            }
            double found[measures];
            compare(a, b, blurred, count, found);
            const double *share = weights + (channel * scales + scale) * measures;
            for (int i = 0; i < measures; i++) { sum += share[i] * found[i]; }
        }
        halve(one, width, height);
        halve(other, width, height);
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    free(memory);
    sum *= 0.9562382616834844;
    sum = 2.326765642916932 * sum - 0.020884521182843837 * sum * sum + 6.248496625763138e-05 * sum * sum * sum;
    return sum > 0 ? 100 - 10 * pow(sum, 0.6276336467831387) : 100;
}
