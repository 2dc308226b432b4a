// compiler: nvcc
// How many ways there are to put n queens on a board of n x n fields, none of which attacks another: a queue
// task (docs/tasks.md). An entry is a board whose first rows are taken; its block puts a queen on each field
// of the next row, a field for each thread, and appends the boards that this gives. Where the rows left are
// few, or the queue is full, the thread counts by itself.
// nvcc: -rdc=true -I../../include
#include "raddle/device.h"

// Sets of columns, as bits: taken by queens above, and attacked along both diagonals in the row that comes.
struct Board {
  unsigned columns, left, right, rows;
};

__device__ Board with_queen(const Board& board, unsigned field) {
  return {board.columns | field, (board.left | field) << 1, (board.right | field) >> 1, board.rows + 1};
}

// Row by row, with the fields that are left to try in each.
__device__ unsigned long long count_below(const Board& from, unsigned n) {
  const unsigned all = (1u << n) - 1;
  Board boards[32];
  unsigned fields[32], depth = 0;
  unsigned long long found = 0;
  boards[0] = from;
  fields[0] = all & ~(from.columns | from.left | from.right);
  for (;;) {
    if (boards[depth].rows == n) ++found;
    if (boards[depth].rows == n || fields[depth] == 0) {
      if (depth-- == 0) return found;
      continue;
    }
    const unsigned field = fields[depth] & -fields[depth];
    fields[depth] ^= field;
    boards[depth + 1] = with_queen(boards[depth], field);
    ++depth;
    fields[depth] = all & ~(boards[depth].columns | boards[depth].left | boards[depth].right);
  }
}

extern "C" __global__ void queens(unsigned n, unsigned leave, unsigned long long* solutions,
                                  unsigned long long* refused) {
  const Board board = raddle::queue_entry<Board>();
  const unsigned field = threadIdx.x < n ? 1u << threadIdx.x : 0;
  if (field == 0 || ((board.columns | board.left | board.right) & field) != 0) return;
  const Board next = with_queen(board, field);
  if (n - next.rows > leave) {
    if (raddle::append(next) == raddle::Append::done) return;
    atomicAdd(refused, 1ull);
  }
  const unsigned long long found = count_below(next, n);
  if (found != 0) atomicAdd(solutions, found);
}
