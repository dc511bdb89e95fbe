// A process in several groups of different jobs: NAME NUMBER... Each process calls only those that
// it is in.
#include <malloc.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/scheduler.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "conformance/forked_groups.h"
#include "conformance/rank_expect.h"

namespace {

using namespace weft::test;

struct Group {
    GroupPlace place;
    weft_comm comm = WEFT_COMM_NULL;

    explicit Group(Members members) : place(std::move(members)) {}
    bool is_member() const { return place.is_member(); }
    weft_status try_make() { return make_group(place, &comm); }
    void make() { EXPECT(try_make() == WEFT_OK); }
    // Waits for all members, without Weft.
    void meet() {
        const std::byte mine{};
        std::byte all[processes_max];
        EXPECT(exchange_all(&place, &mine, all, 1) == 0);
    }
    // Makes it once all members are here. Returns how many milliseconds that takes then.
    double make_timed() {
        meet();
        const std::int64_t begin = weft::now_ns();
        make();
        return static_cast<double>(weft::now_ns() - begin) * 1e-6;
    }
    void free() { EXPECT(weft_comm_free(&comm) == WEFT_OK); }
};

// Operations of a group that are under way.
struct Use {
    weft_comm comm;
    int rank = -1;
    int ranks = 0;
    std::vector<std::int64_t> sums;
    std::vector<std::int64_t> all;
    weft_request requests[2] = {};

    Use(weft_comm used, std::size_t count) : comm(used), sums(count) {
        EXPECT(weft_comm_rank(comm, &rank) == WEFT_OK);
        EXPECT(weft_comm_size(comm, &ranks) == WEFT_OK);
        std::fill(sums.begin(), sums.end(), rank + 1);
        all.resize(count * static_cast<std::size_t>(ranks));
        EXPECT(weft_iallgather(sums.data(), all.data(), count, WEFT_INT64, comm, &requests[0]) ==
               WEFT_OK);
        EXPECT(weft_wait(&requests[0]) == WEFT_OK);
        EXPECT(weft_iallreduce(WEFT_IN_PLACE, sums.data(), count, WEFT_INT64, WEFT_SUM, comm,
                               &requests[0]) == WEFT_OK);
        EXPECT(weft_ibarrier(comm, &requests[1]) == WEFT_OK);
    }
    void end() {
        for (weft_request& request : requests) EXPECT(weft_wait(&request) == WEFT_OK);
        const std::int64_t sum = ranks * (ranks + 1) / 2;
        for (const std::int64_t value : sums) EXPECT(value == sum);
        const std::size_t count = sums.size();
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT(all[i] == static_cast<std::int64_t>(i / count) + 1);
    }
};

// Waits for all groups' operations in another order than they were started.
void use(const std::vector<weft_comm>& comms) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}}) {
        std::vector<Use> uses;
        uses.reserve(comms.size());
        for (const weft_comm comm : comms) uses.emplace_back(comm, count);
        for (auto one = uses.rbegin(); one != uses.rend(); ++one) one->end();
    }
}

const Members every_group[] = {{0, 1}, {1, 2}, {0, 1, 2}};

// Makes those that this process is in; the last one has all processes.
std::vector<Group> own_groups() {
    std::vector<Group> groups;
    for (const Members& members : every_group) {
        Group group(members);
        if (!group.is_member()) continue;
        group.make();
        groups.push_back(std::move(group));
    }
    return groups;
}

// Their orders: 0 to 5.
constexpr int orders = 6;
std::array<int, 3> order_of(int number) {
    std::array<int, 3> order = {0, 1, 2};
    for (int i = 0; i < number; ++i) std::next_permutation(order.begin(), order.end());
    return order;
}

