#include "tcp/hmac.h"

#if WEFT_HAS_SODIUM
#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/utils.h>
#else
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

#include "base/assert.h"

namespace weft::tcp {
namespace {

const unsigned char* octets(Bytes bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* octets(Mac& mac) { return reinterpret_cast<unsigned char*>(mac.data()); }

// Of no data, with a key of zeros or without one.
constexpr unsigned char known_mac[] = {
    0xb6, 0x13, 0x67, 0x9a, 0x08, 0x14, 0xd9, 0xec, 0x77, 0x2f, 0x95, 0xd7, 0x78, 0xc3, 0x5f, 0xc5,
    0xff, 0x16, 0x97, 0xc4, 0x93, 0x71, 0x56, 0x53, 0xc6, 0xc7, 0x12, 0x14, 0x42, 0x92, 0xc5, 0xad};

bool hmac_is_right() {
    const std::array<std::byte, 32> key{};
    Mac mac{};
    return hmac_sha256(key, {}, mac) &&
           equal_in_constant_time(mac, std::as_bytes(std::span(known_mac)));
}

}  // namespace

#if WEFT_HAS_SODIUM

// (sodium_init() is for other functions: random numbers, and those with several versions.)
bool start_hmac() { return hmac_is_right(); }

bool hmac_sha256(Bytes key, Bytes data, Mac& mac) {
    crypto_auth_hmacsha256_state state;
    return crypto_auth_hmacsha256_init(&state, octets(key), key.size()) == 0 &&
           crypto_auth_hmacsha256_update(&state, octets(data), data.size()) == 0 &&
           crypto_auth_hmacsha256_final(&state, octets(mac)) == 0;
}

bool equal_in_constant_time(Bytes a, Bytes b) {
    WEFT_ASSERT(a.size() == b.size());
    return sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

#else

bool start_hmac() {
    return ::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr) == 1 && hmac_is_right();
}

bool hmac_sha256(Bytes key, Bytes data, Mac& mac) {
    unsigned bytes = 0;
    const unsigned char* done = ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                       octets(data), data.size(), octets(mac), &bytes);
    return done != nullptr && bytes == mac.size();
}

bool equal_in_constant_time(Bytes a, Bytes b) {
    WEFT_ASSERT(a.size() == b.size());
    return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

#endif

}  // namespace weft::tcp
