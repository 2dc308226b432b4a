"""What a copy of a tensor's block does, element by element: the oracle of the tensor memory access unit. Written from
docs/tensor-maps.md and the manuals named there; it shares no code with the unit and knows no rows, only elements."""
import struct
from dataclasses import dataclass, field

ELEMENTS = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"]
BYTES = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]
F16 = ELEMENTS.index("f16")


@dataclass
class Map:
    """A tensor map. Lists are in PTX's order, dimension 0 innermost (C, W, H, D, N; interleaved W, H, D, slices of C, N);
    strides[0] is unused."""
    sizes: list
    strides: list
    box: list = None  # tile mode
    steps: list = None
    lower: list = None  # im2col mode, as are the next three: W, H, D
    upper: list = None
    channels: int = 0
    pixels: int = 0
    element: int = F16
    interleave: int = 0
    swizzle: int = 0
    fill: int = 0

    def __post_init__(self):
        self.steps = list(self.steps or [1] * self.rank)
        if not self.interleave:
            self.steps[0] = 1  # cuda.h: ignored

    @property
    def rank(self):
        return len(self.sizes)

    @property
    def im2col(self):
        return self.box is None

    @property
    def element_bytes(self):
        return BYTES[self.element]

    @property
    def slice_bytes(self):
        return (0, 16, 32)[self.interleave]


@dataclass
class Block:
    """Elements of a block: places in shared memory (before the swizzle), and in global memory or None if outside. With
    interleave an element is a slice."""
    places: list = field(default_factory=list)
    element_bytes: int = 0

    @property
    def transaction_bytes(self):
        return len(self.places) * self.element_bytes


def swizzled(address, swizzle):
    if swizzle == 3:
        return address ^ ((address >> 7 & 7) << 4)
    if swizzle == 2:
        return address ^ ((address >> 7 & 3) << 4)
    if swizzle == 1:
        return address ^ ((address >> 7 & 1) << 4)
    return address


def first_spatial(m):
    """The dimension that W is: of interleaved layouts 0, as channels are in the slices (W, H, D, slices, N)."""
    return 0 if m.interleave else 1


def address_of(m, coordinates):
    """Byte offset of an element (a slice with interleave) in the tensor, None outside."""
    strides = [m.slice_bytes or m.element_bytes] + m.strides[1:]
    if not all(0 <= c < size for c, size in zip(coordinates, m.sizes)):
        return None
    return sum(c * stride for c, stride in zip(coordinates, strides))


def pixels_of_tile(m, start):
    """Coordinates of all dimensions but the channels' within a row, in the order of shared memory. Of slices one is copied."""
    pixels = [[]]
    for d in range(m.rank - 1, first_spatial(m) - 1, -1):
        is_slice = m.interleave and d == m.rank - 2
        along = [start[d]] if is_slice else range(start[d], start[d] + m.box[d], m.steps[d])
        pixels = [[c] + rest for rest in pixels for c in along]
    return pixels


def pixels_of_column(m, start, offsets):
    spatial, first = m.rank - 2, first_spatial(m)
    base, image = list(start[first:first + spatial]), start[m.rank - 1]
    slices = [start[m.rank - 2]] if m.interleave else []
    pixels = []
    for _ in range(m.pixels):
        pixels.append([b + o for b, o in zip(base, offsets)] + slices + [image])
        for s in range(spatial):
            base[s] += m.steps[first + s]
            if base[s] <= m.sizes[first + s] - 1 + m.upper[s]:
                break
            base[s] = m.lower[s]
        else:
            image += m.steps[m.rank - 1]
    return pixels


def block_of(m, start, offsets=(0, 0, 0)):
    pixels = pixels_of_column(m, start, offsets) if m.im2col else pixels_of_tile(m, start)
    block = Block(element_bytes=m.slice_bytes or m.element_bytes)
    if m.interleave:
        block.places = [(i * m.slice_bytes, address_of(m, p)) for i, p in enumerate(pixels)]
        return block
    along = range(start[0], start[0] + (m.channels if m.im2col else m.box[0]))
    row = len(along) * m.element_bytes
    if m.swizzle:
        row = max(row, (0, 32, 64, 128)[m.swizzle])
    for number, p in enumerate(pixels):
        for i, c in enumerate(along):
            block.places.append((number * row + i * m.element_bytes, address_of(m, [c] + p)))
    return block


