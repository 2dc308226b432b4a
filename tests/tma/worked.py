"""The worked convolutions of docs/tensor-maps.md as cases: f16 tensors whose dimensions are C, W, H, N. A case is (name, map,
coordinates, offsets)."""
import oracle

OFFSETS = ((0, 0), (1, 1), (2, 2))  # of the filter's first, middle and last position: W, H


def tensor(n, h, w, c, **more):
    return oracle.Map(sizes=[c, w, h, n], strides=[0, 2 * c, 2 * c * w, 2 * c * w * h], **more)


def im2col(shape, corners, channels, pixels, stride=1):
    lower, upper = corners
    return tensor(*shape, lower=[lower] * 2, upper=[upper] * 2, channels=channels, pixels=pixels,
                  steps=[1, stride, stride, 1])


def tile(box, stride=1):
    return tensor(64, 14, 8, 64, box=box, steps=[1, stride, stride, 1])


PADDED = im2col((64, 14, 9, 64), (-1, -1), 8, 64)
UNPADDED = im2col((64, 14, 9, 64), (0, -2), 8, 64)
STRIDED = {(14, 9): im2col((64, 14, 9, 64), (-1, -1), 16, 32, 2), (13, 8): im2col((64, 13, 8, 64), (-1, -1), 16, 32, 2),
           (14, 8): im2col((64, 14, 8, 64), (-1, -1), 16, 32, 2)}
DILATED = im2col((64, 14, 9, 64), (-2, -2), 16, 64)


def all_cases():
    """Coordinates are C, W, H, N; the page gives them as (N, H, W, C)."""
    for offset in OFFSETS:
        at = "-".join(map(str, offset))
        yield f"padded-{at}", PADDED, [0, 4, 7, 7], offset
        yield f"unpadded-{at}", UNPADDED, [0, 4, 7, 7], offset
        for (h, w), m in STRIDED.items():
            yield f"strided-{h}x{w}-{at}", m, [0, 5, 7, 7], offset
    for offset in (0, 0), (2, 2), (4, 4):
        yield f"dilated-{offset[0]}-{offset[1]}", DILATED, [0, 3, 6, 7], offset
    yield "tile-10x10", tile([8, 10, 10, 1]), [0, -1, -1, 0], ()
    yield "tile-8x8", tile([8, 8, 8, 1]), [0, 0, 0, 0], ()
    yield "tile-10x10-stride-2", tile([8, 10, 10, 1], 2), [0, -1, -1, 0], ()
    yield "tile-12x12", tile([8, 12, 12, 1]), [0, -2, -2, 0], ()
    yield "swizzle-128", oracle.Map(sizes=[64, 10, 10, 1], strides=[0, 128, 1280, 12800], box=[64, 10, 10, 1],
                                    swizzle=3), [0, 0, 0, 0], ()
