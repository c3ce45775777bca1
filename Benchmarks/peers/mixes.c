// A plain loop over libvips that makes the variants of `Benchmarks planes`, with the encoder settings of a child: each
// file is decoded once, to the largest variant, and the smaller variants are shrunk from the next larger one.
//
// usage: mixes -m MODE -o DIR < list of files
// build: cc -O2 -o mixes Benchmarks/peers/mixes.c $(pkg-config --cflags --libs vips) -lm
//
// Modes: chain   fits 1024 as JPEG, fits 400 as WebP, 160×160 from the centre as JPEG
//        modern  fits 1024 as JPEG, fits 400 as WebP and as AVIF
//        avatar  fits 1024 as JPEG, fits 400 as WebP, 160×160 from the centre in a circle as PNG
//        256     fits 256 as JPEG of quality 95
// Prints a line of JSON; cpu_ms_img is the processor time per image. Profiles are not applied.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vips/vips.h>

enum { side = 160 };

static const char *directory;
static long long written;

/// An image in memory; drops `image`.
static VipsImage *rendered(VipsImage *image) {
    VipsImage *copy = image ? vips_image_copy_memory(image) : NULL;
    if (image) { g_object_unref(image); }
    return copy;
}

/// On white, without alpha; drops `image`.
static VipsImage *opaque(VipsImage *image) {
    if (!image || !vips_image_hasalpha(image)) { return image; }
    VipsImage *flat = NULL;
    VipsArrayDouble *white = vips_array_double_newv(3, 255.0, 255.0, 255.0);
    vips_flatten(image, &flat, "background", white, NULL);
    vips_area_unref(VIPS_AREA(white));
    g_object_unref(image);
    return flat;
}

static VipsImage *fitted(VipsImage *from, int size) {
    VipsImage *image = NULL;
    vips_thumbnail_image(from, &image, size, "size", VIPS_SIZE_DOWN, NULL);
    return rendered(image);
}

static VipsImage *centred(VipsImage *from) {
    VipsImage *image = NULL;
    vips_thumbnail_image(from, &image, side, "crop", VIPS_INTERESTING_CENTRE, NULL);
    return rendered(image);
}

/// Adds a disc as alpha, and clears the colours outside of it; drops `image`.
static VipsImage *rounded(VipsImage *image) {
    static unsigned char disc[side * side];
    if (!disc[side * side / 2]) {
        for (int y = 0; y < side; y++) {
            for (int x = 0; x < side; x++) {
                double distance = hypot(x + 0.5 - side / 2.0, y + 0.5 - side / 2.0);
                disc[y * side + x] = (unsigned char)(255 * fmin(1, fmax(0, side / 2.0 + 0.5 - distance)));
            }
        }
    }
    VipsImage *mask = vips_image_new_from_memory(disc, sizeof disc, side, side, 1, VIPS_FORMAT_UCHAR), *joined = NULL;
    image = rendered(opaque(image));
    if (image && mask && image->Xsize == side && image->Ysize == side && image->BandFmt == VIPS_FORMAT_UCHAR) {
        for (int place = 0; place < side * side; place++) {
            if (!disc[place]) { memset((char *)VIPS_IMAGE_ADDR(image, 0, 0) + place * image->Bands, 0, image->Bands); }
        }
        vips_bandjoin2(image, mask, &joined, NULL);
    }
    if (mask) { g_object_unref(mask); }
    if (image) { g_object_unref(image); }
    return joined;
}

/// Encodes and writes an image by an operation; 0 when that succeeds.
static int save(VipsImage *image, const char *suffix, int number, const char *options) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%d%s%s", directory, number, suffix, options);
    if (!image || vips_image_write_to_file(image, name, NULL)) { return -1; }
    *strchr(name, '[') = 0;
    FILE *file = fopen(name, "rb");
    if (!file) { return -1; }
    fseek(file, 0, SEEK_END);
    written += ftell(file);
    fclose(file);
    return 0;
}

static int save_jpeg(VipsImage *image, const char *suffix, int number, int quality) {
    char options[64];
    snprintf(options, sizeof options, "[Q=%d,optimize_coding=true,strip=true]", quality);
    VipsImage *flat = image ? opaque(g_object_ref(image)) : NULL;
    int result = save(flat, suffix, number, options);
    if (flat) { g_object_unref(flat); }
    return result;
}

static int make(const char *path, int number, const char *mode) {
    VipsImage *card = NULL, *list = NULL, *thumb = NULL;
    int isSmall = !strcmp(mode, "256");
    vips_thumbnail(path, &card, isSmall ? 256 : 1024, "size", VIPS_SIZE_DOWN, NULL);
    card = rendered(card);
    int failed = card ? save_jpeg(card, "-card.jpg", number, isSmall ? 95 : 80) : -1;
    if (!failed && !isSmall) {
        list = fitted(card, 400);
        failed = save(list, "-list.webp", number, "[Q=75,effort=4,strip=true]");
        if (!strcmp(mode, "modern")) {
            failed |= save(list, "-list.avif", number, "[Q=50,effort=1,bitdepth=8,compression=av1,strip=true]");
        } else {
            int hasRoom = list && list->Xsize >= side && list->Ysize >= side;
            thumb = centred(hasRoom ? list : card);
            if (!strcmp(mode, "avatar")) {
                thumb = rounded(thumb);
                failed |= save(thumb, "-avatar.png", number, "[compression=6,strip=true]");
            } else {
                failed |= save_jpeg(thumb, "-thumb.jpg", number, 80);
            }
        }
    }
    if (card) { g_object_unref(card); }
    if (list) { g_object_unref(list); }
    if (thumb) { g_object_unref(thumb); }
    return failed;
}

int main(int argc, char **argv) {
    const char *mode = "chain";
    directory = "/tmp";
    for (int option; (option = getopt(argc, argv, "m:o:")) != -1;) {
        if (option == 'm') { mode = optarg; } else if (option == 'o') { directory = optarg; } else { return 2; }
    }
    if (VIPS_INIT(argv[0])) { return 1; }
    vips_concurrency_set(1);
    vips_cache_set_max(0);
    char path[4096];
    int count = 0, failures = 0;
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = 0;
        if (make(path, count++, mode)) {
            fprintf(stderr, "%s: %s", path, vips_error_buffer());
            vips_error_clear();
            failures++;
        }
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("{\"mode\":\"%s\",\"files\":%d,\"failed\":%d,\"cpu_ms_img\":%.2f,\"out_KiB_img\":%.2f}\n", mode, count,
           failures, 1000 * cpu / count, (double)written / 1024 / count);
    return 0;
}
