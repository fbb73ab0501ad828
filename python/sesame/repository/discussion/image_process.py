"""Decodes a pasted image and encodes it anew, in a process of its own with limits.

    python -I sesame/repository/discussion/image_process.py < IMAGE > RESULT

The result is a line of JSON (type, width, height; or `wrong`), then the bytes of the new image. The
new image has pixels only: no text, no place where a photo was taken, nothing behind its end.
"""

from __future__ import annotations

import io
import json
import resource
import sys

MEMORY_BYTES = 1 << 30
PROCESSOR_S = 20
MOST_PIXELS = 40_000_000
MOST_SIDE = 4096  # larger images are made smaller
FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = sys.stdin.buffer.read()
    try:
        head, made = converted(data)
    except (OSError, ValueError, SyntaxError, MemoryError, OverflowError, ArithmeticError) as error:
        head, made = {"wrong": str(error).splitlines()[0] if str(error) else "it is damaged"}, b""
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + made)


def converted(data: bytes) -> tuple[dict[str, object], bytes]:
    """Raises what Pillow raises, ValueError for an image that is too large."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS
    try:
        image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        raise ValueError(f"this is no image of the formats {', '.join(FORMATS)}") from None
    except Image.DecompressionBombError:
        raise ValueError(f"it has more than {MOST_PIXELS} pixels") from None
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(f"it has {image.width} x {image.height} pixels, at most {MOST_PIXELS}")
    is_photo = image.format == "JPEG"
    image = ImageOps.exif_transpose(image)  # of an animation the first picture
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    image = image.convert("RGB" if is_photo or not has_alpha else "RGBA")
    image.thumbnail((MOST_SIDE, MOST_SIDE))
    plain = Image.new(image.mode, image.size)
    plain.paste(image)
    out = io.BytesIO()
    if is_photo:
        plain.save(out, "JPEG", quality=88, optimize=True)
    else:
        plain.save(out, "PNG", optimize=True)
    kind = "image/jpeg" if is_photo else "image/png"
    return {"type": kind, "width": plain.width, "height": plain.height}, out.getvalue()


if __name__ == "__main__":
    main()
