"""Sums a number over all ranks: python -m weft run -n 4 sum.py"""

from array import array

import weft

comm = weft.init()
total = array("d", [0])
comm.allreduce(array("d", [comm.rank]), total)
print("rank %d of %d: %g" % (comm.rank, comm.size, total[0]))
