#include "transport/ucx/connect.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "base/first_line.h"
#include "base/setting.h"
#include "transport/common/connect_setting.h"

namespace weft {
namespace ucx {
namespace {

constexpr std::string_view beginning = "weft-ucx-4";
constexpr std::string_view digits = "0123456789abcdef";

// "1.13" of "1.13.1"
std::string release_of(const std::string& version) {
    return version.substr(0, version.find_last_of('.'));
}

// A boot, and a namespace of this kind in it: "0f2c8e0c-...:[4026531836]".
std::string this_namespace(const char* kind) {
    const std::string boot = first_line_of("/proc/sys/kernel/random/boot_id");
    char space[64] = "";  // "pid:[4026531836]"
    const std::string link = std::string("/proc/self/ns/") + kind;
    if (boot.empty() || readlink(link.c_str(), space, sizeof space - 1) <= 0) return "";
    const std::string name = space;
    return boot + name.substr(std::min(name.find(':'), name.size()));
}

std::vector<std::string> words_of(const std::string& text, char separator) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

std::string hex_of(const std::string& bytes) {
    std::string hex;
    for (const char byte : bytes) {
        const auto value = static_cast<unsigned char>(byte);
        hex += digits[value / 16];
        hex += digits[value % 16];
    }
    return hex;
}

// Empty: it is none.
std::string bytes_of(const std::string& hex) {
    std::string bytes;
    if (hex.size() % 2 != 0) return "";
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const std::size_t high = digits.find(hex[i]);
        const std::size_t low = digits.find(hex[i + 1]);
        if (high == digits.npos || low == digits.npos) return "";
        bytes += static_cast<char>(high * 16 + low);
    }
    return bytes;
}

std::string hex_of_all(const std::vector<std::string>& addresses) {
    std::string text;
    for (const std::string& address : addresses)
        text += (text.empty() ? "" : ",") + hex_of(address);
    return text;
}

// None: one of them is no address.
std::optional<std::vector<std::string>> addresses_of(const std::string& text) {
    std::vector<std::string> addresses;
    for (const std::string& hex : words_of(text, ',')) {
        addresses.push_back(bytes_of(hex));
        if (addresses.back().empty()) return std::nullopt;
    }
    return addresses;
}

std::vector<std::string> addresses_of(const Workers& workers) {
    std::vector<std::string> addresses;
    for (const auto& worker : workers) addresses.push_back(worker->address());
    return addresses;
}

// Whether the kernel lets this process watch others (it may be too old, or a sandbox).
bool can_watch_processes() {
    return bool(Fd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))));
}

}  // namespace

// "weft-ucx-4/1.13/0/1/0f2c8e0c-...:[4026531836]/4711/0f2c8e0c-...:[4026531840]/04a7...,04b2.../
// 04c1...,04d3..." (in one line)
std::string Card::text() const {
    return std::string(beginning) + "/" + version + "/" + (has_fabric ? "1" : "0") + "/" +
           (has_memory ? "1" : "0") + "/" + processes + "/" + std::to_string(process) + "/" + node +
           "/" + hex_of_all(addresses) + "/" + hex_of_all(addresses_here);
}

std::optional<Card> Card::parse(const std::string& text) {
    const std::vector<std::string> words = words_of(text, '/');
    if (words.size() != 9 || words[0] != beginning) return std::nullopt;
    Card card{.version = words[1],
              .has_fabric = words[2] == "1",
              .has_memory = words[3] == "1",
              .processes = words[4],
              .process = 0,
              .node = words[6],
              .addresses = {},
              .addresses_here = {}};
    const std::string& number = words[5];
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, card.process);
    if (error != std::errc() || stop != end || card.process < 0) return std::nullopt;
    std::optional<std::vector<std::string>> addresses = addresses_of(words[7]);
    if (!addresses) return std::nullopt;
    card.addresses = std::move(*addresses);
    if (words[8].empty()) return card;
    addresses = addresses_of(words[8]);
    if (!addresses || addresses->size() != card.addresses.size()) return std::nullopt;
    card.addresses_here = std::move(*addresses);
    return card;
}

bool suits_auto(const Card& one, const std::optional<Card>& other) {
    return one.has_fabric && other && other->has_fabric && one.version == other->version;
}

bool sees_process(const Card& one, const Card& other) {
    return !one.processes.empty() && one.processes == other.processes;
}

bool needs_no_keepalive(const Card& one, const Card& other) {
    return sees_process(one, other) && !one.node.empty() && one.node == other.node &&
           !one.addresses_here.empty() && !other.addresses_here.empty();
}

bool may_have_fabric() {
    for (const char* folder : {"/sys/class/infiniband", "/sys/class/cxi"}) {
        DIR* const open = opendir(folder);
        int entries = 0;
        while (open != nullptr && readdir(open) != nullptr) ++entries;
        if (open != nullptr) closedir(open);
        if (entries > 2) return true;  // "." and ".."
    }
    return false;
}

Result<Settings> Settings::from_environment() {
    Settings settings;
    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_RENDEZVOUS", settings.eager_threshold));
    settings.eager_threshold = std::min(settings.eager_threshold, eager_bytes_max);
    WEFT_RETURN_IF_NOT_OK(read_number("WEFT_PEER_TIMEOUT", settings.peer_timeout_ns));
    WEFT_RETURN_IF_NOT_OK(connects_ahead_from_environment().move_to(settings.connects_ahead));
    return settings;
}

}  // namespace ucx

using ucx::Card;
using ucx::Device;

