#!/usr/bin/env python3
"""Hopper's tensor cores as exact integers: an oracle that shares nothing with numerics/tensor_core.h.

tensor_core_model.py ANSWERS          judges what tests/hardware/probes/tensor_cores_more.cu printed on a GPU
tensor_core_model.py ANSWERS --golden FILE  also writes a few elements of each kind, with the GPU's results, as
                                      tests/unit/numerics/tensor_core_h200_test.cpp reads them
"""
import struct
import sys
from fractions import Fraction

TYPES = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 10), "e4m3": (4, 3), "e5m2": (5, 2), "f32": (8, 23)}
IN_REGISTER = {"f16": 2, "bf16": 2, "tf32": 1, "e4m3": 4, "e5m2": 4}
# Products added at once, bits kept below the largest exponent, bits of the sum that go on.
CORES = {"f16": (16, 25, 23), "bf16": (16, 25, 23), "tf32": (8, 25, 23), "e4m3": (32, 13, 13), "e5m2": (32, 13, 13)}
WORDS = 17  # of a lane: a[4], b[4], c[4], d[4], metadata


class Number:
    """value = mantissa * 2**scale; `exponent` is where it is aligned."""

    def __init__(self, mantissa, scale, exponent):
        self.mantissa, self.scale, self.exponent = mantissa, scale, exponent


def decode(bits, kind, least=None):
    """The number; one converted to a wider type first is normalised down to the exponent `least`."""
    exponent_bits, mantissa_bits = TYPES[kind]
    bias = (1 << exponent_bits - 1) - 1
    field, mantissa = bits >> mantissa_bits & (1 << exponent_bits) - 1, bits & (1 << mantissa_bits) - 1
    exponent = max(field, 1) - bias
    if field:
        mantissa |= 1 << mantissa_bits
    scale = exponent - mantissa_bits
    if least is not None and mantissa:
        exponent = max(mantissa.bit_length() - 1 + scale, least)
    negative = bits >> exponent_bits + mantissa_bits & 1
    return Number(-mantissa if negative else mantissa, scale, exponent)


def encode(total, scale, kind, kept, nearest=False):
    """Bits of total * 2**scale in a type, of whose mantissa `kept` bits are kept; what becomes zero is +0."""
    exponent_bits, mantissa_bits = TYPES[kind]
    least = 2 - (1 << exponent_bits - 1)
    size = abs(total)
    if size == 0:
        return 0
    exponent = max(size.bit_length() - 1 + scale, least)
    lost = exponent - kept - scale
    if lost <= 0:
        quotient = size << -lost
    else:
        quotient, rest = size >> lost, size & (1 << lost) - 1
        if nearest and (rest << 1, quotient & 1) > (1 << lost, 0):
            quotient += 1
    if quotient == 0:
        return 0
    bits = (exponent - least << mantissa_bits) + (quotient << mantissa_bits - kept)
    bits = min(bits, (1 << exponent_bits) - 1 << mantissa_bits)
    return bits | (total < 0) << exponent_bits + mantissa_bits


def turn(start, products, fraction, kept, result="f32", nearest=False):
    """One turn of the core: everything is cut off at the largest exponent, added, and cut off or rounded."""
    summands = [n for n in [start, *products] if n.mantissa]
    if not summands:
        return 0
    unit = max(n.exponent for n in summands) - fraction
    total = 0
    for n in summands:
        shift = n.scale - unit
        size = abs(n.mantissa) << shift if shift >= 0 else abs(n.mantissa) >> -shift
        total += size if n.mantissa > 0 else -size
    return encode(total, unit, result, kept, nearest)


def as_special(bits, kind):
    exponent_bits, mantissa_bits = TYPES[kind]
    if kind == "e4m3":
        return "nan" if bits & 0x7F == 0x7F else None
    if bits >> mantissa_bits & (1 << exponent_bits) - 1 != (1 << exponent_bits) - 1:
        return None
    return "nan" if bits & (1 << mantissa_bits) - 1 else "-" if bits >> exponent_bits + mantissa_bits & 1 else "+"


def special_sum(a, b, c, types):
    """NaN or an infinity where IEEE 754 says so, else None."""
    found = {as_special(c[0], c[1])} if c else set()
    for x, y in zip(a, b):
        kinds = [as_special(x, types[0]), as_special(y, types[1])]
        signs = x >> sum(TYPES[types[0]]) & 1 ^ y >> sum(TYPES[types[1]]) & 1
        zero = [v & (1 << sum(TYPES[t])) - 1 == 0 for v, t in zip((x, y), types)]
        if any(kinds):
            found.add("nan" if "nan" in kinds or any(zero) else "-" if signs else "+")
    found.discard(None)
    if not found:
        return None
    return 0x7FFFFFFF if len(found) > 1 or "nan" in found else 0xFF800000 if "-" in found else 0x7F800000


def value(bits, kind):
    return struct.unpack("<f", struct.pack("<I", bits))[0] if kind == "f32" else struct.unpack("<e", struct.pack("<H", bits))[0]


def add(x, y, kind):
    """IEEE 754's sum, with the one NaN that tensor cores give."""
    total = value(x, kind) + value(y, kind)
    if total != total:
        return 0x7FFFFFFF if kind == "f32" else 0x7FFF
    if abs(total) == float("inf") or total == 0:
        return struct.unpack("<I" if kind == "f32" else "<H", struct.pack("<f" if kind == "f32" else "<e", total))[0]
    exact = Fraction(value(x, kind)) + Fraction(value(y, kind))
    return encode(int(exact * 2**200), -200, kind, TYPES[kind][1], nearest=True)


