#pragma once
// Planes in C: libjpeg, whose errors use longjmp, and vectorised loops.
#include <stddef.h>
#include <stdint.h>

// MARK: Reading JPEG

/// Decodes one JPEG to its planes. Confined to one thread.
typedef struct larder_jpeg_reader larder_jpeg_reader;

/// One plane, at the requested shrink factor.
struct larder_jpeg_plane {
    /// The memory it needs: whole blocks, whose samples are all written.
    int columns, rows;
    /// The image's size in whole samples.
    int width, height;
    /// The image's exact size in samples.
    double exact_width, exact_height;
};

/// Reads the header of a JPEG, which must outlive the reader. NULL unless the file is a JPEG of 8-bit luma at the
/// highest resolution, with no chroma planes or two of equal size.
larder_jpeg_reader *larder_jpeg_open(const void *bytes, size_t length);

/// Chooses the shrink factor, 1, 2, 4 or 8, before anything below is called. Returns 0, or -1.
int larder_jpeg_shrink(larder_jpeg_reader *reader, int shrink);

/// The number of planes: 1 for grey, 3 for colour.
int larder_jpeg_planes(const larder_jpeg_reader *reader);

struct larder_jpeg_plane larder_jpeg_plane_at(const larder_jpeg_reader *reader, int index);

/// Decodes once, into one buffer per plane, each of `rows` rows of at least `columns` bytes. Returns 0, or -1 where the
/// file is truncated or cannot be decoded; libjpeg's warnings are ignored, as in libvips.
int larder_jpeg_read(larder_jpeg_reader *reader, uint8_t *const planes[3], const size_t strides[3]);

void larder_jpeg_close(larder_jpeg_reader *reader);

/// libjpeg's last error message.
const char *larder_jpeg_message(const larder_jpeg_reader *reader);

// MARK: Writing JPEG

/// Planes to write: luma, and unless the image is grey, chroma of half the size (4:2:0), rounded up, or of the same.
/// Rows are padded to a multiple of eight samples.
struct larder_jpeg_image {
    int width, height, is_420, is_grey;
    /// In several scans; with the standard's Huffman tables, which a file in several scans cannot have.
    int is_progressive, has_standard_tables;
    const uint8_t *planes[3];
    size_t strides[3];
};

/// Writes a JPEG without metadata; `quality` is 1 to 100. The caller frees `*bytes` with `free`. Returns 0, or -1.
int larder_jpeg_write(const struct larder_jpeg_image *image, int quality, uint8_t **bytes, size_t *length);

// MARK: Colour conversion, one row of `count` pixels each. Rows must not overlap.

/// Splits pixels of red, green and blue.
void larder_split_rgb(const uint8_t *restrict pixels, size_t count, uint8_t *restrict red, uint8_t *restrict green,
                      uint8_t *restrict blue);

/// Splits pixels of red, green, blue and straight alpha.
void larder_split_rgba(const uint8_t *restrict pixels, size_t count, uint8_t *restrict red, uint8_t *restrict green,
                       uint8_t *restrict blue, uint8_t *restrict alpha);

/// Joins planes to pixels of red, green and blue.
void larder_join_rgb(const uint8_t *restrict red, const uint8_t *restrict green, const uint8_t *restrict blue,
                     size_t count, uint8_t *restrict pixels);

/// Joins planes to pixels of red, green, blue and straight alpha.
void larder_join_rgba(const uint8_t *restrict red, const uint8_t *restrict green, const uint8_t *restrict blue,
                      const uint8_t *restrict alpha, size_t count, uint8_t *restrict pixels);

/// To luma and chroma by JFIF's matrix, rounded to the nearest.
void larder_rgb_to_ycc(const uint8_t *restrict red, const uint8_t *restrict green, const uint8_t *restrict blue,
                       size_t count, uint8_t *restrict luma, uint8_t *restrict cb, uint8_t *restrict cr);

/// The same to luma of 16 to 235 and chroma of 16 to 240.
void larder_rgb_to_limited_ycc(const uint8_t *restrict red, const uint8_t *restrict green,
                               const uint8_t *restrict blue, size_t count, uint8_t *restrict luma,
                               uint8_t *restrict cb, uint8_t *restrict cr);

/// From luma and chroma by JFIF's matrix, rounded to the nearest.
void larder_ycc_to_rgb(const uint8_t *restrict luma, const uint8_t *restrict cb, const uint8_t *restrict cr,
                       size_t count, uint8_t *restrict red, uint8_t *restrict green, uint8_t *restrict blue);

/// From one RGB space to another, in place: `curves` have the linear value of each byte of red, green and blue,
/// `matrix` has three rows, and `bytes` has the byte of each of 65536 linear values of the result, which is cut to 0…1.
void larder_convert_colors(uint8_t *restrict red, uint8_t *restrict green, uint8_t *restrict blue, size_t count,
                           const float *restrict curves, const float *restrict matrix, const uint8_t *restrict bytes);

/// The means of `count` squares of two by two samples; both rows have twice as many.
void larder_halve_rows(const uint8_t *restrict upper, const uint8_t *restrict lower, size_t count,
                       uint8_t *restrict out);

// MARK: Resampling

/// Results are computed in groups of this size; tables are padded to it.
enum { larder_filter_group = 8, larder_row_alignment = 64 };

/// The filter of one axis: sample `i` of the result is the sum of the `taps` samples from `first[i]` on, times the
/// weights from `weights[i * taps]` on. Both tables are padded to a multiple of `larder_filter_group` results.
struct larder_filter_table {
    int count, taps;
    const int32_t *first;
    const float *weights;
};

/// The number of floats that `larder_resample` needs as scratch for a plane of `columns` columns, padding included.
size_t larder_resample_scratch(size_t columns);

/// Resamples a plane: samples of the result are the sums times `scale`, plus `offset`. Rows of `in` are a multiple of
/// `larder_row_alignment` bytes long, all readable. Every `first[i] + taps` of `rows` must lie within the plane's rows,
/// and of `columns` within its columns.
void larder_resample(const uint8_t *in, size_t inStride, struct larder_filter_table columns,
                     struct larder_filter_table rows, float scale, float offset, uint8_t *out, size_t outStride,
                     float *scratch);

/// Resamples red, green, blue and straight alpha, in this order, all of the same stride: colours times alpha are
/// filtered, and divided by the filtered alpha before anything is clipped or rounded. Where no alpha is left colours
/// are zero. Takes four times the scratch.
void larder_resample_alpha(const uint8_t *const in[4], size_t inStride, struct larder_filter_table columns,
                           struct larder_filter_table rows, uint8_t *const out[4], size_t outStride, float *scratch);
