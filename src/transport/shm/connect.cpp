// Exchanging descriptors between the ranks of a node.
//
// The higher rank of a pair connects and sends its greeting first; the lower one answers. Each step
// waits only for the other side of one pair.
//
// A rank that gives up sends a farewell instead of a greeting to those that wait for it. It names
// the rank that was the cause: they may not hear of it otherwise.
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
#include <charconv>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error_text.h"
#include "base/first_line.h"
#include "base/node.h"
#include "base/random.h"

// Making and reading cards: "weft-shm-2/<node>/<pid>/<socket>/<key>".
namespace weft::shm {
namespace {

constexpr const char* card_version = "weft-shm-2";

std::string hex(const Key& key) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (unsigned char byte : key) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

std::optional<Key> parse_hex(const std::string& text) {
    Key key;
    if (text.size() != 2 * key.size()) return std::nullopt;
    auto digit = [](char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    for (std::size_t i = 0; i < key.size(); ++i) {
        const int high = digit(text[2 * i]);
        const int low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        key[i] = static_cast<unsigned char>(high * 16 + low);
    }
    return key;
}

}  // namespace

Result<Card> Card::make() {
    Key name;
    Key key;
    WEFT_RETURN_IF_NOT_OK(random_bytes(std::as_writable_bytes(std::span(name))));
    WEFT_RETURN_IF_NOT_OK(random_bytes(std::as_writable_bytes(std::span(key))));
    return Card{this_node(), getpid(), "weft-" + hex(name), key};
}

std::optional<Card> Card::parse(const std::string& text) {
    std::vector<std::string> fields(1);
    for (char c : text) {
        if (c == '/')
            fields.emplace_back();
        else
            fields.back() += c;
    }
    if (fields.size() != 5 || fields[0] != card_version) return std::nullopt;
    pid_t pid = 0;
    const char* pid_end = fields[2].data() + fields[2].size();
    const auto [stop, error] = std::from_chars(fields[2].data(), pid_end, pid);
    const std::optional<Key> key = parse_hex(fields[4]);
    if (error != std::errc{} || stop != pid_end || pid <= 0 || !key) return std::nullopt;
    return Card{fields[1], pid, fields[3], *key};
}

std::string Card::text() const {
    return std::string(card_version) + "/" + node + "/" + std::to_string(pid) + "/" + socket + "/" +
           hex(key);
}

}  // namespace weft::shm

namespace weft {
using shm::Card;
using shm::Doorbells;
using shm::Key;
using shm::PeerParts;
using shm::Segment;

namespace {

constexpr std::int64_t patience_ns = 30'000'000'000;
constexpr int end_patience_ms = 200;
constexpr std::size_t fds_in_greeting = 1 + Doorbells::count;

struct Greeting {
    Key key{};  // of the addressee's card
    Rank rank = -1;
    Rank cause = -1;  // not -1: a farewell, without descriptors
};

// Without the terminating zero, which would be part of the name.
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
    bool is_cut = false;  // this process had no descriptors left for those of the peer
};

// Nothing: the data is not a greeting for the owner of `key`.
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
    if (bytes != static_cast<ssize_t>(sizeof received.greeting) || received.greeting.key != key)
        return std::nullopt;
    if (received.greeting.cause >= 0) return received;
    received.is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
    if (!received.is_cut && count != fds.size()) return std::nullopt;
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

bool is_out_of_descriptors(int error) { return error == EMFILE || error == ENFILE; }

// Readable when the process at the other end has ended. From the socket where the kernel offers
// it; by number otherwise, which is safe while the socket shows that the process is there.
Fd life_of(int socket, pid_t pid) {
    constexpr int so_peerpidfd = 77;
    int fd = -1;
    socklen_t size = sizeof fd;
    if (getsockopt(socket, SOL_SOCKET, so_peerpidfd, &fd, &size) == 0) return Fd(fd);
    if (is_out_of_descriptors(errno)) return Fd();
    return Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// A pair whose exchange has not ended.
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
         Fd listener)
        : rank_(rank),
          key_(key),
          local_(std::move(local)),
          cards_(cards),
          listener_(std::move(listener)) {}