def converted(data, element):
    name = ELEMENTS[element]
    bits = int.from_bytes(data, "little")
    if name.startswith("tf32"):
        if bits & 0x7fffffff > 0x7f800000:
            bits = 0x7fffe000
        else:
            bits = (bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000
    return bits.to_bytes(4, "little")


def load(m, memory, start, offsets, shared, at):
    """Into `shared`, a bytearray that begins at the window offset 0, from the offset `at` on."""
    block = block_of(m, start, offsets)
    size = block.element_bytes
    filler = b"\xf7\x7f" * (size // 2) if m.fill else bytes(size)  # NaN: an H200's
    converts = ELEMENTS[m.element] in ("tf32", "tf32_ftz")
    for place, address in block.places:
        data = filler if address is None else memory[address:address + size]
        assert len(data) == size
        if converts and address is not None:
            data = b"".join(converted(data[i:i + 4], m.element) for i in range(0, size, 4))
        # a slice of 32 bytes is two units that move apart
        for i in range(0, size, 16):
            to = swizzled(at + place + i, m.swizzle)
            shared[to:to + min(size, 16)] = data[i:i + 16]
    return block


def store(m, memory, start, shared, at, combine=None):
    """From `shared` into `memory`, a bytearray; with a reduction through combine(old, new) of single elements."""
    block = block_of(m, start)
    size = block.element_bytes
    for place, address in block.places:
        if address is None:
            continue
        data = b""
        for i in range(0, size, 16):
            source = swizzled(at + place + i, m.swizzle)
            data += shared[source:source + min(size, 16)]
        if combine:
            step = m.element_bytes
            data = b"".join(combine(bytes(memory[address + i:address + i + step]), data[i:i + step])
                            for i in range(0, size, step))
        memory[address:address + size] = data
    return block


def as_number(data, element):
    name = ELEMENTS[element]
    if name == "bf16":
        return struct.unpack("<f", b"\0\0" + data)[0]
    if name[0] == "f":
        return struct.unpack({2: "<e", 4: "<f", 8: "<d"}[len(data)], data)[0]
    return int.from_bytes(data, "little", signed=name[0] == "s")


def as_bytes(value, element):
    name, size = ELEMENTS[element], BYTES[element]
    if name == "bf16":  # a sum of two is a double without loss where it matters: to nearest, ties to even
        bits = int.from_bytes(struct.pack("<d", value), "little")
        single = int.from_bytes(struct.pack("<f", value), "little")
        exact = struct.unpack("<f", struct.pack("<f", value))[0] == value
        assert exact or single & 0xffff != 0x8000, bits
        return ((single + 0x7fff + (single >> 16 & 1)) >> 16 & 0xffff).to_bytes(2, "little")
    if name[0] == "f":
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], value)
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def reduction(op, element):
    """combine(old, new) of store(): the reductions of PTX, `old` in memory."""
    def by(function):
        return lambda old, new: as_bytes(function(as_number(old, element), as_number(new, element)), element)

    def by_bits(function):
        return lambda old, new: bytes(function(a, b) for a, b in zip(old, new))
    return {
        "add": by(lambda a, b: a + b),
        "min": by(min),
        "max": by(max),
        "inc": by(lambda a, b: 0 if a >= b else a + 1),
        "dec": by(lambda a, b: b if a == 0 or a > b else a - 1),
        "and": by_bits(lambda a, b: a & b),
        "or": by_bits(lambda a, b: a | b),
        "xor": by_bits(lambda a, b: a ^ b),
    }[op]


# What PTX and the element types allow.
REDUCTIONS = ([("add", e) for e in ("u32", "s32", "u64", "f32", "f64", "f16", "bf16")]
              + [(op, e) for op in ("min", "max") for e in ("u32", "s32", "u64", "s64", "f16", "bf16")]
              + [(op, "u32") for op in ("inc", "dec")]
              + [(op, e) for op in ("and", "or", "xor") for e in ("u32", "s32", "u64")])
