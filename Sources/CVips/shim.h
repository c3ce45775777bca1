#pragma once
// libvips' operations are variadic, which Swift cannot call: each use gets one typed door.
// All return 0, or -1 with libvips' error buffer set; an image in `out` belongs to the caller.
#include <unistd.h>
#include <vips/vips.h>

static inline int larder_vips_init(const char *program) { return VIPS_INIT(program); }

// MARK: Loaders. By name, never the generic one, which would let the bytes choose among all of libvips' parsers.
// A cut-short file is an error, not a half-grey picture. Buffers are not copied: they must outlive the image.

/// `shrink` is libjpeg's 1, 2, 4 or 8.
static inline int larder_jpeg_load(const void *bytes, size_t length, int shrink, VipsImage **out) {
    return vips_jpegload_buffer((void *)bytes, length, out, "shrink", shrink, "access", VIPS_ACCESS_SEQUENTIAL,
                                "fail_on", VIPS_FAIL_ON_TRUNCATED, NULL);
}

static inline int larder_png_load(const void *bytes, size_t length, VipsImage **out) {
    return vips_pngload_buffer((void *)bytes, length, out, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                               VIPS_FAIL_ON_TRUNCATED, NULL);
}

/// The first `frames` frames one below another; -1 for all.
static inline int larder_gif_load(const void *bytes, size_t length, int frames, VipsImage **out) {
    return vips_gifload_buffer((void *)bytes, length, out, "n", frames, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                               VIPS_FAIL_ON_TRUNCATED, NULL);
}

/// The first `frames` frames one below another; -1 for all.
static inline int larder_webp_load(const void *bytes, size_t length, int frames, VipsImage **out) {
    return vips_webpload_buffer((void *)bytes, length, out, "n", frames, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                VIPS_FAIL_ON_TRUNCATED, NULL);
}

/// HEIC, HEIF and AVIF; the primary image.
static inline int larder_heif_load(const void *bytes, size_t length, VipsImage **out) {
    return vips_heifload_buffer((void *)bytes, length, out, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                VIPS_FAIL_ON_TRUNCATED, NULL);
}

/// The first page of it.
static inline int larder_tiff_load(const void *bytes, size_t length, VipsImage **out) {
    return vips_tiffload_buffer((void *)bytes, length, out, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                VIPS_FAIL_ON_TRUNCATED, NULL);
}

/// A pixel for each of its own units, 72 to the inch; without `unlimited`, so that libxml2 refuses what grows by entities.
static inline int larder_svg_load(const void *bytes, size_t length, VipsImage **out) {
    return vips_svgload_buffer((void *)bytes, length, out, "dpi", 72.0, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                               VIPS_FAIL_ON_TRUNCATED, NULL);
}

static inline int larder_jxl_load(const void *bytes, size_t length, VipsImage **out) {
    return vips_jxlload_buffer((void *)bytes, length, out, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                               VIPS_FAIL_ON_TRUNCATED, NULL);
}

/// The first page of it, a pixel for each point, on white.
static inline int larder_pdf_load(const void *bytes, size_t length, VipsImage **out) {
    return vips_pdfload_buffer((void *)bytes, length, out, "dpi", 72.0, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                               VIPS_FAIL_ON_TRUNCATED, NULL);
}

// MARK: Operations

/// Scales each side by its own factor; Lanczos 3 downwards, bicubic upwards.
static inline int larder_resize(VipsImage *in, VipsImage **out, double horizontal, double vertical) {
    return vips_resize(in, out, horizontal, "vscale", vertical, NULL);
}

