#pragma once
// libvips' operations are variadic, which Swift cannot call: each use has a function with a fixed signature.
// All return 0, or -1 with libvips' error buffer set; the caller owns the image in `out`.
#include <string.h>
#include <unistd.h>
#include <vips/vips.h>

static inline int larder_vips_init(const char *program) { return VIPS_INIT(program); }

// MARK: Loading and saving

/// Builds an operation with options as on libvips' command line, `shrink=2,access=sequential`.
static inline int larder_build(VipsOperation **operation, const char *options) {
    return vips_object_set_from_string(VIPS_OBJECT(*operation), options) || vips_cache_operation_buildp(operation);
}

/// Drops an operation and the references that it holds to its outputs.
static inline void larder_drop(VipsOperation *operation) {
    vips_object_unref_outputs(VIPS_OBJECT(operation));
    g_object_unref(operation);
}

/// A truncated file is an error, and so is a wrong checksum of a PNG. libvips before 8.15.3 checks the checksums
/// at the lower level, later versions at the higher one.
static inline VipsFailOn larder_fail_on(const char *loader) {
    int version = vips_version(0) * 10000 + vips_version(1) * 100 + vips_version(2);
    return version >= 81503 && strcmp(loader, "pngload_buffer") == 0 ? VIPS_FAIL_ON_ERROR : VIPS_FAIL_ON_TRUNCATED;
}

