"""Draw the top of a page as a picture, for the README, as Chromium shows it on a wide screen.

python scripts/page_picture.py demo/report.html -o docs/pictures/report.png --height 1290

The README's picture is of `scripts/demo`.

The picture has few colors, so that it stays small; it is refused where it is not.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from harness import parser
from PIL import Image
from playwright.sync_api import sync_playwright

MOST_BYTES = 150_000
COLORS = 64
SCALE = 1.5
"""Pixels of the picture to one of the page: letters stay readable where a README is wide."""


def main() -> None:
    options = parser(__doc__, page=Path, width=1180, height=1000, dark=False)
    options.add_argument("-o", "--output", type=Path, required=True)
    given = options.parse_args()
    picture = compressed(shot(given.page, (given.width, given.height), dark=given.dark))
    if len(picture) > MOST_BYTES:
        raise SystemExit(
            f"{len(picture):,} bytes, more than {MOST_BYTES:,}: choose a lower --height"
        )
    given.output.write_bytes(picture)
    print(f"{given.output}: {len(picture):,} bytes")


def shot(page: Path, size: tuple[int, int], *, dark: bool) -> bytes:
    """The top of the page as a PNG."""
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(
            viewport={"width": size[0], "height": size[1]},
            device_scale_factor=SCALE,
            color_scheme="dark" if dark else "light",
        )
        tab.goto(page.resolve().as_uri())
        picture = tab.screenshot()
        browser.close()
    return picture


def compressed(picture: bytes) -> bytes:
    """The same picture in few colors."""
    image = (
        Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    )
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main()
