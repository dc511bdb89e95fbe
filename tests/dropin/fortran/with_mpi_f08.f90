! Collectives by the module mpi_f08: its types of handles, a v form whose arrays Fortran passes, a duplicate.
program with_mpi_f08
    use mpi_f08
    implicit none
    integer :: rank, ranks, i
    integer, asynchronous :: mine(8), everyones(64)
    integer :: counts(8), displacements(8)
    type(MPI_Request) :: request
    type(MPI_Comm) :: comm
    type(MPI_Status) :: status
    logical :: is_done
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    mine = rank
    everyones = -1
    counts(1:ranks) = [(mod(i, 8) + 1, i = 1, ranks)]
    displacements(1:ranks) = [(8 * (i - 1), i = 1, ranks)]
    call MPI_Iallgatherv(mine, counts(rank + 1), MPI_INTEGER, everyones, counts, displacements, MPI_INTEGER, &
                         comm, request)
    call MPI_Wait(request, status)
    do i = 1, ranks
        if (any(everyones(8 * i - 7:8 * i - 8 + counts(i)) /= i - 1)) call MPI_Abort(comm, 1)
        if (any(everyones(8 * i - 7 + counts(i):8 * i) /= -1)) call MPI_Abort(comm, 2)
    end do
    call MPI_Ibcast(mine, 8, MPI_INTEGER, ranks - 1, comm, request)
    call MPI_Comm_free(comm)
    is_done = .false.
    do while (.not. is_done)
        call MPI_Test(request, is_done, status)
    end do
    if (any(mine /= ranks - 1)) call MPI_Abort(MPI_COMM_WORLD, 3)
    if (rank == 0) print '(A)', 'ok 2 checks'
    call MPI_Finalize()
end program
