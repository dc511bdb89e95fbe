#include "bench/loggp/simulated_pair.h"

#include "bench/job.h"
#include "schedule/builder.h"

namespace weft::bench {
namespace {

using Kind = LogGpTrain::Kind;

constexpr std::int64_t ps = 1000;  // of a nanosecond

Schedule sealed(ScheduleBuilder& builder) {
    Result<Schedule> schedule = builder.seal();
    if (!schedule.is_ok()) fail("%s", last_detail());
    return std::move(*schedule);
}

}  // namespace

std::vector<std::vector<double>> SimulatedPair::time(const std::vector<LogGpTrain>& trains, int) {
    std::vector<std::vector<double>> all;
    for (const LogGpTrain& train : trains) all.push_back(time_of(train));
    return all;
}

std::vector<double> SimulatedPair::time_of(const LogGpTrain& train) const {
    if (train.kind == Kind::start || train.kind == Kind::test || train.kind == Kind::late_trip)
        return {};
    simulate::LogGpParameters parameters = parameters_;
    ScheduleBuilder here(0, 2), there(1, 2);
    // A delay is a copy where a byte takes a nanosecond.
    const bool has_delays = train.kind != Kind::copies;
    if (has_delays) parameters.byte_copy_ps = ps;
    const auto region = [&](ScheduleBuilder& builder) { return builder.scratch(train.bytes); };
    const auto delay = [&](ScheduleBuilder& builder, OpId after) {
        return builder.copy(builder.scratch(train.delay_ns), builder.scratch(train.delay_ns),
                            {after});
    };
    int measured = 0;
    OpId last = no_op;
    switch (train.kind) {
        case Kind::round_trip:
        case Kind::sending_cpu:
        case Kind::receiving_cpu: {
            std::vector<OpId> received;
            for (int i = 0; i < train.messages; ++i) {
                if (i > 0 && train.delay_ns > 0) last = delay(here, last);
                here.send(region(here), 1, {last});
                received.push_back(there.recv(region(there), 0));
            }
            there.send(region(there), 0, {there.join(received)});
            here.recv(region(here), 1);
            break;
        }
        case Kind::reception:
        case Kind::requests:
            measured = 1;
            for (int i = 0; i < train.messages; ++i) {
                const OpId asked = here.recv(here.scratch(1), 1);
                last = delay(there, there.send(there.scratch(1), 0, {last}));
                if (train.kind == Kind::requests) continue;
                here.send(region(here), 1, {asked});
                last = there.recv(region(there), 0, {last});
            }
            break;
        case Kind::delays:
            for (int i = 0; i < train.messages; ++i) last = delay(here, last);
            break;
        case Kind::reductions:
            for (int i = 0; i < train.messages; ++i)
                last = here.reduce(region(here), region(here), {last});
            break;
        default:
            for (int i = 0; i < train.messages; ++i)
                last = here.copy(region(here), region(here), {last});
    }
    simulate::LogGpMachine machine(parameters);
    machine.add(sealed(here));
    machine.add(sealed(there));
    Result<simulate::LogGpOutcome> outcome = machine.run();
    if (!outcome.is_ok()) fail("%s", last_detail());
    if (train.kind == Kind::sending_cpu) return {static_cast<double>(outcome->cpu_ps[0]) / ps};
    if (train.kind == Kind::receiving_cpu) return {static_cast<double>(outcome->cpu_ps[1]) / ps};
    return {static_cast<double>(outcome->end_ps[static_cast<std::size_t>(measured)]) / ps};
}

}  // namespace weft::bench
