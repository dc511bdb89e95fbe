#include "startup/call_host.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/setting.h"
#include "startup/key_value.h"
#include "tcp/handshake.h"
#include "tcp/route.h"

namespace weft {
namespace {

// Before a call that has failed is made again; doubled each time.
constexpr std::int64_t call_pause_min_ns = second_ns / 500;
constexpr std::int64_t call_pause_max_ns = second_ns / 2;
// Between the first calls of a host's addresses, so that ranks choose the same if they can.
constexpr std::int64_t address_pause_ns = second_ns / 4;
// How long an address may say nothing before it is called anew: twice as long each time.
constexpr std::int64_t answer_patience_min_ns = second_ns;
constexpr std::int64_t answer_patience_max_ns = 8 * second_ns;
// A name may get other addresses meanwhile, as those of pods do.
constexpr std::int64_t lookup_pause_ns = 5 * second_ns;
constexpr std::int64_t failed_lookup_pause_ns = second_ns / 5;

// One address and port, and the call of it that is under way.
struct Attempt {
    explicit Attempt(const tcp::Address& address) : to(address) {}

    tcp::Address to;
    Fd socket{};                                // none: no call is under way
    std::optional<tcp::Handshake> handshake{};  // once it is connected
    short events = 0;                           // to wait for
    std::int64_t turn_ns = 0;                   // when to call, or to give the call up
    std::int64_t pause_ns = call_pause_min_ns;
    std::int64_t patience_ns = answer_patience_min_ns;
};

class CallingHost {
  public:
    CallingHost(const JobRank& place, const MeetingPoint& point, const JobKey& greeting)
        : place_(place),
          point_(point),
          greeting_(greeting),
          deadline_ns_(now_ns() + place.timeout_ns) {}

    Result<Fd> run() {
        while (now_ns() < deadline_ns_) {
            if (!joining_) {
                look_up();
                for (Attempt& attempt : attempts_) take_turn(attempt);
            }
            wait_for_events();
            if (joined_) return std::move(joined_);
        }
        return out_of_reach();
    }

  private:
    void look_up() {
        if (now_ns() < lookup_ns_) return;
        lookup_ns_ = now_ns() + failed_lookup_pause_ns;
        // Somebody answers, and must not wait for a slow resolver.
        if (std::ranges::any_of(
                attempts_, [](const Attempt& attempt) { return attempt.handshake.has_value(); }))
            return;
        trouble_of_name_.clear();
        std::int64_t turn_ns = now_ns();
        for (const std::string& host : point_.hosts) {
            // A slow resolver must not hold up the calls of other addresses for long.
            const bool is_all_there_is = attempts_.empty() && point_.hosts.size() == 1;
            const std::int64_t until_ns =
                is_all_there_is ? deadline_ns_ : std::min(deadline_ns_, now_ns() + second_ns);
            const Result<std::vector<tcp::Address>> found = tcp::resolve(host, until_ns);
            if (!found.is_ok()) {
                if (!trouble_of_name_.empty()) trouble_of_name_ += "; ";
                trouble_of_name_ += last_detail();
                continue;
            }
            for (const tcp::Address& address : *found) {
                add_attempts(address, turn_ns);
                turn_ns += address_pause_ns;
            }
        }
        lookup_ns_ = now_ns() + (attempts_.empty() ? failed_lookup_pause_ns : lookup_pause_ns);
    }

    // Of each port, unless they are being made.
    void add_attempts(tcp::Address address, std::int64_t turn_ns) {
        for (const std::uint16_t port : point_.ports) {
            address.set_port(port);
            const std::string text = address.text();
            const auto is_it = [&](const Attempt& one) { return one.to.text() == text; };
            if (std::ranges::any_of(attempts_, is_it)) continue;
            attempts_.emplace_back(address);
            attempts_.back().turn_ns = turn_ns;
        }
    }

