#include "transport/tcp/connect.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "tcp/handshake.h"
#include "tcp/route.h"
#include "transport/common/connect_setting.h"

namespace weft {

namespace tcp {
namespace {

constexpr std::int64_t connections_max = 64;

// "2", "2+8", "+8"
Status read_connections(Settings& s) {
    const std::string_view both = text_setting("connections");
    if (both.empty()) return ok;
    const std::size_t plus = both.find('+');
    auto read = [](std::string_view number, std::int64_t min, std::uint32_t& into) {
        const std::optional<std::int64_t> value = parse_whole_number(number);
        if (!value || *value < min || *value > connections_max) return false;
        into = static_cast<std::uint32_t>(*value);
        return true;
    };
    const bool is_good = (plus == 0 || read(both.substr(0, plus), 1, s.connections)) &&
                         (plus == both.npos || read(both.substr(plus + 1), 0, s.dedicated_max));
    return is_good ? ok : refuse_setting("connections");
}

}  // namespace

Result<Settings> Settings::from_environment() {
    Settings s;
    s.interfaces = text_setting("WEFT_INTERFACES");
    s.by_route = s.interfaces.empty();
    WEFT_RETURN_IF_NOT_OK(read_connections(s));
    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_RENDEZVOUS", s.eager_threshold));
    WEFT_RETURN_IF_NOT_OK(switch_setting("dedicated_rendezvous").move_to(s.dedicated_rendezvous));
    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_PEER_TIMEOUT", s.peer_timeout_ns));
    WEFT_RETURN_IF_NOT_OK(connects_ahead_from_environment().move_to(s.connects_ahead));
    return s;
}

}  // namespace tcp

using tcp::Address;
using tcp::Card;

namespace {

// All ranks may call at once.
constexpr int backlog = 4096;
// A caller is accepted when it has sent something.
constexpr int silence_s = 5;

Result<Fd> listen_at(Address& address) {
    auto refused = [&](const char* what) {
        return failure(WEFT_REFUSED_UNSUPPORTED, "cannot %s %s: %s", what, address.text().c_str(),
                       strerror(errno));
    };
    Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket && (errno == EMFILE || errno == ENFILE))
        return failure(WEFT_REFUSED_MEMORY, "no descriptor for a socket: %s", strerror(errno));
    if (!socket) return refused("make a socket for");
    const int on = 1;
    if (address.family() == AF_INET6)
        setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    setsockopt(socket.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &silence_s, sizeof silence_s);
    if (bind(socket.get(), address.get(), address.length) != 0 ||
        ::listen(socket.get(), backlog) != 0 ||
        getsockname(socket.get(), address.get(), &address.length) != 0)
        return refused("listen at");
    return socket;
}

}  // namespace

Result<std::unique_ptr<TcpNode>> TcpNode::prepare(const tcp::Settings& settings) {
    // Done here, so that no message waits for it.
    if (!tcp::start_hmac())
        return failure(WEFT_REFUSED_UNSUPPORTED, "the crypto library refuses HMAC-SHA-256");
    std::unique_ptr<TcpNode> node(new TcpNode);
    node->settings_ = settings;
    WEFT_RETURN_IF_NOT_OK(
        tcp::addresses_of_interfaces(settings.interfaces).move_to(node->addresses_));
    for (Address& address : node->addresses_) {
        Result<Fd> listener = listen_at(address);
        if (!listener.is_ok()) return listener.status();
        node->listeners_.push_back(std::move(*listener));
    }
    if (settings.by_route && !node->addresses_.front().is_loopback()) node->offer_others();
    node->card_ = Card{node->addresses_, node->others_}.text();
    return node;
}

void TcpNode::offer_others() {
    for (Address& address : tcp::addresses_besides(addresses_.front(), tcp::others_max)) {
        Result<Fd> listener = listen_at(address);
        if (!listener.is_ok()) continue;
        listeners_.push_back(std::move(*listener));
        others_.push_back(address);
    }
}

// Of a peer's addresses, those first to which a route leads from here, without this machine's own.
void TcpNode::keep_callable(Card& card) const {
    if (card.others.empty()) return;
    std::vector<Address> own = addresses_;
    own.insert(own.end(), others_.begin(), others_.end());
    std::erase_if(card.others, [&](const Address& one) {
        return std::ranges::any_of(own,
                                   [&](const Address& mine) { return mine.host() == one.host(); });
    });
    // (The families that this rank offers do not tell: it may reach others by a further one.)
    const auto leads_to = [](const Address& one) { return tcp::address_towards(one).has_value(); };
    std::ranges::stable_partition(card.others, leads_to);
    if (card.others.empty() || leads_to(card.addresses.front()) || !leads_to(card.others.front()))
        return;
    std::rotate(card.others.begin(), card.others.begin() + 1, card.others.end());
    std::swap(card.addresses.front(), card.others.back());
}

std::uint32_t TcpNode::dedicated_max(std::size_t peers) const {
    const std::size_t connections =
        settings_.connections > 0 ? settings_.connections : addresses_.size();
    // When two calls cross, both may be used.
    const std::size_t needed = TcpTransport::own_descriptors + 2 * peers * connections +
                               descriptors_of_engine + descriptors_max() / part_for_task_lists;
    const std::size_t left = descriptors_left();
    const std::size_t dedicated = std::min<std::size_t>(
        settings_.dedicated_max, (left - std::min(left, needed)) / (2 * peers));
    // A stream takes one, or with one for CTSs two.
    return static_cast<std::uint32_t>(settings_.dedicated_rendezvous ? dedicated / 2 : dedicated);
}

Result<std::unique_ptr<TcpTransport>> TcpNode::connect(Rank rank,
                                                       std::span<const std::string> cards,
                                                       const JobKey& key,
                                                       const std::vector<bool>& needed) {
    TcpTransport::Parts parts;
    parts.rank = rank;
    parts.key = key;
    parts.own = addresses_;
    parts.listeners = std::move(listeners_);
    parts.settings = settings_;
    parts.peers.resize(cards.size());
    parts.others.resize(cards.size());
    std::vector<std::string> hosts(cards.size());
    for (std::size_t r = 0; r < cards.size(); ++r) {
        if (cards[r].empty()) continue;
        std::optional<Card> card = Card::parse(cards[r]);
        if (!card)
            return failure_of_rank(WEFT_REFUSED_SETTING, static_cast<Rank>(r),
                                   "rank %zu has the card '%s'; expected one of TCP", r,
                                   cards[r].c_str());
        hosts[r] = card->addresses.front().host();
        const bool is_needed = needed.empty() || needed[r];
        if (static_cast<Rank>(r) == rank || !is_needed) continue;
        keep_callable(*card);
        parts.peers[r] = std::move(card->addresses);
        parts.others[r] = std::move(card->others);
    }
    parts.places = places_in_job(hosts);
    Result<std::unique_ptr<TcpTransport>> transport = TcpTransport::create(std::move(parts));
    if (transport.is_ok() && settings_.connects_ahead)
        WEFT_RETURN_IF_NOT_OK((*transport)->open_all(now_ns() + connect_ahead_ns));
    return transport;
}

}  // namespace weft
