#pragma once
// What the path by planes needs of C: libjpeg, whose errors jump, and loops as wide as the processor's registers.
#include <stddef.h>
#include <stdint.h>

// MARK: JPEG in

/// A JPEG being decoded to its planes. Confined to one thread.
typedef struct larder_jpeg_reader larder_jpeg_reader;

/// One plane of it, at the shrinking asked for.
struct larder_jpeg_plane {
    /// The memory it takes: whole blocks, all of whose samples are written.
    int columns, rows;
    /// The samples of the picture, in whole ones.
    int width, height;
    /// The picture's exact size in these samples, in fractions of a sample.
    double across, down;
};

/// Reads the header of a JPEG, which must outlive the reader. `shrink` is 1, 2, 4 or 8. NULL where it is no JPEG, or
/// none of 8-bit luma at the finest sampling, with or without two planes of chroma of one size.
larder_jpeg_reader *larder_jpeg_open(const void *bytes, size_t length, int shrink);

/// 1 for grey, 3 for colour.
int larder_jpeg_planes(const larder_jpeg_reader *reader);

/// What plane `index` is like.
struct larder_jpeg_plane larder_jpeg_plane_at(const larder_jpeg_reader *reader, int index);

/// Decodes into as many planes as there are, each of `rows` rows of at least `columns` bytes. 0, or -1 where the file
/// ends early or cannot be decoded; other faults in it are passed over, as libvips does.
int larder_jpeg_read(larder_jpeg_reader *reader, uint8_t *const planes[3], const size_t strides[3]);

/// Frees it.
void larder_jpeg_close(larder_jpeg_reader *reader);

/// What libjpeg said last, for people.
const char *larder_jpeg_message(const larder_jpeg_reader *reader);

// MARK: JPEG out

/// Three planes to be written: luma, and chroma of half the size (4:2:0), rounded up, or of the same. Rows are filled to
/// a multiple of eight samples.
struct larder_jpeg_picture {
    int width, height, isHalved;
    const uint8_t *planes[3];
    size_t strides[3];
};

/// Writes a JPEG with no metadata; `quality` is 1 to 100. `*bytes` is to be freed with `free`. 0, or -1.
int larder_jpeg_write(const struct larder_jpeg_picture *picture, int quality, uint8_t **bytes, size_t *length);

// MARK: Colours

/// Turns `count` pixels of red, green and blue into luma and chroma by JFIF's matrix, each rounded to the nearest. The
/// three rows do not overlap the pixels.
void larder_rgb_row(const uint8_t *restrict rgb, size_t count, uint8_t *restrict luma, uint8_t *restrict blue,
                    uint8_t *restrict red);

// MARK: Resampling

/// How many samples one axis is computed in at a time; the tables are padded to it.
enum { larder_axis_group = 8, larder_row_alignment = 64 };

/// One axis: sample `i` of the result is the sum over `taps` samples from `first[i]` on, times the weights from
/// `weights[i * taps]` on. `first` and `weights` go on to a multiple of `larder_axis_group` results.
struct larder_axis {
    int count, taps;
    const int32_t *first;
    const float *weights;
};

/// Floats of scratch that `larder_resample` needs for a plane of `columns` columns, padding included.
size_t larder_resample_scratch(size_t columns);

/// Resamples a plane: rows of `in`, a multiple of `larder_row_alignment` bytes long each, all of them readable. Every
/// `first[i] + taps` of `down` lies within its rows, and of `across` within its columns.
void larder_resample(const uint8_t *in, size_t inStride, struct larder_axis across, struct larder_axis down,
                     uint8_t *out, size_t outStride, float *scratch);
