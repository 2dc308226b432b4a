"""Writes cases for the test of the tensor memory access unit: what to copy, and what comes of it by the oracle.

    cases.py --random 5000 --seed 1 FILE     random maps, boxes and coordinates
    cases.py --worked FILE                   the worked convolutions

FILE.pool holds bytes that tensors and shared memory start with; FILE has a line per case, of words and numbers:

    load|store|add|min|max|inc|dec|and|or|xor  tile|im2col  name
    element rank  size[5] stride[5] box[5] step[5] lower[3] upper[3]  channels pixels  interleave swizzle fill
    coordinate[5] offset[3]  shared-address  transaction-bytes
    memory-at memory-bytes  data-at data-bytes  expected

The tensor lies at its base address and takes the `memory-bytes` of the pool from `memory-at` on. Shared memory from
`shared-address`, an offset in the window, on holds the `data-bytes` of the pool from `data-at` on before the copy. Of a
load, `expected` is what it holds afterwards, in hexadecimal. Of others it is what changed in the tensor: OFFSET:BYTES,
joined by commas, or a dash.
"""
import argparse
import random

import oracle

POOL = 1 << 21
CALM = POOL // 2  # from here on the pool is finite, not zero and moderate in every floating-point type
SHARED = 4096  # most of shared memory that a case takes


def make_pool(rng):
    wild = rng.randbytes(CALM)
    calm = bytearray(rng.randbytes(POOL - CALM))
    for i in range(1, len(calm), 2):
        calm[i] = calm[i] & 0x83 | 0x3c
    return wild + bytes(calm)


class Writer:
    def __init__(self, path, pool):
        self.file, self.pool = open(path, "w"), pool
        with open(path + ".pool", "wb") as out:
            out.write(pool)

    def add(self, name, op, m, start, offsets, shared, memory_at, memory_bytes, data_at):
        """Runs the oracle on a case and writes both. @returns the block"""
        extent = max(place for place, _ in oracle.block_of(m, start, offsets).places) + (m.slice_bytes or m.element_bytes)
        extent = (extent + 127) // 128 * 128
        before = bytearray(shared) + self.pool[data_at:data_at + extent]
        memory = bytearray(self.pool[memory_at:memory_at + memory_bytes])
        if op == "load":
            block = oracle.load(m, memory, start, offsets, before, shared)
            expected = before[shared:].hex()
        else:
            was = bytes(memory)
            combine = None if op == "store" else oracle.reduction(op, m.element)
            block = oracle.store(m, memory, start, before, shared, combine)
            expected = ",".join(changes(block, was, memory)) or "-"

        def padded(values, count):
            return list(values or []) + [0] * (count - len(values or []))
        words = [op, "im2col" if m.im2col else "tile", name, m.element, m.rank, *padded(m.sizes, 5), *padded(m.strides, 5),
                 *padded(m.box, 5), *padded(m.steps, 5), *padded(m.lower, 3), *padded(m.upper, 3), m.channels, m.pixels,
                 m.interleave, m.swizzle, m.fill, *padded(start, 5), *padded(offsets, 3), shared, block.transaction_bytes,
                 memory_at, memory_bytes, data_at, extent, expected]
        print(*words, file=self.file)
        return block


def changes(block, was, memory):
    size = block.element_bytes
    for address in sorted({address for _, address in block.places if address is not None}):
        if was[address:address + size] != memory[address:address + size]:
            yield f"{address}:{memory[address:address + size].hex()}"


def memory_bytes_of(m):
    """From the first to the last byte of the tensor."""
    return oracle.address_of(m, [size - 1 for size in m.sizes]) + (m.slice_bytes or m.element_bytes)


