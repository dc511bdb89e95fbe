#include "weft/hosts.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/setting.h"
#include "startup/key_value.h"
#if WEFT_HAS_TCP
#include "tcp/address.h"
#endif

namespace weft {
namespace {

constexpr int status_of_bad_share = 2;
constexpr std::size_t share_bytes_max = 60'000;  // fits a socket's buffer

struct HostPlaces {
    std::string name;
    int places = 1;
};

// Without the user, and the brackets of an address.
std::string address_of_host(const std::string& name) {
    std::string host = name.substr(name.find('@') + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    return host;
}

// It is one word, and ssh does not take it for an option.
bool is_plain(const std::string& word) {
    return !word.empty() && word.front() != '-' &&
           std::ranges::all_of(word, [](unsigned char c) { return c > ' ' && c != 0x7f; });
}

// "node1", "me@node2:4", "[fd00::1]:2"
std::optional<HostPlaces> parse_host_places(std::string_view text) {
    HostPlaces host;
    const std::size_t bracket = text.rfind(']');
    const std::size_t colon = text.find(':', bracket == text.npos ? 0 : bracket);
    host.name = text.substr(0, colon);
    if (!is_plain(host.name) || !is_plain(address_of_host(host.name))) return std::nullopt;
    if (colon == text.npos) return host;
    const std::optional<std::int64_t> places = parse_whole_number(text.substr(colon + 1));
    if (!places || *places < 1 || *places > wire_ranks_max) return std::nullopt;
    host.places = static_cast<int>(*places);
    return host;
}

std::optional<std::vector<HostPlaces>> parse_hosts(std::string_view list) {
    std::vector<HostPlaces> hosts;
    do {
        const std::optional<HostPlaces> host = parse_host_places(take_until(list, ","));
        if (!host) return std::nullopt;
        hosts.push_back(*host);
    } while (!list.empty());
    return hosts;
}

// As ssh takes it: addresses without brackets.
std::string ssh_name(const std::string& name) {
    const std::size_t at = name.find('@');
    const std::string user = at == name.npos ? "" : name.substr(0, at + 1);
    return user + address_of_host(name);
}

std::string in_quotes(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string own_program() {
    char path[PATH_MAX] = "";
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "weft";
}

std::string own_directory() {
    char path[PATH_MAX] = "";
    return ::getcwd(path, sizeof path) != nullptr ? path : "/";
}

// The settings of this process, and where it finds libraries.
std::vector<std::string> environment_for_ranks() {
    constexpr std::string_view of_launchers[] = {
        "WEFT_RANK=",        "WEFT_RANKS=",   "WEFT_STARTUP_FD=", "WEFT_STARTUP=",
        "WEFT_STARTUP_DIR=", "WEFT_JOB_KEY=", "WEFT_CLUSTER_",
    };
    std::vector<std::string> found;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const bool is_wanted = text.starts_with("WEFT_") || text.starts_with("LD_LIBRARY_PATH=");
        if (is_wanted && std::ranges::none_of(of_launchers, [&](std::string_view beginning) {
                return text.starts_with(beginning);
            }))
            found.emplace_back(text);
    }
    return found;
}

// A connection of its own, which no other session of ssh keeps open or ends.
std::vector<std::string> ssh_command(const std::string& ssh, const std::string& name,
                                     const std::string& options = "") {
    std::vector<std::string> command{ssh};
    for (const char* option : {"BatchMode=yes", "ServerAliveInterval=15", "ConnectTimeout=30",
                               "ControlMaster=no", "ControlPath=none"}) {
        command.insert(command.end(), {"-o", option});
    }
    command.insert(command.end(), {"--", ssh_name(name),
                                   "exec " + in_quotes(own_program()) + " run-share" + options});
    return command;
}

// --- The share of a host: words, as text ---------------------------------------------------------

constexpr std::string_view share_magic = "weft-share-1 ";

struct Share {
    std::string directory;
    std::string first;
    std::string of_ranks;
    std::string ranks;
    std::string startup;
    std::string key;
    std::string grace_s;
    std::string prefix;
    std::string variables_count;
    std::vector<std::string> rest{};  // variables and the command

    template <class Self, class Visit>
    static void for_each_word(Self& self, Visit visit) {
        for (auto* word : {&self.directory, &self.first, &self.of_ranks, &self.ranks, &self.startup,
                           &self.key, &self.grace_s, &self.prefix, &self.variables_count})
            visit(*word);
    }
};

std::string share_text(const Share& share) {
    std::string words;
    std::size_t count = share.rest.size();
    Share::for_each_word(share, [&](const std::string& word) {
        words += word + '\0';
        ++count;
    });
    for (const std::string& word : share.rest) words += word + '\0';
    return std::string(share_magic) + std::to_string(count) + "\n" + words;
}

// Reads up to this character; nothing more.
std::optional<std::string> read_until(char end) {
    std::string text;
    for (;;) {
        char c = 0;
        const ssize_t n = ::read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0 || text.size() > share_bytes_max) return std::nullopt;
        if (c == end) return text;
        text += c;
    }
}

std::optional<Share> read_share() {
    const std::optional<std::string> head = read_until('\n');
    if (!head || !head->starts_with(share_magic)) return std::nullopt;
    std::int64_t left = parse_whole_number(head->substr(share_magic.size())).value_or(0);
    Share share;
    bool is_good = true;
    const auto take = [&](std::string& word) {
        const std::optional<std::string> read = --left >= 0 ? read_until('\0') : std::nullopt;
        is_good &= read.has_value();
        word = read.value_or("");
    };
    Share::for_each_word(share, take);
    while (is_good && left > 0) take(share.rest.emplace_back());
    const std::int64_t variables = parse_whole_number(share.variables_count).value_or(-1);
    if (!is_good || variables < 0 || std::ssize(share.rest) <= variables) return std::nullopt;
    return share;
}

std::string random_key() {
    std::array<std::byte, 32> bytes{};
    if (!random_bytes(bytes).is_ok()) return "";
    std::string text;
    for (const std::byte byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
        text += digits;
    }
    return text;
}

// Some below those that kernels give to callers: "20000-20007".
std::string random_ports() {
    constexpr int ports = 8;
    std::array<std::byte, 2> bytes{};
    (void)random_bytes(bytes);
    const int first =
        20'000 + (std::to_integer<int>(bytes[0]) * 256 + std::to_integer<int>(bytes[1])) % 10'000;
    return std::to_string(first) + "-" + std::to_string(first + ports - 1);
}

// Only from a machine itself does one reach it by this name.
bool is_of_each_machine(const std::string& address) {
    return address == "localhost" || address == "::1" || address.starts_with("127.");
}

// How a command of the shell has ended, and what it has said: of the first line that begins with
// `key`, the rest.
struct Said {
    std::string rest;
    int status = -1;  // as waitpid() gives it
};

Said said_by(const std::string& command, std::string_view key) {
    Said said;
    FILE* const output = ::popen(command.c_str(), "r");
    if (output == nullptr) return said;
    char line[1024];
    while (std::fgets(line, sizeof line, output) != nullptr) {
        std::string_view text = line;
        if (!text.starts_with(key) || !text.ends_with('\n') || !said.rest.empty()) continue;
        text.remove_suffix(1);
        said.rest = text.substr(key.size());
    }
    said.status = ::pclose(output);
    return said;
}

// What ssh's configuration calls the host, whose name here may be known to this machine's ssh
// alone. (Other clients need not know -G.)
std::string resolved_by_ssh(const std::string& ssh, const std::string& name) {
    const std::string address = address_of_host(name);
    if (ssh.substr(ssh.rfind('/') + 1) != "ssh") return address;
    const std::string command =
        in_quotes(ssh) + " -G -- " + in_quotes(ssh_name(name)) + " < /dev/null 2> /dev/null";
    const std::string found = said_by(command, "hostname ").rest;
    return is_plain(found) ? found : address;
}

constexpr std::string_view addresses_key = "weft-addresses";

// Asks the first host for its addresses: other hosts may know it by another name than this one
// does, or by none. Each is behind a blank. None: the host cannot be reached, which has been said;
// `status` is how the job ends.
std::optional<std::string> addresses_of(const std::string& ssh, const std::string& name,
                                        int& status) {
    std::vector<std::string> words = ssh_command(ssh, name, " --addresses");
    words.insert(words.begin() + 1, {"-o", "LogLevel=ERROR"});  // a banner is shown later
    std::string command = "exec";
    for (const std::string& word : words) command += " " + in_quotes(word);
    const Said said = said_by(command + " < /dev/null", addresses_key);
    if (WIFEXITED(said.status) && WEXITSTATUS(said.status) == 0) return said.rest;
    status = WIFEXITED(said.status) ? WEXITSTATUS(said.status) : 1;
    std::fprintf(stderr, "weft run: host %s exited with status %d\n", name.c_str(), status);
    return std::nullopt;
}

// "node1 10.0.0.1 fd00::1" as WEFT_STARTUP has it: "node1,10.0.0.1,[fd00::1]"
std::string list_of_hosts(const std::string& hosts) {
    std::istringstream words(hosts);
    std::vector<std::string> listed;
    std::string list;
    for (std::string host; words >> host;) {
        if (std::ranges::find(listed, host) != listed.end()) continue;
        listed.push_back(host);
        const bool is_ipv6 = host.find(':') != host.npos;
        list += (list.empty() ? "" : ",") + (is_ipv6 ? "[" + host + "]" : host);
    }
    return list;
}

}  // namespace

std::string hosts_problem(const std::string& hosts) {
    if (parse_hosts(hosts)) return "";
    return "'" + hosts + "'; expected hosts like node1,node2:4";
}

int run_on_hosts(const RunOptions& options, const std::string& hosts, const std::string& ssh) {
    const std::vector<HostPlaces> all = *parse_hosts(hosts);
    int places = 0;
    for (const HostPlaces& host : all) places += host.places;
    const int ranks = options.ranks > 0 ? options.ranks : places;
    if (ranks > places) {
        std::fprintf(stderr, "weft run: %d ranks (-n) for %d places on the hosts (--hosts)\n",
                     ranks, places);
        return status_of_bad_share;
    }
    ::signal(SIGCHLD, SIG_DFL);  // ignored, it would hide how clients end
    const bool has_others = ranks > all.front().places;
    std::string addresses;
    if (has_others) {
        int status = 0;
        const std::optional<std::string> said = addresses_of(ssh, all.front().name, status);
        if (!said) return status;
        addresses = *said;
    }
    const std::string name = resolved_by_ssh(ssh, all.front().name);
    const bool means_another_elsewhere =
        has_others && is_of_each_machine(name) &&
        std::any_of(all.begin() + 1, all.end(), [](const HostPlaces& host) {
            return !is_of_each_machine(address_of_host(host.name));
        });
    const std::string meeting_hosts =
        list_of_hosts(means_another_elsewhere ? addresses : name + addresses);
    if (meeting_hosts.empty()) {
        std::fprintf(stderr,
                     "weft run: the other hosts (--hosts) cannot find rank 0 at '%s', which has no "
                     "address for others\n",
                     name.c_str());
        return status_of_bad_share;
    }
    const std::string key = random_key();
    if (key.empty()) {
        std::fprintf(stderr, "weft run: %s\n", last_detail());
        return 1;
    }
    Share share;
    share.directory = own_directory();
    share.of_ranks = std::to_string(ranks);
    share.startup = "tcp://" + meeting_hosts + ":" + random_ports();
    share.key = key;
    share.grace_s = std::to_string(options.grace_s);
    share.prefix = options.prefix ? "1" : "0";
    share.rest = environment_for_ranks();
    share.variables_count = std::to_string(share.rest.size());
    share.rest.insert(share.rest.end(), options.command.begin(), options.command.end());

    RunOptions clients;
    clients.grace_s = options.grace_s;
    clients.timeout_s = options.timeout_s;
    int first = 0;
    for (const HostPlaces& host : all) {
        const int own = std::min(host.places, ranks - first);
        if (own == 0) break;
        share.first = std::to_string(first);
        share.ranks = std::to_string(own);
        clients.clients.push_back(
            {"host " + host.name, ssh_command(ssh, host.name), share_text(share)});
        first += own;
    }
    if (clients.clients.front().input.size() > share_bytes_max) {
        std::fprintf(stderr,
                     "weft run: the program's arguments and the settings are too long for "
                     "--hosts\n");
        return status_of_bad_share;
    }
    clients.ranks = static_cast<int>(clients.clients.size());
    return run_job(clients);
}

int run_share() {
    const std::optional<Share> share = read_share();
    if (!share) {
        std::fprintf(stderr,
                     "weft run-share: weft run --hosts of this version does not start it\n");
        return status_of_bad_share;
    }
    const auto number = [](const std::string& text) {
        return static_cast<int>(parse_whole_number(text).value_or(1));
    };
    const auto variables = static_cast<std::ptrdiff_t>(number(share->variables_count));
    for (std::ptrdiff_t i = 0; i < variables; ++i) {
        const std::string& variable = share->rest[static_cast<std::size_t>(i)];
        const std::size_t equals = variable.find('=');
        ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
    }
    for (const char* name : {"WEFT_STARTUP_FD", "WEFT_STARTUP_DIR"}) ::unsetenv(name);
    ::setenv("WEFT_STARTUP", share->startup.c_str(), 1);
    ::setenv("WEFT_JOB_KEY", share->key.c_str(), 1);
    if (::chdir(share->directory.c_str()) != 0) {
        std::fprintf(stderr, "weft run: no directory %s on this host: %s\n",
                     share->directory.c_str(), std::strerror(errno));
        return status_of_bad_share;
    }
    RunOptions options;
    options.ranks = number(share->ranks);
    options.share = HostShare{number(share->first), number(share->of_ranks)};
    options.prefix = share->prefix == "1";
    options.grace_s = std::strtod(share->grace_s.c_str(), nullptr);
    options.command.assign(share->rest.begin() + variables, share->rest.end());
    return run_job(options);
}

int say_addresses() {
    std::string addresses;
#if WEFT_HAS_TCP
    constexpr std::size_t others_max = 7;
    Result<std::vector<tcp::Address>> first = tcp::addresses_of_interfaces("");
    std::vector<tcp::Address> all;
    if (first.is_ok()) {
        all = tcp::addresses_besides(first->front(), others_max);
        all.insert(all.begin(), first->front());
    }
    for (const tcp::Address& address : all)
        if (!address.is_loopback()) addresses += " " + address.host();
#endif
    std::printf("%s%s\n", addresses_key.data(), addresses.c_str());
    return 0;
}

}  // namespace weft
