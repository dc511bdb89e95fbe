// HMAC-SHA-256 and a comparison in constant time, both of OpenSSL's libcrypto, or of libsodium
// (WEFT_CRYPTO), which is small. Nothing else uses them. H. Krawczyk, M. Bellare, R. Canetti: HMAC:
// Keyed-Hashing for Message Authentication, RFC 2104
#pragma once

#include <array>
#include <cstddef>

#include "base/bytes.h"

namespace weft::tcp {

using Mac = std::array<std::byte, 32>;

// Initializes the crypto library, which may take milliseconds, and compares with a known answer.
// Unless the program has initialized it before, libcrypto then does not clean up at exit, where a
// thread in a wait may still need it.
[[nodiscard]] bool start_hmac();

// False: the library refused (out of memory, SHA-256 switched off in its configuration); `mac` is
// then not to be used. Thread safe.
[[nodiscard]] bool hmac_sha256(Bytes key, Bytes data, Mac& mac);

// REQUIRES: spans of the same size.
bool equal_in_constant_time(Bytes a, Bytes b);

}  // namespace weft::tcp
