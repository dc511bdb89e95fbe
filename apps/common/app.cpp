#include "apps/common/app.h"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
#ifdef __GLIBC__
    // Memory that is freed stays in the process, whatever else the back end has allocated. Else what
    // is measured depends on how often malloc gives pages back, which then fault again.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
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
    options_->add_flag("--profile", is_profiled_,
                       "Split the time by the phases of the computation");
    options_
        ->add_option("--tune-seconds", tune_seconds_,
                     "After which --tune tries no more; 0: no limit")
        ->check(CLI::NonNegativeNumber);
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
    phases_.clear();
    phase_ = nullptr;
    const Moment begin = moment();
    if (is_profiled_) begin_phase("rest", hides_nothing, begin);
    body();
    const Moment end = moment();
    end_phase(end);
    return between(begin, end);
}

App::Moment App::moment() const { return {now_s(), exchange_->times()}; }

App::Times App::between(const Moment& begin, const Moment& end) {
    const double total = end.at_s - begin.at_s, start = end.calls.start - begin.calls.start,
                 tests = end.calls.test - begin.calls.test,
                 wait = end.calls.wait - begin.calls.wait;
    return {total, total - start - tests - wait, start, tests, wait};
}

void App::phase(const char* name, Hiding hiding) {
    if (!is_profiled_) return;
    const Moment now = moment();
    end_phase(now);
    begin_phase(name, hiding, now);
}

void App::begin_phase(const char* name, Hiding hiding, const Moment& now) {
    const auto known = std::ranges::find_if(phases_, [&](const Phase& one) {
        return one.hiding == hiding && std::strcmp(one.name, name) == 0;
    });
    phase_ = known != phases_.end() ? &*known : &phases_.emplace_back(Phase{name, hiding, {}, {}});
    phase_began_ = now;
}

void App::end_phase(const Moment& now) {
    if (phase_ == nullptr) return;
    const Times took = between(phase_began_, now);
    for (const auto part :
         {&Times::total, &Times::work, &Times::start, &Times::tests, &Times::wait})
        phase_->mine.*part += took.*part;
    phase_ = nullptr;
}

// Those of the last repetition, with the times of all ranks.
std::vector<App::Phase> App::all_phases() {
    if (!is_profiled_) return {};
    std::vector<Phase> found = phases_;
    for (const std::size_t count : exchange_->allgather(std::vector<std::size_t>{found.size()}))
        if (count != found.size()) fail("%zu phases; another rank has %zu", found.size(), count);
    for (Phase& phase : found)
        phase.of_ranks = exchange_->allgather(std::vector<Times>{phase.mine});
    return found;
}

void App::tune(std::vector<Tunable> tunables, const std::function<void()>& body) {
    // First: for a library without a thread nothing matters more.
    if (!exchange_->is_blocking())
        tunables.insert(tunables.begin(), {"--tests", &tests_, {0, 4, 16, 64}});
    const auto say = [&](const char* what) {
        if (exchange_->rank() > 0) return;
        std::printf("%s", what);
        for (const Tunable& one : tunables) std::printf(" %s %d", one.name, *one.value);
    };
    const double began = now_s();
    const auto has_time = [&] {
        return tune_seconds_ == 0 ||
               exchange_->allreduce(now_s() - began, weft::max) < tune_seconds_;
    };
    timed(body);
    for (int round = 0; round < 2; ++round) {
        for (const Tunable& one : tunables) {
            int best = *one.value;
            double least = -1;
            for (const int candidate : one.candidates) {
                if (!has_time()) break;
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
        const std::vector<Phase> phases = all_phases();  // (check() begins none)
        // (As bytes: whichever type.)
        const std::vector<Times> of_ranks = exchange_->allgather(std::vector<Times>{mine});
        if (i < warm_ups_) continue;
        repetitions.push_back(of_ranks);
        if (is_profiled_) profiles_.push_back(phases);
    }
    if (exchange_->rank() > 0) return;
    print(repetitions);
    print_phases();
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

// Of each phase, what each rank spent: medians of the repetitions.
void App::print_phases() const {
    if (profiles_.empty()) return;
    std::printf("  %-22s %-5s %4s %12s %9s %9s %9s\n", "phase", "hides", "rank", "computation",
                "start", "tests", "wait");
    for (std::size_t at = 0; at < profiles_.front().size(); ++at) {
        const Phase& first = profiles_.front()[at];
        for (std::size_t rank = 0; rank < first.of_ranks.size(); ++rank) {
            const auto typical = [&](double Times::*which) {
                std::vector<double> values;
                for (const std::vector<Phase>& one : profiles_)
                    values.push_back(one[at].of_ranks[rank].*which);
                return median(std::move(values));
            };
            std::printf("  %-22s %-5s %4zu %12.4g %9.3g %9.3g %9.3g\n", first.name,
                        first.hiding == hides ? "yes" : "no", rank, typical(&Times::work),
                        typical(&Times::start), typical(&Times::tests), typical(&Times::wait));
        }
    }
}

void App::write_samples(std::size_t bytes, const Repetitions& repetitions) const {
    if (json_.empty()) return;
    std::FILE* const file = std::fopen(json_.c_str(), "w");
    if (file == nullptr) fail("%s cannot be written", json_.c_str());
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
    const std::string name = quoted(name_);
    const auto write_ranks = [file](const std::vector<Times>& of_ranks) {
        for (std::size_t r = 0; r < of_ranks.size(); ++r) {
            const Times& t = of_ranks[r];
            std::fprintf(file, "%s[%.3f, %.3f, %.3f, %.3f, %.3f]", r > 0 ? ", " : "", t.total * 1e6,
                         t.work * 1e6, t.start * 1e6, t.tests * 1e6, t.wait * 1e6);
        }
    };
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
        write_ranks(repetitions[i]);
        std::fprintf(file, "]");
        for (std::size_t at = 0; i < profiles_.size() && at < profiles_[i].size(); ++at) {
            const Phase& phase = profiles_[i][at];
            std::fprintf(file, R"(%s{"name": %s, "hides": %s, "ranks": [)",
                         at > 0 ? "]}, " : R"(, "phases": [)", quoted(phase.name).c_str(),
                         phase.hiding == hides ? "true" : "false");
            write_ranks(phase.of_ranks);
        }
        std::fprintf(file, i < profiles_.size() ? "]}]}\n" : "}\n");
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
