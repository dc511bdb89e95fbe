#include "transport/tcp/wire.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>

namespace weft::tcp {
namespace {

constexpr std::uint64_t wake_bytes_max = 128 * 1024;

}  // namespace

void Wire::close() {
    if (stays_open && fd) {
        (void)shutdown(fd.get(), SHUT_RDWR);
        fd.keep_open();
    }
    fd = {};
}

bool Wire::watch() {
    watched = EPOLLIN;
    epoll_event event{};
    event.events = watched;
    event.data.ptr = static_cast<Source*>(this);
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd.get(), &event) == 0;
}

void Wire::listen_for(std::uint32_t events) {
    if (watched == events || state == State::closed) return;
    watched = events;
    epoll_event event{};
    event.events = events != 0 ? events : std::uint32_t{EPOLLONESHOT};
    event.data.ptr = static_cast<Source*>(this);
    (void)epoll_ctl(epoll, EPOLL_CTL_MOD, fd.get(), &event);
}

void Wire::watch_out(bool out) { listen_for(out ? EPOLLIN | EPOLLOUT : EPOLLIN); }

// Within a large frame, waking up for every packet would cost the computation more than it saves.
// Nothing else can be read before the frame's end, and that will come: even a sender that cancels
// the message ends the frame.
void Wire::sleep_until_worthwhile() {
    const int worthwhile = static_cast<int>(std::clamp<std::uint64_t>(left, 1, wake_bytes_max));
    if (worthwhile == wake_bytes || state == State::closed) return;
    wake_bytes = worthwhile;
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_RCVLOWAT, &worthwhile, sizeof worthwhile);
}

ssize_t Wire::write(std::span<iovec> pieces) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    ssize_t n;
    do {
        n = sendmsg(fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n >= 0) return n;
    if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return 0;
    write_error = errno;
    return -1;
}

ssize_t Wire::read(std::span<iovec> pieces, int& error) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    ssize_t n;
    do {
        n = recvmsg(fd.get(), &message, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n > 0) return n;
    if (n < 0 && errno == EAGAIN) return 0;
    error = n < 0 ? errno : 0;
    return -1;
}

}  // namespace weft::tcp