    Result<ShmTransport::Parts> run() {
        const Status status = swap_all();
        if (status.is_ok()) return std::move(parts_);
        const std::string sentence = last_detail();
        give_up(status.is_broken() && status.rank >= 0 ? status.rank : rank_);
        return failure_of_rank(status.code, status.rank, "%s", sentence.c_str());
    }

  private:
    Status swap_all() {
        WEFT_RETURN_IF_NOT_OK(make_own_parts());
        for (Rank peer : local_)
            if (peer < rank_) WEFT_RETURN_IF_NOT_OK(call(peer));
        WEFT_RETURN_IF_NOT_OK(watch_callers());
        while (parts_.peers.size() + 1 < local_.size()) WEFT_RETURN_IF_NOT_OK(wait_and_serve());
        std::sort(parts_.peers.begin(), parts_.peers.end(),
                  [](const PeerParts& a, const PeerParts& b) { return a.rank < b.rank; });
        return ok;
    }

    // Sends a farewell to all that wait for this rank, because its process may live on.
    void give_up(Rank cause) {
        if (cause != rank_ && !has_farewell_) await_end(cause);
        leave();
        std::vector<Rank> uncalled;
        for (Rank peer : local_) {
            const auto meeting = std::ranges::find(meetings_, peer, &Meeting::rank);
            if (peer < rank_ && meeting == meetings_.end() && !is_known(peer))
                uncalled.push_back(peer);
        }
        // The next steps need descriptors, which may have been exhausted.
        parts_ = {};
        callers_.clear();
        for (const Meeting& meeting : std::exchange(meetings_, {})) say_farewell(meeting, cause);
        while (Fd caller = accept_caller()) say_farewell({std::move(caller), -1}, cause);
        listener_ = Fd();
        for (Rank peer : uncalled) {
            const Meeting meeting{seqpacket_socket(), peer};
            if (connect_to(peer, meeting.socket.get())) say_farewell(meeting, cause);
        }
    }

    // A process closes its sockets some time before others can see that it has ended. A rank that
    // sees this one leave must also see the end that was the cause. The other process may also live
    // on.
    void await_end(Rank peer) const {
        if (!std::ranges::binary_search(local_, peer)) return;
        const Fd life(static_cast<int>(syscall(SYS_pidfd_open, card_of(peer).pid, 0)));
        pollfd entry{life.get(), POLLIN, 0};
        if (life) ::poll(&entry, 1, end_patience_ms);
    }

    // As the transport does at its end: those that have all of this rank see that it was not the
    // one that died.
    void leave() {
        if (!parts_.segment) return;
        parts_.segment->header().left.store(1, std::memory_order_seq_cst);
        for (const PeerParts& peer : parts_.peers) {
            peer.doorbells.ring(Sleeper::thread);
            peer.doorbells.ring(Sleeper::waiter);
        }
    }

    // If it does not get through, the other side sees the closed socket.
    void say_farewell(const Meeting& meeting, Rank cause) {
        const int socket = meeting.socket.get();
        Rank to = meeting.rank;
        if (to < 0) {
            const std::optional<Received> received = receive_greeting(socket, key_);
            if (!received || !is_awaited(received->greeting.rank)) return;
            to = received->greeting.rank;
        }
        const Greeting farewell{card_of(to).key, rank_, cause};
        (void)send(socket, &farewell, sizeof farewell, MSG_NOSIGNAL);
    }

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

    bool connect_to(Rank peer, int socket) const {
        sockaddr_un address;
        const socklen_t size = abstract_address(card_of(peer).socket, address);
        return ::connect(socket, reinterpret_cast<sockaddr*>(&address), size) == 0;
    }

