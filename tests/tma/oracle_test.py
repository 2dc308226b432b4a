#!/usr/bin/env python3
"""The oracle of tensor copies against what can be said by hand: which pixels the worked convolutions take, what is filled,
where swizzles put it, how numbers are rounded."""
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases
import oracle
import worked


def pixels(m, start, offsets):
    """(n, h, w) of each pixel of a column."""
    return [(n, h, w) for w, h, n in oracle.pixels_of_column(m, start, offsets)]


def walk(count, at, widths, heights):
    """By hand: the next `count` places of rows of `widths` and columns of `heights`, from `at` on, shifted by offsets."""
    (n, h, w), taken = at, []
    while len(taken) < count:
        for row in heights:
            for column in widths:
                if taken or (row, column) == (h, w):
                    taken.append((n, row, column))
        n += 1
    return taken[:count]


def shifted(taken, by):
    return [(n, h + by, w + by) for n, h, w in taken]


class Convolutions(unittest.TestCase):
    def expect(self, m, start, offset, bases):
        self.assertEqual(pixels(m, start, (offset, offset)), shifted(bases, offset))

    # proves: T-8a
    def test_padded(self):
        bases = walk(64, (7, 7, 4), range(-1, 8), range(-1, 13))
        self.assertEqual(bases[-1], (8, 0, 4))  # 4 pixels of row 7, 5 rows and one of the next image, 6 pixels
        for offset in 0, 1, 2:
            self.expect(worked.PADDED, [0, 4, 7, 7], offset, bases)

    # proves: T-8b
    def test_unpadded(self):
        bases = walk(64, (7, 7, 4), range(0, 7), range(0, 12))
        for offset in 0, 1, 2:
            self.expect(worked.UNPADDED, [0, 4, 7, 7], offset, bases)

    # proves: T-8c, T-8d, T-8e
    def test_stride_of_2(self):
        for (h, w), m in worked.STRIDED.items():
            widths, heights = range(-1, w - 1, 2), range(-1, h - 1, 2)
            start = (7, 7, 5)
            bases = walk(32, start, widths, heights)
            for offset in 0, 1, 2:
                self.expect(m, [0, 5, 7, 7], offset, bases)
            # which rows and columns of padding the filter's positions reach over a whole image
            everything = {(y, x) for offset in (0, 1, 2)
                          for _, y, x in shifted(walk(len(widths) * len(heights), (0, -1, -1), widths, heights), offset)}
            reached = dict(top=min(everything)[0] == -1, bottom=max(everything)[0] == h,
                           first=min(x for _, x in everything) == -1, last=max(x for _, x in everything) == w)
            self.assertEqual(reached, {(14, 9): dict(top=True, bottom=False, first=True, last=True),
                                       (13, 8): dict(top=True, bottom=True, first=True, last=False),
                                       (14, 8): dict(top=True, bottom=False, first=True, last=False)}[h, w])

    # proves: T-7j, T-8f
    def test_dilated(self):
        bases = walk(64, (7, 6, 3), range(-2, 7), range(-2, 12))
        for offset in 0, 2, 4:
            self.expect(worked.DILATED, [0, 3, 6, 7], offset, bases)

    # proves: T-8g, T-8h, T-8i
    def test_all_pixels_are_loaded_and_padding_is_filled(self):
        for name, m, start, offsets in worked.all_cases():
            block = oracle.block_of(m, start, offsets)
            per_pixel = m.channels if m.im2col else m.box[0]
            count = m.pixels if m.im2col else {"tile-10x10": 100, "tile-8x8": 64, "tile-10x10-stride-2": 25,
                                               "tile-12x12": 144, "swizzle-128": 100}[name]
            self.assertEqual(len(block.places), count * per_pixel, name)
            taken = oracle.pixels_of_column(m, start, offsets) if m.im2col else oracle.pixels_of_tile(m, start)
            for number, (w, h, n) in enumerate(taken):
                inside = 0 <= w < m.sizes[1] and 0 <= h < m.sizes[2] and 0 <= n < m.sizes[3]
                for c in range(per_pixel):
                    place, address = block.places[number * per_pixel + c]
                    self.assertEqual(place, (number * per_pixel + c) * 2, name)
                    flat = ((n * m.sizes[2] + h) * m.sizes[1] + w) * m.sizes[0] + c
                    self.assertEqual(address, 2 * flat if inside else None, name)

    # proves: T-8g, T-8i, T-8j
    def test_a_part_of_the_tile_per_position(self):
        """Each of the filter's positions finds its input in a part of the box."""
        for box, corner, dilation, part in ((10, -1, 1, 8), (8, 0, 1, 6), (12, -2, 2, 8)):
            taken = oracle.pixels_of_tile(worked.tile([8, box, box, 1]), [0, corner, corner, 0])
            for r in range(3):
                for s in range(3):
                    for y in range(part):
                        for x in range(part):
                            w, h, _ = taken[(y + r * dilation) * box + x + s * dilation]
                            self.assertEqual((h, w), (y + r * dilation + corner, x + s * dilation + corner))


