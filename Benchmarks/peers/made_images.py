"""Images for `quality`: noise, gradients, textures like photographs, drawings with text and transparency.

The same for the same number, in formats, sizes and subsamplings by turns. Needs numpy and pyvips.
"""
import numpy, pyvips

FONT_SIZES = ["sans 11", "sans bold 17", "serif 24", "monospace 14"]


def colors(dice, count):
    return dice.uniform(0, 255, (count, 3))


def noise(dice, width, height):
    """A mean and grain of its own in each channel."""
    return colors(dice, 1) + dice.normal(0, dice.uniform(5, 60), (height, width, 3))


def gradient(dice, width, height):
    """Between four corners, without grain."""
    x, y = numpy.linspace(0, 1, width)[None, :, None], numpy.linspace(0, 1, height)[:, None, None]
    one, two, three, four = colors(dice, 4)
    return (one * (1 - x) + two * x) * (1 - y) + (three * (1 - x) + four * x) * y


def texture(dice, width, height):
    """Amplitudes that fall with the frequency, as in photographs; the channels resemble each other."""
    distance = numpy.hypot(numpy.fft.fftfreq(height)[:, None], numpy.fft.rfftfreq(width)[None])
    distance[0, 0] = 1
    planes = []
    for _ in range(3):
        phase = dice.uniform(0, 2 * numpy.pi, distance.shape)
        plane = numpy.fft.irfft2(numpy.exp(1j * phase) / distance ** dice.uniform(0.9, 1.4), s=(height, width))
        planes.append((plane - plane.mean()) / (plane.std() + 1e-9))
    gray, red, blue = planes
    mean, contrast, tint = dice.uniform(70, 180), dice.uniform(25, 55), dice.uniform(0.1, 0.6)
    return numpy.stack([mean + contrast * (gray + tint * red), mean + contrast * gray,
                        mean + contrast * (gray + tint * blue)], axis=2)


def drawing(dice, width, height):
    """Flat shapes of saturated colours with hard edges, and lines of text, as on a screenshot."""
    image = numpy.broadcast_to(colors(dice, 1), (height, width, 3)).copy()
    x, y = numpy.arange(width)[None], numpy.arange(height)[:, None]
    for number in range(int(dice.integers(4, 16))):
        left, top = dice.integers(0, width), dice.integers(0, height)
        side = dice.uniform(0.05, 0.5) * min(width, height)
        shape = (numpy.hypot(x - left, y - top) < side if number % 2 else
                 (abs(x - left) < side) & (abs(y - top) < side * dice.uniform(0.2, 1)))
        image[shape] = colors(dice, 1)
    text = " ".join("".join(dice.choice(list("aeinorstlmudcgbp"), dice.integers(2, 9))) for _ in range(80))
    mark = pyvips.Image.text(text, font=FONT_SIZES[dice.integers(len(FONT_SIZES))], width=max(40, width * 3 // 4))
    ink = mark.numpy()[:height, :width, None] / 255
    part = image[:ink.shape[0], :ink.shape[1]]
    part[:] = part * (1 - ink) + colors(dice, 1) * ink
    return image


def alpha(dice, width, height):
    """A soft disc."""
    x, y = numpy.linspace(-1, 1, width)[None], numpy.linspace(-1, 1, height)[:, None]
    return numpy.clip((dice.uniform(0.6, 1.2) - numpy.hypot(x, y)) * dice.uniform(2, 40), 0, 1) * 255


KINDS = [texture, drawing, noise, gradient]
FORMATS = [
    (".jpg", {"Q": 92, "subsample_mode": "off"}), (".jpg", {"Q": 80}), (".png", {}), (".webp", {"Q": 80, "effort": 2}),
    (".jpg", {"Q": 88, "interlace": True}), (".png", {"alpha": True}), (".webp", {"lossless": True, "effort": 0}),
    (".jpg", {"Q": 90, "gray": True}), (".png", {"palette": True}), (".webp", {"Q": 85, "effort": 2, "alpha": True}),
    (".png", {"gray": True}),
]


def make(number, directory):
    """Writes an image, and returns its path."""
    dice = numpy.random.default_rng(number)
    width, height = (int(side) for side in numpy.exp(dice.uniform(numpy.log(120), numpy.log(2200), 2)))
    # At most 3:1.
    width, height = max(width, height // 3), max(height, width // 3)
    suffix, options = FORMATS[number % len(FORMATS)]
    options = dict(options)
    pixels = KINDS[number % len(KINDS)](dice, width, height)
    if options.pop("gray", False):
        pixels = pixels[:, :, :1]
    if options.pop("alpha", False):
        pixels = numpy.dstack([pixels, alpha(dice, width, height)])
    image = pyvips.Image.new_from_array(numpy.clip(numpy.rint(pixels), 0, 255).astype(numpy.uint8))
    path = f"{directory}/made-{number:04d}{suffix}"
    image.copy(interpretation="srgb" if image.bands > 2 else "b-w").write_to_file(path, **options)
    return path
