// The settings: variables of the environment that begin with WEFT_, and items of lists in them. One
// table has them all. It says what each one takes, and refusals, `weft info` and the manual's test
// follow it. Code that reads a setting names it; a name that is not in the table does not compile.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weft {

inline constexpr std::int64_t second_ns = 1'000'000'000;

// What a setting takes.
struct SettingForm {
    enum class Kind : std::uint8_t { text, words, whole_number, bytes, seconds } kind = Kind::text;
    const char* values =
        "";                // text: for sentences, as whoever reads it checks it; words: one of them
    std::int64_t min = 0;  // numbers; seconds are in nanoseconds
    std::int64_t max = std::numeric_limits<std::int64_t>::max();
    const char* former_values = "";  // words that are taken for one more release, as `instead`
    const char* instead = "";
    bool may_be_empty = true;  // words and text: as if not set

    static constexpr SettingForm text(const char* values) { return {Kind::text, values}; }
    static constexpr SettingForm words(const char* values, const char* former = "",
                                       const char* instead = "") {
        SettingForm form{Kind::words, values};
        form.former_values = former;
        form.instead = instead;
        return form;
    }
    static constexpr SettingForm zero_or_one() {
        SettingForm form = words("0 or 1");
        form.may_be_empty = false;
        return form;
    }
    static constexpr SettingForm whole_number(std::int64_t min, std::int64_t max) {
        return {Kind::whole_number, "", min, max};
    }
    // "65536", "64K", as parse_bytes() takes it.
    static constexpr SettingForm bytes(std::int64_t min, std::int64_t max) {
        return {Kind::bytes, "", min, max};
    }
    // "2", "0.5"
    static constexpr SettingForm seconds(std::int64_t min_ns = 1) {
        return {Kind::seconds, "", min_ns, 1'000'000 * second_ns};
    }
};

struct SettingInfo {
    const char* name;
    // Of weft(1). Or a setting that is a list, which has this as an item, NAME=VALUE. Null: only
    // Weft's own programs set it.
    const char* section = nullptr;
    SettingForm form = {};
    const char* if_unset = "";
    const char* purpose = "";
    bool is_agreed = false;  // shapes messages or their order: all ranks must have the same
    bool is_secret = false;  // its value is not shown

    constexpr bool is_item() const {
        return section && std::string_view(section).starts_with("WEFT_");
    }
    constexpr bool is_for_users() const { return section && !is_item(); }
};