class Swizzles(unittest.TestCase):
    # proves: T-10i, T-10j
    def test_cells_of_pixels(self):
        m, start = oracle.Map(
            sizes=[64, 10, 10, 1], strides=[0, 128, 1280, 12800], box=[64, 10, 10, 1], swizzle=3), [0, 0, 0, 0]
        memory = b"".join(struct.pack("<H", i) for i in range(6400))
        for at in 0, 1024:
            shared = bytearray(at + 12800)
            oracle.load(m, memory, start, (), shared, at)
            for p in range(100):
                for k in range(8):
                    there = at + 128 * p + 16 * (k ^ p % 8)
                    self.assertEqual(shared[there:there + 16], memory[128 * p + 16 * k:][:16])
            # a cell of eight pixels of a row: eight groups of four banks
            for y in range(8):
                for k in range(8):
                    groups = {(k ^ (10 * y + x) % 8) for x in range(8)}
                    self.assertEqual(len(groups), 8)

    def test_the_address_decides(self):
        for swizzle, units in ((1, 2), (2, 4), (3, 8)):
            for offset in range(0, 4096, 16):
                unit = offset // 16 % units ^ offset // 128 % units
                self.assertEqual(oracle.swizzled(offset, swizzle), offset - offset // 16 % units * 16 + unit * 16)
            self.assertEqual(oracle.swizzled(16, 0), 16)


class Numbers(unittest.TestCase):
    def test_conversions(self):
        tf32, ftz, tf32_ftz = (oracle.ELEMENTS.index(name) for name in ("tf32", "f32_ftz", "tf32_ftz"))
        for bits, element, wanted in ((0x3f801001, tf32, 0x3f802000), (0x3f801000, tf32, 0x3f800000),
                                      (0x3f803000, tf32, 0x3f804000), (0x7f7fffff, tf32, 0x7f800000),
                                      (0xffc00001, tf32, 0x7fffe000), (0x80400000, tf32, 0x80400000),
                                      (0x80400fff, tf32_ftz, 0x80400000), (0x00400001, ftz, 0x00400001)):
            self.assertEqual(oracle.converted(struct.pack("<I", bits), element), struct.pack("<I", wanted))

    def test_reductions(self):
        def of(op, name, a, b):
            element = oracle.ELEMENTS.index(name)
            return oracle.as_number(oracle.reduction(op, element)(oracle.as_bytes(a, element), oracle.as_bytes(b, element)),
                                    element)
        self.assertEqual(of("add", "u32", 0xffffffff, 2), 1)
        self.assertEqual(of("add", "f16", 2048.0, 1.0), 2048.0)
        self.assertEqual(of("add", "bf16", 256.0, 1.0), 256.0)
        self.assertEqual(of("add", "bf16", 258.0, 1.0), 260.0)
        self.assertEqual(of("min", "s32", -1, 1), -1)
        self.assertEqual(of("max", "u64", 1 << 63, 1), 1 << 63)
        self.assertEqual([of("inc", "u32", a, 3) for a in (2, 3, 4)], [3, 0, 0])
        self.assertEqual([of("dec", "u32", a, 3) for a in (2, 0, 4)], [1, 3, 3])
        self.assertEqual(of("xor", "u64", 6, 3), 5)


class Interleave(unittest.TestCase):
    def test_slices(self):
        """NC/8HWC8: W, H, two slices of 8 channels, N. A copy moves one slice of channels, whatever the box says."""
        m = oracle.Map(sizes=[3, 2, 2, 2], strides=[0, 48, 96, 192], box=[8, 2, 5, 1], interleave=1)
        block = oracle.block_of(m, [2, 1, 1, 1])
        self.assertEqual([place for place, _ in block.places], list(range(0, 256, 16)))
        self.assertEqual([address for _, address in block.places], [192 + 96 + 48 + 32] + [None] * 15)
        self.assertEqual(cases.memory_bytes_of(m), 2 * 192)

    def test_columns(self):
        m = oracle.Map(sizes=[3, 2, 2, 2], strides=[0, 48, 96, 192], lower=[0, 0], upper=[0, 0], channels=64, pixels=7, interleave=1)
        block = oracle.block_of(m, [1, 0, 1, 0])
        self.assertEqual([address for _, address in block.places], [96 + at for at in (16, 32, 48, 64, 80, 192, 208)])


if __name__ == "__main__":
    tap.main()