// The groups in one of their orders; freed in the order of their making. All processes take all
// steps, each with the groups that it is in.
void in_order(int number) {
    std::vector<Group> groups;
    const auto comms_from = [&](std::size_t first) {
        std::vector<weft_comm> comms;
        for (std::size_t i = first; i < groups.size(); ++i)
            if (groups[i].is_member()) comms.push_back(groups[i].comm);
        return comms;
    };
    for (const int which : order_of(number)) {
        groups.emplace_back(every_group[which]);
        if (groups.back().is_member()) groups.back().make();
        use(comms_from(0));
    }
    int world = 0;
    EXPECT(weft_comm_size(weft_comm_world(), &world) == WEFT_OK);
    EXPECT(world >= 1 && world <= 3);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        weft_comm backwards = WEFT_COMM_NULL;
        if (groups[i].is_member()) {
            EXPECT(weft_comm_split(groups[i].comm, 0, -groups[i].place.rank, &backwards) ==
                   WEFT_OK);
            groups[i].free();
            use({backwards});
        }
        use(comms_from(i + 1));
        if (groups[i].is_member()) {
            use({backwards});
            EXPECT(weft_comm_free(&backwards) == WEFT_OK);
        }
        use(comms_from(i + 1));
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

// How long each group of an order takes in processes that have none yet.
void fresh(int number) {
    std::string line = "process " + std::to_string(world_rank) + ":";
    for (const int which : order_of(number)) {
        Group group(every_group[which]);
        if (!group.is_member()) continue;
        char text[40];
        std::snprintf(text, sizeof text, " group of %d in %.2f ms,", group.place.ranks(),
                      group.make_timed());
        line += text;
    }
    line.back() = '\n';
    std::fputs(line.c_str(), stdout);
    EXPECT(weft_finalize() == WEFT_OK);
}

// What this process holds.
struct Held {
    long descriptors = entries_of("/proc/self/fd");
    long threads = entries_of("/proc/self/task");
    long kilobytes = resident();  // in memory

    static long entries_of(const char* folder) {
        const std::filesystem::directory_iterator all(folder);
        return static_cast<long>(std::distance(begin(all), end(all)));
    }
    static long resident() {
        malloc_trim(0);
        std::ifstream file("/proc/self/statm");
        long pages = 0;
        file >> pages >> pages;
        return pages * (sysconf(_SC_PAGESIZE) / 1024);
    }
};

// Makes the groups of a program round by round, says how long that takes, and expects that the
// process does not grow.
class Rounds {
  public:
    void make(Group& group) { times_ms_.push_back(group.make_timed()); }
    void end_round() {
        if (++rounds_ == 2) before_ = Held();
    }
    void end() {
        const Held after;
        std::sort(times_ms_.begin(), times_ms_.end());
        const long more = after.kilobytes - before_.kilobytes;
        std::printf(
            "process %d: %zu groups, %.2f ms each in the median, %.2f at most; "
            "%ld KiB more, %ld descriptors, %ld threads\n",
            world_rank, times_ms_.size(), times_ms_[times_ms_.size() / 2], times_ms_.back(), more,
            after.descriptors, after.threads);
        EXPECT(rounds_ >= 2);
        EXPECT(after.descriptors <= before_.descriptors && after.threads <= before_.threads);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep freed memory
        EXPECT(rounds_ == 2 || more < 8 * 1024);
#endif
        EXPECT(weft_finalize() == WEFT_OK);
    }

  private:
    int rounds_ = 0;
    Held before_;
    std::vector<double> times_ms_;
};

// All pairs, again and again: more than a process keeps connected.
void many(int count) {
    Rounds rounds;
    std::vector<Group> pairs;
    for (int a = 0; a < processes_max; ++a)
        for (int b = a + 1; b < processes_max; ++b) pairs.emplace_back(Members{a, b});
    for (int round = 0; round < count; ++round) {
        for (Group& pair : pairs) {
            if (!pair.is_member()) continue;
            rounds.make(pair);
            use({pair.comm});
            pair.free();
        }
        rounds.end_round();
    }
    rounds.end();
}

// The three groups in each of their orders, again and again.
void every_order(int count) {
    Rounds rounds;
    std::vector<Group> groups;
    for (const Members& members : every_group) groups.emplace_back(members);
    for (int round = 0; round < count; ++round) {
        for (int number = 0; number < orders; ++number) {
            std::vector<weft_comm> comms;
            for (const int which : order_of(number)) {
                Group& group = groups[static_cast<std::size_t>(which)];
                if (!group.is_member()) continue;
                rounds.make(group);
                comms.push_back(group.comm);
            }
            use(comms);
            for (Group& group : groups)
                if (group.is_member()) group.free();
        }
        rounds.end_round();
    }
    rounds.end();
}

// Each member sends two messages with either tag to every one, itself too. Those with tag 0 are
// received from any source; of those with tag 1, one of each rank from the rank that is named, by
// receives that wait behind one from any source.
struct Talk {
    std::size_t words;
    int ranks = 0;
    std::vector<std::int64_t> sent;
    std::vector<std::vector<std::int64_t>> got;
    std::vector<int> sources;
    std::vector<weft_request> requests;

    Talk(weft_comm comm, std::size_t length) : words(length) {
        int own = -1;
        EXPECT(weft_comm_rank(comm, &own) == WEFT_OK);
        EXPECT(weft_comm_size(comm, &ranks) == WEFT_OK);
        sent.assign(words, own);
        const auto size = static_cast<std::size_t>(4 * ranks);
        got.assign(size, std::vector<std::int64_t>(words, -1));
        sources.assign(size, -1);
        for (int i = 0; i < 4 * ranks; ++i) {
            const int tag = i % 2;
            std::int64_t* const into = got[static_cast<std::size_t>(i)].data();
            int& source = sources[static_cast<std::size_t>(i)];
            weft_request& request = requests.emplace_back();
            const bool is_named = tag == 1 && i / 2 >= 1 && i / 2 <= ranks;
            if (is_named) source = i / 2 - 1;
            EXPECT((is_named ? weft_irecv(into, words, WEFT_INT64, source, tag, comm, &request)
                             : weft_irecv_any(into, words, WEFT_INT64, tag, &source, comm,
                                              &request)) == WEFT_OK);
        }
        for (int i = 0; i < 4 * ranks; ++i)
            EXPECT(weft_isend(sent.data(), words, WEFT_INT64, i / 4, i % 2, comm,
                              &requests.emplace_back()) == WEFT_OK);
    }
    // (The limit: a message that nothing looks for is found by no later one.)
    void end() {
        EXPECT(weft_waitall_until(requests.size(), requests.data(), nullptr,
                                  weft::now_ns() + patience_ns) == WEFT_OK);
        std::vector<int> from(static_cast<std::size_t>(ranks));
        for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT(sources[i] >= 0 && sources[i] < ranks);
            ++from[static_cast<std::size_t>(sources[i])];
            for (const std::int64_t word : got[i]) EXPECT(word == sources[i]);
        }
        for (const int messages : from) EXPECT(messages == 4);
    }
};