namespace {

// Fails where UCX would abort the process: for connections with some peers. (With how many, the
// program decides.)
Status check_descriptors(std::size_t watched) {
    constexpr std::size_t descriptors_to_connect = 3;
    const std::size_t needed =
        UcxTransport::own_descriptors + descriptors_of_engine + watched + descriptors_to_connect;
    const std::size_t left = descriptors_left();
    if (left >= needed) return ok;
    return failure(WEFT_REFUSED_MEMORY,
                   "connections over UCX need %zu descriptors or more; %zu are free (ulimit -n is "
                   "%zu)",
                   needed, left, descriptors_max());
}

}  // namespace

Result<std::unique_ptr<UcxNode>> UcxNode::prepare(const ucx::Settings& settings, bool only_fabric) {
    std::unique_ptr<UcxNode> node(new UcxNode);
    node->settings_ = settings;
    ucx::Worker::Options options;
    options.only_fabric = only_fabric;
    options.peer_timeout_ns = settings.peer_timeout_ns;
    options.interfaces = text_setting("WEFT_INTERFACES");
    WEFT_RETURN_IF_NOT_OK(ucx::Worker::open(options).move_to(node->workers_));
    if (!only_fabric && node->has_device(&Device::is_memory) && ucx::can_watch_processes() &&
        std::getenv("UCX_KEEPALIVE_INTERVAL") == nullptr) {
        options.keeps_alive = false;
        // (Where there is no room for them, UCX keeps its peers alive.)
        Result<ucx::Workers> here = ucx::Worker::open_like(node->workers_, options);
        if (here.is_ok()) node->workers_here_ = std::move(*here);
    }
    if (!only_fabric || node->has_device(&Device::is_fabric)) return node;
    return failure(WEFT_REFUSED_UNSUPPORTED,
                   "UCX finds no device besides TCP and shared memory: %s",
                   ucx::names_of(node->workers_.front()->devices()).c_str());
}

bool UcxNode::has_device(bool (Device::*is_such)() const) const {
    return std::ranges::any_of(workers_, [&](const auto& worker) {
        return std::ranges::any_of(worker->devices(), is_such);
    });
}

Card UcxNode::own_card() const {
    Card card{.version = ucx::release_of(workers_.front()->library().version()),
              .has_fabric = has_device(&Device::is_fabric),
              .has_memory = has_device(&Device::is_memory),
              .processes = ucx::this_namespace("pid"),
              .process = getpid(),
              .node = ucx::this_namespace("net"),
              .addresses = ucx::addresses_of(workers_),
              .addresses_here = ucx::addresses_of(workers_here_)};
    return card;
}

DeviceMemory UcxNode::device_memory() const {
    const bool knows_devices = std::ranges::any_of(
        workers_, [](const auto& worker) { return ucx::is_of_device(worker->memory_kinds()); });
    return knows_devices ? ucx::device_memory_at : nullptr;
}

std::string UcxNode::card() const { return own_card().text(); }

Result<std::unique_ptr<UcxTransport>> UcxNode::connect(Rank rank,
                                                       std::span<const std::string> cards,
                                                       const JobKey& key,
                                                       const std::vector<bool>& needed) {
    const Card own = own_card();
    UcxTransport::Parts parts;
    parts.rank = rank;
    parts.key = key;
    parts.settings = settings_;
    parts.others.resize(cards.size());
    std::vector<std::string> nodes(cards.size());
    std::vector<std::optional<Card>> parsed(cards.size());
    std::size_t watched = 0;
    bool all_are_here = true;  // all ranks of a job say the same
    for (std::size_t r = 0; r < cards.size(); ++r) {
        const std::optional<Card>& card = parsed[r] = Card::parse(cards[r]);
        if (card) nodes[r] = card->node;
        if (!needed[r]) continue;
        if (!card)
            return failure_of_rank(WEFT_REFUSED_SETTING, static_cast<Rank>(r),
                                   "rank %zu has the card '%s'; expected one of UCX", r,
                                   cards[r].c_str());
        if (card->version != own.version)
            return failure_of_rank(WEFT_REFUSED_SETTING, static_cast<Rank>(r),
                                   "rank %zu has UCX %s, rank %d has %s; expected the same", r,
                                   card->version.c_str(), rank, own.version.c_str());
        all_are_here &= ucx::needs_no_keepalive(own, *card);
        if (!ucx::sees_process(own, *card)) continue;
        ++watched;
        parts.others[r].process = card->process;
        parts.others[r].shares_memory = card->has_memory && own.has_memory;
    }
    for (std::size_t r = 0; r < cards.size(); ++r) {
        if (!needed[r]) continue;
        parts.others[r].addresses = all_are_here ? parsed[r]->addresses_here : parsed[r]->addresses;
    }
    const std::vector<PlaceInJob> places = places_in_job(nodes);
    for (std::size_t r = 0; r < cards.size(); ++r) parts.others[r].place = places[r];
    parts.keeps_alive = !all_are_here;
    parts.workers = std::move(all_are_here ? workers_here_ : workers_);
    workers_.clear();
    workers_here_.clear();
    WEFT_RETURN_IF_NOT_OK(check_descriptors(watched));
    Result<std::unique_ptr<UcxTransport>> transport = UcxTransport::create(std::move(parts));
    if (transport.is_ok() && settings_.connects_ahead)
        WEFT_RETURN_IF_NOT_OK((*transport)->open_all(now_ns() + connect_ahead_ns));
    return transport;
}

}  // namespace weft
