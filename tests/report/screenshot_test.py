"""The page in a browser: not blank, nothing too wide, every figure painted; light, dark, and as wide as a phone."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

from support import SCHEMA_1, needs_matplotlib
from report import samples
from report.experiment import experiments

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONE, DESK = 390, 1000
LIGHT, DARK = 1, 0  # Chromium's numbers
COLOURS = {LIGHT: {"paper": (0xfd, 0xfd, 0xfe), "first": (0x00, 0x72, 0xb2), "second": (0xd5, 0x5e, 0x00)},
           DARK: {"paper": (0x16, 0x17, 0x1a), "first": (0x3b, 0x9f, 0xe0), "second": (0xe8, 0x72, 0x2a)}}

HEIGHT = 9000  # more than the page has

# The page is in a frame: Chromium's windows are at least 500 wide.
FRAME = """<!DOCTYPE html><html><head><meta name="color-scheme" content="light dark"><style>body { margin: 0 }</style>
<script>addEventListener("message", event => { document.title = event.data; });</script></head>
<body><iframe src="copy.html" width="%d" height="%d" style="border: 0; display: block"></iframe></body></html>"""

# Appended to a copy of the page: what a browser made of it.
MEASURE = """<script>
const boxes = [...document.querySelectorAll("figure svg")].map(one => {
  const box = one.getBoundingClientRect();
  const texts = [...one.querySelectorAll("text")].map(text => text.getBoundingClientRect());
  const out = texts.filter(text => text.left < box.left - 2 || text.right > box.right + 2 ||
                                   text.top < box.top - 2 || text.bottom > box.bottom + 2).length;
  const least = Math.min(...texts.map(text => text.height), 1000);
  return [box.left, box.top + scrollY, box.width, box.height, out, least].map(Math.round).join(",");
});
const root = document.documentElement;
const last = document.body.lastElementChild.getBoundingClientRect().bottom;
parent.postMessage([innerWidth, root.scrollWidth, Math.round(last), matchMedia("(prefers-color-scheme: dark)").matches,
                    ...boxes].join(" "), "*");
</script>"""


class View:
    """The page at a width and in a colour scheme."""

    def __init__(self, folder, page, width, scheme):
        copy = os.path.join(folder, "copy.html")
        with open(copy, "w") as file:
            file.write(page + MEASURE)
        self.scheme = scheme
        with open(os.path.join(folder, "frame.html"), "w") as file:
            file.write(FRAME % (width, HEIGHT))
        shot = os.path.join(folder, "shot.png")
        dump = subprocess.run(
            [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--user-data-dir=" + os.path.join(folder, "profile"), "--blink-settings=preferredColorScheme=%d" % scheme,
             "--window-size=%d,%d" % (max(width, 600), HEIGHT), "--virtual-time-budget=3000", "--dump-dom",
             "--screenshot=" + shot, "file://" + os.path.join(folder, "frame.html")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60)
        found = re.search("<title>(.*?)</title>", dump.stdout)
        assert found and os.path.exists(shot), "the browser says: " + dump.stderr[-2000:]
        words = found.group(1).split()
        self.width, self.scroll_width, self.height = map(int, words[:3])
        self.is_dark = words[3] == "true"
        self.figures = [list(map(int, box.split(","))) for box in words[4:]]
        from PIL import Image  # (of the report's packages)
        with Image.open(shot) as image:
            self.image = image.convert("RGB")

    def pixels_of(self, box, colour):
        """How many pixels of a part have this colour, nearly."""
        left, top, width, height = box[:4]
        part = self.image.crop((left, top, left + width, top + height))
        return sum(count for count, pixel in part.getcolors(maxcolors=1 << 24)
                   if all(abs(one - other) < 8 for one, other in zip(pixel, colour)))


@needs_matplotlib
@unittest.skipIf(BROWSER is None, "no chromium, chromium-browser or google-chrome")
class Screenshot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from report import page
        cls.found = experiments(*samples.read(SCHEMA_1))
        cls.page = page.page(cls.found)

    def test_light_dark_and_on_a_phone(self):
        for width, scheme in ((DESK, LIGHT), (DESK, DARK), (PHONE, LIGHT)):
            with self.subTest(width=width, is_dark=scheme == DARK), tempfile.TemporaryDirectory() as folder:
                self.check(View(folder, self.page, width, scheme), width)

    def check(self, view, width):
        colours = COLOURS[view.scheme]
        self.assertEqual((view.width, view.is_dark), (width, view.scheme == DARK))
        self.assertLess(view.height, HEIGHT)
        self.assertLessEqual(view.scroll_width, width, "the page is wider than the window")
        self.assertEqual(view.image.getpixel((2, 2)), colours["paper"])
        self.assertEqual(len(view.figures), len([one for one in self.found if one.contests]))
        for at, box in enumerate(view.figures):
            with self.subTest(figure=self.found[at].name):
                self.assertGreater(box[2], width * 0.5)
                self.assertEqual(box[4], 0, "texts that leave the figure")
                self.assertGreaterEqual(box[5], 9, "the height of the smallest text")
                # A member's colour, the ink of its texts, and mostly paper.
                from report.draw import style  # (needs matplotlib)
                one = self.found[at]
                drawn = {style.look(one, name)[0] for name in one.members
                         if one.says != "ratio" or name != one.baseline}
                for name, colour in zip(("first", "second"), style.SERIES):
                    if colour in drawn:
                        self.assertGreater(view.pixels_of(box, colours[name]), 30, name)
                paper = view.pixels_of(box, colours["paper"]) / (box[2] * box[3])
                self.assertTrue(0.6 < paper < 0.98, "%.2f of it is empty" % paper)

    def test_it_would_see_a_blank_figure_and_a_wide_page(self):
        broken = re.sub(r"(<svg[^>]*>).*?</svg>", r"\1</svg>", self.page, flags=re.DOTALL)
        broken = broken.replace("</h1>", "</h1><div style='width: 50rem'>wide</div>", 1)
        with tempfile.TemporaryDirectory() as folder:
            view = View(folder, broken, PHONE, DARK)
        self.assertTrue(view.is_dark)
        self.assertEqual(view.pixels_of(view.figures[0], COLOURS[DARK]["second"]), 0)
        self.assertGreater(view.scroll_width, PHONE)
