#include "bench/links.h"

#include <algorithm>
#include <cstdio>

#include "bench/table.h"
#include "weft/interface_bytes.h"

namespace weft::bench {

void print_links(const Job& job, const Testbed& testbed) {
    if (testbed.nodes == 0 || testbed.links == 1) return;
    const auto links = static_cast<std::size_t>(testbed.links);
    std::vector<double> mine;
    std::vector<std::string> heading = {"sent, MB"};
    for (std::size_t link = 0; link < links; ++link) {
        heading.push_back("eth" + std::to_string(link));
        mine.push_back(static_cast<double>(interface_bytes(heading.back()).sent) * 1e-6);
    }
    heading.emplace_back("less %");
    const std::vector<double> all = gather(job, mine);
    if (job.rank != 0) return;
    Table table(heading);
    double worst = 0;
    for (int node = 0; node < std::min(testbed.nodes, job.ranks); ++node) {
        // Rank r runs on node r * nodes / ranks.
        const int first = (node * job.ranks + testbed.nodes - 1) / testbed.nodes;
        const double* const sent = &all[static_cast<std::size_t>(first) * links];
        const auto [least, most] = std::minmax_element(sent, sent + links);
        const double less = *most > 0 ? 100 * (1 - *least / *most) : 0;
        worst = std::max(worst, less);
        std::vector<std::string> row = {"node " + std::to_string(node)};
        for (std::size_t link = 0; link < links; ++link) row.push_back(fixed(sent[link], 2));
        row.push_back(fixed(less, 1));
        table.add(std::move(row));
    }
    std::printf(
        "\nSent over each link of a node in this job; less: the least used link by the "
        "most used one.\n");
    table.print(stdout);
    std::printf("Largest difference of a node's links: %.1f %%\n", worst);
}

}  // namespace weft::bench
