! Nonblocking and persistent collectives by mpif.h, in fixed form.
      program with_mpif_h
      implicit none
      include 'mpif.h'
      integer code, rank, ranks, request, total, i
      integer numbers(100), sums(100)
      integer status(MPI_STATUS_SIZE)
      call MPI_Init(code)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
      call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
      do i = 1, 100
        numbers(i) = i * (rank + 1)
        sums(i) = -1
      end do
      call MPI_Iallreduce(numbers, sums, 100, MPI_INTEGER, MPI_SUM,      &
     &    MPI_COMM_WORLD, request, code)
      call MPI_Wait(request, status, code)
      total = ranks * (ranks + 1) / 2
      do i = 1, 100
        if (sums(i) .ne. i * total) call MPI_Abort(MPI_COMM_WORLD,       &
     &      1, code)
      end do
      call MPI_Iallreduce(MPI_IN_PLACE, numbers, 100, MPI_INTEGER,       &
     &    MPI_MAX, MPI_COMM_WORLD, request, code)
      call MPI_Wait(request, MPI_STATUS_IGNORE, code)
      if (numbers(100) .ne. 100 * ranks)                                 &
     &    call MPI_Abort(MPI_COMM_WORLD, 2, code)
      if (rank .eq. 0) print '(A)', 'ok 2 checks'
      call MPI_Finalize(code)
      end
