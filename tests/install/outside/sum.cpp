// A user's program in C++: adds up the ranks' numbers, and prints the sum on rank 0.
#include <weft/weft.h>

#include <iostream>

int main() {
    if (weft_init() != WEFT_OK) return std::cerr << weft_last_detail() << '\n', 1;
    int rank = -1;
    weft_comm_rank(weft_comm_world(), &rank);
    const std::int32_t number = rank + 1;
    std::int32_t sum = 0;
    weft_request request = WEFT_REQUEST_NULL;
    if (weft_iallreduce(&number, &sum, 1, WEFT_INT32, WEFT_SUM, weft_comm_world(), &request) !=
            WEFT_OK ||
        weft_wait(&request) != WEFT_OK) {
        return std::cerr << weft_last_detail() << '\n', 1;
    }
    if (rank == 0) std::cout << "sum " << sum << '\n';
    return weft_finalize() != WEFT_OK;
}
