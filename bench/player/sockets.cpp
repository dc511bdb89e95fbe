#include "bench/player/sockets.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "bench/player/players.h"

namespace weft::bench {

void Sockets::start(const Collective& collective, Case& c) {
    if (!pair_) pair_ = std::make_unique<SocketPair>(job_);
    blocks_ = PlainBlocks(collective, c);
    const bool is_root = job_.rank == 0;
    const bool sends = is_root ? collective.plain.from_root : collective.plain.to_root;
    const bool receives = is_root ? collective.plain.to_root : collective.plain.from_root;
    sum_ = {};
    if (!collective.has_size) {  // even without data there is a message
        static std::array<std::byte, 2> nothing{};
        blocks_ = {};
        if (sends) blocks_.outgoing = std::span(nothing).first(1);
        if (receives) blocks_.incoming = std::span(nothing).last(1);
    } else if (collective.plain.reduces) {
        blocks_ = {};
        if (sends) blocks_.outgoing = c.send.as<const std::byte>();
        if (receives) {
            sum_ = c.recv.as<double>();
            own_terms_ = c.send.as<const double>();
            terms_.resize(sum_.size());
            blocks_.incoming = std::as_writable_bytes(std::span(terms_));
        }
    } else if (!blocks_.own.empty()) {
        std::memcpy(blocks_.own_place, blocks_.own.data(), blocks_.own.size());
    }
    if (waits_ != Waits::blocking) move();
}

bool Sockets::move() {
    const auto taken = [](auto& bytes, std::size_t moved) {
        bytes = bytes.subspan(moved);
        return moved > 0;
    };
    bool has_moved = false;
    if (!blocks_.outgoing.empty())
        has_moved |= taken(blocks_.outgoing, pair_->send_some(blocks_.outgoing));
    if (!blocks_.incoming.empty())
        has_moved |= taken(blocks_.incoming, pair_->recv_some(blocks_.incoming));
    return has_moved;
}

bool Sockets::test() {
    move();
    if (!has_ended()) return false;
    add_terms();
    return true;
}

void Sockets::wait() {
    // (With blocking calls both ends must not send at once more than the sockets take.)
    const bool blocks =
        waits_ == Waits::blocking && (blocks_.outgoing.empty() || blocks_.incoming.empty());
    if (blocks) pair_->set_blocking(true);
    while (!has_ended()) {
        if (!move() && waits_ != Waits::spinning) pair_->sleep();
    }
    if (blocks) pair_->set_blocking(false);
    add_terms();
}

void Sockets::add_terms() {
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] = own_terms_[i] + terms_[i];
    sum_ = {};
}

std::unique_ptr<Player> make_sockets(const Cell& cell, const Job& world, std::string&) {
    using Waits = Sockets::Waits;
    const bool spins = cell.implementation == "sockets:spinning";
    const bool blocks = cell.implementation == "sockets:blocking";
    return std::make_unique<Sockets>(world, spins    ? Waits::spinning
                                            : blocks ? Waits::blocking
                                                     : Waits::sleeping);
}

}  // namespace weft::bench
