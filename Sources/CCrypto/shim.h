#pragma once
// The functions of one digest allocate nothing and need no provider, so they cannot fail, unlike EVP_Digest*, which
// OpenSSL 3 recommends in their place.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/hmac.h>
#include <openssl/md5.h>
#include <openssl/sha.h>
