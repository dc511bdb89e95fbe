// Startup under `weft run`: the launcher distributes the cards over a socket.
#include "startup/kinds.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "startup/key_value.h"

namespace weft {
namespace {

// How long the launcher may take to report the end of a rank.
constexpr std::int64_t notice_patience_ns = 1'000'000'000;

Status weft_run_gone() {
    return failure(WEFT_REFUSED_STATE,
                   "the launcher (weft run) ended before all ranks had started");
}

bool is_again() { return errno == EAGAIN || errno == EWOULDBLOCK; }

class Launched final : public Startup {
  public:
    Launched(Rank rank, Rank ranks, int fd, std::int64_t timeout_ns)
        : rank_(rank), ranks_(ranks), fd_(fd), timeout_ns_(timeout_ns) {}
    ~Launched() override { ::close(fd_); }

    Rank rank() const override { return rank_; }
    Rank ranks() const override { return ranks_; }
    Result<std::vector<std::string>> exchange(const std::string& card) override {
        if (card.size() > wire_card_bytes_max) {
            return failure(WEFT_REFUSED_UNSUPPORTED, "a card of %zu bytes; the limit is %u",
                           card.size(), wire_card_bytes_max);
        }
        deadline_ = {now_ns() + timeout_ns_, timeout_ns_};
        WireSize bytes = static_cast<WireSize>(card.size());
        std::vector<std::string> cards(static_cast<std::size_t>(ranks_));
        WEFT_RETURN_IF_NOT_OK(send_all(&bytes, sizeof bytes));
        WEFT_RETURN_IF_NOT_OK(send_all(card.data(), card.size()));
        WEFT_RETURN_IF_NOT_OK(recv_answer(cards));
        return cards;
    }

    // Starts another exchange, which fails if a rank has ended.
    Status cause_of(const Status& seen) override {
        const bool is_about_an_end =
            seen.code == WEFT_BROKEN_RANK || seen.code == WEFT_REFUSED_STATE;
        if (seen.rank < 0 || !is_about_an_end) return seen;
        const std::string sentence = last_detail();
        deadline_ = {now_ns() + notice_patience_ns, notice_patience_ns};
        const WireSize bytes = 0;
        std::vector<std::string> cards(static_cast<std::size_t>(ranks_));
        Status told = send_all(&bytes, sizeof bytes);
        if (told.is_ok()) told = recv_answer(cards);
        if (!told.is_ok() && told.rank >= 0 && told.rank != seen.rank)
            return failure_of_rank(seen.code, told.rank,
                                   "rank %d ended before all ranks had joined the job", told.rank);
        return failure_of_rank(seen.code, seen.rank, "%s", sentence.c_str());
    }

  private:
    // All bytes or a failure, within the deadline of the exchange. The descriptor stays blocking: a
    // shell between the launcher and this process may share it.
    Status send_all(const void* data, std::size_t bytes) {
        const char* next = static_cast<const char*>(data);
        while (bytes > 0) {
            ssize_t sent = ::send(fd_, next, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent >= 0) {
                next += sent;
                bytes -= static_cast<std::size_t>(sent);
            } else if (is_again()) {
                WEFT_RETURN_IF_NOT_OK(wait_for_launcher(fd_, POLLOUT, deadline_));
            } else if (errno != EINTR) {
                return weft_run_gone();
            }
        }
        return ok;
    }

    Status recv_all(void* data, std::size_t bytes) {
        char* next = static_cast<char*>(data);
        while (bytes > 0) {
            ssize_t received = ::recv(fd_, next, bytes, MSG_DONTWAIT);
            if (received > 0) {
                next += received;
                bytes -= static_cast<std::size_t>(received);
            } else if (received < 0 && is_again()) {
                WEFT_RETURN_IF_NOT_OK(wait_for_launcher(fd_, POLLIN, deadline_));
            } else if (received == 0 || errno != EINTR) {
                return weft_run_gone();
            }
        }
        return ok;
    }

    Status recv_answer(std::vector<std::string>& cards) {
        WireAnswer answer{};
        WEFT_RETURN_IF_NOT_OK(recv_all(&answer, sizeof answer));
        if (answer == WireAnswer::rank_ended) {
            WireSize ended = 0;
            WEFT_RETURN_IF_NOT_OK(recv_all(&ended, sizeof ended));
            return failure_of_rank(WEFT_REFUSED_STATE, static_cast<Rank>(ended),
                                   "rank %u ended before it joined the job", ended);
        }
        if (answer != WireAnswer::cards) {
            return failure(WEFT_REFUSED_STATE,
                           "what answers on WEFT_STARTUP_FD = %d is not weft run", fd_);
        }
        WEFT_RETURN_IF_NOT_OK(recv_all(key_.data(), key_.size()));
        for (std::string& card : cards) {
            WireSize bytes = 0;
            WEFT_RETURN_IF_NOT_OK(recv_all(&bytes, sizeof bytes));
            if (bytes > wire_card_bytes_max) {
                return failure(WEFT_REFUSED_STATE, "the launcher announced a card of %u bytes",
                               bytes);
            }
            card.resize(bytes);
            WEFT_RETURN_IF_NOT_OK(recv_all(card.data(), bytes));
        }
        return ok;
    }

    Rank rank_;
    Rank ranks_;
    int fd_;
    std::int64_t timeout_ns_;
    StartupDeadline deadline_;
};

}  // namespace

std::unique_ptr<Startup> startup_by_weft_run(const JobRank& place, int fd) {
    return std::make_unique<Launched>(place.rank, place.ranks, fd, place.timeout_ns);
}

}  // namespace weft
