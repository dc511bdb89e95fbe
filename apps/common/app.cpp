#include "apps/common/app.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "CLI/CLI.hpp"

namespace apps {
namespace {

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// For JSON.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out + '"';
}

std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

}  // namespace

App::App(const char* name, const char* about)
    : name_(name), options_(std::make_unique<CLI::App>(about, name)) {
    options_->get_formatter()->column_width(34);
    options_->option_defaults()->always_capture_default();
    options_->add_option("--backend", backend_, "Who carries out the collectives, and how")
        ->check(CLI::IsMember({"weft", "weft-blocking", "mpi", "mpi-blocking"}));
    options_->add_option("--mpi", mpi_,
                         "The MPI's part: a name (mpi-NAME.so beside the program) or a path");
    options_->add_option("--seed", seed_, "Decides the data");
    options_->add_option("--repetitions", repetitions_, "How often the whole is timed")
        ->check(CLI::Range(1, 1000));
    options_->add_option("--warm-ups", warm_ups_, "Repetitions before these that are not timed")
        ->check(CLI::Range(0, 1000));
    options_
        ->add_option("--tests", tests_,
                     "Calls of test() in each computation that hides communication")
        ->check(CLI::Range(0, 100000));
    options_->add_option("--json", json_,
                         "Write samples to this file, lines of JSON (docs/measuring.md)");
}

App::~App() = default;

void App::option(const char* name, int& value, const char* help) {
    options_->add_option(name, value, help)->check(CLI::NonNegativeNumber);
}
void App::option(const char* name, double& value, const char* help) {
    options_->add_option(name, value, help)->check(CLI::NonNegativeNumber);
}
void App::option(const char* name, std::string& value, std::vector<std::string> choices,
                 const char* help) {
    options_->add_option(name, value, help)->check(CLI::IsMember(std::move(choices)));
}
void App::flag(const char* name, bool& value, const char* help) {
    options_->add_flag(name, value, help);
}

void App::parse(int argc, char** argv) {
    try {
        options_->parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(options_->exit(error));
    }
    for (int i = 0; i < argc; ++i) command_ += (i > 0 ? " " : "") + std::string(argv[i]);
    // Computations are those of one thread, whichever library carries them out.
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    exchange_ = std::make_unique<Exchange>(backend_, mpi_);
    began_s_ = now_s();
}

App::Times App::timed(const std::function<void()>& body) {
    exchange_->barrier();
    exchange_->times() = {};
    const double begin = now_s();
    body();
    const double total = now_s() - begin;
    const CallTimes calls = exchange_->times();
    return {total, total - calls.start - calls.test - calls.wait, calls.start, calls.test,
            calls.wait};
}

void App::tune(const std::vector<Tunable>& tunables, const std::function<void()>& body) {
    std::size_t combinations = 1;
    for (const Tunable& one : tunables) combinations *= one.candidates.size();
    const auto choose = [&](std::size_t which) {
        for (const Tunable& one : tunables) {
            *one.value = one.candidates[which % one.candidates.size()];
            which /= one.candidates.size();
        }
    };
    std::size_t best = 0;
    double least = 0;
    for (std::size_t i = 0; i < combinations; ++i) {
        choose(i);
        timed(body);
        const double took = exchange_->allreduce(timed(body).total, WEFT_MAX);
        if (i == 0 || took < least) best = i, least = took;
        if (exchange_->rank() > 0) continue;
        std::printf("tried");
        for (const Tunable& one : tunables) std::printf("  %s %d", one.name, *one.value);
        std::printf(": %.4g s\n", took);
    }
    choose(best);
    for (const Tunable& one : tunables) note(one.name, *one.value);
}