    void take_turn(Attempt& attempt) {
        if (attempt.turn_ns > now_ns()) return;
        if (attempt.socket) {
            attempt.patience_ns = std::min(2 * attempt.patience_ns, answer_patience_max_ns);
            return call_later(attempt, "no answer");
        }
        attempt.socket =
            Fd(::socket(attempt.to.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (!attempt.socket) return call_later(attempt, error_text(errno));
        const int on = 1;
        (void)setsockopt(attempt.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (connect(attempt.socket.get(), attempt.to.get(), attempt.to.length) != 0 &&
            errno != EINPROGRESS)
            return call_later(attempt, error_text(errno));
        attempt.events = POLLOUT;
        attempt.turn_ns = now_ns() + attempt.patience_ns;
    }

    // Its address is called again after a pause.
    void call_later(Attempt& attempt, const std::string& why) {
        // Of ports of one address most are refused.
        const bool is_usual = why == error_text(ECONNREFUSED);
        troubles_[is_usual ? attempt.to.host() : attempt.to.text()] = why;
        attempt.socket = {};
        attempt.handshake.reset();
        attempt.turn_ns = now_ns() + attempt.pause_ns;
        attempt.pause_ns = std::min(2 * attempt.pause_ns, call_pause_max_ns);
    }

    void wait_for_events() {
        std::int64_t until_ns = joining_ ? deadline_ns_ : std::min(deadline_ns_, lookup_ns_);
        std::vector<pollfd> entries;
        for (std::size_t i = 0; i < attempts_.size(); ++i) {
            const Attempt& attempt = attempts_[i];
            const bool is_watched = attempt.socket && joining_.value_or(i) == i;
            entries.push_back({is_watched ? attempt.socket.get() : -1, attempt.events, 0});
            if (!joining_) until_ns = std::min(until_ns, attempt.turn_ns);
        }
        const std::int64_t left_ns = std::max<std::int64_t>(0, until_ns - now_ns());
        const int left_ms = static_cast<int>(left_ns / 1'000'000 + 1);
        if (poll(entries.data(), entries.size(), left_ms) <= 0) return;
        // (Rank 0, which may have several addresses, takes the first call that is proven: there is
        // one at a time.)
        for (std::size_t i = 0; i < entries.size() && !joined_; ++i) {
            if (entries[i].revents == 0 || joining_.value_or(i) != i) continue;
            if (!joining_) go_on(attempts_[i]);
            if (joining_) hear_answer(attempts_[i]);
        }
    }

    void go_on(Attempt& attempt) {
        if (!attempt.handshake) {
            int error = 0;
            socklen_t size = sizeof error;
            if (getsockopt(attempt.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
                error = errno;
            if (error != 0) return call_later(attempt, error_text(error));
            attempt.handshake = tcp::Handshake::caller(greeting_, {place_.rank, 0, 0});
        }
        attempt.events = tcp::advance(*attempt.handshake, attempt.socket.get());
        if (attempt.events != 0) return;
        if (attempt.handshake->state() == tcp::Handshake::State::proven) {
            joining_ = static_cast<std::size_t>(&attempt - attempts_.data());
            attempt.events = POLLIN;
            troubles_[attempt.to.text()] = "rank 0 has not answered";
            return;
        }
        if (attempt.handshake->state() == tcp::Handshake::State::going)
            return call_later(attempt, "it hung up");
        const tcp::Refusal why = attempt.handshake->refusal();
        call_later(attempt, why == tcp::Refusal::wrong_key
                                ? "another job is there, or WEFT_JOB_KEY differs"
                                : "not Weft (" + std::string(tcp::refusal_name(why)) + ")");
    }

    // Rank 0 may have dropped the call before it had read the proof: then it is made again.
    void hear_answer(Attempt& attempt) {
        WireAnswer answer{};
        const ssize_t n =
            recv(attempt.socket.get(), &answer, sizeof answer, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (n <= 0) {
            joining_.reset();
            return call_later(attempt, "it hung up");
        }
        if (n < static_cast<ssize_t>(sizeof answer)) return;
        // Another answer is read with what follows (Served).
        if (answer == WireAnswer::joined)
            (void)recv(attempt.socket.get(), &answer, sizeof answer, MSG_DONTWAIT);
        joined_ = std::move(attempt.socket);
    }

    Status out_of_reach() const {
        std::string tried = trouble_of_name_;
        for (const auto& [address, trouble] : troubles_)
            tried += (tried.empty() ? "" : "; ") + address + ": " + trouble;
        constexpr std::size_t tried_bytes_max = 250;
        if (tried.size() > tried_bytes_max) tried = tried.substr(0, tried_bytes_max) + "...";
        return failure_of_rank(
            WEFT_REFUSED_STATE, 0,
            "rank %d could not reach rank 0 at %s, %s, in %g s (%s); WEFT_STARTUP=tcp://HOST:PORT "
            "names another place, WEFT_STARTUP_TIMEOUT how long to wait",
            place_.rank, point_.said_by.c_str(), point_.ports_text().c_str(),
            static_cast<double>(place_.timeout_ns) / 1e9, tried.c_str());
    }

    const JobRank& place_;
    const MeetingPoint& point_;
    const JobKey& greeting_;
    const std::int64_t deadline_ns_;
    std::int64_t lookup_ns_ = 0;  // when to look the host up again
    std::string trouble_of_name_;
    std::vector<Attempt> attempts_;
    std::optional<std::size_t> joining_;           // the attempt that waits for rank 0's answer
    Fd joined_;                                    // the connection to rank 0
    std::map<std::string, std::string> troubles_;  // of the last call of each address
};

}  // namespace

Result<Fd> call_host(const JobRank& place, const MeetingPoint& point, const JobKey& greeting) {
    return CallingHost(place, point, greeting).run();
}

bool is_of_same_job(std::uint16_t port, const JobKey& greeting) {
    constexpr Rank any_but_zero = 1;
    const std::int64_t deadline_ns = now_ns() + second_ns;
    tcp::Address here = *tcp::Address::parse_host("127.0.0.1");
    here.set_port(port);
    const Fd socket(::socket(here.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket || (connect(socket.get(), here.get(), here.length) != 0 && errno != EINPROGRESS))
        return false;
    tcp::Handshake handshake =
        tcp::Handshake::caller(greeting, {any_but_zero, 0, probing_connection});
    for (pollfd entry{socket.get(), POLLOUT, 0}; entry.events != 0;) {
        const std::int64_t left_ns = deadline_ns - now_ns();
        if (left_ns <= 0) return false;
        if (::poll(&entry, 1, static_cast<int>(left_ns / 1'000'000 + 1)) > 0)
            entry.events = tcp::advance(handshake, socket.get());
    }
    return handshake.state() == tcp::Handshake::State::proven;
}

}  // namespace weft
