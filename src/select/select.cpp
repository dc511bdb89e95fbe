#include "select/select.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/error_text.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/setting.h"

namespace weft {
namespace {

constexpr std::size_t file_bytes_max = 16 << 20;

Status refused(const std::string& reason) {
    return failure(WEFT_REFUSED_SETTING, "%s", reason.c_str());
}

bool is_no_text(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < ' ' && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

// The file's content. Refused with the reason alone, such as "Is a directory": the caller names the
// file and says what it expected. Only a regular file is read, and only one that is text, not empty
// and of at most 16 MiB: a FIFO would block, and a device may have no end.
Result<std::string> read_text_file(const char* path) {
    // (Without O_NONBLOCK a FIFO blocks until somebody writes into it.)
    const Fd file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) return refused(error_text(errno));
    if (S_ISDIR(info.st_mode)) return refused(error_text(EISDIR));
    if (!S_ISREG(info.st_mode)) return refused("it is no regular file");
    std::string content;
    char part[1 << 14];
    while (content.size() <= file_bytes_max) {
        const ssize_t bytes = ::read(file.get(), part, sizeof part);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0) return refused(error_text(errno));
        if (bytes == 0) break;
        content.append(part, static_cast<std::size_t>(bytes));
    }
    if (content.size() > file_bytes_max) return refused("it has more than 16 MiB");
    if (content.empty()) return refused("it is empty");
    if (std::ranges::any_of(content, is_no_text)) return refused("it is no text");
    return content;
}

using algorithm::Algorithm;
using algorithm::CollectiveSpec;
using algorithm::GlobalArgs;

constexpr char list_setting[] = "WEFT_ALGORITHM";

// The shipped lines, shared by all selectors.
const AlgorithmTable& shipped() {
    static const AlgorithmTable table = [] {
        AlgorithmTable made;
        WEFT_ASSERT(made.add(shipped_table, "shipped.table").is_ok());
        return made;
    }();
    return table;
}

// "a table with hash 0123456789abcdef"
std::string digest_of(const char* what, const std::string& content) {
    std::array<char, 60> digest{};
    std::snprintf(digest.data(), digest.size(), "%s with hash %016llx", what,
                  static_cast<unsigned long long>(Hash().add(content).value()));
    return digest.data();
}

// The last sentence is the reason.
Status not_readable(const Status& status, const std::string& source, const char* expected) {
    const std::string reason = last_detail();
    return failure(status.code, "%s: %s; %s", source.c_str(), reason.c_str(), expected);
}

}  // namespace

void warn_of_settings() {
    std::vector<std::string> names;
    for (const CollectiveSpec& spec : algorithm::catalogue()) names.emplace_back(spec.name);
    std::vector<const char*> environment;
    for (char** entry = environ; entry && *entry; ++entry) environment.push_back(*entry);
    for (const std::string& warning : setting_warnings(environment, names))
        std::fprintf(stderr, "weft: %s\n", warning.c_str());
}

Result<Selector> Selector::from_environment() {
    Selector selector;
    const std::string path(text_setting("WEFT_TUNING"));
    if (!path.empty()) WEFT_RETURN_IF_NOT_OK(selector.read_table(path));
    WEFT_RETURN_IF_NOT_OK(selector.read_selection());
    for (const CollectiveSpec& spec : algorithm::catalogue()) {
        const std::string former = former_setting("WEFT_ALGORITHM_", spec.name);
        const char* const text = std::getenv(former.c_str());
        if (!text || !*text) continue;
        const Result<Choice> choice = parse_choice(spec, text, former);
        if (!choice.is_ok()) return choice.status();
        selector.put({spec.collective, text, *choice}, former);
    }
    WEFT_RETURN_IF_NOT_OK(selector.force(text_setting(list_setting), list_setting));
    return selector;
}

void Selector::put(const NamedChoice& forced, const std::string& name) {
    forced_[static_cast<std::size_t>(forced.collective)] = Forced{forced.choice, name, forced.text};
}

