#include "process/join/transports.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/setting.h"
#include "transport/mpi/mpi.h"
#if WEFT_HAS_TCP
#include "transport/tcp/card.h"
#endif

namespace weft {

bool has_several_interfaces([[maybe_unused]] const std::vector<RankCard>& cards) {
#if WEFT_HAS_TCP
    return std::ranges::any_of(cards, [](const RankCard& card) {
        const std::optional<tcp::Card> tcp = tcp::Card::parse(card.tcp);
        return tcp && tcp->addresses.size() > 1;
    });
#else
    return false;
#endif
}

Result<TransportKind> Transports::wanted_from_environment() {
    const Result<std::optional<std::string_view>> name = word_setting("WEFT_TRANSPORT");
    if (!name.is_ok()) return name.status();
    if (!*name) return TransportKind::automatic;
    return std::ranges::find(transport_list, **name, &TransportTraits::name)->kind;
}

Result<Transports> Transports::prepare(const weft_oob* oob, const std::string& address) {
    Transports transports;
    WEFT_RETURN_IF_NOT_OK(wanted_from_environment().move_to(transports.wanted_));
    if (transports.wanted_ == TransportKind::mpi) {
        if (oob == nullptr || oob->mpi.open == nullptr)
            return failure(WEFT_REFUSED_UNSUPPORTED,
                           "WEFT_TRANSPORT = 'mpi', but the program has not given its MPI to Weft; "
                           "expected weft_comm_from_mpi instead of weft_init");
        WEFT_RETURN_IF_NOT_OK(mpi::Settings::from_environment().move_to(transports.mpi_settings_));
        transports.oob_ = oob;
        return transports;
    }
    if (transports.wanted_ == TransportKind::ucx ||
        transports.wanted_ == TransportKind::automatic) {
        WEFT_RETURN_IF_NOT_OK(transports.prepare_ucx());
    }
    if (transports.wanted_ == TransportKind::ucx) {
        transports.no_tcp_ = "WEFT_TRANSPORT is ucx";
        return transports;
    }
    WEFT_RETURN_IF_NOT_OK(transports.prepare_shm_and_tcp(address));
    return transports;
}

Result<Transports> Transports::prepare_bridge() {
    Transports transports;
    WEFT_RETURN_IF_NOT_OK(wanted_from_environment().move_to(transports.wanted_));
    if (transports.wanted_ == TransportKind::mpi || transports.wanted_ == TransportKind::ucx)
        return failure(WEFT_REFUSED_UNSUPPORTED,
                       "WEFT_TRANSPORT = '%s', but processes of several jobs reach each other by "
                       "shm and tcp alone; expected auto, shm or tcp",
                       std::string(text_setting("WEFT_TRANSPORT")).c_str());
    WEFT_RETURN_IF_NOT_OK(transports.prepare_shm_and_tcp(""));
    return transports;
}

Status Transports::prepare_shm_and_tcp([[maybe_unused]] const std::string& address) {
    if (wanted_ != TransportKind::tcp) {
        Result<std::unique_ptr<ShmNode>> shm = ShmNode::prepare();
        if (shm.is_ok()) {
            shm_ = std::move(*shm);
        } else if (wanted_ == TransportKind::automatic &&
                   shm.status().code == WEFT_REFUSED_UNSUPPORTED) {
            std::fprintf(stderr, "weft: shm is not available, using tcp within the node: %s\n",
                         last_detail());
        } else {
            return shm.status();
        }
    }
    if (wanted_ == TransportKind::shm) {
        no_tcp_ = "WEFT_TRANSPORT is shm";
        return ok;
    }
#if WEFT_HAS_TCP
    Result<tcp::Settings> settings = tcp::Settings::from_environment();
    if (!settings.is_ok()) return settings.status();
    if (settings->interfaces.empty()) settings->interfaces = address;
    Result<std::unique_ptr<TcpNode>> tcp = TcpNode::prepare(*settings);
    if (tcp.is_ok()) {
        tcp_ = std::move(*tcp);
        return ok;
    }
    // tcp may not be needed.
    if (wanted_ == TransportKind::tcp) return tcp.status();
    no_tcp_ = last_detail();
    no_tcp_code_ = tcp.status().code;
#else
    no_tcp_ = std::string("tcp is not in this build: ") + WEFT_TCP_ABSENCE;
    if (wanted_ == TransportKind::tcp)
        return failure(WEFT_REFUSED_UNSUPPORTED, "WEFT_TRANSPORT = 'tcp', but %s", no_tcp_.c_str());
#endif
    return ok;
}

// Without it, other nodes are reached by tcp, unless the program insists.
Status Transports::prepare_ucx() {
    [[maybe_unused]] const bool insists = wanted_ == TransportKind::ucx;
#if WEFT_HAS_UCX
    Result<ucx::Settings> settings = ucx::Settings::from_environment();
    if (!settings.is_ok()) return settings.status();
    if (!insists && !ucx::may_have_fabric()) return ok;
    Result<std::unique_ptr<UcxNode>> ucx = UcxNode::prepare(*settings, /*only_fabric=*/!insists);
    if (ucx.is_ok()) ucx_ = std::move(*ucx);
    return insists ? ucx.status() : ok;
#else
    if (!insists) return ok;
    return failure(WEFT_REFUSED_UNSUPPORTED,
                   "WEFT_TRANSPORT = 'ucx', but ucx is not in this build: %s", WEFT_UCX_ABSENCE);
#endif
}

void Transports::write_on(RankCard& card, [[maybe_unused]] Rank ranks) const {
    if (shm_) card.shm = shm_->card();
#if WEFT_HAS_UCX
    if (ucx_) card.ucx = ucx_->card();
#endif
#if WEFT_HAS_TCP
    if (!tcp_) return;
    card.tcp = tcp_->card();
    card.dedicated.streams_left = tcp_->dedicated_max(static_cast<std::size_t>(ranks - 1));
#endif
}

Status Transports::connect(const std::vector<RankCard>& cards, const JobKey& key,
                           Process::Parts& parts) {
    if (oob_) return connect_mpi(parts);
    if (shm_) WEFT_RETURN_IF_NOT_OK(connect_shm(cards, parts));
    WEFT_RETURN_IF_NOT_OK(connect_ucx(cards, key, parts));
    return connect_tcp(cards, key, parts);
}

Status Transports::connect_mpi(Process::Parts& parts) {
    Result<std::unique_ptr<MpiTransport>> mpi = MpiTransport::create(*oob_, mpi_settings_);
    if (!mpi.is_ok()) return mpi.status();
    for (Rank rank = 0; rank < parts.ranks; ++rank) {
        if (rank != parts.rank) parts.routes[static_cast<std::size_t>(rank)] = mpi->get();
    }
    parts.transports.push_back(std::move(*mpi));
    return ok;
}

Status Transports::connect_shm(const std::vector<RankCard>& cards, Process::Parts& parts) {
    std::vector<std::string> shm_cards;
    for (const RankCard& card : cards) shm_cards.push_back(card.shm);
    Result<std::unique_ptr<ShmTransport>> shm = shm_->connect(parts.rank, shm_cards);
    if (!shm.is_ok()) return shm.status();
    if (!parts.engine.may_spin) (*shm)->push_medium();
    bool is_used = false;
    for (Rank rank = 0; rank < parts.ranks; ++rank) {
        if (rank == parts.rank || !(*shm)->reachable(rank)) continue;
        parts.routes[static_cast<std::size_t>(rank)] = shm->get();
        is_used = true;
    }
    if (is_used) parts.transports.push_back(std::move(*shm));
    return ok;
}

// By auto, ranks of other nodes that have the same UCX and such a device, too: both ends see that
// alike.
Status Transports::connect_ucx([[maybe_unused]] const std::vector<RankCard>& cards,
                               [[maybe_unused]] const JobKey& key,
                               [[maybe_unused]] Process::Parts& parts) {
#if WEFT_HAS_UCX
    if (!ucx_) return ok;
    const std::optional<ucx::Card> own = ucx::Card::parse(ucx_->card());
    std::vector<std::string> texts;
    std::vector<bool> needed(cards.size());
    for (std::size_t r = 0; r < cards.size(); ++r) {
        texts.push_back(cards[r].ucx);
        if (static_cast<Rank>(r) == parts.rank || parts.routes[r] != nullptr) continue;
        needed[r] =
            wanted_ == TransportKind::ucx || ucx::suits_auto(*own, ucx::Card::parse(cards[r].ucx));
    }
    if (std::ranges::find(needed, true) == needed.end()) return ok;
    parts.device_memory = ucx_->device_memory();
    Result<std::unique_ptr<UcxTransport>> ucx = ucx_->connect(parts.rank, texts, key, needed);
    if (!ucx.is_ok()) return ucx.status();
    for (std::size_t r = 0; r < cards.size(); ++r) {
        if (needed[r]) parts.routes[r] = ucx->get();
    }
    parts.transports.push_back(std::move(*ucx));
#endif
    return ok;
}

Status Transports::connect_tcp(const std::vector<RankCard>& cards,
                               [[maybe_unused]] const JobKey& key, Process::Parts& parts) {
    std::vector<bool> needed(cards.size());
    for (Rank rank = 0; rank < parts.ranks; ++rank) {
        auto r = static_cast<std::size_t>(rank);
        if (rank == parts.rank || parts.routes[r] != nullptr) continue;
        const bool both_have_shm = shm_ != nullptr && !cards[r].shm.empty();
        const char* const where = both_have_shm ? "is on another node" : "cannot be reached by shm";
        if (!no_tcp_.empty())
            return failure_of_rank(no_tcp_code_, rank, "rank %d %s: %s", rank, where,
                                   no_tcp_.c_str());
        if (cards[r].tcp.empty())
            return failure_of_rank(WEFT_REFUSED_UNSUPPORTED, rank, "rank %d %s and has no tcp",
                                   rank, where);
        needed[r] = true;
    }
    if (std::ranges::find(needed, true) == needed.end()) return ok;
#if WEFT_HAS_TCP
    std::vector<std::string> tcp_cards;
    for (const RankCard& card : cards) tcp_cards.push_back(card.tcp);
    Result<std::unique_ptr<TcpTransport>> tcp = tcp_->connect(parts.rank, tcp_cards, key, needed);
    if (!tcp.is_ok()) return tcp.status();
    for (std::size_t r = 0; r < cards.size(); ++r) {
        if (needed[r]) parts.routes[r] = tcp->get();
    }
    parts.transports.push_back(std::move(*tcp));
#endif
    return ok;
}

}  // namespace weft
