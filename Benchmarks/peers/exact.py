"""Exact results to compare files with: every pixel decoded, converted to sRGB and resampled by Lanczos 3 in floating point."""
import math

import numpy, pyvips
from scipy.sparse import csr_array


def pixels(image):
    """Red, green and blue in floating point, and alpha from 0 to 1; None when it is opaque."""
    image = image.colourspace("rgb16" if image.format == "ushort" else "srgb")
    values = image.numpy().astype(numpy.float64) * (255 / 65535 if image.format == "ushort" else 1)
    return values[:, :, :3], values[:, :, 3:] / 255 if image.hasalpha() else None


def on_white(image):
    values, coverage = pixels(image)
    return values if coverage is None else values * coverage + 255 * (1 - coverage)


def opened(path):
    """The upright original in sRGB, every pixel of its first frame."""
    image = pyvips.Image.new_from_file(path, access="sequential").copy_memory()
    if image.get_typeof("icc-profile-data"):
        image = image.icc_transform("srgb", embedded=True, depth=16 if image.format == "ushort" else 8)
    return image.autorot()


def filters(length, scaled, first, count):
    """The weights of Lanczos 3 for `count` samples from `first` on, of `scaled` samples for `length`."""
    scale = length / scaled
    radius = 3 * max(1, scale)
    rows, columns, weights = [], [], []
    for place in range(count):
        centre = (first + place + 0.5) * scale - 0.5
        taps = numpy.arange(max(0, math.ceil(centre - radius)), min(length - 1, math.floor(centre + radius)) + 1)
        x = (taps - centre) / max(1, scale)
        values = numpy.where(abs(x) < 3, numpy.sinc(x) * numpy.sinc(x / 3), 0)
        rows.append(numpy.full(len(taps), place))
        columns.append(taps)
        weights.append(values / values.sum())
    parts = (numpy.concatenate(rows), numpy.concatenate(columns))
    return csr_array((numpy.concatenate(weights), parts), shape=(count, length))


def resampled(image, scaled, first, size):
    """The part of `size` from `first` on of the image resampled to `scaled`; each of them is (width, height)."""
    height, width, bands = image.shape
    if (width, height) == tuple(size) == tuple(scaled):
        return image
    lines = filters(height, scaled[1], first[1], size[1]) @ image.reshape(height, width * bands)
    lines = lines.reshape(size[1], width, bands).transpose(1, 0, 2).reshape(width, size[1] * bands)
    lines = filters(width, scaled[0], first[0], size[0]) @ lines
    return numpy.clip(lines.reshape(size[0], size[1], bands).transpose(1, 0, 2), 0, 255)