void App::measure(std::size_t bytes, const std::function<void()>& body,
                  const std::function<void()>& check) {
    const auto ranks = static_cast<std::size_t>(exchange_->ranks());
    std::vector<std::vector<Times>> repetitions;
    for (int i = 0; i < warm_ups_ + repetitions_; ++i) {
        progress(static_cast<double>(i) / (warm_ups_ + repetitions_), "repetitions");
        const Times mine = timed(body);
        check();
        const std::vector<double> all = exchange_->allgather(
            std::vector<double>{mine.total, mine.work, mine.start, mine.tests, mine.wait});
        if (i < warm_ups_) continue;
        std::vector<Times>& of_ranks = repetitions.emplace_back();
        for (std::size_t r = 0; r < ranks; ++r) {
            const double* at = all.data() + 5 * r;
            of_ranks.push_back({at[0], at[1], at[2], at[3], at[4]});
        }
    }
    if (exchange_->rank() > 0) return;
    // Of each time the slowest rank's, and the median of the repetitions.
    const auto typical = [&](double Times::*which) {
        std::vector<double> values;
        for (const auto& of_ranks : repetitions) {
            double most = 0;
            for (const Times& one : of_ranks) most = std::max(most, one.*which);
            values.push_back(most);
        }
        return median(std::move(values));
    };
    std::printf("%s, %s, %zu rank%s: %.4g s; computation %.4g, start %.3g, test %.3g, wait %.3g\n",
                name_.c_str(), backend_.c_str(), ranks, ranks == 1 ? "" : "s",
                typical(&Times::total), typical(&Times::work), typical(&Times::start),
                typical(&Times::tests), typical(&Times::wait));
    for (const auto& [name, value] : notes_) std::printf("  %s: %g\n", name.c_str(), value);
    write_samples(bytes, repetitions);
}

void App::write_samples(std::size_t bytes,
                        const std::vector<std::vector<Times>>& repetitions) const {
    if (json_.empty()) return;
    std::FILE* const file = std::fopen(json_.c_str(), "w");
    if (file == nullptr) fail("%s cannot be written", json_.c_str());
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    std::fprintf(file,
                 "{\"kind\": \"run\", \"schema\": 1, \"date\": \"%s\", \"command\": %s, \"weft\": "
                 "{\"version\": "
                 "\"%s\"}, \"host\": {}, \"seed\": %llu, \"scenarios\": {%s: {\"question\": %s, "
                 "\"says\": \"time\", "
                 "\"column\": \"total\"}}}\n",
                 date, quoted(command_).c_str(), WEFT_VERSION,
                 static_cast<unsigned long long>(seed_), quoted(name_).c_str(),
                 quoted(options_->get_description()).c_str());
    std::string notes;
    for (const auto& [name, value] : notes_) notes += ", " + quoted(name) + ": " + number(value);
    std::fprintf(file,
                 "{\"kind\": \"cell\", \"id\": 0, \"scenario\": %s, \"contest\": 0, \"member\": "
                 "%s, \"collective\": "
                 "%s, \"bytes\": %zu, \"ranks\": %d, \"columns\": [\"total\", \"work\", \"start\", "
                 "\"tests\", "
                 "\"wait\"], \"notes\": {%s}}\n",
                 quoted(name_).c_str(), quoted(backend_).c_str(), quoted(name_).c_str(), bytes,
                 exchange_->ranks(), notes.empty() ? "" : notes.c_str() + 2);
    for (std::size_t i = 0; i < repetitions.size(); ++i) {
        std::fprintf(file, "{\"kind\": \"sample\", \"cell\": 0, \"repetition\": %zu, \"ranks\": [",
                     i);
        for (std::size_t r = 0; r < repetitions[i].size(); ++r) {
            const Times& t = repetitions[i][r];
            std::fprintf(file, "%s[%.3f, %.3f, %.3f, %.3f, %.3f]", r > 0 ? ", " : "", t.total * 1e6,
                         t.work * 1e6, t.start * 1e6, t.tests * 1e6, t.wait * 1e6);
        }
        std::fprintf(file, "]}\n");
    }
    std::fprintf(file, "{\"kind\": \"end\", \"seconds\": %.3f, \"complete\": true}\n",
                 now_s() - began_s_);
    if (std::fclose(file) != 0) fail("%s cannot be written", json_.c_str());
}

void App::note(const std::string& name, double value) {
    for (auto& [known, old] : notes_) {
        if (known == name) {
            old = value;
            return;
        }
    }
    notes_.emplace_back(name, value);
}

void App::progress(double share, const char* doing) {
    const double now = now_s();
    if (exchange_->rank() > 0 || now - began_s_ < 2 || now - told_s_ < 1) return;
    told_s_ = now;
    std::fprintf(stderr, "%s: %3.0f %%  %s\n", name_.c_str(), 100 * share, doing);
}

}  // namespace apps
