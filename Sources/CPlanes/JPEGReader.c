#include "CPlanes.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jerror.h>
#include <jpeglib.h>

/// libvips' limit: each scan of a progressive file costs a pass over the whole image.
enum { maxScans = 100 };

struct larder_jpeg_reader {
    struct jpeg_decompress_struct codec;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf failed;
    char message[JMSG_LENGTH_MAX];
};

static void fail(j_common_ptr codec) {
    larder_jpeg_reader *reader = codec->client_data;
    codec->err->format_message(codec, reader->message);
    longjmp(reader->failed, 1);
}

/// Warnings are ignored and not printed.
static void ignore_message(j_common_ptr codec, int level) {
    (void)codec;
    (void)level;
}

static void limit_scans(j_common_ptr codec) {
    if (((j_decompress_ptr)codec)->input_scan_number > maxScans) { ERREXIT(codec, JERR_BAD_PROGRESSION); }
}

static void source_nothing(j_decompress_ptr codec) { (void)codec; }

/// Called at the end of the buffer: the file is truncated.
static boolean source_end(j_decompress_ptr codec) {
    ERREXIT(codec, JERR_INPUT_EOF);
    return FALSE;
}

static void source_skip(j_decompress_ptr codec, long count) {
    if (count <= 0) { return; }
    if ((size_t)count > codec->src->bytes_in_buffer) { ERREXIT(codec, JERR_INPUT_EOF); }
    codec->src->next_input_byte += count;
    codec->src->bytes_in_buffer -= (size_t)count;
}

/// Whether the planes are luma at the highest resolution and chroma of equal, integral subsampling.
static int has_supported_planes(j_decompress_ptr codec) {
    const jpeg_component_info *parts = codec->comp_info;
    if (codec->data_precision != 8) { return 0; }
    int isGrey = codec->jpeg_color_space == JCS_GRAYSCALE && codec->num_components == 1;
    if (isGrey) { return 1; }
    return codec->jpeg_color_space == JCS_YCbCr && codec->num_components == 3 &&
           parts[0].h_samp_factor == codec->max_h_samp_factor && parts[0].v_samp_factor == codec->max_v_samp_factor &&
           parts[1].h_samp_factor == parts[2].h_samp_factor && parts[1].v_samp_factor == parts[2].v_samp_factor &&
           parts[0].h_samp_factor % parts[1].h_samp_factor == 0 && parts[0].v_samp_factor % parts[1].v_samp_factor == 0;
}

larder_jpeg_reader *larder_jpeg_open(const void *bytes, size_t length) {
    larder_jpeg_reader *reader = calloc(1, sizeof *reader);
    if (!reader) { return NULL; }
    j_decompress_ptr codec = &reader->codec;
    codec->err = jpeg_std_error(&reader->errors);
    reader->errors.error_exit = fail;
    reader->errors.emit_message = ignore_message;
    codec->client_data = reader;
    if (setjmp(reader->failed)) {
        larder_jpeg_close(reader);
        return NULL;
    }
    jpeg_create_decompress(codec);
    reader->progress.progress_monitor = limit_scans;
    codec->progress = &reader->progress;
    reader->source = (struct jpeg_source_mgr){
        .next_input_byte = bytes, .bytes_in_buffer = length, .init_source = source_nothing,
        .fill_input_buffer = source_end, .skip_input_data = source_skip, .resync_to_restart = jpeg_resync_to_restart,
        .term_source = source_nothing};
    codec->src = &reader->source;
    jpeg_read_header(codec, TRUE);
    if (!has_supported_planes(codec)) {
        larder_jpeg_close(reader);
        return NULL;
    }
    codec->raw_data_out = TRUE;
    codec->out_color_space = codec->jpeg_color_space;
    codec->do_fancy_upsampling = FALSE;
    return reader;
}

int larder_jpeg_shrink(larder_jpeg_reader *reader, int shrink) {
    j_decompress_ptr codec = &reader->codec;
    if (setjmp(reader->failed)) { return -1; }
    codec->scale_num = 1;
    codec->scale_denom = (unsigned)shrink;
    jpeg_calc_output_dimensions(codec);
    return 0;
}

int larder_jpeg_planes(const larder_jpeg_reader *reader) { return reader->codec.num_components; }

struct larder_jpeg_plane larder_jpeg_plane_at(const larder_jpeg_reader *reader, int index) {
    const struct jpeg_decompress_struct *codec = &reader->codec;
    const jpeg_component_info *part = &codec->comp_info[index];
    // libjpeg may upsample chroma while it shrinks luma, so the component's own scale counts.
    int scale = part->DCT_scaled_size;
    int step = codec->max_v_samp_factor * DCTSIZE;
    int blockRows = ((int)codec->image_height + step - 1) / step * part->v_samp_factor;
    return (struct larder_jpeg_plane){
        .columns = (int)part->width_in_blocks * scale, .rows = blockRows * scale,
        .width = (int)part->downsampled_width, .height = (int)part->downsampled_height,
        .exact_width = (double)codec->image_width * part->h_samp_factor * scale / (codec->max_h_samp_factor * DCTSIZE),
        .exact_height = (double)codec->image_height * part->v_samp_factor * scale / (codec->max_v_samp_factor * DCTSIZE)};
}

int larder_jpeg_read(larder_jpeg_reader *reader, uint8_t *const planes[3], const size_t strides[3]) {
    // At most four blocks of eight rows per component (ITU T.81, B.2.2).
    JSAMPROW rows[3][4 * DCTSIZE];
    JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
    j_decompress_ptr codec = &reader->codec;
    if (setjmp(reader->failed)) { return -1; }
    jpeg_start_decompress(codec);
    size_t done = 0;
    while (codec->output_scanline < codec->output_height) {
        for (int index = 0; index < codec->num_components; index++) {
            const jpeg_component_info *part = &codec->comp_info[index];
            size_t count = (size_t)(part->v_samp_factor * part->DCT_scaled_size);
            for (size_t row = 0; row < count; row++) {
                rows[index][row] = planes[index] + (done * count + row) * strides[index];
            }
        }
        JDIMENSION lines = (JDIMENSION)(codec->max_v_samp_factor * codec->min_DCT_scaled_size);
        if (jpeg_read_raw_data(codec, arrays, lines) == 0) { ERREXIT(codec, JERR_INPUT_EOF); }
        done++;
    }
    return 0;
}

void larder_jpeg_close(larder_jpeg_reader *reader) {
    if (!reader) { return; }
    jpeg_destroy_decompress(&reader->codec);
    free(reader);
}

const char *larder_jpeg_message(const larder_jpeg_reader *reader) { return reader->message; }
