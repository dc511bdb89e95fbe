// Startup from the environment: a rank of `weft run` talks to its launcher, anything else is alone.
// Not thread safe; used once, while the process joins its job.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/setting.h"
#include "startup/startup.h"
#include "startup/wire.h"

namespace weft {
namespace {

class Alone final : public Startup {
  public:
    Rank rank() const override { return 0; }
    Rank ranks() const override { return 1; }
    Result<std::vector<std::string>> exchange(const std::string& card) override {
        WEFT_RETURN_IF_NOT_OK(random_bytes(key_));
        return std::vector<std::string>{card};
    }
};

class Launched final : public Startup {
  public:
    Launched(Rank rank, Rank ranks, int fd, std::int64_t timeout_ns)
        : rank_(rank), ranks_(ranks), fd_(fd), timeout_ns_(timeout_ns) {}
    ~Launched() override { ::close(fd_); }

    Rank rank() const override { return rank_; }
    Rank ranks() const override { return ranks_; }
    Result<std::vector<std::string>> exchange(const std::string& card) override;

  private:
    // All bytes or a failure, within the deadline of the exchange. The descriptor stays blocking:
    // a shell between the launcher and this process may share it.
    Status send_all(const void* data, std::size_t bytes);
    Status recv_all(void* data, std::size_t bytes);
    Status wait_for(short events);
    Status recv_answer(std::vector<std::string>& cards);

    Rank rank_;
    Rank ranks_;
    int fd_;
    std::int64_t timeout_ns_;
    std::int64_t deadline_ns_ = 0;
};

Status launcher_gone() {
    return failure(WEFT_REFUSED_STATE,
                   "the launcher (weft run) ended before all ranks had started");
}

bool is_again() { return errno == EAGAIN || errno == EWOULDBLOCK; }

Status Launched::wait_for(short events) {
    for (;;) {
        std::int64_t left_ns = deadline_ns_ - now_ns();
        if (left_ns <= 0) {
            return failure(
                WEFT_REFUSED_STATE,
                "not all ranks had started after %g s; WEFT_STARTUP_TIMEOUT sets how long "
                "to wait",
                static_cast<double>(timeout_ns_) / 1e9);
        }
        pollfd entry{fd_, events, 0};
        int ready = ::poll(&entry, 1, static_cast<int>(left_ns / 1'000'000 + 1));
        if (ready > 0) return ok;
        if (ready < 0 && errno != EINTR) {
            return failure(WEFT_REFUSED_STATE, "cannot wait for the launcher: %s",
                           std::strerror(errno));
        }
    }
}

Status Launched::send_all(const void* data, std::size_t bytes) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
        ssize_t sent = ::send(fd_, next, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent >= 0) {
            next += sent;
            bytes -= static_cast<std::size_t>(sent);
        } else if (is_again()) {
            WEFT_RETURN_IF_NOT_OK(wait_for(POLLOUT));
        } else if (errno != EINTR) {
            return launcher_gone();
        }
    }
    return ok;
}

Status Launched::recv_all(void* data, std::size_t bytes) {
    char* next = static_cast<char*>(data);
    while (bytes > 0) {
        ssize_t received = ::recv(fd_, next, bytes, MSG_DONTWAIT);
        if (received > 0) {
            next += received;
            bytes -= static_cast<std::size_t>(received);
        } else if (received < 0 && is_again()) {
            WEFT_RETURN_IF_NOT_OK(wait_for(POLLIN));
        } else if (received == 0 || errno != EINTR) {
            return launcher_gone();
        }
    }
    return ok;
}

Status Launched::recv_answer(std::vector<std::string>& cards) {
    WireAnswer answer{};
    WEFT_RETURN_IF_NOT_OK(recv_all(&answer, sizeof answer));
    if (answer == WireAnswer::rank_ended) {
        WireSize ended = 0;
        WEFT_RETURN_IF_NOT_OK(recv_all(&ended, sizeof ended));
        return failure_of_rank(WEFT_REFUSED_STATE, static_cast<Rank>(ended),
                               "rank %u ended before it joined the job", ended);
    }
    if (answer != WireAnswer::cards) {
        return failure(WEFT_REFUSED_STATE, "what answers on WEFT_STARTUP_FD = %d is not weft run",
                       fd_);
    }
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

Result<std::vector<std::string>> Launched::exchange(const std::string& card) {
    if (card.size() > wire_card_bytes_max) {
        return failure(WEFT_REFUSED_UNSUPPORTED, "a card of %zu bytes; the limit is %u",
                       card.size(), wire_card_bytes_max);
    }
    deadline_ns_ = now_ns() + timeout_ns_;
    WireSize bytes = static_cast<WireSize>(card.size());
    std::vector<std::string> cards(static_cast<std::size_t>(ranks_));
    WEFT_RETURN_IF_NOT_OK(send_all(&bytes, sizeof bytes));
    WEFT_RETURN_IF_NOT_OK(send_all(card.data(), card.size()));
    WEFT_RETURN_IF_NOT_OK(recv_answer(cards));
    return cards;
}

bool is_unix_stream(int fd) {
    int domain = 0;
    int type = 0;
    socklen_t bytes = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
           ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

}  // namespace

Result<std::unique_ptr<Startup>> startup_from_environment() {
    constexpr std::string_view names[] = {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD"};
    const char* texts[std::size(names)];
    std::transform(std::begin(names), std::end(names), std::begin(texts),
                   [](std::string_view name) { return std::getenv(name.data()); });
    if (std::all_of(std::begin(texts), std::end(texts), [](auto t) { return t == nullptr; })) {
        return std::unique_ptr<Startup>(std::make_unique<Alone>());
    }
    for (std::size_t i = 0; i < std::size(names); ++i) {
        if (texts[i] != nullptr) continue;
        return failure(WEFT_REFUSED_SETTING,
                       "%s is not set; weft run sets WEFT_RANK, WEFT_RANKS and WEFT_STARTUP_FD "
                       "together",
                       names[i].data());
    }

    constexpr std::int64_t int_max = std::numeric_limits<int>::max();
    constexpr std::int64_t timeout_ns = 60'000'000'000;
    // All of them are set.
    Setting ranks = whole_number_setting("WEFT_RANKS", {1, wire_ranks_max});
    if (!ranks.is_ok()) return ranks.status();
    Setting rank = whole_number_setting("WEFT_RANK", {0, **ranks - 1});
    if (!rank.is_ok()) return rank.status();
    Setting startup_fd = whole_number_setting("WEFT_STARTUP_FD", {0, int_max});
    if (!startup_fd.is_ok()) return startup_fd.status();
    Setting timeout = seconds_setting("WEFT_STARTUP_TIMEOUT");
    if (!timeout.is_ok()) return timeout.status();

    const auto fd = static_cast<int>(**startup_fd);
    if (!is_unix_stream(fd) || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        return failure(WEFT_REFUSED_SETTING,
                       "WEFT_STARTUP_FD = '%s' is not the launcher's socket; only the program that "
                       "weft run starts can join the job, and not those that it starts itself",
                       texts[2]);
    }
    return std::unique_ptr<Startup>(std::make_unique<Launched>(
        static_cast<Rank>(**rank), static_cast<Rank>(**ranks), fd, timeout->value_or(timeout_ns)));
}

}  // namespace weft
