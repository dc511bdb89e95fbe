// The swap of descriptors between the ranks of a node.
//
// The higher rank of a pair connects and greets first; the lower one answers. No step waits for
// more than the other side of one pair, whose greeting lies in the socket already or is to come.
#include "transport/shm/connect.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "transport/shm/card.h"

namespace weft {

using shm::Card;
using shm::Doorbells;
using shm::Key;
using shm::PeerParts;
using shm::Segment;

namespace {

constexpr std::int64_t patience_ns = 30'000'000'000;
constexpr std::size_t fds_in_greeting = 1 + Doorbells::count;

struct Greeting {
    Key key{};  // of the addressee's card
    Rank rank = -1;
};

// The name, without the terminating zero that would be part of it.
socklen_t abstract_address(const std::string& name, sockaddr_un& address) {
    address = {};
    address.sun_family = AF_UNIX;
    const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
    memcpy(address.sun_path + 1, name.data(), length);
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

Fd seqpacket_socket() {
    return Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

using GreetingControl = std::array<char, CMSG_SPACE(fds_in_greeting * sizeof(int))>;

// A new socket has room for one greeting: this does not block, and fails only when the peer is
// gone.
bool send_greeting(int socket, Greeting greeting, const Segment& segment, const Doorbells& bells) {
    const std::array<int, fds_in_greeting> fds{segment.fd(), bells.fd(Sleeper::thread),
                                               bells.fd(Sleeper::waiter)};
    iovec data{&greeting, sizeof greeting};
    alignas(cmsghdr) GreetingControl control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(rights), fds.data(), sizeof fds);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof greeting);
}

struct Received {
    Greeting greeting;
    Fd segment;
    Doorbells doorbells;
};

// Nothing when what came is no greeting for the owner of `key`.
std::optional<Received> receive_greeting(int socket, const Key& key) {
    Received received;
    iovec data{&received.greeting, sizeof received.greeting};
    alignas(cmsghdr) GreetingControl control{};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t bytes = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0) return std::nullopt;

    std::array<Fd, fds_in_greeting> fds;
    std::size_t count = 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        for (std::size_t offset = CMSG_LEN(0); offset + sizeof(int) <= c->cmsg_len;
             offset += sizeof(int)) {
            int fd;
            memcpy(&fd, reinterpret_cast<char*>(c) + offset, sizeof fd);
            Fd owned(fd);
            if (count < fds.size()) fds[count] = std::move(owned);
            ++count;
        }
    }
    if (bytes != static_cast<ssize_t>(sizeof received.greeting) || count != fds.size() ||
        received.greeting.key != key)
        return std::nullopt;
    received.segment = std::move(fds[0]);
    received.doorbells = Doorbells({std::move(fds[1]), std::move(fds[2])});
    return received;
}

std::optional<ucred> owner_of(int socket) {
    ucred owner{};
    socklen_t size = sizeof owner;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &owner, &size) != 0 || owner.uid != geteuid())
        return std::nullopt;
    return owner;
}