def narrowed(special):
    return 0x7FFF if special == 0x7FFFFFFF else special >> 16 & 0x8000 | 0x7C00


def product_sum(op, types, result, a, b, c):
    """An element of D, by the bits of a row of A, a column of B, and C."""
    c_kind = "f32" if result == "f32" else "f16"
    in_halves = IN_REGISTER[types[0]] == 4 and not op.startswith("wgmma")
    special = special_sum(a, b, None if in_halves else (c, c_kind), types)
    if special is not None and not in_halves:
        return special if result == "f32" else narrowed(special)
    products, fraction, kept = CORES["f16" if in_halves else types[0]]
    least = -14 if in_halves else None
    pairs = [(decode(x, types[0], least), decode(y, types[1], least)) for x, y in zip(a, b)]
    numbers = [Number(x.mantissa * y.mantissa, x.scale + y.scale, x.exponent + y.exponent) for x, y in pairs]
    if in_halves:
        groups = [[n for i, n in enumerate(numbers) if i % 4 // 2 == half] for half in (0, 1)]
        bits = 0 if special is None else special if result == "f32" else narrowed(special)
        for group in groups if special is None else []:
            start = decode(bits, c_kind)
            bits = turn(start, group, fraction, TYPES[c_kind][1], c_kind, nearest=result == "f16")
            if as_special(bits, c_kind):
                break
        return add(bits, c, c_kind)
    start = decode(c, c_kind)
    for at in range(0, len(numbers), products):
        last = at + products >= len(numbers)
        if last and result == "f16":
            return turn(start, numbers[at:], fraction, 10, "f16", nearest=True)
        bits = turn(start, numbers[at : at + products], fraction, kept)
        if as_special(bits, "f32"):
            return bits
        start = decode(bits, "f32")
    return bits


def elements(word, kind):
    if kind == "tf32":
        return [word >> 13]
    step = 32 // IN_REGISTER[kind]
    return [word >> at & (1 << step) - 1 for at in range(0, 32, step)]


def kept_columns(lanes, op, depth, wide, per):
    """Of a row of a sparse A, by its metadata (selector 0)."""
    if "s" not in op.replace("wgmma", ""):
        return [list(range(wide)) for _ in range(16)]
    rows = []
    for row in range(16):
        columns = []
        for i in range(depth):
            chunk = i if per == 1 else i // 2
            thread, bit = (chunk // 8 * 2 + row // 8, chunk % 8 * 4) if per == 4 else (chunk // 4, row // 8 * 16 + chunk % 4 * 4)
            nibble = lanes[row % 8 * 4 + thread][16] >> bit & 15
            columns.append(i * 2 + (nibble >> 1 & 1) if per == 1 else chunk * 4 + (nibble >> i % 2 * 2 & 3))
        rows.append(columns)
    return rows


def problems(op, shape, types, result, lanes):
    """Row of A, column of B, C and D of every element of the products that these lanes held."""
    wide = int(shape.split("k")[1])
    depth = wide // 2 if "s" in op.replace("wgmma", "") else wide
    per = IN_REGISTER[types[0]]
    span = per * 4  # columns that a register of four lanes has
    for first in range(0, len(lanes), 32):
        warp = lanes[first : first + 32]
        a = [[0] * depth for _ in range(16)]
        b = [[0] * 8 for _ in range(wide)]
        for lane, words in enumerate(warp):
            for register in range(2 * (depth // span)):
                for j, element in enumerate(elements(words[register], types[0])):
                    a[lane // 4 + register % 2 * 8][lane % 4 * per + register // 2 * span + j] = element
            for register in range(wide // span if not op.startswith("wgmma") else 0):
                for j, element in enumerate(elements(words[4 + register], types[1])):
                    b[lane % 4 * per + register * span + j][lane // 4] = element
        for at in range(8 * wide // per if op.startswith("wgmma") else 0):
            word = lanes[first - first % 128 + at // 4][4 + at % 4]  # core matrices of 8 columns, 16 bytes each
            for j, element in enumerate(elements(word, types[1])):
                b[at // 32 * span + at % 4 * per + j][at % 32 // 4] = element
        columns = kept_columns(warp, op, depth, wide, per)
        for lane, words in enumerate(warp):
            for i in range(4):
                row, column = lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2
                half = result == "f16"
                c, d = (words[k + (i // 2 if half else i)] >> (i % 2 * 16 if half else 0) & (0xFFFF if half else 0xFFFFFFFF) for k in (8, 12))
                yield a[row], [b[k][column] for k in columns[row]], c, d


def main(arguments):
    golden = open(arguments[2], "w") if len(arguments) > 2 and arguments[1] == "--golden" else None
    wrong = asked = 0
    for line in open(arguments[0]):
        if " spread " not in line:
            continue
        question, answer = line.rstrip("\n").split(": ")
        op, shape, kind, result, _, spread = question.split()
        types = (kind.split(".") * 2)[:2]
        words = struct.unpack(f"<{len(answer) // 8}I", bytes.fromhex(answer))
        lanes = [words[i : i + WORDS] for i in range(0, len(words), WORDS)]
        for number, (a, b, c, d) in enumerate(problems(op, shape, types, result, lanes)):
            asked += 1
            wrong += product_sum(op, types, result, a, b, c) != d
            if golden and number % 419 == 0 and number < 1700:
                golden.write(f"{op} {types[0]} {types[1]} {result} {c:x} {d:x} {' '.join(f'{x:x}' for x in a + b)}\n")
    print(f"{asked} elements, {wrong} differ")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
