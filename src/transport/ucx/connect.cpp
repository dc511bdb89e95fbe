#include "transport/ucx/connect.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace weft {
namespace ucx {
namespace {

constexpr std::string_view beginning = "weft-ucx-2";
constexpr std::string_view digits = "0123456789abcdef";

// "1.13" of "1.13.1"
std::string release_of(const std::string& version) {
    return version.substr(0, version.find_last_of('.'));
}

// A boot, and a namespace of processes in it: "0f2c8e0c-...:[4026531836]".
std::string these_processes() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    char space[64] = "";  // "pid:[4026531836]"
    if (boot.empty() || readlink("/proc/self/ns/pid", space, sizeof space - 1) <= 0) return "";
    const std::string name = space;
    return boot + name.substr(std::min(name.find(':'), name.size()));
}

}  // namespace

// "weft-ucx-2/1.13/0/0f2c8e0c-...:[4026531836]/4711/04a7..."
std::string Card::text() const {
    std::string text = std::string(beginning) + "/" + version + "/" + (has_fabric ? "1" : "0") +
                       "/" + processes + "/" + std::to_string(process) + "/";
    for (const char byte : address) {
        const auto value = static_cast<unsigned char>(byte);
        text += digits[value / 16];
        text += digits[value % 16];
    }
    return text;
}

std::optional<Card> Card::parse(const std::string& text) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('/', begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    if (words.size() != 6 || words[0] != beginning) return std::nullopt;
    Card card{.version = words[1],
              .has_fabric = words[2] == "1",
              .processes = words[3],
              .process = 0,
              .address = {}};
    const std::string& number = words[4];
    const char* const end = number.data() + number.size();
    const auto [stop, error] = std::from_chars(number.data(), end, card.process);
    if (error != std::errc() || stop != end || card.process < 0) return std::nullopt;
    const std::string& hex = words[5];
    if (hex.empty() || hex.size() % 2 != 0) return std::nullopt;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const std::size_t high = digits.find(hex[i]);
        const std::size_t low = digits.find(hex[i + 1]);
        if (high == digits.npos || low == digits.npos) return std::nullopt;
        card.address += static_cast<char>(high * 16 + low);
    }
    return card;
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

}  // namespace ucx

using ucx::Card;
using ucx::Device;

Result<std::unique_ptr<UcxNode>> UcxNode::prepare(const ucx::Settings& settings, bool only_fabric) {
    std::unique_ptr<UcxNode> node(new UcxNode);
    node->settings_ = settings;
    ucx::Worker::Options options;
    options.only_fabric = only_fabric;
    options.peer_timeout_ns = settings.peer_timeout_ns;
    if (const char* interfaces = std::getenv("WEFT_INTERFACES"))
        options.tcp_interfaces = interfaces;
    Result<std::unique_ptr<ucx::Worker>> worker = ucx::Worker::open(options);
    if (!worker.is_ok()) return worker.status();
    node->worker_ = std::move(*worker);
    const std::vector<Device>& devices = node->worker_->devices();
    if (!only_fabric || std::ranges::any_of(devices, &Device::is_fabric)) return node;
    return failure(WEFT_REFUSED_UNSUPPORTED,
                   "UCX finds no device besides TCP and shared memory: %s",
                   ucx::names_of(devices).c_str());
}

Card UcxNode::own_card() const {
    return {.version = ucx::release_of(worker_->library().version()),
            .has_fabric = std::ranges::any_of(worker_->devices(), &Device::is_fabric),
            .processes = ucx::these_processes(),
            .process = getpid(),
            .address = worker_->address()};
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
    parts.addresses.resize(cards.size());
    parts.processes.resize(cards.size());
    for (std::size_t r = 0; r < cards.size(); ++r) {
        if (!needed[r]) continue;
        const std::optional<Card> card = Card::parse(cards[r]);
        if (!card)
            return failure_of_rank(WEFT_REFUSED_SETTING, static_cast<Rank>(r),
                                   "rank %zu has the card '%s'; expected one of UCX", r,
                                   cards[r].c_str());
        if (card->version != own.version)
            return failure_of_rank(WEFT_REFUSED_SETTING, static_cast<Rank>(r),
                                   "rank %zu has UCX %s, rank %d has %s; expected the same", r,
                                   card->version.c_str(), rank, own.version.c_str());
        parts.addresses[r] = card->address;
        if (!own.processes.empty() && card->processes == own.processes)
            parts.processes[r] = card->process;
    }
    parts.worker = std::move(worker_);
    return UcxTransport::create(std::move(parts));
}

}  // namespace weft
