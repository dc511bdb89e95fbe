#include "startup/card_server.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

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
    for (Client& client : clients_) leave(client);
}

void CardServer::add(int fd) {
    clients_.emplace_back();
    join(clients_.size() - 1, fd);
}

void CardServer::join(std::size_t rank, int fd) {
    clients_[rank].fd = fd;
    clients_[rank].has_joined = true;
}

pollfd CardServer::interest(std::size_t rank) const {
    const Client& client = clients_[rank];
    short events = client.out == nullptr ? POLLIN : POLLIN | POLLOUT;
    return {client.fd, events, 0};
}

void CardServer::on_ready(std::size_t rank, short events) {
    Client& client = clients_[rank];
    if (events & POLLOUT) send(client);
    if (events & (POLLIN | POLLHUP | POLLERR)) receive(client);
    answer();
}

void CardServer::rank_ended(std::size_t rank) {
    clients_[rank].was_answered = false;
    leave(clients_[rank]);
    answer();
}

void CardServer::give_up(std::size_t rank) {
    lose(WireAnswer::rank_missing, rank);
    answer();
}

std::optional<std::size_t> CardServer::awaited() const {
    const auto has_asked = [](const Client& client) { return client.asked; };
    const auto missing = std::find_if_not(clients_.begin(), clients_.end(), has_asked);
    if (missing == clients_.end() || std::none_of(clients_.begin(), clients_.end(), has_asked))
        return std::nullopt;
    return static_cast<std::size_t>(missing - clients_.begin());
}

bool CardServer::has_answers() const {
    return std::any_of(clients_.begin(), clients_.end(), [](const Client& client) {
        return client.fd >= 0 && client.out != nullptr;
    });
}

void CardServer::leave(Client& client) {
    if (client.fd >= 0) ::close(client.fd);
    client.fd = -1;
    if (!client.was_answered)
        lose(WireAnswer::rank_ended, static_cast<std::size_t>(&client - clients_.data()));
}

void CardServer::lose(WireAnswer how, std::size_t rank) {
    if (!first_lost_) first_lost_ = Loss{how, rank};
}

void CardServer::receive(Client& client) {
    char buffer[4096];
    while (client.fd >= 0 && !client.asked) {
        // Reads nothing beyond this exchange: the next one stays in the socket.
        std::size_t wanted = sizeof(WireSize) - std::min(client.in.size(), sizeof(WireSize));
        if (wanted == 0) wanted = announced(client.in) + sizeof(WireSize) - client.in.size();
        ssize_t got = ::recv(client.fd, buffer, std::min(wanted, sizeof buffer), MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (got <= 0) return leave(client);
        client.in.append(buffer, static_cast<std::size_t>(got));
        if (announced(client.in) > wire_card_bytes_max) return leave(client);
        client.asked = is_complete(client.in);
    }
    // A rank that has asked sends nothing until it is answered: if its socket is readable now, the
    // rank has ended.
    if (client.asked) {
        ssize_t got = ::recv(client.fd, buffer, 1, MSG_DONTWAIT | MSG_PEEK);
        if (got == 0) leave(client);
    }
}

void CardServer::send(Client& client) {
    while (client.fd >= 0 && client.out != nullptr) {
        ssize_t sent = ::send(client.fd, client.out->data() + client.sent,
                              client.out->size() - client.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (sent < 0) return leave(client);
        client.sent += static_cast<std::size_t>(sent);
        if (client.sent == client.out->size()) client.out.reset();
    }
}

void CardServer::answer() {
    auto has_asked = [](const Client& client) { return client.asked; };
    std::string reply;
    if (first_lost_) {
        append(reply, first_lost_->how);
        append(reply, static_cast<WireSize>(first_lost_->rank));
    } else if (std::all_of(clients_.begin(), clients_.end(), has_asked)) {
        append(reply, WireAnswer::cards);
        append(reply, key_);
        for (const Client& client : clients_) reply += client.in;
    } else {
        return;
    }
    const auto shared = std::make_shared<const std::string>(std::move(reply));
    for (Client& client : clients_) {
        if (!client.asked) continue;
        client.asked = false;
        client.was_answered = !first_lost_;
        client.in.clear();
        // (It has read the answer before, or it would not ask.)
        client.out = shared;
        client.sent = 0;
        send(client);
    }
}

}  // namespace weft