// Readable when the process at the other end has ended. From the socket where the kernel offers
// it; by number otherwise, which is safe while the socket shows that the process is there.
Fd life_of(int socket, pid_t pid) {
    constexpr int so_peerpidfd = 77;
    int fd = -1;
    socklen_t size = sizeof fd;
    if (getsockopt(socket, SOL_SOCKET, so_peerpidfd, &fd, &size) == 0) return Fd(fd);
    return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// One of the two ends of each pair that has not been brought to an end.
struct Meeting {
    Fd socket;
    Rank rank = -1;  // -1: connected to us, has not greeted yet
};

// A rank that is to connect to us, and its process.
struct Caller {
    Fd life;
    Rank rank = -1;
};

class Swap {
  public:
    Swap(Rank rank, const Key& key, std::vector<Rank> local, std::span<const std::string> cards,
         int listener)
        : rank_(rank), key_(key), local_(std::move(local)), cards_(cards), listener_(listener) {}

    Result<ShmTransport::Parts> run() {
        if (Status status = make_own_parts(); !status.is_ok()) return status;
        for (Rank peer : local_)
            if (peer < rank_) WEFT_RETURN_IF_NOT_OK(call(peer));
        WEFT_RETURN_IF_NOT_OK(watch_callers());
        while (parts_.peers.size() + 1 < local_.size()) WEFT_RETURN_IF_NOT_OK(wait_and_serve());
        std::sort(parts_.peers.begin(), parts_.peers.end(),
                  [](const PeerParts& a, const PeerParts& b) { return a.rank < b.rank; });
        return std::move(parts_);
    }

  private:
    Card card_of(Rank rank) const { return *Card::parse(cards_[static_cast<std::size_t>(rank)]); }

    std::size_t index_of(Rank rank) const {
        const auto place = std::lower_bound(local_.begin(), local_.end(), rank);
        return static_cast<std::size_t>(place - local_.begin());
    }

    Status make_own_parts() {
        Result<shm::Settings> settings = shm::Settings::from_environment(local_.size());
        if (!settings.is_ok()) return settings.status();
        Result<std::shared_ptr<Segment>> segment =
            Segment::create({.rings = local_.size(), .ring_bytes = settings->ring_bytes});
        if (!segment.is_ok()) return segment.status();
        Result<Doorbells> doorbells = Doorbells::create();
        if (!doorbells.is_ok()) return doorbells.status();
        parts_.ranks = static_cast<Rank>(cards_.size());
        parts_.index = index_of(rank_);
        parts_.segment = std::move(*segment);
        parts_.doorbells = std::move(*doorbells);
        parts_.settings = *settings;
        return ok;
    }

    Status call(Rank peer) {
        sockaddr_un address;
        const Card card = card_of(peer);
        const socklen_t size = abstract_address(card.socket, address);
        Meeting meeting{seqpacket_socket(), peer};
        if (!meeting.socket)
            return failure(WEFT_REFUSED_MEMORY, "cannot create a socket: %s", strerror(errno));
        while (::connect(meeting.socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
            // EAGAIN: many ranks call at once. The listener comes round to them.
            if (errno != EAGAIN && errno != EINTR)
                return failure_of_rank(WEFT_BROKEN_RANK, peer, "rank %d cannot be reached: %s",
                                       peer, strerror(errno));
            if (now_ns() > deadline_ns_) return too_late();
            ::poll(nullptr, 0, 1);
        }
        if (!send_greeting(meeting.socket.get(), {card.key, rank_}, *parts_.segment,
                           parts_.doorbells))
            return failure_of_rank(WEFT_BROKEN_RANK, peer, "rank %d is gone: %s", peer,
                                   strerror(errno));
        meetings_.push_back(std::move(meeting));
        return ok;
    }

    // A rank may end before it calls. Its card's process number tells, since there is no socket yet;
    // should the number have been given to another process, patience ends the wait.
    Status watch_callers() {
        for (Rank peer : local_) {
            if (peer <= rank_) continue;
            Fd life(static_cast<int>(syscall(SYS_pidfd_open, card_of(peer).pid, 0)));
            if (!life && errno == ESRCH) return ended(peer);
            if (life) callers_.push_back({std::move(life), peer});
        }
        return ok;
    }

    // Nobody gets through the swap without our answer: a rank that we still await and that has ended
    // did not end in good order.
    Status check_callers() const {
        for (const Caller& caller : callers_) {
            pollfd life{caller.life.get(), POLLIN, 0};
            if (is_awaited(caller.rank) && ::poll(&life, 1, 0) > 0) return ended(caller.rank);
        }
        return ok;
    }

    static Status ended(Rank peer) {
        return failure_of_rank(WEFT_BROKEN_RANK, peer,
                               "rank %d ended before shared memory was set up", peer);
    }

    Status wait_and_serve() {
        WEFT_RETURN_IF_NOT_OK(check_callers());
        std::vector<pollfd> fds;
        fds.push_back({listener_, POLLIN, 0});
        for (const Meeting& meeting : meetings_) fds.push_back({meeting.socket.get(), POLLIN, 0});
        for (const Caller& caller : callers_)
            if (is_awaited(caller.rank)) fds.push_back({caller.life.get(), POLLIN, 0});
        const std::int64_t rest_ms = (deadline_ns_ - now_ns()) / 1'000'000;
        if (rest_ms <= 0) return too_late();
        if (::poll(fds.data(), fds.size(), static_cast<int>(rest_ms)) < 0 && errno != EINTR)
            return failure(WEFT_BROKEN_TRANSPORT, "poll: %s", strerror(errno));

        std::vector<Meeting> met = std::move(meetings_);
        meetings_.clear();
        for (std::size_t i = 0; i < met.size(); ++i) {
            if (fds[i + 1].revents == 0)
                meetings_.push_back(std::move(met[i]));
            else
                WEFT_RETURN_IF_NOT_OK(serve(met[i]));
        }
        if (fds[0].revents != 0) {
            Fd caller(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (caller) meetings_.push_back({std::move(caller), -1});
        }
        return ok;
    }

    // A greeting came, or the other side has hung up. A stranger is dropped without a word.
    Status serve(Meeting& meeting) {
        const int socket = meeting.socket.get();
        const std::optional<ucred> owner = owner_of(socket);
        std::optional<Received> received = receive_greeting(socket, key_);
        if (meeting.rank >= 0) {
            if (!owner || !received || received->greeting.rank != meeting.rank)
                return failure_of_rank(WEFT_BROKEN_RANK, meeting.rank,
                                       "rank %d did not answer when shared memory was set up",
                                       meeting.rank);
        } else {
            if (!owner || !received || !is_awaited(received->greeting.rank)) return ok;
            if (!send_greeting(socket, {card_of(received->greeting.rank).key, rank_},
                               *parts_.segment, parts_.doorbells))
                return failure_of_rank(WEFT_BROKEN_RANK, received->greeting.rank,
                                       "rank %d ended when shared memory was set up",
                                       received->greeting.rank);
        }
        return add_peer(socket, owner->pid, std::move(*received));
    }

    // Does the rank belong to the callers and has it not called yet?
    bool is_awaited(Rank peer) const {
        return peer > rank_ && std::binary_search(local_.begin(), local_.end(), peer) &&
               std::none_of(parts_.peers.begin(), parts_.peers.end(),
                            [&](const PeerParts& known) { return known.rank == peer; });
    }

    Status add_peer(int socket, pid_t pid, Received received) {
        Result<std::shared_ptr<Segment>> segment =
            Segment::open(received.segment.get(), local_.size());
        if (!segment.is_ok()) return segment.status();
        PeerParts peer;
        peer.rank = received.greeting.rank;
        peer.index = index_of(peer.rank);
        peer.segment = std::move(*segment);
        peer.doorbells = std::move(received.doorbells);
        peer.life = life_of(socket, pid);
        peer.pid = pid;
        if (!peer.life)
            return failure_of_rank(WEFT_REFUSED_UNSUPPORTED, peer.rank,
                                   "cannot watch the process of rank %d (pidfd): %s", peer.rank,
                                   strerror(errno));
        parts_.peers.push_back(std::move(peer));
        return ok;
    }

    Status too_late() const {
        for (Rank peer : local_) {
            const bool known =
                peer == rank_ ||
                std::any_of(parts_.peers.begin(), parts_.peers.end(),
                            [&](const PeerParts& other) { return other.rank == peer; });
            if (!known)
                return failure_of_rank(WEFT_BROKEN_RANK, peer,
                                       "rank %d did not come within %d s to set up shared memory",
                                       peer, static_cast<int>(patience_ns / 1'000'000'000));
        }
        return failure(WEFT_BROKEN_TRANSPORT, "setting up shared memory took too long");
    }

    const Rank rank_;
    const Key key_;                  // of this rank's card
    const std::vector<Rank> local_;  // the ranks of the node, this one included; ascending
    const std::span<const std::string> cards_;
    const int listener_;
    const std::int64_t deadline_ns_ = now_ns() + patience_ns;
    ShmTransport::Parts parts_;
    std::vector<Meeting> meetings_;
    std::vector<Caller> callers_;
};

// With ptrace_scope 1 a process's memory is its children's and parents' business only. Ranks are
// siblings, and the launcher between them is nobody's debugger.
void let_peers_read_memory() {
    int scope = 0;
    std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
    if (scope == 1) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace

Result<std::unique_ptr<ShmNode>> ShmNode::prepare() {
    // What is malformed is refused before the others hear of this rank.
    WEFT_RETURN_IF_NOT_OK(shm::Settings::from_environment(1).status());
    std::unique_ptr<ShmNode> node(new ShmNode);
    const std::optional<Card> card = Card::make();
    if (!card) return failure(WEFT_REFUSED_UNSUPPORTED, "no random numbers: %s", strerror(errno));
    sockaddr_un address;
    const socklen_t size = abstract_address(card->socket, address);
    node->listener_ = seqpacket_socket();
    if (!node->listener_ ||
        bind(node->listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(node->listener_.get(), SOMAXCONN) != 0)
        return failure(WEFT_REFUSED_UNSUPPORTED, "cannot listen on a Unix socket: %s",
                       strerror(errno));
    node->card_ = card->text();
    let_peers_read_memory();
    return node;
}

Result<std::unique_ptr<ShmTransport>> ShmNode::connect(Rank rank,
                                                       std::span<const std::string> cards) {
    const std::optional<Card> own = Card::parse(card_);
    std::vector<Rank> local;
    for (std::size_t r = 0; r < cards.size(); ++r) {
        const std::optional<Card> card = Card::parse(cards[r]);
        if (card && card->node == own->node) local.push_back(static_cast<Rank>(r));
    }
    WEFT_ASSERT(cards[static_cast<std::size_t>(rank)] == card_);
    Swap swap(rank, own->key, std::move(local), cards, listener_.get());
    Result<ShmTransport::Parts> parts = swap.run();
    listener_ = Fd();
    if (!parts.is_ok()) return parts.status();
    return ShmTransport::create(std::move(*parts));
}

}  // namespace weft
