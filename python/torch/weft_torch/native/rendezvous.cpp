#include "rendezvous.h"

#include <atomic>
#include <cstring>
#include <exception>

#include "failure.h"

namespace weft_torch {
namespace {

std::atomic<bool> joined{false};

class StoreExchange {
  public:
    StoreExchange(c10d::Store& store, int rank, int ranks)
        : store_(store), rank_(rank), ranks_(ranks) {}

    static int allgather(void* context, const void* mine, void* all, int bytes) {
        return static_cast<StoreExchange*>(context)->exchange(mine, all,
                                                              static_cast<std::size_t>(bytes));
    }

    // After the last exchange. The last process to come here deletes what the others may still
    // have been reading.
    void clean_up() {
        if (number_ == 0) return;
        const std::string counter = "weft/left";
        if (store_.add(counter, 1) < ranks_) return;
        for (int rank = 0; rank < ranks_; ++rank) store_.deleteKey(key(number_ - 1, rank));
        store_.deleteKey(counter);
    }

    const std::exception_ptr& failure() const { return failure_; }

  private:
    static std::string key(int number, int rank) { return c10::str("weft/", number, "/", rank); }

    int exchange(const void* mine, void* all, std::size_t bytes) {
        try {
            const auto* const own = static_cast<const std::uint8_t*>(mine);
            store_.set(key(number_, rank_), std::vector<std::uint8_t>(own, own + bytes));
            std::vector<std::string> keys;
            for (int rank = 0; rank < ranks_; ++rank) keys.push_back(key(number_, rank));
            const std::vector<std::vector<std::uint8_t>> values = store_.multiGet(keys);
            auto* at = static_cast<std::uint8_t*>(all);
            for (const std::vector<std::uint8_t>& value : values) {
                TORCH_CHECK(value.size() == bytes, "weft: a value in the store has ", value.size(),
                            " bytes; expected ", bytes);
                std::memcpy(at, value.data(), bytes);
                at += bytes;
            }
            // All have this exchange's values, hence had the last one's.
            if (number_ > 0) store_.deleteKey(key(number_ - 1, rank_));
            ++number_;
            return 0;
        } catch (...) {
            failure_ = std::current_exception();
            return 1;
        }
    }

    c10d::Store& store_;
    const int rank_;
    const int ranks_;
    int number_ = 0;  // of exchanges
    std::exception_ptr failure_;
};

// Another connection to the store: the timeout belongs to a connection. A store written in Python
// may have no clones.
c10::intrusive_ptr<c10d::Store> with_timeout(const c10::intrusive_ptr<c10d::Store>& store,
                                             Milliseconds timeout) {
    try {
        const c10::intrusive_ptr<c10d::Store> clone = store->clone();
        if (timeout.count() > 0) clone->setTimeout(timeout);
        return clone;
    } catch (const std::exception&) {
        return store;
    }
}

}  // namespace

weft_comm rendezvous(const c10::intrusive_ptr<c10d::Store>& store, int rank, int ranks,
                     Milliseconds timeout, const std::string& where) {
    const c10::intrusive_ptr<c10d::Store> own = with_timeout(store, timeout);
    StoreExchange exchange(*own, rank, ranks);
    weft_oob oob;
    std::memset(&oob, 0, sizeof oob);
    oob.struct_bytes = sizeof oob;
    oob.context = &exchange;
    oob.rank = rank;
    oob.ranks = ranks;
    oob.allgather = &StoreExchange::allgather;
    weft_comm comm = WEFT_COMM_NULL;
    const bool was_member = weft_is_initialized() != 0;
    const weft_status status = weft_comm_from_oob(&oob, &comm);
    if (!was_member && weft_is_initialized()) joined = true;
    if (status != WEFT_OK && exchange.failure()) std::rethrow_exception(exchange.failure());
    check(status, where);
    exchange.clean_up();
    return comm;
}

bool has_joined() { return joined; }

}  // namespace weft_torch
