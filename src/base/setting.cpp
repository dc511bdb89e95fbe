#include "base/setting.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <numeric>

namespace weft {
namespace {

constexpr std::string_view beginning = "WEFT_";

// Nothing unless the whole text is a number.
template <class Number>
std::optional<Number> parse(std::string_view text) {
    Number value{};
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end) return std::nullopt;
    return value;
}

// Whether `word` is in "a, b or c".
bool is_one_of(std::string_view values, std::string_view word) {
    std::string_view last = values;
    std::string_view rest = take_until(last, " or ");
    if (word.empty()) return false;
    while (!rest.empty()) {
        if (take_until(rest, ", ") == word) return true;
    }
    return last == word;
}

// What a list says about an item.
std::optional<std::string_view> item_of(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        std::string_view value = take_until(list, ",");
        if (value.starts_with(name) && value.substr(name.size()).starts_with('='))
            return value.substr(name.size() + 1);
    }
    return std::nullopt;
}

// Where a setting's value was found.
struct Found {
    std::string name;
    std::string_view text;
};

std::optional<Found> find(const SettingInfo& setting) {
    if (!setting.is_item()) {
        if (const char* text = std::getenv(setting.name)) return Found{setting.name, text};
        return std::nullopt;
    }
    if (const char* list = std::getenv(setting.section)) {
        if (const auto item = item_of(list, setting.name))
            return Found{setting_title(setting), *item};
    }
    const std::string former = former_setting(beginning, setting.name);
    if (const char* text = std::getenv(former.c_str())) return Found{former, text};
    return std::nullopt;
}

// A number of seconds as people write it.
std::string seconds_text(std::int64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.7g", static_cast<double>(ns) / second_ns);
    return text;
}

std::string expected_of(const SettingForm& form) {
    const std::string range = std::to_string(form.min) + ".." + std::to_string(form.max);
    switch (form.kind) {
        case SettingForm::Kind::whole_number: return "a whole number " + range;
        case SettingForm::Kind::bytes: return "a number of bytes " + range + ", as 65536 or 64K";
        case SettingForm::Kind::seconds:
            return "seconds, " +
                   (form.min > 1 ? "at least " + seconds_text(form.min) : "more than 0") +
                   " and at most " + seconds_text(form.max) + ", as 10 or 0.5";
        default: return form.values;
    }
}

Status refused(const SettingInfo& setting, const Found& found) {
    return failure(WEFT_REFUSED_SETTING, "%s = '%.*s'; expected %s", found.name.c_str(),
                   static_cast<int>(found.text.size()), found.text.data(),
                   expected_of(setting.form).c_str());
}

// Nothing unless the form takes it.
std::optional<std::int64_t> number_in(const SettingForm& form, std::string_view text) {
    std::optional<std::int64_t> number;
    if (form.kind != SettingForm::Kind::seconds) {
        number =
            form.kind == SettingForm::Kind::bytes ? parse_bytes(text) : parse<std::int64_t>(text);
    } else if (const auto seconds = parse<double>(text);
               seconds && *seconds > 0 && *seconds <= static_cast<double>(form.max) / second_ns) {
        number = static_cast<std::int64_t>(*seconds * second_ns);
    }
    if (number && (*number < form.min || *number > form.max)) return std::nullopt;
    return number;
}

Status check(const SettingInfo& setting) {
    if (setting.form.kind == SettingForm::Kind::text) return ok;
    if (setting.form.kind == SettingForm::Kind::words) return word_setting(setting).status();
    return number_setting(setting).status();
}

// "connections, connect, ...": the items of a list in this table.
std::vector<std::string> items_of(std::string_view list) {
    std::vector<std::string> names;
    for (const SettingInfo& item : setting_table) {
        if (item.is_item() && item.section == list) names.emplace_back(item.name);
    }
    return names;
}

// "a, b and c"
std::string join(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
        text += names[i];
    }
    return text;
}

