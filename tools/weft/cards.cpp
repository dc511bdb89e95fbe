#include "weft/cards.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "startup/key_value.h"

namespace weft {
namespace {

template <class T>
void append(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The size at the beginning of a message; 0 until it has arrived.
WireSize announced(const std::string& in) {
    WireSize bytes = 0;
    if (in.size() >= sizeof bytes) std::memcpy(&bytes, in.data(), sizeof bytes);
    return bytes;
}

bool is_complete(const std::string& in) {
    return in.size() >= sizeof(WireSize) && in.size() - sizeof(WireSize) >= announced(in);
}

}  // namespace

CardServer::~CardServer() {
    for (Peer& peer : peers_) leave(peer);
}

void CardServer::add(int fd) { peers_.push_back({.fd = fd, .in = {}, .out = {}}); }

pollfd CardServer::interest(std::size_t rank) const {
    const Peer& peer = peers_[rank];
    short events = peer.out.empty() ? POLLIN : POLLIN | POLLOUT;
    return {peer.fd, events, 0};
}

void CardServer::on_ready(std::size_t rank, short events) {
    Peer& peer = peers_[rank];
    if (events & POLLOUT) send(peer);
    if (events & (POLLIN | POLLHUP | POLLERR)) receive(peer);
    answer();
}

void CardServer::rank_ended(std::size_t rank) {
    peers_[rank].was_answered = false;
    leave(peers_[rank]);
    answer();
}

void CardServer::leave(Peer& peer) {
    if (peer.fd >= 0) ::close(peer.fd);
    peer.fd = -1;
    if (!peer.was_answered && !first_ended_)
        first_ended_ = static_cast<std::size_t>(&peer - peers_.data());
}

void CardServer::receive(Peer& peer) {
    char buffer[4096];
    while (peer.fd >= 0 && !peer.asked) {
        // Reads nothing beyond this exchange: the next one stays in the socket.
        std::size_t wanted = sizeof(WireSize) - std::min(peer.in.size(), sizeof(WireSize));
        if (wanted == 0) wanted = announced(peer.in) + sizeof(WireSize) - peer.in.size();
        ssize_t got = ::recv(peer.fd, buffer, std::min(wanted, sizeof buffer), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) return leave(peer);
        peer.in.append(buffer, static_cast<std::size_t>(got));
        if (announced(peer.in) > wire_card_bytes_max) return leave(peer);
        peer.asked = is_complete(peer.in);
    }
    // A rank that has asked sends nothing until it is answered: if its socket is readable now, the
    // rank has ended.
    if (peer.asked) {
        ssize_t got = ::recv(peer.fd, buffer, 1, MSG_DONTWAIT | MSG_PEEK);
        if (got == 0) leave(peer);
    }
}

void CardServer::send(Peer& peer) {
    while (peer.fd >= 0 && !peer.out.empty()) {
        ssize_t sent =
            ::send(peer.fd, peer.out.data(), peer.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (sent < 0) return leave(peer);
        peer.out.erase(0, static_cast<std::size_t>(sent));
    }
}

void CardServer::answer() {
    auto has_asked = [](const Peer& peer) { return peer.asked; };
    std::string reply;
    if (first_ended_) {
        append(reply, WireAnswer::rank_ended);
        append(reply, static_cast<WireSize>(*first_ended_));
    } else if (std::all_of(peers_.begin(), peers_.end(), has_asked)) {
        append(reply, WireAnswer::cards);
        append(reply, key_);
        for (const Peer& peer : peers_) reply += peer.in;
    } else {
        return;
    }
    for (Peer& peer : peers_) {
        if (!peer.asked) continue;
        peer.asked = false;
        peer.was_answered = !first_ended_;
        peer.in.clear();
        peer.out += reply;
        send(peer);
    }
}

}  // namespace weft
