#!/usr/bin/python3
"""Renders the 200 images of the demo: every format, 16 px to 12 megapixels, the same images each time.

    demo/render.py DIRECTORY

DIRECTORY then holds the images and `manifest.json`, a list of {"file", "format", "width", "height", "frames", "note"}.
Images that this version of the program has rendered before are kept.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

import PIL
from PIL import Image, ImageChops, ImageCms, ImageDraw, ImageOps

SEED = 5215
MANIFEST = "manifest.json"
STAMP = ".stamp"
LARGEST = 7 << 20  # bytes: the demo runs with a body limit of 8 MiB


# -- The content of an image


def scene(number, width, height):
    """A unique RGB image: two gradients, shapes, and noise as from a camera."""
    dice = random.Random(SEED * 1000 + number)
    base = 512
    level = Image.linear_gradient("L").rotate(dice.randrange(4) * 90).resize((base, base))
    round_level = Image.radial_gradient("L").resize((base, base))
    image = ImageOps.colorize(
        ImageChops.blend(level, round_level, dice.uniform(0.2, 0.8)),
        black=colour(dice, 0, 110), white=colour(dice, 140, 255), mid=colour(dice, 40, 220))
    draw = ImageDraw.Draw(image, "RGBA")
    for _ in range(dice.randrange(5, 14)):
        x, y, size = dice.randrange(base), dice.randrange(base), dice.randrange(20, 200)
        box = (x - size, y - size * dice.uniform(0.3, 1), x + size, y + size * dice.uniform(0.3, 1))
        shape = dice.choice((draw.ellipse, draw.rectangle))
        shape(box, fill=colour(dice, 0, 255) + (dice.randrange(90, 255),))
    image = image.resize((width, height), Image.Resampling.BICUBIC)
    return ImageChops.add(image, grain(dice, width, height), 1, -8)


def grain(dice, width, height):
    """Noise of 16 levels, one tile repeated."""
    tile = Image.frombytes("L", (256, 256), dice.randbytes(256 * 256)).point([level >> 4 for level in range(256)])
    tile = tile.crop((0, 0, min(256, width), min(256, height)))
    whole = Image.new("L", (width, height))
    for y in range(0, height, 256):
        for x in range(0, width, 256):
            whole.paste(tile, (x, y))
    return Image.merge("RGB", (whole, whole, whole))


def colour(dice, low, high):
    return tuple(dice.randint(low, high) for _ in range(3))


def with_alpha(image):
    """The image with a round soft edge."""
    alpha = ImageOps.invert(Image.radial_gradient("L")).point([min(255, level * 3) for level in range(256)])
    image.putalpha(alpha.resize(image.size))
    return image


def frames_of(number, width, height, count):
    """The frames of an animation: a disc that moves over a scene."""
    ground = scene(number, width, height)
    for index in range(count):
        frame = ground.copy()
        x, y = width * index // count, height // 2
        ImageDraw.Draw(frame).ellipse((x, y - height // 8, x + width // 4, y + height // 8), fill=(255, 210, 0))
        yield frame


def profile():
    """An sRGB profile without its time of creation."""
    data = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    data[24:36] = bytes(12)
    return bytes(data)


# -- How an image is written: one function for each kind, (path, number, width, height) -> number of frames


def jpeg(mode="RGB", orientation=None, icc=False, **options):
    def write(path, number, width, height):
        image = scene(number, width, height).convert(mode)
        if orientation:
            exif = Image.Exif()
            exif[0x0112] = orientation
            options["exif"] = exif.tobytes()
        if icc:
            options["icc_profile"] = profile()
        image.save(path, "JPEG", **{"quality": 85, **options})
        return 1
    return write


def png(mode="RGB", **options):
    def write(path, number, width, height):
        image = scene(number, width, height)
        if mode == "I;16":
            # The low byte is that of another image, so that all 16 bits are used.
            high, low = image.convert("L").tobytes(), scene(number + 1000, width, height).convert("L").tobytes()
            pixels = bytearray(2 * len(high))
            pixels[0::2], pixels[1::2] = low, high
            image = Image.frombytes("I;16", (width, height), bytes(pixels))
        elif mode in ("RGBA", "LA"):
            image = with_alpha(image).convert(mode)
        elif mode == "P":
            image = image.quantize(64)
        else:
            image = image.convert(mode)
        image.save(path, "PNG", **options)
        return 1
    return write


def webp(alpha=False, **options):
    def write(path, number, width, height):
        image = scene(number, width, height)
        (with_alpha(image) if alpha else image).save(path, "WEBP", **{"quality": 80, "method": 1, **options})
        return 1
    return write


def gif(path, number, width, height):
    scene(number, width, height).quantize(128).save(path, "GIF")
    return 1


def transparent_gif(path, number, width, height):
    image = scene(number, width, height).quantize(127)
    image.save(path, "GIF", transparency=image.getpixel((0, 0)))
    return 1


def animation(count, name, **options):
    def write(path, number, width, height):
        first, *others = frames_of(number, width, height, count)
        first.save(path, name, save_all=True, append_images=others, duration=80, loop=0, **options)
        return count
    return write


def heif(compression):
    """HEIC and AVIF by the vips command, because Pillow cannot write them."""
    def write(path, number, width, height):
        plain = path + ".png"
        scene(number, width, height).save(plain, "PNG", compress_level=1)
        subprocess.run(
            ["vips", "copy", plain, f"{path}[compression={compression},Q=50,effort=0]"],
            check=True, env={**os.environ, "VIPS_CONCURRENCY": "1"})
        os.unlink(plain)
        return 1
    return write


# -- Which images there are


def plan():
    """(file, format, note, writer, width, height) of all images. File names become parts of URLs."""
    dice = random.Random(SEED)
    sizes = {
        "icon": lambda: (dice.randint(16, 64),) * 2,
        "small": lambda: (dice.randint(80, 400), dice.randint(80, 400)),
        "medium": lambda: (dice.randint(400, 1000), dice.randint(300, 900)),
        "large": lambda: (dice.randint(1400, 2200), dice.randint(1000, 1600)),
        "wide": lambda: (dice.randint(1500, 2500), dice.randint(16, 40)),
        "tall": lambda: (dice.randint(16, 40), dice.randint(900, 1500)),
        "12 MP": lambda: (4000, 3000),
    }
    kinds = [
        # count, extension, format, note, writer, sizes in turn
        (32, "jpg", "jpeg", "baseline", jpeg(), ("small", "medium", "medium", "large")),
        (12, "jpg", "jpeg", "progressive", jpeg(progressive=True), ("medium", "small", "large")),
        (6, "jpeg", "jpeg", "4:4:4 with profile", jpeg(icc=True, subsampling=0), ("medium",)),
        (8, "jpg", "jpeg", "grey", jpeg("L"), ("medium", "small")),
        (6, "jpg", "jpeg", "CMYK", jpeg("CMYK"), ("medium", "small")),
        *((2, "jpg", "jpeg", f"orientation {value}", jpeg(orientation=value), ("medium", "small"))
          for value in range(1, 9)),
        (3, "jpg", "jpeg", "from a camera", jpeg(orientation=6), ("12 MP",)),
        (14, "png", "png", "RGB", png(), ("icon", "small", "medium", "wide")),
        (12, "png", "png", "RGBA", png("RGBA"), ("icon", "small", "medium")),
        (8, "png", "png", "palette", png("P"), ("small", "medium", "tall")),
        (4, "png", "png", "grey with alpha", png("LA"), ("small",)),
        (4, "png", "png", "16 bits, grey", png("I;16"), ("small",)),
        (3, "png", "png", "black and white", png("1"), ("small",)),
        (1, "png", "png", "poster", png("P", compress_level=1), ("12 MP",)),
        (9, "gif", "gif", "still", gif, ("icon", "small")),
        (4, "gif", "gif", "transparent", transparent_gif, ("small",)),
        (9, "gif", "gif", "animated", animation(8, "GIF"), ("small",)),
        (20, "webp", "webp", "lossy", webp(), ("small", "medium", "medium", "large")),
        (8, "webp", "webp", "lossy, alpha", webp(alpha=True), ("small", "medium")),
        (6, "webp", "webp", "lossless", webp(lossless=True, method=0), ("small", "icon")),
        (5, "webp", "webp", "animated", animation(6, "WEBP", quality=70, method=0), ("small",)),
        (6, "avif", "avif", "AV1", heif("av1"), ("small", "medium")),
        (4, "heic", "heic", "HEVC", heif("hevc"), ("small",)),
    ]
    entries = []
    for count, extension, form, note, writer, turns in kinds:
        for index in range(count):
            number = len(entries)
            file = f"{form}/{number:03d}-{note.translate(str.maketrans({' ': '-', ',': None, ':': '-'}))}.{extension}"
            width, height = sizes[turns[index % len(turns)]]()
            entries.append((odd_names().get(number, file), form, note, writer, width, height))
    return entries


def odd_names():
    """Names with spaces, with non-ASCII characters, without an extension, with a wrong extension."""
    return {1: "jpeg/summer 2024 (final).jpg", 5: "jpeg/Köln-Straße-日本.jpg", 9: "jpeg/photo", 13: "jpeg/logo.png"}


def render(directory, number, entry):
    file, form, note, writer, width, height = entry
    path = os.path.join(directory, file)
    frames = writer(path, number, width, height)
    size = os.path.getsize(path)
    if size > LARGEST:
        raise SystemExit(f"render: {file} has {size} bytes, more than {LARGEST}")
    return {"file": file, "format": form, "note": note, "width": width, "height": height, "frames": frames,
            "bytes": size}


def stamp():
    """Changes with the version of this program, of Pillow and of its libraries."""
    with open(os.path.abspath(__file__), "rb") as source:
        return hashlib.sha256(source.read() + PIL.__version__.encode() + zlib.ZLIB_RUNTIME_VERSION.encode()).hexdigest()


def is_current(directory):
    try:
        with open(os.path.join(directory, STAMP)) as file:
            if file.read() != stamp():
                return False
        with open(os.path.join(directory, MANIFEST)) as file:
            images = json.load(file)
        return all(os.path.getsize(os.path.join(directory, each["file"])) == each["bytes"] for each in images)
    except (OSError, ValueError):
        return False


def main(directory):
    if is_current(directory):
        return
    part = directory + ".part"
    for leftover in (part, directory):
        shutil.rmtree(leftover, ignore_errors=True)
    entries = plan()
    for form in {entry[1] for entry in entries}:
        os.makedirs(os.path.join(part, form))
    # Pillow releases the interpreter's lock while it encodes.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        work = [pool.submit(render, part, number, entry) for number, entry in enumerate(entries)]
        manifest = [each.result() for each in work]
    with open(os.path.join(part, MANIFEST), "w") as file:
        json.dump(manifest, file, indent=1, ensure_ascii=False)
    with open(os.path.join(part, STAMP), "w") as file:
        file.write(stamp())
    os.rename(part, directory)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: demo/render.py DIRECTORY")
    main(os.path.abspath(sys.argv[1]))