// The items of a list of this table are known, and each is there once.
Status check_list(const char* name) {
    const char* const text = std::getenv(name);
    std::string_view rest = text ? text : "";
    std::vector<std::string> left = items_of(name);
    while (!rest.empty()) {
        const bool is_last = rest.find(',') == rest.npos;
        const std::string_view item = take_until(rest, ",");
        const std::string_view key = item.substr(0, item.find('='));
        const bool is_cut_off = rest.empty() && !is_last;  // by a comma at the end
        if (is_cut_off || item.size() <= key.size() + 1 || std::erase(left, key) == 0) {
            return failure(WEFT_REFUSED_SETTING,
                           "%s = '%s'; expected NAME=VALUE, separated by commas, each once, of %s",
                           name, text, join(items_of(name)).c_str());
        }
    }
    return ok;
}

// --- Warnings ----------------------------------------------------------------------------------

#if WEFT_TEST_HOOKS
constexpr const char* offers_all_hook = "WEFT_HOOK_OFFER_ALL";
constexpr const char* dedicates_hook = "WEFT_HOOK_DEDICATE";
constexpr const char* loops_hook = "WEFT_HOOK_LOOPS";
#endif

// Variables of Weft's tools and tests.
constexpr std::string_view of_tools[] = {
    "WEFT_BENCH_",   "WEFT_CLUSTER_", "WEFT_TEST_", "WEFT_SEEDS", "WEFT_CASE",
#if WEFT_TEST_HOOKS
    offers_all_hook, dedicates_hook,  loops_hook
#endif
};

// How many letters must be changed, added or left out to turn one into the other (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
        }
    }
    return row.back();
}

// What an item takes today for a value that it took once.
std::string_view present_value(std::string_view item, std::string_view value) {
    for (const SettingInfo& setting : setting_table) {
        if (setting.is_item() && setting.name == item &&
            is_one_of(setting.form.former_values, value))
            return setting.form.instead;
    }
    return value;
}

std::string unknown(std::string_view name) {
    const std::string text = std::string(name) + " is not a setting of Weft and has no effect";
    const SettingInfo* nearest = nullptr;
    std::size_t least = name.size() / 3;
    for (const SettingInfo& setting : setting_table) {
        const std::size_t letters = distance(name, setting.name);
        if (setting.is_item() || letters > least || (nearest && letters == least)) continue;
        nearest = &setting;
        least = letters;
    }
    return nearest ? text + "; did you mean " + nearest->name + "?" : text;
}

// Former variables that are items of a list now.
struct FormerItems {
    const char* list;
    std::string_view beginning;  // of their names
    std::vector<std::string> items;
    std::string text = {};  // of the list with them
    std::vector<std::string> names = {};

    // Whether it replaces the variable.
    bool add(const std::string& name, const std::string& item, std::string_view value) {
        if (item_of(text, item)) return false;
        names.push_back(name);
        text += (text.empty() ? "" : ",") + item + "=" + std::string(value);
        return true;
    }
    // "WEFT_CONNECT and WEFT_SHM_RING are now WEFT_RESOURCES=connect=ahead,shm_ring=1M"
    std::string sentence() const {
        return join(names) + (names.size() > 1 ? " are now " : " is now ") + list + "=" + text;
    }
};

}  // namespace

Setting number_setting(KnownSetting setting) {
    const std::optional<Found> found = find(setting.info());
    if (!found) return std::optional<std::int64_t>();
    const std::optional<std::int64_t> number = number_in(setting.info().form, found->text);
    if (number) return number;
    return refused(setting.info(), *found);
}

Result<std::optional<std::string_view>> word_setting(KnownSetting setting) {
    const SettingInfo& info = setting.info();
    const std::optional<Found> found = find(info);
    if (!found || (found->text.empty() && info.form.may_be_empty))
        return std::optional<std::string_view>();
    if (is_one_of(info.form.former_values, found->text))
        return std::optional<std::string_view>(info.form.instead);
    if (is_one_of(info.form.values, found->text)) return std::optional(found->text);
    return refused(info, *found);
}

Result<bool> switch_setting(KnownSetting setting, bool if_not_set) {
    const Result<std::optional<std::string_view>> word = word_setting(setting);
    if (!word.is_ok()) return word.status();
    return *word ? **word == "1" : if_not_set;
}

std::string_view text_setting(KnownSetting setting) {
    const std::optional<Found> found = find(setting.info());
    return found ? found->text : "";
}

std::string setting_title(KnownSetting setting) {
    const SettingInfo& info = setting.info();
    return info.is_item() ? std::string(info.name) + " in " + info.section : info.name;
}

Status refuse_setting(KnownSetting setting) {
    return refused(setting.info(),
                   find(setting.info()).value_or(Found{setting_title(setting), ""}));
}

