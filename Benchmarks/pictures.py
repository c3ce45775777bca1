"""Pictures of a directory as URLs, and the variants that benchmarks make of them: the first mix of `Benchmarks planes`."""
import os

KINDS = (".jpg", ".jpeg", ".png", ".webp", ".gif")
VARIANTS = [
    {"name": "card", "thumbnail": {"width": 1024, "height": 1024}, "format": "jpeg", "quality": 80},
    {"name": "list", "thumbnail": {"width": 400, "height": 400}, "format": "webp", "quality": 75},
    {"name": "thumb", "transform": [{"type": "resize", "width": 160, "height": 160, "scaleMode": "aspectFill"}],
     "format": "jpeg", "quality": 80},
]


def picture_urls(directory, address, count):
    """The URLs of `count` images: the directory's files by turns, each time by another URL."""
    names = sorted(name for name in os.listdir(directory) if name.lower().endswith(KINDS))
    return [f"{address}/{names[n % len(names)]}?{n}" for n in range(count)]
