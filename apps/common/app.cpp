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

}  // namespace

App::App(const char* name, const char* about)
    : name_(name), options_(std::make_unique<CLI::App>(about, name)) {
    options_->option_defaults()->always_capture_default();
    options_->add_option("--backend", backend_, "Who carries out the collectives, and how")
        ->check(CLI::IsMember({"weft", "weft-blocking", "mpi", "mpi-blocking"}));
    options_->add_option(
        "--mpi", mpi_,
        "Of the backends mpi: the MPI's part, a name (mpi-NAME.so beside the program) or a path");
    options_->add_option("--seed", seed_, "Decides the data");
    options_->add_option("--repetitions", repetitions_, "How often the whole is timed")
        ->check(CLI::Range(1, 1000));
    options_->add_option("--warm-ups", warm_ups_, "Repetitions before these, not timed")
        ->check(CLI::Range(0, 1000));
    options_
        ->add_option("--tests", tests_,
                     "Calls of test() in each computation that hides communication, about")
        ->check(CLI::Range(0, 100000));
    options_->add_option("--json", json_, "Write samples to this file (docs/measuring.md)");
    options_
        ->add_option("--spoil", spoiled_, "Spoil the result of this collective, to see the check")
        ->check(CLI::NonNegativeNumber);
}

App::~App() {
    if (exchange_) exchange_->close();
}

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
    exchange_ = std::make_unique<Exchange>(backend_, mpi_);
    exchange_->spoil(spoiled_);
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

void App::tune(std::vector<Tunable> tunables, const std::function<void()>& body) {
    if (!exchange_->is_blocking()) tunables.push_back({"--tests", &tests_, {0, 4, 16, 64}});
    const auto say = [&](const char* what) {
        if (exchange_->rank() > 0) return;
        std::printf("%s", what);
        for (const Tunable& one : tunables) std::printf(" %s %d", one.name, *one.value);
    };
    timed(body);
    for (int round = 0; round < 2; ++round) {
        for (const Tunable& one : tunables) {
            int best = *one.value;
            double least = -1;
            for (const int candidate : one.candidates) {
                *one.value = candidate;
                const double took = std::min(exchange_->allreduce(timed(body).total, weft::max),
                                             exchange_->allreduce(timed(body).total, weft::max));
                if (least < 0 || took < least) best = candidate, least = took;
                say("tried");
                if (exchange_->rank() == 0) std::printf(": %.4g s\n", took);
            }
            *one.value = best;
        }
    }
    say("chosen:");
    if (exchange_->rank() == 0) std::printf("\n");
}

void App::measure(std::size_t bytes, const std::function<void()>& body,
                  const std::function<void()>& check) {
    const int all = warm_ups_ + repetitions_;
    Repetitions repetitions;
    for (int i = 0; i < all; ++i) {
        progress(static_cast<double>(i) / all, "repetitions");
        const Times mine = timed(body);
        check();
        // (As bytes: whichever type.)
        const std::vector<Times> of_ranks = exchange_->allgather(std::vector<Times>{mine});
        if (i >= warm_ups_) repetitions.push_back(of_ranks);
    }
    if (exchange_->rank() > 0) return;
    print(repetitions);
    write_samples(bytes, repetitions);
}

void App::print(const Repetitions& repetitions) const {
    // The median of the repetitions; of each the slowest rank's.
    const auto typical = [&](double Times::*which) {
        std::vector<double> values;
        for (const std::vector<Times>& of_ranks : repetitions) {
            double most = 0;
            for (const Times& one : of_ranks) most = std::max(most, one.*which);
            values.push_back(most);
        }
        return median(std::move(values));
    };
    std::printf("%s, %s, %d rank%s: %.4g s; computation %.4g, start %.3g, test %.3g, wait %.3g\n",
                name_.c_str(), backend_.c_str(), exchange_->ranks(),
                exchange_->ranks() == 1 ? "" : "s", typical(&Times::total), typical(&Times::work),
                typical(&Times::start), typical(&Times::tests), typical(&Times::wait));
    for (const auto& [name, value] : notes_) std::printf("  %s: %.10g\n", name.c_str(), value);
}

void App::write_samples(std::size_t bytes, const Repetitions& repetitions) const {
    if (json_.empty()) return;
    std::FILE* const file = std::fopen(json_.c_str(), "w");
    if (file == nullptr) fail("%s cannot be written", json_.c_str());
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    const std::string name = quoted(name_);
    std::fprintf(file,
                 R"({"kind": "run", "schema": 1, "date": "%s", "command": %s, )"
                 R"("weft": {"version": "%s"}, "host": {}, "seed": %llu, )"
                 R"("scenarios": {%s: {"question": %s, "says": "time", "column": "total"}}})"
                 "\n",
                 date, quoted(command_).c_str(), WEFT_VERSION,
                 static_cast<unsigned long long>(seed_), name.c_str(),
                 quoted(options_->get_description()).c_str());
    std::fprintf(file,
                 R"({"kind": "cell", "id": 0, "scenario": %s, "contest": 0, "member": "%s", )"
                 R"("collective": %s, "bytes": %zu, "ranks": %d, )"
                 R"("columns": ["total", "work", "start", "tests", "wait"], "notes": {)",
                 name.c_str(), backend_.c_str(), name.c_str(), bytes, exchange_->ranks());
    for (std::size_t i = 0; i < notes_.size(); ++i)
        std::fprintf(file, "%s%s: %.17g", i > 0 ? ", " : "", quoted(notes_[i].first).c_str(),
                     notes_[i].second);
    std::fprintf(file, "}}\n");
    for (std::size_t i = 0; i < repetitions.size(); ++i) {
        std::fprintf(file, R"({"kind": "sample", "cell": 0, "repetition": %zu, "ranks": [)", i);
        for (std::size_t r = 0; r < repetitions[i].size(); ++r) {
            const Times& t = repetitions[i][r];
            std::fprintf(file, "%s[%.3f, %.3f, %.3f, %.3f, %.3f]", r > 0 ? ", " : "", t.total * 1e6,
                         t.work * 1e6, t.start * 1e6, t.tests * 1e6, t.wait * 1e6);
        }
        std::fprintf(file, "]}\n");
    }
    std::fprintf(file,
                 R"({"kind": "end", "seconds": %.3f, "complete": true})"
                 "\n",
                 now_s() - began_s_);
    if (std::fclose(file) != 0) fail("%s cannot be written", json_.c_str());
}

void App::note(const std::string& name, double value) {
    const auto known = std::ranges::find(notes_, name, &std::pair<std::string, double>::first);
    if (known == notes_.end())
        notes_.emplace_back(name, value);
    else
        known->second = value;
}

void App::progress(double share, const char* doing) {
    const double now = now_s();
    if (exchange_->rank() > 0 || now - began_s_ < 2 || now - told_s_ < 1) return;
    told_s_ = now;
    std::fprintf(stderr, "%s: %3.0f %%  %s\n", name_.c_str(), 100 * share, doing);
}

}  // namespace apps