// Process 2 is alone in its job.
void expect_statistics(std::size_t groups) {
    if (world_rank != 2) return;
    weft_statistics counted{};
    counted.struct_bytes = sizeof counted;
    EXPECT(weft_get_statistics(&counted) == WEFT_OK);
    EXPECT(counted.connections >= groups);
    EXPECT(counted.descriptors > 0 && counted.memory_bytes > 0);
    EXPECT(counted.unexpected_messages > 0);
}

// Messages over all groups at a time, and before and after the process has its first one with
// another job. At last processes 1 and 2 leave, and nothing comes for process 0 any more.
void messages(int) {
    std::vector<Group> groups;
    for (const Members& members : every_group) {
        Group group(members);
        if (group.is_member()) {
            group.make();
            groups.push_back(std::move(group));
        }
        if (groups.empty()) continue;  // the process has joined no job
        for (const std::size_t words : {std::size_t{1}, std::size_t{100'000}}) {
            std::vector<Talk> talks;
            talks.reserve(groups.size() + 1);
            for (auto one = groups.rbegin(); one != groups.rend(); ++one)
                talks.emplace_back(one->comm, words);
            talks.emplace_back(weft_comm_self(), words);
            for (Talk& talk : talks) talk.end();
            expect_statistics(groups.size());
            // A receive from any source would take what the next round sends.
            for (const Group& one : groups) EXPECT(weft_barrier(one.comm) == WEFT_OK);
        }
    }
    if (world_rank == 0) {
        std::int64_t word = 0;
        weft_request request = WEFT_REQUEST_NULL;
        EXPECT(weft_irecv_any(&word, 1, WEFT_INT64, 0, nullptr, groups.back().comm, &request) ==
               WEFT_OK);
        EXPECT(weft_wait_until(&request, weft::now_ns() + patience_ns) == WEFT_BROKEN_RANK);
        EXPECT(std::strstr(weft_last_detail(), " of the group died or left"));
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

// Messages of all kinds and a collective, pending on a group that breaks. Of the messages some meet,
// others never do.
class Pending {
  public:
    static constexpr std::size_t requests_max = 200;  // more than there are

    // `is_broken_by_others`: already at the start, perhaps. Only the first `most` are started.
    Pending(weft_comm comm, weft_status code, bool is_broken_by_others,
            std::size_t most = requests_max)
        : comm_(comm), code_(code), is_broken_by_others_(is_broken_by_others), most_(most) {
        EXPECT(weft_comm_rank(comm, &rank_) == WEFT_OK);
        int ranks = 0;
        EXPECT(weft_comm_size(comm, &ranks) == WEFT_OK);
        for (int peer = 0; peer < ranks; ++peer) {
            for (const std::size_t words : {std::size_t{1}, std::size_t{100'000}}) {
                const int tag = words == 1 ? 0 : 100;
                for (const bool is_persistent : {false, true}) {
                    const int met = tag + (is_persistent ? 50 : 0);
                    add({true, peer, met, is_persistent}, words);
                    add({false, peer, met, is_persistent}, words);
                    add({true, peer, met + 1, is_persistent}, words);
                    add({false, any, met + 1, is_persistent}, words);
                }
                add({true, peer, tag + 2, false}, words);   // nothing receives it
                add({false, peer, tag + 3, false}, words);  // nothing sends it
            }
        }
        for (const bool is_persistent : {false, true}) {
            const int tag = is_persistent ? 5 : 4;
            add({false, any, tag, is_persistent}, 1);  // nothing sends it
            add({false, 0, tag, false}, 1);            // and this waits behind it
        }
        if (all_.size() >= most_) return;
        One& sum = all_.emplace_back();
        sum.words.assign(100'000, 1);
        note_start(sum, weft_iallreduce(WEFT_IN_PLACE, sum.words.data(), sum.words.size(),
                                        WEFT_INT64, WEFT_SUM, comm_, &sum.request));
    }

    weft_request* first() { return &all_.front().request; }

    // This process has broken the group: nothing is pending, and the buffers are used for something
    // else until end().
    void reuse() {
        for (One& one : all_) {
            std::fill(one.words.begin(), one.words.end(), reused);
            one.source = reused;
            one.is_reused = true;
        }
        for (One& one : all_) take(one, weft_test(&one.request));
    }
    // Another one has: the sentence says which, and of what.
    void wait(const std::string& who) {
        for (One& one : all_) {
            take(one, weft_wait_until(&one.request, weft::now_ns() + patience_ns));
            if (one.status != code_) continue;
            EXPECT(std::strstr(weft_last_detail(), " on out-of-band group "));
            EXPECT(std::strstr(weft_last_detail(), who.c_str()));
        }
    }
    void end() {
        for (One& one : all_) {
            if (one.is_reused) {
                EXPECT(one.source == reused);
                for (const std::int64_t word : one.words) EXPECT(word == reused);
            }
            if (one.request == WEFT_REQUEST_NULL) continue;
            EXPECT(weft_start(&one.request) == code_);
            EXPECT(weft_request_free(&one.request) == WEFT_OK);
        }
        std::int64_t word = 0;
        weft_request request = WEFT_REQUEST_NULL;
        EXPECT(weft_isend(&word, 1, WEFT_INT64, 0, 0, comm_, &request) == code_);
        EXPECT(weft_irecv_any(&word, 1, WEFT_INT64, 0, nullptr, comm_, &request) == code_);
    }

  private:
    static constexpr int any = -1;
    static constexpr int reused = -9;

    struct Message {
        bool sends;
        int peer;
        int tag;
        bool is_persistent;
    };
    struct One {
        std::vector<std::int64_t> words;
        weft_request request = WEFT_REQUEST_NULL;
        weft_status status = WEFT_OK;
        bool receives = false;
        int source = any;
        bool is_reused = false;
    };

    void note_start(One& one, weft_status status) {
        one.status = status;
        EXPECT(status == WEFT_OK || (is_broken_by_others_ && status == code_));
    }
    void add(const Message& message, std::size_t words) {
        if (all_.size() >= most_) return;
        One& one = all_.emplace_back();
        one.words.assign(words, message.sends ? rank_ : -7);
        one.receives = !message.sends;
        one.source = message.peer;
        note_start(one, start(message, one));
    }
    weft_status start(const Message& m, One& one) {
        std::int64_t* const data = one.words.data();
        const std::size_t count = one.words.size();
        weft_request* const request = &one.request;
        const bool takes_any = !m.sends && m.peer == any;
        if (!m.is_persistent) {
            if (m.sends) return weft_isend(data, count, WEFT_INT64, m.peer, m.tag, comm_, request);
            if (takes_any)
                return weft_irecv_any(data, count, WEFT_INT64, m.tag, &one.source, comm_, request);
            return weft_irecv(data, count, WEFT_INT64, m.peer, m.tag, comm_, request);
        }
        weft_status made;
        if (m.sends)
            made = weft_send_init(data, count, WEFT_INT64, m.peer, m.tag, comm_, request);
        else if (takes_any)
            made = weft_recv_any_init(data, count, WEFT_INT64, m.tag, &one.source, comm_, request);
        else
            made = weft_recv_init(data, count, WEFT_INT64, m.peer, m.tag, comm_, request);
        return made == WEFT_OK ? weft_start(request) : made;
    }
    // It has ended, and what it has received is right.
    void take(One& one, weft_status status) {
        const bool was_started = one.status == WEFT_OK;
        EXPECT(status == WEFT_OK || (was_started && status == code_));
        one.status = status;
        if (!was_started || status != WEFT_OK || !one.receives || one.is_reused) return;
        for (const std::int64_t word : one.words) EXPECT(word == one.source);
    }

    const weft_comm comm_;
    const weft_status code_;
    const bool is_broken_by_others_;
    const std::size_t most_;
    int rank_ = -1;
    std::deque<One> all_;  // they stay where they are
};

// A failure names the group and the rank there, and leaves the other groups alone.
void failure(int) {
    std::vector<Group> groups = own_groups();
    Group& whole = groups.back();
    if (world_rank == 2) EXPECT(weft_comm_abort(whole.comm, "enough") == WEFT_OK);
    weft_status status = WEFT_OK;
    while (status == WEFT_OK) status = weft_barrier(whole.comm);
    EXPECT(status == WEFT_BROKEN_ABORT);
    EXPECT(std::strstr(weft_last_detail(), "on out-of-band group"));
    EXPECT(std::strstr(weft_last_detail(), "rank 2 of the group aborted"));
    for (Group& group : groups) {
        if (&group != &whole) use({group.comm});
        group.free();
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

// A process aborts a group whose messages of all kinds are pending, and others' messages go on.
void aborted(int number) {
    std::mt19937 random(static_cast<unsigned>(number));
    const auto below = [&](unsigned limit) { return random() % limit; };
    const auto aborter = static_cast<int>(below(3));
    const std::size_t started = below(2) == 0 ? Pending::requests_max : 1 + below(66);
    const auto delay_us = static_cast<useconds_t>(below(2) * below(2000));
    const bool tests_meanwhile = below(2) == 0;
    std::vector<Group> groups = own_groups();
    Group& whole = groups.back();
    weft_comm other = WEFT_COMM_NULL;
    EXPECT(weft_comm_dup(whole.comm, &other) == WEFT_OK);
    EXPECT(weft_barrier(other) == WEFT_OK);  // what is being made would break, too
    std::vector<Talk> talks;
    talks.reserve(groups.size());
    for (const Group& group : groups)
        if (&group != &whole) talks.emplace_back(group.comm, 20'000);
    const bool aborts = world_rank == aborter;
    Pending pending(whole.comm, WEFT_BROKEN_ABORT, /*is_broken_by_others=*/!aborts,
                    aborts ? started : Pending::requests_max);
    if (aborts) {
        if (tests_meanwhile) EXPECT(weft_test(pending.first()) >= WEFT_OK);
        usleep(delay_us);
        EXPECT(weft_comm_abort(whole.comm, "enough") == WEFT_OK);
        pending.reuse();
    } else {
        pending.wait("rank " + std::to_string(aborter) +
                     " of the group aborted the communicator: enough");
    }
    for (Talk& talk : talks) talk.end();
    EXPECT(weft_barrier(other) == WEFT_OK);
    pending.end();
    for (Group& group : groups) group.free();
    EXPECT(weft_finalize() == WEFT_OK);
}

// Process 1 comes to a group when it has received what process 0, which is there already, has sent.
void beside(int) {
    std::vector<Group> groups = own_groups();
    Group later({0, 1});
    std::vector<std::int64_t> words(1'000'000, world_rank);
    weft_request request = WEFT_REQUEST_NULL;
    const weft_comm whole = groups.back().comm;
    if (world_rank == 0) {
        EXPECT(weft_isend(words.data(), words.size(), WEFT_INT64, 1, 0, whole, &request) ==
               WEFT_OK);
        later.make();
        EXPECT(weft_wait(&request) == WEFT_OK);
    } else if (world_rank == 1) {
        EXPECT(weft_irecv(words.data(), words.size(), WEFT_INT64, 0, 0, whole, &request) ==
               WEFT_OK);
        EXPECT(weft_wait_until(&request, weft::now_ns() + patience_ns) == WEFT_OK);
        for (const std::int64_t word : words) EXPECT(word == 0);
        later.make();
    }
    EXPECT(weft_barrier(whole) == WEFT_OK);
    EXPECT(weft_finalize() == WEFT_OK);
}

// The first member completes what it sends, though the others stay away from the library: one
// message, then as many as a process may leave to its program. By number: messages from a rank that
// is named, messages from any, broadcasts.
void away(int kind) {
    constexpr std::size_t messages = 200;
    for (Group& group : own_groups()) {
        const int rank = group.place.rank;
        std::vector<std::vector<std::int64_t>> words(messages);
        std::vector<weft_request> requests(messages, WEFT_REQUEST_NULL);
        const auto start = [&](std::size_t i) {
            std::int64_t* const data = words[i].data();
            const std::size_t count = words[i].size();
            if (kind == 2) return weft_ibcast(data, count, WEFT_INT64, 0, group.comm, &requests[i]);
            if (rank == 0)
                return weft_isend(data, count, WEFT_INT64, 1, 0, group.comm, &requests[i]);
            if (kind == 1)
                return weft_irecv_any(data, count, WEFT_INT64, 0, nullptr, group.comm,
                                      &requests[i]);
            return weft_irecv(data, count, WEFT_INT64, 0, 0, group.comm, &requests[i]);
        };
        std::size_t begin = 0;
        for (const std::size_t end : {std::size_t{1}, messages}) {
            const std::span some = std::span(requests).subspan(begin, end - begin);
            const bool takes_part = rank < 2 || kind == 2;
            for (; begin < end; ++begin) {
                words[begin].assign(begin % 2 == 0 ? 1 : 100,
                                    rank == 0 ? static_cast<std::int64_t>(begin) : -1);
                if (takes_part) EXPECT(start(begin) == WEFT_OK);
            }
            if (rank == 0)
                EXPECT(weft_waitall_until(some.size(), some.data(), nullptr,
                                          weft::now_ns() + patience_ns) == WEFT_OK);
            group.meet();
            EXPECT(weft_waitall(some.size(), some.data(), nullptr) == WEFT_OK);
        }
        for (std::size_t i = 0; i < messages && (rank < 2 || kind == 2); ++i)
            for (const std::int64_t word : words[i]) EXPECT(word == static_cast<std::int64_t>(i));
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

// A thread that gets a signal for what arrives gets it for groups that come later, too; or they are
// refused, where the transport sends none.
void signals(int refuses) {
    sigset_t arrival;
    sigemptyset(&arrival);
    sigaddset(&arrival, SIGUSR1);
    const auto nothing = [](void*) {};
    const weft_scheduler scheduler = {
        .current = [](void*) -> void* { return nullptr; },
        .suspend = nothing,
        .resume = [](void*, void*) {},
        .yield = nothing,
        .spawn = nullptr,
        .state = nullptr,
    };
    Group job({0, 1});
    Group group({1, 2});
    if (world_rank == 2) {
        EXPECT(weft_init() == WEFT_OK);
        EXPECT(sigprocmask(SIG_BLOCK, &arrival, nullptr) == 0);
        EXPECT(weft_scheduler_attach(&scheduler) == WEFT_OK);
        EXPECT(weft_scheduler_signal(SIGUSR1) == WEFT_OK);
    } else {
        job.make();
    }
    if (group.is_member() && refuses != 0) {
        EXPECT(group.try_make() == WEFT_REFUSED_UNSUPPORTED);
        EXPECT(std::strstr(weft_last_detail(), "sends no signals, which a thread asked for"));
    } else if (group.is_member()) {
        group.make();
        EXPECT(weft_barrier(group.comm) == WEFT_OK);
        std::int64_t word = 5;
        weft_request request = WEFT_REQUEST_NULL;
        if (world_rank == 2) {
            EXPECT(weft_irecv(&word, 1, WEFT_INT64, 0, 0, group.comm, &request) == WEFT_OK);
            const timespec now{};
            const timespec patience{patience_ns / 1'000'000'000, 0};
            while (sigtimedwait(&arrival, nullptr, &now) > 0) continue;
            ++shared->ready;
            EXPECT(sigtimedwait(&arrival, nullptr, &patience) == SIGUSR1);
        } else {
            EXPECT(wait_for(shared->ready, 1));
            EXPECT(weft_isend(&word, 1, WEFT_INT64, 1, 0, group.comm, &request) == WEFT_OK);
        }
        EXPECT(weft_wait(&request) == WEFT_OK);
    }
    if (world_rank == 2) {
        EXPECT(weft_scheduler_signal(0) == WEFT_OK);
        EXPECT(weft_scheduler_detach() == WEFT_OK);
    }
    EXPECT(weft_finalize() == WEFT_OK);
}

void die(int) {
    shared->dead = 1 + world_rank;
    kill(getpid(), SIGKILL);
}
void die_after(int microseconds) {
    signal(SIGALRM, die);
    const itimerval timer{{0, 0}, {0, microseconds}};
    EXPECT(setitimer(ITIMER_REAL, &timer, nullptr) == 0);
}

// Process 2 is killed while groups are made and used: the others hear of it, and go on without it.
void killed(int microseconds) {
    Group first({0, 1});
    if (first.is_member()) {
        first.make();
        ++shared->ready;
    } else {
        EXPECT(wait_for(shared->ready, 2));
        die_after(microseconds);
    }
    weft_status status = WEFT_OK;
    for (int i = 0; status == WEFT_OK; ++i) {
        Group group(every_group[1 + i % 2]);
        if (!group.is_member()) {
            if (shared->dead != 0) break;
            continue;
        }
        status = group.try_make();
        double value = 1;
        if (status == WEFT_OK)
            status = weft_allreduce(WEFT_IN_PLACE, &value, 1, WEFT_FLOAT64, WEFT_SUM, group.comm);
        if (group.comm != WEFT_COMM_NULL) group.free();
    }
    EXPECT(status == WEFT_OK || status == WEFT_BROKEN_RANK || status == WEFT_REFUSED_UNSUPPORTED);
    if (status == WEFT_BROKEN_RANK) EXPECT(std::strstr(weft_last_detail(), " of the group "));
    if (status == WEFT_REFUSED_UNSUPPORTED)
        EXPECT(std::strstr(weft_last_detail(), "the allgather of an out-of-band group of "));
    use({first.comm});
    first.free();
    EXPECT(weft_finalize() == WEFT_OK);
}

// Process 2 is killed while messages of all kinds are pending on its groups: those end and name it,
// the others go on.
void lost(int microseconds) {
    std::vector<Group> groups = own_groups();
    const bool is_victim = world_rank == 2;
    if (is_victim) {
        EXPECT(wait_for(shared->ready, 2));
        die_after(microseconds);
    } else {
        ++shared->ready;
    }
    std::deque<Pending> pending;
    std::vector<Talk> talks;
    for (const Group& group : groups) {
        if (group.place.members.back() == 2)
            pending.emplace_back(group.comm, WEFT_BROKEN_RANK, /*is_broken_by_others=*/true);
        else
            talks.emplace_back(group.comm, 20'000);
    }
    while (is_victim) weft_progress();
    auto messages = pending.begin();
    for (const Group& group : groups) {
        if (group.place.members.back() != 2) continue;
        messages->wait("rank " + std::to_string(group.place.ranks() - 1) +
                       " of the group died or left");
        messages->end();
        ++messages;
    }
    for (Talk& talk : talks) talk.end();
    for (Group& group : groups) group.free();
    EXPECT(weft_finalize() == WEFT_OK);
}

struct Case {
    const char* name;
    int processes;
    void (*run)(int number);
    int victim = -1;  // a process that is killed
};
constexpr Case cases[] = {
    {"in_order", 3, in_order},       {"fresh", 3, fresh},
    {"every_order", 3, every_order}, {"many", processes_max, many},
    {"failure", 3, failure},         {"aborted", 3, aborted},
    {"messages", 3, messages},       {"beside", 3, beside},
    {"signals", 3, signals},         {"away", 3, away},
    {"killed", 3, killed, 2},        {"lost", 3, lost, 2},
};

bool play(const Case& played, int number) {
    const std::vector<pid_t> ids = fork_processes(played.processes, [&](int process) {
        const std::string said = played.name + std::string(" ") + std::to_string(number);
        setting = said.c_str();
        alarm(process == played.victim ? 0 : 100);
        played.run(number);
    });
    bool is_well = true;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        int status = -1;
        EXPECT(waitpid(ids[i], &status, 0) == ids[i]);
        const bool is_victim = static_cast<int>(i) == played.victim && WIFSIGNALED(status) &&
                               WTERMSIG(status) == SIGKILL;
        is_well &= status == 0 || is_victim;
    }
    end_sharing();
    return is_well;
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc >= 3);
    const std::string name = argv[1];
    bool is_well = true;
    for (const Case& one : cases) {
        if (name != one.name) continue;
        for (int i = 2; i < argc; ++i) is_well = play(one, std::atoi(argv[i])) && is_well;
        return is_well ? 0 : 1;
    }
    return 2;
}
