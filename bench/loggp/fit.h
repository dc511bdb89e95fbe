// LogGP's parameters from times of trains of messages.
//
// Method: Torsten Hoefler, Andre Lichei, Wolfgang Rehm: Low-Overhead LogGP Parameter Assessment for Modern
// Interconnection Networks, 2007, doi:10.1109/IPDPS.2007.370593. With T(n, d, s) for a round trip of n messages of s
// bytes, each after a delay d:
//   g + (s-1)G = (T(n, 0, s) - T(m, 0, s)) / (n-m)          where that is more than o; a line over s
//   o_s(s)     = (T(n, d, s) - T(m, d, s)) / (n-m) - d      for d = T(1, 0, s)
//   o_r(s)     likewise, of receives that are posted after delays
//   L          = T(1, 0, s) / 2 - o_s - o_r - (s-1)G        for the least s
// (There m is 1; with m > 1 it does not matter how a train begins and ends.)
//
// For o_r the receiver asks for each message, so that only one waits for it, as in collectives: many messages at once
// fill buffers, and are copied twice. For the same reason G is not taken from trains, but from what a message takes from
// end to end: T(1, 0, s) / 2 = 2o + L + (s-1)(O_s + G + O_r). Trains then give g.
//
// A byte may take less than O_s + O_r from end to end: packets leave while the sender still copies, and are received
// while others are on their way. Then the ends work along with the network, and
//   T(1, 0, s) / 2 = o_s + L + o_r + (s-1)G
// while the CPUs are busy for their o and O, of which the sum may be more. What is done at an end beside the way (the
// sender handles acknowledgements) is in its o; where that gives an L below 0, L is 0, and the o are those that agree
// best with the time from end to end and with themselves.
//
// Of messages that wait for their receive, the overheads and L contain the question and the answer. There delays show
// no overhead: a receive that is posted late begins the transfer late, and a message that is longer than the sockets'
// buffers does not move while its sender is busy. So their overheads are CPU times of round trips without delays, and
// L is what is left, where s = 1, on the line through T(1, 0, s) / 2. Their ends and the network work at the same time,
// so their G is that of trains. What they cost without their bytes is less than what the times of so many bytes vary by,
// on most networks: then it is not observable, and O is the slope of lines that begin at the o of smaller messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/loggp/pair.h"
#include "bench/statistics.h"

namespace weft::bench {

// A parameter, and where it lies with 95 % confidence (by resampling).
struct LogGpValue {
    double value = 0;
    Interval interval{};
};

// Of the sizes that travel in one way. Nanoseconds, and nanoseconds per byte.
struct LogGpClass {
    std::string name;
    std::vector<std::int64_t> sizes;
    LogGpValue latency, send_overhead, recv_overhead, gap, byte_gap;
    LogGpValue byte_overhead, byte_send_overhead, byte_recv_overhead;  // the first is the mean
    bool is_gap_observable = true;  // false: it is at most the overhead
    // False: the interval of L, or of an o, reaches 0, or is wider than the value.
    bool is_start_observable = true;
    bool are_ends_along = false;  // they work along with the network
    double residual =
        0;  // of g + (s-1)G, and of the time from end to end: the greatest, as a share
};

struct LogGpEstimate {
    std::vector<LogGpClass> classes;
    // Per byte; and what is not part of a message. Not a number: the pair does not know it.
    LogGpValue byte_reduction, byte_copy, start, test, wake;
};

struct LogGpSizes {
    std::string name;
    std::vector<std::int64_t> sizes;  // ascending, two or more
    bool wait_for_receive = false;
};

// The same on both ranks. Each class of sizes needs two or more.
LogGpEstimate estimate_loggp(LogGpPair& pair, const std::vector<LogGpSizes>& classes,
                             int repetitions);

}  // namespace weft::bench