Status check_settings() {
    WEFT_RETURN_IF_NOT_OK(check_list("WEFT_RESOURCES"));
    for (const SettingInfo& setting : setting_table) WEFT_RETURN_IF_NOT_OK(check(setting));
    return ok;
}

std::string former_setting(std::string_view start, std::string_view item) {
    std::string name(start);
    for (const char c : item)
        name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

std::vector<std::string> setting_warnings(std::span<const char* const> environment,
                                          std::span<const std::string> collectives) {
    FormerItems lists[] = {
        {"WEFT_ALGORITHM", "WEFT_ALGORITHM_", {collectives.begin(), collectives.end()}},
        {"WEFT_RESOURCES", beginning, items_of("WEFT_RESOURCES")}};
    for (FormerItems& former : lists) {
        for (std::string_view entry : environment) {
            if (take_until(entry, "=") == former.list) former.text = entry;
        }
    }
    std::vector<std::string> warnings;
    for (std::string_view value : environment) {
        const std::string name(take_until(value, "="));
        const auto has_name = [&](const auto& setting) { return name == setting.name; };
        const auto* const known = std::ranges::find_if(setting_table, has_name);
        if (known != std::end(setting_table)) {
            if (is_one_of(known->form.former_values, value)) {
                warnings.push_back(name + "=" + std::string(value) + " is no longer known; " +
                                   known->form.instead + " is used instead");
            }
            continue;
        }
        if (!name.starts_with(beginning) ||
            std::ranges::any_of(of_tools, [&](auto tool) { return name.starts_with(tool); }))
            continue;
        std::string warning = unknown(name);
        for (FormerItems& former : lists) {
            for (const std::string& item : former.items) {
                if (name != former_setting(former.beginning, item)) continue;
                warning.clear();
                if (!value.empty() && !former.add(name, item, present_value(item, value)))
                    warning = name + " has no effect: " + former.list + " has " + item;
            }
        }
        if (!warning.empty()) warnings.push_back(warning);
    }
    for (const FormerItems& former : lists) {
        if (!former.names.empty()) warnings.push_back(former.sentence());
    }
    return warnings;
}

TestHooks test_hooks() {
    TestHooks hooks;
#if WEFT_TEST_HOOKS
    const auto is_on = [](const char* name) {
        const char* text = std::getenv(name);
        return text && std::string_view(text) == "1";
    };
    hooks.offers_all = is_on(offers_all_hook);
    hooks.dedicates = is_on(dedicates_hook);
    if (const char* loops = std::getenv(loops_hook)) hooks.loops = loops;
#endif
    return hooks;
}

std::string_view take_until(std::string_view& text, std::string_view separator) {
    const std::size_t end = text.find(separator);
    const std::string_view head = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + separator.size());
    return head;
}

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
    return parse<std::int64_t>(text);
}

std::vector<int> parse_ints(std::string_view text) {
    std::vector<int> numbers;
    while (!text.empty()) {
        const std::optional<int> number = parse<int>(take_until(text, " "));
        if (!number) break;
        numbers.push_back(*number);
    }
    return numbers;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
    int shift = 0;
    switch (text.empty() ? '\0' : text.back()) {
        case 'k':
        case 'K': shift = 10; break;
        case 'm':
        case 'M': shift = 20; break;
        case 'g':
        case 'G': shift = 30; break;
        default: break;
    }
    if (shift > 0) text.remove_suffix(1);
    const std::optional<std::int64_t> value = parse<std::int64_t>(text);
    if (!value || *value < 0 || *value > std::numeric_limits<std::int64_t>::max() >> shift) {
        return std::nullopt;
    }
    return *value << shift;
}

std::optional<std::vector<Rank>> parse_sizes(std::string_view text) {
    std::vector<Rank> sizes;
    std::int64_t product = 1;
    while (true) {
        const std::size_t end = text.find('x');
        const std::optional<Rank> size = parse<Rank>(text.substr(0, end));
        if (!size || *size < 1) return std::nullopt;
        sizes.push_back(*size);
        product *= *size;
        if (product > std::numeric_limits<Rank>::max()) return std::nullopt;
        if (end == text.npos) return sizes;
        text.remove_prefix(end + 1);
    }
}

}  // namespace weft
