"""Make the README's pictures again: the released chapter, run in a real JupyterLab, photographed."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from tools.in_browser import chromium, jupyterlab, open_notebook, run_all

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
CHAPTER = "coalescing/coalescing.ipynb"


def main() -> None:
    """Run the chapter on a copy, take every picture, say what was written."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "release"
        shutil.copytree(ROOT / "release", folder)
        with jupyterlab(folder) as lab, chromium() as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 1000}, device_scale_factor=2)
            open_notebook(page, lab, CHAPTER)
            run_all(page)
            _save(_explorer(page, "stride 2"), PICTURES / "explorer-coalescing.png")


def _explorer(page: Page, preset: str) -> bytes:
    """The explorer set to `preset`, cropped to its frame."""
    menu = page.get_by_label("Start from")
    explorer = page.locator(".gmc", has=menu)
    menu.select_option(preset)
    explorer.locator("p", has_text="yet it moves with its sector").wait_for()
    page.mouse.move(0, 0)  # nothing lit by the pointer
    return explorer.screenshot(animations="disabled")


def _save(picture: bytes, file: Path) -> None:
    """Few colours are in use, so a palette keeps the repository small."""
    image = Image.open(io.BytesIO(picture)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    image.save(file, optimize=True)
    print(f"{file.relative_to(ROOT)}: {image.width} x {image.height}, {file.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