// In the order of the manual.
inline constexpr SettingInfo setting_table[] = {
    {"WEFT_ENGINE", "Progress",
     SettingForm::words("manual, thread, kernel, kernel:own, auto or fiber", "thread:poll",
                        "thread"),
     "auto", "what advances operations while the program computes"},
    {"WEFT_PROGRESS_CPUS", "Progress", SettingForm::text("cores, such as 7 or 0,8-11, or spare"),
     "where the rank may run", "cores for progress threads"},
    {"WEFT_TRANSPORT", "Networks", SettingForm::words("auto, shm, tcp, ucx or mpi"), "auto",
     "what moves bytes between ranks", true},
    {"WEFT_INTERFACES", "Networks", SettingForm::text("names or addresses, separated by commas"),
     "the first that is up", "the interfaces for TCP and UCX"},
    // (The kernel retransmits a lost packet after 0.2 s.)
    {"WEFT_PEER_TIMEOUT", "Networks", SettingForm::seconds(second_ns / 10), "10",
     "seconds that a peer's host may be silent until the peer is lost"},
    {"WEFT_RENDEZVOUS", "Networks", SettingForm::bytes(0, 1 << 30), "each transport's own",
     "the size from which messages wait for their receiver", true},
    {"WEFT_RESOURCES", "Networks", SettingForm::text("a list such as connections=2,shm_ring=1M"),
     "each item's own", "connections, buffers and wake-ups"},
    {"connections", "WEFT_RESOURCES",
     SettingForm::text("a number of shared connections 1..64, as 2, or of dedicated ones 0..64 "
                       "behind it, as 2+16 or +16"),
     "one for each interface, +16", "TCP connections between two ranks", true},
    {"connect", "WEFT_RESOURCES", SettingForm::words("need or ahead"), "need",
     "when connections are made", true},
    {"dedicated_rendezvous", "WEFT_RESOURCES", SettingForm::zero_or_one(), "0",
     "WEFT_RENDEZVOUS also holds on dedicated connections", true},
    {"shm_ring", "WEFT_RESOURCES", SettingForm::bytes(16 << 10, 64 << 20),
     "the second-level cache's size", "the size of a ring in shared memory, a power of two"},
    {"shm_large", "WEFT_RESOURCES",
     SettingForm::words("ring or vm_readv", "ordinary or streaming", "ring"), "ring",
     "how large messages travel in shared memory"},
    // (At most what the operating system takes.)
    {"queue_depth", "WEFT_RESOURCES", SettingForm::whole_number(8, 32'768), "1024",
     "how many entries io_uring gets at a time"},
    {"on_demand", "WEFT_RESOURCES", SettingForm::zero_or_one(), "1",
     "wake a progress thread that shares its core only when a rank waits for it", true},
    {"WEFT_ALGORITHM", "Algorithms",
     SettingForm::text("a list such as bcast=chain:segment=64K,allgather=bruck"),
     "the library chooses", "the algorithms of collectives"},
    {"WEFT_TUNING", "Algorithms", SettingForm::text("a file as `weft tune` writes it"), "none",
     "a table of algorithms that goes before the library's"},
    {"WEFT_SELECT", "Algorithms", SettingForm::words("table, model or model:cpu"), "table",
     "how algorithms are chosen that are not named", true},
    {"WEFT_MODEL", "Algorithms", SettingForm::text("a file as `weft bench loggp --json` writes it"),
     "none", "the parameters of the network, for WEFT_SELECT=model"},
    {"WEFT_TOPOLOGY", "Algorithms", SettingForm::text("two or three sizes, such as torus:4x4"),
     "no torus", "the network, if it is a torus", true},
    {"WEFT_REPRODUCIBLE", "Results, errors and statistics", SettingForm::zero_or_one(), "0",
     "reductions combine in one fixed order", true},
    {"WEFT_CHECK", "Results, errors and statistics", SettingForm::zero_or_one(), "0",
     "every collective first compares all ranks' calls", true},
    {"WEFT_TIMEOUT", "Results, errors and statistics", SettingForm::seconds(), "no limit",
     "seconds that a blocking call without a deadline may take"},
    {"WEFT_STATS", "Results, errors and statistics", SettingForm::words("0, 1 or all"), "0",
     "each rank prints at its end what it did"},
    {"WEFT_STARTUP", "Starting a job", SettingForm::text("tcp://HOST:PORT or an absolute path"),
     "the launcher knows", "where the ranks find each other"},
    {"WEFT_JOB_KEY", "Starting a job", SettingForm::text("a secret, the same on every rank"),
     "the launcher's, or the job's public names", "by which ranks authenticate each other", false,
     true},
    {"WEFT_STARTUP_TIMEOUT", "Starting a job", SettingForm::seconds(), "60",
     "seconds that a rank waits for the others to join"},
    {"WEFT_BLOCKING", "MPI programs", SettingForm::zero_or_one(), "0",
     "under the preload: take blocking collectives, too"},
    {"WEFT_DISABLE", "MPI programs", SettingForm::text("functions, such as ibcast, or all"), "none",
     "under the preload: functions that are left to the MPI"},
    {"WEFT_MIN_BYTES", "MPI programs",
     SettingForm::whole_number(0, std::numeric_limits<std::int64_t>::max()), "0",
     "under the preload: smaller operations are left to the MPI"},
    // What Weft's own programs tell each other. Ranks without a launcher set the first two.
    {"WEFT_RANK"},
    {"WEFT_RANKS"},
    {"WEFT_STARTUP_FD"},
    {"WEFT_STARTUP_DIR"},  // the former name of WEFT_STARTUP, for a path
    {"WEFT_PRELOAD_CHECK", nullptr, SettingForm::zero_or_one()},
    {"WEFT_PRELOAD_PID"},
};

// A setting, given by its name.
class KnownSetting {
  public:
    template <std::size_t n>
    consteval KnownSetting(const char (&name)[n]) : info_(find(std::string_view(name, n - 1))) {}
    // Other variables can be read by the same rules.
    constexpr KnownSetting(const SettingInfo& info) : info_(&info) {}

    constexpr const SettingInfo& info() const { return *info_; }

  private:
    static consteval const SettingInfo* find(std::string_view name) {
        for (const SettingInfo& info : setting_table) {
            if (info.name == name) return &info;
        }
        throw "not in setting_table";
    }

    const SettingInfo* info_;
};

// Each returns the setting's value, nothing if it is not set, or a refusal that names the variable:
// "WEFT_TIMEOUT = 'two'; expected ...".
using Setting = Result<std::optional<std::int64_t>>;
Setting number_setting(KnownSetting setting);
// Changes `value` if the setting is set.
template <class Number>
Status read_number(KnownSetting setting, Number& value) {
    const Setting number = number_setting(setting);
    if (number.is_ok() && *number) value = static_cast<Number>(**number);
    return number.status();
}
Result<std::optional<std::string_view>> word_setting(KnownSetting setting);
// Of the values 0 and 1.
Result<bool> switch_setting(KnownSetting setting, bool if_not_set = false);
// The text as it is; if not set, or empty: "". The view is good until the environment changes.
std::string_view text_setting(KnownSetting setting);
// As text, with its list: "connections in WEFT_RESOURCES".
std::string setting_title(KnownSetting setting);
// The refusal of what it says.
Status refuse_setting(KnownSetting setting);

// Refuses the first setting that is malformed, as far as its form and the lists' items say it.
Status check_settings();

// What rank 0 tells the user about the environment: a sentence for each variable that begins with
// WEFT_ and is no setting, with the nearest one; and for each former name or value that still
// works, with its replacement. Variables of Weft's tools and tests are skipped. `collectives` are
// the items of WEFT_ALGORITHM.
std::vector<std::string> setting_warnings(std::span<const char* const> environment,
                                          std::span<const std::string> collectives);
// The name that an item had as a variable: "WEFT_ALGORITHM_" and "bcast".
std::string former_setting(std::string_view beginning, std::string_view item);

// Settings for tests of the library. Only builds with WEFT_TEST_HOOKS read them.
struct TestHooks {
    bool offers_all =
        false;               // WEFT_HOOK_OFFER_ALL=1: also operations that do not pay are offloaded
    bool dedicates = false;  // WEFT_HOOK_DEDICATE=1: connections are dedicated with any engine
    std::string loops;       // WEFT_HOOK_LOOPS=avx2: this version at most (reduce/versions.h)
};
TestHooks test_hooks();

// Removes the part before `separator`, or all, and the separator.
std::string_view take_until(std::string_view& text, std::string_view separator);

std::optional<std::int64_t> parse_whole_number(std::string_view text);

// "3 0 5": up to the first word that is no number.
std::vector<int> parse_ints(std::string_view text);

// "65536", "64K", "4M", "1G": powers of 1024. None: it is something else, or overflows.
std::optional<std::int64_t> parse_bytes(std::string_view text);

// "4x4", "2x3x4": positive sizes. None: it is something else, or the product is above 2^31 - 1.
std::optional<std::vector<Rank>> parse_sizes(std::string_view text);

}  // namespace weft
