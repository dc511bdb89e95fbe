// Exchanges between ranks, and failing with a sentence.
#include "bench/job.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <set>

#include "c_api/guard.h"

namespace weft::bench {

void fail(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::fflush(stdout);
    std::fputs("weft bench: ", stderr);
    std::vfprintf(stderr, format, arguments);
    std::fputc('\n', stderr);
    va_end(arguments);
    _exit(1);  // no destructors: operations may be pending
}

void must(weft_status status, const char* call) {
    if (status == WEFT_OK) [[likely]]
        return;
    fail("%s: %s: %s", call, weft_status_name(status), weft_last_detail());
}

CpuTime cpu_time() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const auto us = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
    };
    return {us(usage.ru_utime), us(usage.ru_stime)};
}

double resident_kib() {
    double mapped = 0;
    double resident = 0;
    std::ifstream("/proc/self/statm") >> mapped >> resident;  // in pages
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

std::string transports_in_use(const Job& job) {
    using Name = std::array<char, 16>;
    std::vector<Name> mine(static_cast<std::size_t>(job.ranks));
    for (Rank peer = 0; peer < job.ranks; ++peer) {
        const Transport* route = c_api::current_process()->route(peer);
        if (route == nullptr) continue;
        std::snprintf(mine[static_cast<std::size_t>(peer)].data(), sizeof(Name), "%s",
                      route->name());
    }
    std::set<std::string> names;
    for (const Name& name : gather(job, mine)) names.insert(name.data());
    names.erase("");  // a rank's way to itself
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : "+") + name;
    return text.empty() ? "none" : text;
}

std::string first_sentence(const Job& world, const std::string& mine) {
    using Sentence = std::array<char, 256>;
    Sentence sentence{};
    std::snprintf(sentence.data(), sentence.size(), "%s", mine.c_str());
    for (const Sentence& one : gather(world, std::vector<Sentence>{sentence}))
        if (one[0] != '\0') return one.data();
    return "";
}

double slowest(const Job& job, double mine) {
    const std::vector<double> all = gather(job, std::vector<double>{mine});
    return *std::max_element(all.begin(), all.end());
}

}  // namespace weft::bench
