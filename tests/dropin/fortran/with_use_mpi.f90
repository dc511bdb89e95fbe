! Collectives by the module mpi: Fortran's types, its .true., several requests at once.
program with_use_mpi
    use mpi
    implicit none
    integer :: code, rank, ranks, requests(3), i
    double precision :: here(50), sums(50)
    real :: pairs(2), largest(2)
    logical :: mine, all_of_them
    call MPI_Init(code)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
    here = [(dble(i + rank), i = 1, 50)]
    mine = rank >= 0
    all_of_them = .false.
    pairs = [real(mod(rank, 2)), real(rank)]
    call MPI_Iallreduce(here, sums, 50, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, requests(1), code)
    call MPI_Iallreduce(mine, all_of_them, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, requests(2), code)
    call MPI_Iallreduce(pairs, largest, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD, requests(3), code)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, code)
    do i = 1, 50
        if (sums(i) /= dble(ranks * i + ranks * (ranks - 1) / 2)) call MPI_Abort(MPI_COMM_WORLD, 1, code)
    end do
    if (.not. all_of_them) call MPI_Abort(MPI_COMM_WORLD, 2, code)
    if (largest(1) /= real(min(1, ranks - 1)) .or. largest(2) /= real(min(1, ranks - 1))) then
        call MPI_Abort(MPI_COMM_WORLD, 3, code)
    end if
    if (rank == 0) print '(A)', 'ok 3 checks'
    call MPI_Finalize(code)
end program