    Status call(Rank peer) {
        Meeting meeting{seqpacket_socket(), peer};
        if (!meeting.socket)
            return failure(WEFT_REFUSED_MEMORY, "cannot create a socket: %s",
                           error_text(errno).c_str());
        while (!connect_to(peer, meeting.socket.get())) {
            // EAGAIN: many ranks connect at once; the listener accepts them later.
            // It listens until it gives up or ends.
            if (errno == ECONNREFUSED) return closed(peer);
            if (errno != EAGAIN && errno != EINTR)
                return failure_of_rank(WEFT_BROKEN_RANK, peer, "rank %d cannot be reached: %s",
                                       peer, strerror(errno));
            if (now_ns() > deadline_ns_) return too_late();
            ::poll(nullptr, 0, 1);
        }
        if (!send_greeting(meeting.socket.get(), {card_of(peer).key, rank_}, *parts_.segment,
                           parts_.doorbells))
            return failure_of_rank(WEFT_BROKEN_RANK, peer, "rank %d is gone: %s", peer,
                                   strerror(errno));
        meetings_.push_back(std::move(meeting));
        return ok;
    }

    // A rank may end before it connects. There is no socket yet: watch the process on its card. If
    // another process has that number by now, the deadline ends the wait.
    Status watch_callers() {
        for (Rank peer : local_) {
            if (peer <= rank_) continue;
            Fd life(static_cast<int>(syscall(SYS_pidfd_open, card_of(peer).pid, 0)));
            if (!life && errno == ESRCH) return ended(peer);
            if (!life && is_out_of_descriptors(errno))
                return failure(WEFT_REFUSED_MEMORY, "no descriptor to watch rank %d: %s", peer,
                               strerror(errno));
            if (life) callers_.push_back({std::move(life), peer});
        }
        return ok;
    }

    // No rank completes the swap without our answer: a rank that we still await and that has ended
    // did not end in good order.
    Status check_callers() const {
        for (const Caller& caller : callers_) {
            pollfd life{caller.life.get(), POLLIN, 0};
            if (is_awaited(caller.rank) && ::poll(&life, 1, 0) > 0) return ended(caller.rank);
        }
        return ok;
    }

    static Status closed(Rank peer) {
        return failure_of_rank(WEFT_BROKEN_RANK, peer,
                               "rank %d gave up or ended before shared memory was set up", peer);
    }

    static Status ended(Rank peer) {
        return failure_of_rank(WEFT_BROKEN_RANK, peer,
                               "rank %d ended before shared memory was set up", peer);
    }

    Status wait_and_serve() {
        std::vector<pollfd> fds;
        fds.push_back({listener_.get(), POLLIN, 0});
        for (const Meeting& meeting : meetings_) fds.push_back({meeting.socket.get(), POLLIN, 0});
        for (const Caller& caller : callers_)
            if (is_awaited(caller.rank)) fds.push_back({caller.life.get(), POLLIN, 0});
        const std::int64_t rest_ms = (deadline_ns_ - now_ns()) / 1'000'000;
        if (rest_ms <= 0) return too_late();
        if (::poll(fds.data(), fds.size(), static_cast<int>(rest_ms)) < 0 && errno != EINTR)
            return failure(WEFT_BROKEN_TRANSPORT, "poll: %s", strerror(errno));

        // Read first: a rank that has ended may have sent something before.
        const auto has_come = [](const pollfd& fd) { return fd.revents != 0; };
        if (std::none_of(fds.begin(), fds.begin() + 1 + std::ssize(meetings_), has_come))
            return check_callers();

        std::vector<Meeting> met = std::move(meetings_);
        meetings_.clear();
        Status served = ok;
        for (std::size_t i = 0; i < met.size(); ++i) {
            if (fds[i + 1].revents == 0)
                meetings_.push_back(std::move(met[i]));
            else
                served = serve(met[i]);
            if (served.is_ok()) continue;
            // Those that follow must still be told.
            for (++i; i < met.size(); ++i) meetings_.push_back(std::move(met[i]));
            return served;
        }
        if (fds[0].revents == 0) return ok;
        if (Fd caller = accept_caller())
            meetings_.push_back({std::move(caller), -1});
        else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            return failure(WEFT_REFUSED_MEMORY, "no descriptor for a rank that calls: %s",
                           strerror(errno));
        return ok;
    }

    Fd accept_caller() const {
        return Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    }