def random_map(rng, op):
    """A map with a block of at most `SHARED` bytes over a tensor of at most a quarter of the pool."""
    im2col = rng.random() < .4
    rank = rng.randint(3, 5) if im2col else rng.randint(1, 5)
    interleave = rng.choice((0, 0, 1, 2)) if rank >= 3 else 0
    swizzle = 1 if interleave == 2 else rng.randint(0, 3)
    element = rng.randrange(13) if op in ("load", "store") else oracle.ELEMENTS.index(rng.choice([e for o, e in oracle.REDUCTIONS if o == op]))
    size = oracle.BYTES[element]
    fill = rng.randint(0, 1) if element >= oracle.F16 else 0
    unit = (size, 16, 32)[interleave]
    row_bytes = (SHARED // 16, 32, 64, 128)[swizzle]
    steps = [rng.choice((1, 1, 1, 2, 3, rng.randint(1, 8))) for _ in range(rank)]
    extents = [rng.randint(1, 9) for _ in range(rank)]  # of the tensor
    if not interleave:
        extents[0] = rng.randint(1, 2 * row_bytes // size)
    alignment = 32 if interleave == 2 else 16
    inner = extents[0] * unit
    strides = [0] * rank
    for d in range(1, rank):
        gap = rng.choice((0, 0, 1, 3)) * alignment
        strides[d] = (inner + alignment - 1) // alignment * alignment + gap
        inner = strides[d] * extents[d]
    if op == "load" and rank > 1 and rng.random() < .1:
        strides[rng.randrange(1, rank)] = 0  # rows that repeat
    m = oracle.Map(sizes=extents, strides=strides, box=[1] * rank, steps=steps, element=element, interleave=interleave,
                   swizzle=swizzle, fill=fill)
    if im2col:
        m.box = None
        m.channels = rng.randint(1, min(row_bytes, 256 * size) // 16) * 16 // size
        width = unit if interleave else max(m.channels * size, (0, 32, 64, 128)[swizzle])
        m.pixels = rng.randint(1, min(1024, SHARED // width))
        m.lower, m.upper = [], []
        for s in range(rank - 2):
            low, high = rng.randint(-3, 3), rng.randint(-3, 3)
            m.lower.append(low)
            m.upper.append(max(high, low - (extents[oracle.first_spatial(m) + s] - 1)))
        return m
    m.box[0] = rng.randint(1, min(256 * size, row_bytes) // 16) * 16 // size
    room = SHARED // (m.box[0] * unit if interleave else max(m.box[0] * size, (0, 32, 64, 128)[swizzle]))
    for d in rng.sample(range(1, rank), rank - 1):
        count = rng.randint(1, max(1, min(room, 12)))
        m.box[d] = max(1, min(256, count * steps[d] - rng.randint(0, steps[d] - 1)))
        room //= -(-m.box[d] // steps[d])
    return m


def random_start(rng, m, op):
    """Where a copy may begin: rows at multiples of 16 bytes, stores at no negative coordinate, bases in their box."""
    start = []
    first = oracle.first_spatial(m)
    for d in range(m.rank):
        size = m.sizes[d]
        least = -(1 << 31) if op == "load" else 0
        if m.im2col and first <= d < first + m.rank - 2:
            at = max(m.lower[d - first], least)
            start.append(rng.randint(at, max(at, size - 1 + m.upper[d - first])))
            continue
        reach = (m.box[d] if not m.im2col else m.channels if d == 0 else 2) + 1
        kind = rng.random()
        at = rng.choice((-(1 << 31), (1 << 31) - 1)) if kind < .01 else 0 if kind < .3 else rng.randint(0, size - 1) if kind < .6 else rng.randint(-reach, size + 1)
        if d == 0 and not m.interleave:
            at -= at % (16 // m.element_bytes)
        start.append(max(at, least))
    return start


def may_store(m):
    """Whether a column has a base that no coordinate makes negative."""
    first = oracle.first_spatial(m)
    return not m.im2col or all(m.sizes[first + s] - 1 + m.upper[s] >= 0 for s in range(m.rank - 2))


def write_random(path, count, seed):
    rng = random.Random(seed)
    writer = Writer(path, make_pool(rng))
    ops = ["load"] * 6 + ["store"] * 2 + sorted({op for op, _ in oracle.REDUCTIONS})
    for number in range(count):
        op = rng.choice(ops)
        m = random_map(rng, op)
        memory = memory_bytes_of(m)
        while memory > POOL // 4 or op != "load" and not may_store(m):
            m = random_map(rng, op)
            memory = memory_bytes_of(m)
        moves = op not in ("load", "store")
        offsets = [rng.randint(0, 5) for _ in range(m.rank - 2)] if m.im2col and op == "load" else [0] * max(0, m.rank - 2)
        begin, end = (CALM, POOL) if moves else (0, POOL)
        at = rng.randrange(begin, end - memory) // 128 * 128 if end - memory > begin else begin
        data = rng.randrange(begin, POOL - 2 * SHARED) // 128 * 128
        writer.add(f"random-{number}", op, m, random_start(rng, m, op), offsets, rng.randrange(0, 16) * 128, at, memory, data)


def write_worked(path):
    import worked
    writer = Writer(path, make_pool(random.Random(8)))
    for name, m, start, offsets in worked.all_cases():
        writer.add(name, "load", m, start, offsets, 1024, 0, memory_bytes_of(m), CALM)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--random", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worked", action="store_true")
    parser.add_argument("file")
    given = parser.parse_args()
    if given.worked:
        write_worked(given.file)
    else:
        write_random(given.file, given.random, given.seed)


if __name__ == "__main__":
    main()
