#include "transport/tcp/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/assert.h"

namespace weft::tcp {

bool start_hmac() {
    const std::array<std::byte, 32> key{};
    Mac mac;
    return ::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr) == 1 && hmac_sha256(key, {}, mac);
}

bool hmac_sha256(Bytes key, Bytes data, Mac& mac) {
    unsigned bytes = 0;
    const unsigned char* done =
        ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
               reinterpret_cast<const unsigned char*>(data.data()), data.size(),
               reinterpret_cast<unsigned char*>(mac.data()), &bytes);
    return done != nullptr && bytes == mac.size();
}

bool equal_in_constant_time(Bytes a, Bytes b) {
    WEFT_ASSERT(a.size() == b.size());
    return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weft::tcp
