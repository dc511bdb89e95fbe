// The publications that several algorithms come from.
#pragma once

namespace weft::algorithm {

constexpr const char* thakur_2005 =
    "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in "
    "MPICH, 2005, doi:10.1177/1094342005051521";
constexpr const char* kaiser_2009_gather =
    "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
    "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.1";
constexpr const char* kaiser_2009_alltoall =
    "Kaiser, Hoefler, Bierbaum, Bemmerl: Implementation and Analysis of Nonblocking Collective "
    "Operations on SCI Networks, 2009, doi:10.1109/IPDPS.2009.5160892, section 3.2";
constexpr const char* hoefler_2007 =
    "Hoefler, Lumsdaine, Rehm: Implementation and Performance Analysis of Non-Blocking "
    "Collective Operations for MPI, 2007, doi:10.1145/1362622.1362692";
constexpr const char* wilkins_2023 =
    "Wilkins et al.: Generalized Collective Algorithms for the Exascale Era, 2023, "
    "doi:10.1109/CLUSTER52292.2023.00013";
constexpr const char* traff_2024_reduce_scatter =
    "Träff: Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024, "
    "arXiv:2410.14234";
constexpr const char* zhu_2009 =
    "Zhu, Goodell, Gropp, Thakur: Hierarchical Collectives in MPICH2, 2009, "
    "doi:10.1007/978-3-642-03770-2_41";
constexpr const char* traff_2024_broadcast =
    "Träff: Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast, "
    "All-Broadcast, Reduction and All-Reduction, 2024, arXiv:2407.18004";
constexpr const char* karonis_2000 =
    "Karonis et al.: Exploiting Hierarchy in Parallel Computer Networks to Optimize Collective "
    "Operation Performance, 2000, doi:10.1109/IPDPS.2000.846009";
constexpr const char* de_sensi_2025 =
    "De Sensi et al.: Bine Trees: Enhancing Collective Operations by Optimizing Communication "
    "Locality, 2025, doi:10.1145/3712285.3759835, arXiv:2508.17311 (distance halving)";
constexpr const char* traff_2004 =
    "Träff: Hierarchical Gather/Scatter Algorithms with Graceful Degradation, IPDPS 2004, "
    "page 80 (no DOI that could be checked)";
constexpr const char* hillis_1986 =
    "Hillis, Steele: Data Parallel Algorithms, 1986, doi:10.1145/7902.7903";
constexpr const char* sanders_2019 =
    "Sanders, Mehlhorn, Dietzfelbinger, Dementiev: Sequential and Parallel Algorithms and Data "
    "Structures, 2019, doi:10.1007/978-3-030-25209-0, chapter 13";
constexpr const char* weft_after_thakur_2005 =
    "Weft; after the reduce-scatter and allgather of Thakur, Rabenseifner, Gropp: Optimization "
    "of "
    "Collective Communication Operations in MPICH, 2005, doi:10.1177/1094342005051521";

}  // namespace weft::algorithm