    // A greeting or a farewell came, or the other side has hung up. Strangers are dropped silently.
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
            // It may have given up since.
            std::optional<Received> newer = receive_greeting(socket, key_);
            if (newer && newer->greeting.rank == received->greeting.rank)
                received = std::move(newer);
        }
        const Greeting& greeting = received->greeting;
        if (greeting.cause >= 0) return gave_up(greeting);
        if (received->is_cut)
            return failure(WEFT_REFUSED_MEMORY, "no descriptors for those of rank %d: %s",
                           greeting.rank, strerror(EMFILE));
        if (meeting.rank < 0) {
            if (!send_greeting(socket, {card_of(greeting.rank).key, rank_}, *parts_.segment,
                               parts_.doorbells))
                return failure_of_rank(WEFT_BROKEN_RANK, greeting.rank,
                                       "rank %d ended when shared memory was set up",
                                       greeting.rank);
        }
        return add_peer(socket, owner->pid, std::move(*received));
    }

    Status gave_up(const Greeting& farewell) {
        has_farewell_ = true;
        if (farewell.cause == farewell.rank)
            return failure_of_rank(WEFT_BROKEN_RANK, farewell.rank,
                                   "rank %d gave up when shared memory was set up", farewell.rank);
        return failure_of_rank(WEFT_BROKEN_RANK, farewell.cause,
                               "shared memory was not set up because of rank %d, says rank %d",
                               farewell.cause, farewell.rank);
    }

    bool is_known(Rank peer) const {
        return std::ranges::find(parts_.peers, peer, &PeerParts::rank) != parts_.peers.end();
    }

    // Whether the rank is to connect to us and has not done so.
    bool is_awaited(Rank peer) const {
        return peer > rank_ && std::ranges::binary_search(local_, peer) && !is_known(peer);
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
        if (!peer.life && is_out_of_descriptors(errno))
            return failure(WEFT_REFUSED_MEMORY, "no descriptor to watch rank %d: %s", peer.rank,
                           strerror(errno));
        if (!peer.life && errno == ESRCH) return ended(peer.rank);
        if (!peer.life)
            return failure_of_rank(WEFT_REFUSED_UNSUPPORTED, peer.rank,
                                   "cannot watch the process of rank %d (pidfd): %s", peer.rank,
                                   strerror(errno));
        parts_.peers.push_back(std::move(peer));
        return ok;
    }

    Status too_late() const {
        for (Rank peer : local_) {
            if (peer != rank_ && !is_known(peer))
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
    Fd listener_;
    bool has_farewell_ = false;  // its sender has already waited for the end of the cause
    const std::int64_t deadline_ns_ = now_ns() + patience_ns;
    ShmTransport::Parts parts_;
    std::vector<Meeting> meetings_;
    std::vector<Caller> callers_;
};

// With ptrace_scope 1 only a process's ancestors may read its memory. Ranks are siblings.
void let_peers_read_memory() {
    if (first_line_of("/proc/sys/kernel/yama/ptrace_scope") == "1")
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

}  // namespace

Result<std::unique_ptr<ShmNode>> ShmNode::prepare() {
    // Bad settings are refused before the others hear of this rank.
    WEFT_RETURN_IF_NOT_OK(shm::Settings::from_environment(1).status());
    std::unique_ptr<ShmNode> node(new ShmNode);
    WEFT_RETURN_IF_NOT_OK(Segment::check_support());
    Result<Card> card = Card::make();
    if (!card.is_ok()) return card.status();
    sockaddr_un address;
    const socklen_t size = abstract_address(card->socket, address);
    node->listener_ = seqpacket_socket();
    if (!node->listener_ ||
        bind(node->listener_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(node->listener_.get(), SOMAXCONN) != 0)
        return failure(
            is_out_of_descriptors(errno) ? WEFT_REFUSED_MEMORY : WEFT_REFUSED_UNSUPPORTED,
            "cannot listen on a Unix socket: %s", error_text(errno).c_str());
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
    Swap swap(rank, own->key, std::move(local), cards, std::move(listener_));
    Result<ShmTransport::Parts> parts = swap.run();
    if (!parts.is_ok()) return parts.status();
    return ShmTransport::create(std::move(*parts));
}

}  // namespace weft