/// Into 8-bit sRGB by the embedded profile, else by the built-in one called `fallback`.
static inline int larder_icc_to_srgb(VipsImage *in, VipsImage **out, const char *fallback) {
    return vips_icc_transform(in, out, "srgb", "embedded", TRUE, "input_profile", fallback, "depth", 8, "intent",
                              VIPS_INTENT_RELATIVE, NULL);
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

/// In the number format of another picture; values beyond it are cut.
static inline int larder_cast_like(VipsImage *in, VipsImage **out, VipsImage *other) {
    return vips_cast(in, out, vips_image_get_format(other), NULL);
}

/// With an alpha channel: its own, or an opaque one.
static inline int larder_with_alpha(VipsImage *in, VipsImage **out) {
    return vips_image_hasalpha(in) ? vips_copy(in, out, NULL) : vips_addalpha(in, out, NULL);
}

/// The first `count` bands.
static inline int larder_first_bands(VipsImage *in, VipsImage **out, int count) {
    return vips_extract_band(in, out, 0, "n", count, NULL);
}

static inline int larder_crop(VipsImage *in, VipsImage **out, int left, int top, int width, int height) {
    return vips_extract_area(in, out, left, top, width, height, NULL);
}

/// On a larger canvas whose other pixels are all zero: transparent black.
static inline int larder_place(VipsImage *in, VipsImage **out, int left, int top, int width, int height) {
    return vips_embed(in, out, left, top, width, height, "extend", VIPS_EXTEND_BLACK, NULL);
}

/// Without alpha, on a colour of 0 to 255; libvips' own default is black.
static inline int larder_flatten(VipsImage *in, VipsImage **out, const double colour[3]) {
    VipsArrayDouble *background = vips_array_double_new(colour, 3);
    int result = vips_flatten(in, out, "background", background, NULL);
    vips_area_unref(VIPS_AREA(background));
    return result;
}

static inline int larder_mirror(VipsImage *in, VipsImage **out, int vertical) {
    return vips_flip(in, out, vertical ? VIPS_DIRECTION_VERTICAL : VIPS_DIRECTION_HORIZONTAL, NULL);
}

/// Turned clockwise by `quarters` right angles, 1 to 3.
static inline int larder_quarter_turn(VipsImage *in, VipsImage **out, int quarters) {
    VipsAngle angles[] = {VIPS_ANGLE_D0, VIPS_ANGLE_D90, VIPS_ANGLE_D180, VIPS_ANGLE_D270};
    return vips_rot(in, out, angles[quarters & 3], NULL);
}

/// The pixels of a `width` × `height` canvas, by a matrix from input to output and an offset, both of pixel centres;
/// transparent where the picture is not. Bicubic; the input must be premultiplied.
static inline int larder_affine(VipsImage *in, VipsImage **out, const double matrix[4], double x, double y, int width,
                                int height) {
    int area[] = {0, 0, width, height};
    double nothing[] = {0, 0, 0, 0};
    VipsArrayInt *canvas = vips_array_int_new(area, 4);
    VipsArrayDouble *background = vips_array_double_new(nothing, 4);
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

/// Computed into memory of its own, which nobody else reads.
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

/// The first pixel of an image from `larder_into_memory`; rows follow each other without a gap.
static inline unsigned char *larder_pixels(VipsImage *image) { return VIPS_IMAGE_ADDR(image, 0, 0); }

/// The bands but the last, which is alpha.
static inline int larder_without_alpha(VipsImage *in, VipsImage **out) {
    return vips_extract_band(in, out, 0, "n", vips_image_get_bands(in) - 1, NULL);
}

/// Upright by the `orientation` field.
static inline int larder_upright(VipsImage *in, VipsImage **out) { return vips_autorot(in, out, NULL); }

/// A new image over the same pixels, whose fields can be changed.
static inline int larder_copy(VipsImage *in, VipsImage **out) { return vips_copy(in, out, NULL); }

/// Transparent black, in sRGB with alpha.
static inline int larder_clear(VipsImage **out, int width, int height) {
    VipsImage *black = NULL;
    if (vips_black(&black, width, height, "bands", 4, NULL)) { return -1; }
    int result = vips_copy(black, out, "interpretation", VIPS_INTERPRETATION_sRGB, NULL);
    g_object_unref(black);
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

/// Frames of one size, one below another.
static inline int larder_join_frames(VipsImage **frames, int count, VipsImage **out) {
    return vips_arrayjoin(frames, out, count, "across", 1, NULL);
}

// MARK: Savers. The bytes in `*bytes` belong to the caller, who frees them with g_free. `bare`: no field is written.

/// 4:2:0 below quality 90, 4:4:4 from there on.
static inline int larder_jpeg_save(VipsImage *in, int quality, int bare, void **bytes, size_t *length) {
    return vips_jpegsave_buffer(in, bytes, length, "Q", quality, "optimize_coding", TRUE, "strip", bare, NULL);
}

static inline int larder_png_save(VipsImage *in, int bare, void **bytes, size_t *length) {
    return vips_pngsave_buffer(in, bytes, length, "compression", 6, "strip", bare, NULL);
}

static inline int larder_gif_save(VipsImage *in, void **bytes, size_t *length) {
    return vips_gifsave_buffer(in, bytes, length, "effort", 7, "strip", TRUE, NULL);
}

/// libvips 8.14.1 ignores `strip` here; the image must come without metadata.
static inline int larder_webp_save(VipsImage *in, int quality, void **bytes, size_t *length) {
    return vips_webpsave_buffer(in, bytes, length, "Q", quality, "effort", 4, NULL);
}

/// HEVC or AV1, 8 bit; effort 1 is AV1's speed 8, a tenth of the default's time.
static inline int larder_heif_save(VipsImage *in, int quality, int av1, int bare, void **bytes, size_t *length) {
    return vips_heifsave_buffer(in, bytes, length, "Q", quality, "compression",
                                av1 ? VIPS_FOREIGN_HEIF_COMPRESSION_AV1 : VIPS_FOREIGN_HEIF_COMPRESSION_HEVC, "effort",
                                av1 ? 1 : 4, "bitdepth", 8, "strip", bare, NULL);
}

// MARK: GLib

static inline void larder_on_log(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer exitCode) {
    if (level & (G_LOG_FLAG_FATAL | G_LOG_LEVEL_ERROR)) { _exit(GPOINTER_TO_INT(exitCode)); }
}

/// Drops what codecs warn about, and ends the process with `exitCode` on a fatal message: with GLib that is an
/// allocation that failed, which it would answer with a trap.
static inline void larder_quiet_log(int exitCode) {
    g_log_set_default_handler(larder_on_log, GINT_TO_POINTER(exitCode));
}
