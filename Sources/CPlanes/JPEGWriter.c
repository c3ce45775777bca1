#include "CPlanes.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jerror.h>
#include <jpeglib.h>

struct writer {
    struct jpeg_compress_struct codec;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    jmp_buf failed;
    uint8_t *bytes;
    size_t room, length;
};

static void fail(j_common_ptr codec) { longjmp(((struct writer *)codec->client_data)->failed, 1); }

static void ignore_message(j_common_ptr codec, int level) {
    (void)codec;
    (void)level;
}

static void destination_grow(j_compress_ptr codec, size_t room) {
    struct writer *writer = codec->client_data;
    uint8_t *bytes = realloc(writer->bytes, room);
    if (!bytes) { ERREXIT1(codec, JERR_OUT_OF_MEMORY, 0); }
    writer->destination.next_output_byte = bytes + writer->room;
    writer->destination.free_in_buffer = room - writer->room;
    writer->bytes = bytes;
    writer->room = room;
}

static void destination_start(j_compress_ptr codec) { destination_grow(codec, 32 << 10); }

static boolean destination_full(j_compress_ptr codec) {
    destination_grow(codec, 2 * ((struct writer *)codec->client_data)->room);
    return TRUE;
}

static void destination_end(j_compress_ptr codec) {
    struct writer *writer = codec->client_data;
    writer->length = writer->room - writer->destination.free_in_buffer;
}

/// Luma samples for each sample of chroma in each direction.
static int luma_factor(const struct larder_jpeg_image *image) { return image->is_420 && !image->is_grey ? 2 : 1; }

/// The settings are libvips'.
static void set_up(j_compress_ptr codec, const struct larder_jpeg_image *image, int quality) {
    codec->image_width = (JDIMENSION)image->width;
    codec->image_height = (JDIMENSION)image->height;
    codec->input_components = image->is_grey ? 1 : 3;
    codec->in_color_space = image->is_grey ? JCS_GRAYSCALE : JCS_YCbCr;
    jpeg_set_defaults(codec);
    jpeg_set_quality(codec, quality, TRUE);
    codec->optimize_coding = image->has_standard_tables ? FALSE : TRUE;
    codec->write_JFIF_header = FALSE;
    codec->raw_data_in = TRUE;
    for (int index = 0; index < codec->num_components; index++) {
        int factor = index == 0 ? luma_factor(image) : 1;
        codec->comp_info[index].h_samp_factor = factor;
        codec->comp_info[index].v_samp_factor = factor;
    }
    if (image->is_progressive) { jpeg_simple_progression(codec); }
}

int larder_jpeg_write(const struct larder_jpeg_image *image, int quality, uint8_t **bytes, size_t *length) {
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer) { return -1; }
    j_compress_ptr codec = &writer->codec;
    codec->err = jpeg_std_error(&writer->errors);
    writer->errors.error_exit = fail;
    writer->errors.emit_message = ignore_message;
    codec->client_data = writer;
    if (setjmp(writer->failed)) {
        jpeg_destroy_compress(codec);
        free(writer->bytes);
        free(writer);
        return -1;
    }
    jpeg_create_compress(codec);
    writer->destination = (struct jpeg_destination_mgr){
        .init_destination = destination_start, .empty_output_buffer = destination_full,
        .term_destination = destination_end};
    codec->dest = &writer->destination;
    set_up(codec, image, quality);
    jpeg_start_compress(codec, TRUE);
    JSAMPROW rows[3][2 * DCTSIZE];
    JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
    int factor = luma_factor(image);
    while (codec->next_scanline < codec->image_height) {
        for (int index = 0; index < codec->num_components; index++) {
            int divisor = index == 0 ? 1 : factor;
            int height = (image->height + divisor - 1) / divisor;
            int start = (int)codec->next_scanline / divisor, count = factor * DCTSIZE / divisor;
            for (int row = 0; row < count; row++) {
                // The last row is repeated to the end of its block.
                int place = start + row < height ? start + row : height - 1;
                rows[index][row] = (JSAMPROW)image->planes[index] + (size_t)place * image->strides[index];
            }
        }
        jpeg_write_raw_data(codec, arrays, (JDIMENSION)(factor * DCTSIZE));
    }
    jpeg_finish_compress(codec);
    *bytes = writer->bytes;
    *length = writer->length;
    jpeg_destroy_compress(codec);
    free(writer);
    return 0;
}
