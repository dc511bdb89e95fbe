// The task lists of several ranks side by side.
#include "lab/print/task_table.h"

#include "algorithm/catalogue.h"
#include "lab/every_rank.h"
#include "support/test.h"

namespace weft::task_table_test {

std::string table(const char* collective, const char* name, const algorithm::GlobalArgs& agreed,
                  std::size_t ranks, Protocol protocol = Protocol::eager) {
    const algorithm::CollectiveSpec& spec = *algorithm::find_spec(collective);
    auto schedules = algorithm::build_all(*spec.find(name),
                                          EveryRank(spec, agreed, /*in_place=*/false).problems());
    EXPECT_TRUE(schedules.is_ok()) << last_detail();
    std::vector<Tasks> tasks;
    for (std::size_t r = 0; r < ranks; ++r) {
        const Schedule& schedule = (*schedules)[r];
        tasks.push_back(
            compile_tasks(schedule, std::vector<bool>(schedule.lanes().size(), true), protocol));
    }
    return task_table(tasks, *timetable(*schedules));
}

TEST(TaskTable, OfStandardExchangeIsTable1) {
    EXPECT_EQ(table("allgather", "standard_exchange", {.ranks = 4, .bytes = 8, .tuning = {}}, 2),
              "Rank    0                        1\n"
              "Step 0  recv from 1              recv from 0\n"
              "        send to 1                send to 0\n"
              "        wait (1 recv CQ) from 1  wait (1 recv CQ) from 0\n"
              "Step 1  recv from 2              recv from 3\n"
              "        send to 2                send to 3\n"
              "        wait (1 recv CQ) from 2  wait (1 recv CQ) from 3\n");
}

TEST(TaskTable, OfStandardExchangeWithRendezvousIsTable2) {
    EXPECT_EQ(table("allgather", "standard_exchange", {.ranks = 4, .bytes = 8, .tuning = {}}, 2,
                    Protocol::rendezvous),
              "Rank    0                        1\n"
              "Step 0  send CTS to 1            send CTS to 0\n"
              "        recv CTS from 1          recv CTS from 0\n"
              "        wait (1 CTS CQ) from 1   wait (1 CTS CQ) from 0\n"
              "        recv from 1              recv from 0\n"
              "        send to 1                send to 0\n"
              "        wait (1 recv CQ) from 1  wait (1 recv CQ) from 0\n"
              "Step 1  send CTS to 2            send CTS to 3\n"
              "        recv CTS from 2          recv CTS from 3\n"
              "        wait (1 CTS CQ) from 2   wait (1 CTS CQ) from 3\n"
              "        recv from 2              recv from 3\n"
              "        send to 2                send to 3\n"
              "        wait (1 recv CQ) from 2  wait (1 recv CQ) from 3\n");
}

// Rank 1 waits for its first send, because with a window of one the second receive does; rank 2 only
// for the end.
TEST(TaskTable, ShowsOnlyWaitsThatSomethingComesAfter) {
    EXPECT_EQ(table("bcast", "chain",
                    {.ranks = 3, .bytes = 16, .tuning = {.segment_bytes = 8, .window = 1}}, 3),
              "Rank    0          1                        2\n"
              "Step 0  send to 1  recv from 0\n"
              "                   wait (1 recv CQ) from 0\n"
              "Step 1             send to 2                recv from 1\n"
              "                   wait (1 send CQ) to 2\n"
              "Step 2  send to 1  recv from 0\n"
              "                   wait (1 recv CQ) from 0\n"
              "Step 3             send to 2                recv from 1\n"
              "                                            wait (1 recv CQ) from 1\n");
}

TEST(TaskTable, HasFourColumnsSideBySide) {
    const std::string text = table("allgather", "ring", {.ranks = 6, .bytes = 8, .tuning = {}}, 6);
    EXPECT_NE(text.find("\n\nRank    4"), std::string::npos) << text;
}

}  // namespace weft::task_table_test
