// A plain loop that downloads pictures and writes as many files as a worker with three variants: one libcurl handle,
// one thread, no queue, no codec. What it takes is the part of `Benchmarks/overhead` that any program would need.
//
// usage: downloads DIR < list of URLs
// build: cc -O2 -o downloads Benchmarks/peers/downloads.c -lcurl -lcrypto
//
// For each URL: the body into a file while SHA-256 runs over it, and three files of 70, 16 and 8 KB. Each file is
// created under another name, synchronised (fdatasync) and renamed. Prints a line of JSON; cpu_ms_img is the processor
// time per picture.
#include <curl/curl.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int file;
static EVP_MD_CTX *digest;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static size_t receive(char *bytes, size_t size, size_t count, void *unused) {
    (void)unused;
    EVP_DigestUpdate(digest, bytes, size * count);
    if (write(file, bytes, size * count) != (ssize_t)(size * count)) { fail("write"); }
    return size * count;
}

static double processor_time(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec)
        + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fputs("usage: downloads DIR < list of URLs\n", stderr);
        return 2;
    }
    static const size_t variants[] = {70000, 16000, 8000};
    static char pixels[70000];
    CURL *curl = curl_easy_init();
    digest = EVP_MD_CTX_new();
    if (!curl || !digest) { fail("no memory"); }
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 65536L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    double began = processor_time();
    int pictures = 0;
    for (char url[2048]; fgets(url, sizeof url, stdin); pictures++) {
        url[strcspn(url, "\n")] = 0;
        for (int index = 0; index < 4; index++) {
            char hidden[4096], name[4096];
            snprintf(hidden, sizeof hidden, "%s/.%d-%d", arguments[1], pictures, index);
            snprintf(name, sizeof name, "%s/%d-%d", arguments[1], pictures, index);
            file = open(hidden, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
            if (file < 0) { fail(hidden); }
            EVP_DigestInit_ex(digest, EVP_sha256(), NULL);
            if (index > 0) {
                receive(pixels, 1, variants[index - 1], NULL);
            } else {
                curl_easy_setopt(curl, CURLOPT_URL, url);
                if (curl_easy_perform(curl) != CURLE_OK) { fail(url); }
            }
            unsigned char sum[EVP_MAX_MD_SIZE];
            EVP_DigestFinal_ex(digest, sum, NULL);
            if (fdatasync(file) != 0 || rename(hidden, name) != 0) { fail(name); }
            close(file);
        }
    }
    printf("{\"pictures\": %d, \"cpu_ms_img\": %.3f}\n", pictures, (processor_time() - began) * 1000 / pictures);
    return 0;
}