Status Selector::force(std::string_view list, const std::string& name) {
    const Result<std::vector<NamedChoice>> choices = parse_choices(list, name);
    if (!choices.is_ok()) return choices.status();
    for (const NamedChoice& one : *choices) put(one, choice_name(name, one.collective));
    return ok;
}

Status Selector::force(Collective collective, const std::string& text) {
    return force(std::string(algorithm::spec_of(collective).name) + "=" + text, list_setting);
}

Status Selector::read_table(const std::string& path) {
    const std::string source = "WEFT_TUNING=" + path;
    Result<std::string> text = read_text_file(path.c_str());
    if (!text.is_ok())
        return not_readable(text.status(), source, "expected a file as `weft tune` writes it");
    auto table = std::make_shared<AlgorithmTable>();
    WEFT_RETURN_IF_NOT_OK(table->add(*text, source));
    table_ = std::move(table);
    tuning_ = digest_of("a table", *text);
    return ok;
}

Status Selector::read_selection() {
    if (text_setting("WEFT_SELECT").empty()) return ok;
    const Result<std::optional<std::string_view>> by = word_setting("WEFT_SELECT");
    if (!by.is_ok()) return by.status();
    if (*by == "table") return ok;
    const std::string how(**by);
    const std::string path(text_setting("WEFT_MODEL"));
    constexpr const char* expected = "expected a file as `weft bench loggp --json` writes it";
    if (path.empty()) {
        return failure(WEFT_REFUSED_SETTING, "WEFT_SELECT=%s without WEFT_MODEL; %s", how.c_str(),
                       expected);
    }
    const std::string source = "WEFT_MODEL=" + path;
    Result<std::string> text = read_text_file(path.c_str());
    if (!text.is_ok()) return not_readable(text.status(), source, expected);
    Result<model::MeasuredParameters> parameters = model::read_measured(*text);
    if (!parameters.is_ok()) return not_readable(parameters.status(), source, expected);
    const ModelGoal goal = how == "model" ? ModelGoal::time : ModelGoal::cpu_time;
    model_ = std::make_shared<ModelSelection>(ModelSelection{goal, std::move(*parameters)});
    model_digest_ = digest_of("parameters", *text);
    return ok;
}

Result<Choice> Selector::choose(const GlobalArgs& agreed) const {
    const Collective collective = agreed.collective;
    const CollectiveSpec& spec = algorithm::spec_of(collective);
    if (const auto& forced = forced_[static_cast<std::size_t>(collective)]) {
        GlobalArgs tuned = agreed;
        tuned.tuning = forced->choice.tuning;
        const std::string lacks = forced->choice.algorithm->unmet_need(tuned);
        if (lacks.empty()) return forced->choice;
        return failure(WEFT_REFUSED_SETTING, "%s=%s needs %s", forced->name.c_str(),
                       forced->text.c_str(), lacks.c_str());
    }
    if (table_) {
        if (const Choice* listed = table_->choose(agreed, engine_)) return *listed;
    }
    if (model_) {
        if (const std::optional<Choice> best = model_->choose(agreed)) return *best;
    }
    if (const Choice* listed = shipped().choose(agreed, engine_)) return *listed;
    const auto meets = [&](const Algorithm* a) { return a->unmet_need(agreed).empty(); };
    const auto first = std::ranges::find_if(spec.algorithms, meets);
    WEFT_ASSERT(first != spec.algorithms.end());
    return Choice{*first, agreed.tuning};
}

std::string Selector::text() const {
    std::string text;
    for (const CollectiveSpec& spec : algorithm::catalogue()) {
        const auto& forced = forced_[static_cast<std::size_t>(spec.collective)];
        if (!forced) continue;
        text += (text.empty() ? "" : ",") + std::string(spec.name) + "=" + forced->text;
    }
    return text;
}

}  // namespace weft
