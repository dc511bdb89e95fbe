// Startup where no launcher serves the cards: rank 0 does so itself, at an address and port that
// the environment of all ranks names (MeetingPoint).
//
// Both ends of a connection prove to each other that they mean the same job, as all connections of
// a job do (tcp/handshake.h): with a key made of WEFT_JOB_KEY and the job's names, or of the names
// alone, which are no secret. The job's key is made of the same and of what rank 0 draws and sends
// to all: with WEFT_JOB_KEY, who listens to that cannot make it.
#include <stdio.h>

#include <optional>
#include <span>
#include <string_view>

#include "base/random.h"
#include "base/setting.h"
#include "startup/call_host.h"
#include "startup/card_host.h"
#include "startup/kinds.h"
#include "startup/served.h"
#include "tcp/handshake.h"
#include "tcp/route.h"

namespace weft {
namespace {

constexpr std::size_t secret_bytes_min = 16;  // of random letters

// A key for one purpose, of WEFT_JOB_KEY and `data`. False: there is no HMAC.
bool make_key(std::string_view purpose, std::string_view data, JobKey& key) {
    const std::string secret = "weft job key " + std::string(text_setting("WEFT_JOB_KEY"));
    const std::string text = std::string(purpose) + '\0' + std::string(data);
    return tcp::hmac_sha256(std::as_bytes(std::span(secret)), std::as_bytes(std::span(text)), key);
}

Status no_hmac() {
    return failure(WEFT_REFUSED_UNSUPPORTED, "the crypto library refuses HMAC-SHA-256");
}

class Gathering final : public Served {
  public:
    Gathering(const JobRank& place, MeetingPoint point, const JobKey& greeting)
        : Served(place, Fd()), point_(std::move(point)), greeting_(greeting) {}
    ~Gathering() override {
        hang_up();  // then the host's thread ends
    }

    // As rank 0.
    Status listen() {
        JobKey salt{};
        WEFT_RETURN_IF_NOT_OK(random_bytes(salt));
        WEFT_RETURN_IF_NOT_OK(CardHost::open(place(), point_, greeting_, salt).move_to(host_));
        Result<Fd> own = host_->start();
        if (!own.is_ok()) return own.status();
        set_server(std::move(*own));
        return ok;
    }

    Result<std::vector<std::string>> exchange(const std::string& card) override {
        WEFT_RETURN_IF_NOT_OK(connect());
        Result<std::vector<std::string>> cards = Served::exchange(card);
        if (!cards.is_ok()) return cards;
        // What has come with them is rank 0's salt.
        const std::string salt(reinterpret_cast<const char*>(key_.data()), key_.size());
        if (!make_key("connections", salt + point_.job, key_)) return no_hmac();
        return cards;
    }

    Result<std::string> own_address() override;

  private:
    Status connect() {
        if (server()) return ok;
        Result<Fd> called = call_host(place(), point_, greeting_);
        if (!called.is_ok()) return called.status();
        set_server(std::move(*called));
        return ok;
    }

    // Longer than rank 0 waits: it says who is missing.
    std::int64_t patience_ns() const override {
        return place().timeout_ns + place().timeout_ns / 4 + second_ns / 4;
    }
    Status gone() const override {
        return failure_of_rank(WEFT_REFUSED_STATE, 0,
                               "rank 0 ended before all ranks had joined (%s)",
                               point_.said_by.c_str());
    }
    Status foreign() const override {
        return failure_of_rank(WEFT_REFUSED_STATE, 0,
                               "rank 0 has another version of Weft, or another byte order (%s)",
                               point_.said_by.c_str());
    }

    const MeetingPoint point_;
    const JobKey greeting_;
    std::unique_ptr<CardHost> host_;  // of rank 0
};

// The network between a rank and rank 0 works, so both use their addresses in it. Rank 0, and ranks
// that have reached it within their machine, take the address from which they reach a rank
// elsewhere; without any, all are on one machine, and use its loopback address.
Result<std::string> Gathering::own_address() {
    WEFT_RETURN_IF_NOT_OK(connect());
    std::optional<tcp::Address> mine;
    if (rank() != 0) mine = tcp::own_address_of(server().get());
    Result<std::vector<std::string>> all = exchange(mine ? mine->host() : "");
    if (!all.is_ok()) return all.status();
    if (mine && mine->is_link_local()) return std::string();
    if (mine && !mine->is_loopback()) return mine->host();
    std::string loopback;
    for (const std::string& text : *all) {
        const std::optional<tcp::Address> other = tcp::Address::parse_host(text);
        if (!other || other->is_link_local()) continue;
        if (other->is_loopback()) {
            if (loopback.empty()) loopback = text;
            continue;
        }
        const std::optional<tcp::Address> towards = tcp::address_towards(*other);
        if (towards && !towards->is_loopback()) return towards->host();
    }
    return loopback;
}

}  // namespace

Result<std::unique_ptr<Startup>> startup_at(const JobRank& place, const MeetingPoint& point) {
    if (!tcp::start_hmac()) return no_hmac();
    JobKey greeting{};
    if (!make_key("greeting", point.job, greeting)) return no_hmac();
    auto gathering = std::make_unique<Gathering>(place, point, greeting);
    if (place.rank == 0) {
        WEFT_RETURN_IF_NOT_OK(gathering->listen());
        const std::string_view secret = text_setting("WEFT_JOB_KEY");
        if (secret.empty()) {
            std::fprintf(stderr,
                         "weft: WEFT_JOB_KEY is not set: ranks authenticate each other by public "
                         "names (%s), which keeps mistakes out, but no attackers; set it to the "
                         "same secret on every rank\n",
                         point.said_by.c_str());
        } else if (secret.size() < secret_bytes_min) {
            std::fprintf(stderr,
                         "weft: WEFT_JOB_KEY has only %zu characters: who calls rank 0 can try all "
                         "such secrets; set it to one of at least %zu\n",
                         secret.size(), secret_bytes_min);
        }
    }
    return std::unique_ptr<Startup>(std::move(gathering));
}

}  // namespace weft