/// Opens a buffer, which is not copied and must outlive the image. The loader is named, so that the bytes cannot choose
/// among all of libvips' parsers.
static inline int larder_load(const char *loader, const void *bytes, size_t length, const char *options,
                              VipsImage **out) {
    VipsOperation *operation = vips_operation_new(loader);
    if (!operation) { return -1; }
    VipsBlob *blob = vips_blob_new(NULL, bytes, length);
    g_object_set(operation, "buffer", blob, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on", larder_fail_on(loader), NULL);
    vips_area_unref(VIPS_AREA(blob));
    int result = larder_build(&operation, options);
    if (result == 0) { g_object_get(operation, "out", out, NULL); }
    larder_drop(operation);
    return result ? -1 : 0;
}

/// Encodes an image. The caller frees `*bytes` with `g_free`.
static inline int larder_save(const char *saver, VipsImage *in, const char *options, void **bytes, size_t *length) {
    VipsOperation *operation = vips_operation_new(saver);
    if (!operation) { return -1; }
    g_object_set(operation, "in", in, NULL);
    int result = larder_build(&operation, options);
    if (result == 0) {
        VipsArea *area = NULL;
        g_object_get(operation, "buffer", &area, NULL);
        *bytes = area->data;
        *length = area->length;
        area->free_fn = NULL;
        vips_area_unref(area);
    }
    larder_drop(operation);
    return result ? -1 : 0;
}

// MARK: Operations

/// Scales each side by its own factor; Lanczos 3 downwards, bicubic upwards.
static inline int larder_resize(VipsImage *in, VipsImage **out, double horizontal, double vertical) {
    return vips_resize(in, out, horizontal, "vscale", vertical, NULL);
}

/// Converts to 8-bit sRGB by the embedded profile, else by libvips' built-in profile `fallback`; with perceptual or
/// relative intent. Black becomes black.
static inline int larder_icc_to_srgb(VipsImage *in, VipsImage **out, const char *fallback, int is_perceptual) {
    return vips_icc_transform(in, out, "srgb", "embedded", TRUE, "input_profile", fallback, "depth", 8, "intent",
                              is_perceptual ? VIPS_INTENT_PERCEPTUAL : VIPS_INTENT_RELATIVE,
                              "black_point_compensation", TRUE, NULL);
}

static inline int larder_to_srgb(VipsImage *in, VipsImage **out) {
    return vips_colourspace(in, out, VIPS_INTERPRETATION_sRGB, NULL);
}

static inline int larder_premultiply(VipsImage *in, VipsImage **out) { return vips_premultiply(in, out, NULL); }
static inline int larder_unpremultiply(VipsImage *in, VipsImage **out) { return vips_unpremultiply(in, out, NULL); }
static inline int larder_cast_byte(VipsImage *in, VipsImage **out) {
    return vips_cast(in, out, VIPS_FORMAT_UCHAR, NULL);
}

static inline int larder_round(VipsImage *in, VipsImage **out) { return vips_rint(in, out, NULL); }

/// In the number format of another image; values beyond its range are clamped.
static inline int larder_cast_like(VipsImage *in, VipsImage **out, VipsImage *other) {
    return vips_cast(in, out, vips_image_get_format(other), NULL);
}

/// Adds an opaque alpha channel to an image that has none.
static inline int larder_with_alpha(VipsImage *in, VipsImage **out) {
    return vips_image_hasalpha(in) ? vips_copy(in, out, NULL) : vips_addalpha(in, out, NULL);
}

/// The alpha of an image with 8 or 16 bits, as one band of 8 bits.
static inline int larder_byte_alpha(VipsImage *in, VipsImage **out) {
    VipsImage *alpha = NULL;
    if (vips_extract_band(in, &alpha, vips_image_get_bands(in) - 1, NULL)) { return -1; }
    double scale = vips_image_get_format(in) == VIPS_FORMAT_USHORT ? 1.0 / 257 : 1;
    int result = vips_linear1(alpha, out, scale, 0.5, "uchar", TRUE, NULL);
    g_object_unref(alpha);
    return result;
}

/// The bands of one image and then of another.
static inline int larder_join_bands(VipsImage *first, VipsImage *second, VipsImage **out) {
    return vips_bandjoin2(first, second, out, NULL);
}

/// The first `count` bands.
static inline int larder_first_bands(VipsImage *in, VipsImage **out, int count) {
    return vips_extract_band(in, out, 0, "n", count, NULL);
}

static inline int larder_crop(VipsImage *in, VipsImage **out, int left, int top, int width, int height) {
    return vips_extract_area(in, out, left, top, width, height, NULL);
}

/// Places the image on a canvas whose other pixels are zero: transparent black.
static inline int larder_embed(VipsImage *in, VipsImage **out, int left, int top, int width, int height) {
    return vips_embed(in, out, left, top, width, height, "extend", VIPS_EXTEND_BLACK, NULL);
}

/// Places the image on a canvas whose other pixels have a colour of 0 to 255, a number for each of the image's bands.
static inline int larder_extend(VipsImage *in, VipsImage **out, int left, int top, int width, int height,
                                const double colour[4], int bands) {
    VipsArrayDouble *background = vips_array_double_new(colour, bands);
    int result = vips_embed(in, out, left, top, width, height, "extend", VIPS_EXTEND_BACKGROUND, "background",
                            background, NULL);
    vips_area_unref(VIPS_AREA(background));
    return result;
}

/// The part of a size with the most entropy, or the most that attracts attention.
static inline int larder_smart_crop(VipsImage *in, VipsImage **out, int width, int height, int by_entropy) {
    return vips_smartcrop(in, out, width, height, "interesting",
                          by_entropy ? VIPS_INTERESTING_ENTROPY : VIPS_INTERESTING_ATTENTION, NULL);
}

/// Left, top, width and height of what differs by more than `threshold` from a colour of 0 to 255; a width of 0 where
/// nothing does.
static inline int larder_find_trim(VipsImage *in, double threshold, const double *colour, int bands, int box[4]) {
    VipsArrayDouble *background = vips_array_double_new(colour, bands);
    int result = vips_find_trim(in, &box[0], &box[1], &box[2], &box[3], "threshold", threshold, "background",
                                background, NULL);
    vips_area_unref(VIPS_AREA(background));
    return result;
}

/// Sharpens lightness, flat areas left as they are; 8-bit sRGB in and out.
static inline int larder_sharpen(VipsImage *in, VipsImage **out, double sigma, double amount) {
    VipsImage *sharp = NULL;
    if (vips_sharpen(in, &sharp, "sigma", sigma, "m1", 0.0, "m2", amount, NULL)) { return -1; }
    int result = vips_cast(sharp, out, VIPS_FORMAT_UCHAR, NULL);
    g_object_unref(sharp);
    return result;
}

/// A Gaussian blur in floating point, of the size that `larder_sharpen` has.
static inline int larder_gaussian_blur(VipsImage *in, VipsImage **out, double sigma) {
    return vips_gaussblur(in, out, sigma, "min_ampl", 0.1, "precision", VIPS_PRECISION_FLOAT, NULL);
}

/// Composites the image on a colour of 0 to 255; libvips' default is black.
static inline int larder_flatten(VipsImage *in, VipsImage **out, const double colour[3]) {
    VipsArrayDouble *background = vips_array_double_new(colour, 3);
    int result = vips_flatten(in, out, "background", background, NULL);
    vips_area_unref(VIPS_AREA(background));
    return result;
}

static inline int larder_mirror(VipsImage *in, VipsImage **out, int vertical) {
    return vips_flip(in, out, vertical ? VIPS_DIRECTION_VERTICAL : VIPS_DIRECTION_HORIZONTAL, NULL);
}

/// Rotates clockwise by 90° times `count`, 1 to 3.
static inline int larder_rot90(VipsImage *in, VipsImage **out, int count) {
    VipsAngle angles[] = {VIPS_ANGLE_D0, VIPS_ANGLE_D90, VIPS_ANGLE_D180, VIPS_ANGLE_D270};
    return vips_rot(in, out, angles[count & 3], NULL);
}

/// Maps the image onto a transparent canvas by a matrix from input to output and an offset, both of pixel centres.
/// Bicubic; the input must be premultiplied.
static inline int larder_affine(VipsImage *in, VipsImage **out, const double matrix[4], double x, double y, int width,
                                int height) {
    int area[] = {0, 0, width, height};
    double transparent[] = {0, 0, 0, 0};
    VipsArrayInt *canvas = vips_array_int_new(area, 4);
    VipsArrayDouble *background = vips_array_double_new(transparent, 4);
    VipsInterpolate *interpolate = vips_interpolate_new("bicubic");
    int result = interpolate ? vips_affine(in, out, matrix[0], matrix[1], matrix[2], matrix[3], "oarea", canvas, "odx",
                                           x, "ody", y, "interpolate", interpolate, "extend", VIPS_EXTEND_BACKGROUND,
                                           "background", background, "premultiplied", TRUE, NULL)
                             : -1;
    if (interpolate) { g_object_unref(interpolate); }
    vips_area_unref(VIPS_AREA(background));
    vips_area_unref(VIPS_AREA(canvas));
    return result;
}

/// Computes the pixels into new memory that no other image shares.
static inline int larder_into_memory(VipsImage *in, VipsImage **out) {
    VipsImage *memory = vips_image_new_memory();
    if (!memory) { return -1; }
    if (vips_image_write(in, memory)) {
        g_object_unref(memory);
        return -1;
    }
    *out = memory;
    return 0;
}

/// The first pixel of an image in memory; rows are contiguous.
static inline unsigned char *larder_pixels(VipsImage *image) { return VIPS_IMAGE_ADDR(image, 0, 0); }

/// All bands except the last, which is alpha.
static inline int larder_without_alpha(VipsImage *in, VipsImage **out) {
    return vips_extract_band(in, out, 0, "n", vips_image_get_bands(in) - 1, NULL);
}

/// Rotates and mirrors by the `orientation` field.
static inline int larder_upright(VipsImage *in, VipsImage **out) { return vips_autorot(in, out, NULL); }

/// A new image over the same pixels, with fields of its own.
static inline int larder_copy(VipsImage *in, VipsImage **out) { return vips_copy(in, out, NULL); }

/// Transparent black, in sRGB with alpha.
static inline int larder_clear(VipsImage **out, int width, int height) {
    VipsImage *black = NULL;
    if (vips_black(&black, width, height, "bands", 4, NULL)) { return -1; }
    int result = vips_copy(black, out, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
    g_object_unref(black);
    return result;
}

/// New memory for 8-bit pixels in sRGB of three bands, or of four with alpha; undefined until they are written.
static inline int larder_new_pixels(VipsImage **out, int width, int height, int bands) {
    size_t length = (size_t)width * (size_t)height * (size_t)bands;
    void *memory = g_try_malloc(length);
    VipsImage *image = memory ? vips_image_new_from_memory(memory, length, width, height, bands, VIPS_FORMAT_UCHAR)
                              : NULL;
    if (!image) {
        g_free(memory);
        return -1;
    }
    g_signal_connect_swapped(image, "postclose", G_CALLBACK(g_free), memory);
    // No other code has the image yet.
    image->Type = VIPS_INTERPRETATION_sRGB;
    *out = image;
    return 0;
}

/// A copy of 8-bit samples of a number of bands.
static inline int larder_from_bytes(const void *samples, int width, int height, int bands, VipsImage **out) {
    size_t length = (size_t)width * (size_t)height * (size_t)bands;
    *out = vips_image_new_from_memory_copy(samples, length, width, height, bands, VIPS_FORMAT_UCHAR);
    return *out ? 0 : -1;
}

/// A copy of 8-bit RGBA pixels as an image in sRGB.
static inline int larder_from_rgba(const void *pixels, int width, int height, VipsImage **out) {
    VipsImage *copy = NULL;
    if (larder_from_bytes(pixels, width, height, 4, &copy)) { return -1; }
    int result = vips_copy(copy, out, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
    g_object_unref(copy);
    return result;
}

/// One band of noise, 8 bit.
static inline int larder_noise(VipsImage **out, int width, int height) {
    VipsImage *noise = NULL;
    if (vips_gaussnoise(&noise, width, height, "mean", 128.0, "sigma", 40.0, NULL)) { return -1; }
    int result = vips_cast(noise, out, VIPS_FORMAT_UCHAR, NULL);
    g_object_unref(noise);
    return result;
}

/// Joins frames of one size, one below another.
static inline int larder_join_frames(VipsImage **frames, int count, VipsImage **out) {
    return vips_arrayjoin(frames, out, count, "across", 1, NULL);
}

// MARK: GLib

static inline void larder_on_log(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer exitCode) {
    if (level & (G_LOG_FLAG_FATAL | G_LOG_LEVEL_ERROR)) { _exit(GPOINTER_TO_INT(exitCode)); }
}

/// Drops warnings, and ends the process with `exitCode` on a fatal message: a failed allocation, on which GLib would
/// abort.
static inline void larder_quiet_log(int exitCode) {
    g_log_set_default_handler(larder_on_log, GINT_TO_POINTER(exitCode));
}
