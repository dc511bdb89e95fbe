#include "startup/served.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"

namespace weft {
namespace {

bool is_again() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Result<std::vector<std::string>> Served::exchange(const std::string& card) {
    if (card.size() > wire_card_bytes_max) {
        return failure(WEFT_REFUSED_UNSUPPORTED, "a card of %zu bytes; the limit is %u",
                       card.size(), wire_card_bytes_max);
    }
    std::vector<std::string> cards;
    WEFT_RETURN_IF_NOT_OK(swap(card, patience_ns(), cards));
    return cards;
}

Status Served::swap(const std::string& card, std::int64_t patience_ns,
                    std::vector<std::string>& cards) {
    deadline_ = {now_ns() + patience_ns, place_.timeout_ns};
    const WireSize bytes = static_cast<WireSize>(card.size());
    cards.assign(static_cast<std::size_t>(place_.ranks), {});
    WEFT_RETURN_IF_NOT_OK(send_all(&bytes, sizeof bytes));
    WEFT_RETURN_IF_NOT_OK(send_all(card.data(), card.size()));
    return recv_answer(cards);
}

// All bytes or a failure, within the deadline of the exchange. The descriptor stays blocking: a
// shell between the launcher and this process may share it.
Status Served::send_all(const void* data, std::size_t bytes) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t sent = ::send(server_.get(), next, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            next += sent;
            bytes -= static_cast<std::size_t>(sent);
        } else if (is_again()) {
            WEFT_RETURN_IF_NOT_OK(wait_for_launcher(server_.get(), POLLOUT, deadline_));
        } else if (errno != EINTR) {
            return last_words();
        }
    }
    return ok;
}

// The server has hung up, perhaps after a refusal.
Status Served::last_words() {
    WireAnswer answer{};
    WEFT_RETURN_IF_NOT_OK(recv_all(&answer, sizeof answer));
    return answer != WireAnswer::cards ? refused(answer) : gone();
}

Status Served::recv_all(void* data, std::size_t bytes) {
    char* next = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t received = ::recv(server_.get(), next, bytes, MSG_DONTWAIT);
        if (received > 0) {
            next += received;
            bytes -= static_cast<std::size_t>(received);
        } else if (received < 0 && is_again()) {
            WEFT_RETURN_IF_NOT_OK(wait_for_launcher(server_.get(), POLLIN, deadline_));
        } else if (received == 0 || errno != EINTR) {
            return gone();
        }
    }
    return ok;
}

Status Served::recv_answer(std::vector<std::string>& cards) {
    WireAnswer answer{};
    WEFT_RETURN_IF_NOT_OK(recv_all(&answer, sizeof answer));
    if (answer != WireAnswer::cards) return refused(answer);
    WEFT_RETURN_IF_NOT_OK(recv_all(key_.data(), key_.size()));
    for (std::string& card : cards) {
        WireSize bytes = 0;
        WEFT_RETURN_IF_NOT_OK(recv_all(&bytes, sizeof bytes));
        if (bytes > wire_card_bytes_max) {
            return failure(WEFT_REFUSED_STATE, "the launcher announced a card of %u bytes", bytes);
        }
        card.resize(bytes);
        WEFT_RETURN_IF_NOT_OK(recv_all(card.data(), bytes));
    }
    return ok;
}

Status Served::refused(WireAnswer answer) {
    if (answer != WireAnswer::rank_ended && answer != WireAnswer::rank_missing &&
        answer != WireAnswer::rank_taken)
        return foreign();
    WireSize number = 0;
    WEFT_RETURN_IF_NOT_OK(recv_all(&number, sizeof number));
    const auto rank = static_cast<Rank>(number);
    if (answer == WireAnswer::rank_ended) {
        return failure_of_rank(WEFT_REFUSED_STATE, rank, "rank %d ended before it joined the job",
                               rank);
    }
    if (answer == WireAnswer::rank_missing) {
        return failure_of_rank(WEFT_REFUSED_STATE, rank,
                               "rank %d had not joined after %g s; WEFT_STARTUP_TIMEOUT sets how "
                               "long to wait",
                               rank, static_cast<double>(place_.timeout_ns) / 1e9);
    }
    return failure_of_rank(
        WEFT_REFUSED_STATE, rank,
        "rank %d has already joined: another process has this number, perhaps one that an earlier "
        "start has left",
        rank);
}

}  // namespace weft
