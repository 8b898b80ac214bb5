# SPDX-License-Identifier: Apache-2.0
"""The site that dev/docs.sh builds: the reference is complete, and the pages work in a browser."""

import re
import runpy
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright
from sphinx.util.inventory import InventoryFile

import cudf_arrow_bridge as cab

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
SCREENSHOTS = ROOT / "build" / "screenshots"
FOLDERS = ["csrc", "docs", "examples", "tests"]
#: Folders of pages that Sphinx generates.
GENERATED = ["docs/api/cpp", "docs/api/python"]
SOURCE = "_modules/cudf_arrow_bridge/arrow/fences.html"


def length(page):
    return (SITE / page).stat().st_size


def all_pages():
    for pattern in ("[!i]*.html", *(f"{folder}/**/*.html" for folder in FOLDERS)):
        for path in sorted(SITE.glob(pattern)):
            yield path.relative_to(SITE).as_posix()


def pages_to_open():
    """Return all written pages, the three longest pages of each generated folder, and a source."""
    pages = {*all_pages(), SOURCE, "search.html?q=requested_schema"}
    for folder in GENERATED:
        generated = {page for page in pages if page.startswith(f"{folder}/")}
        pages -= set(sorted(generated, key=length)[:-3])
    return sorted(pages)


PAGES = pages_to_open()
PICTURES = sorted(
    path.stem for path in (ROOT / "docs" / "_static").glob("*.svg") if path.stem != "icon"
)

#: A search shows its results one by one, and loads the page of each.
expect.set_options(timeout=30_000)


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    handler = partial(QuietHandler, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        # Chromium's sandbox does not run as root.
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, address):
    """Open pages of the site; fail if they report errors or request data of other hosts."""
    faults = []
    contexts = []

    def open_page(name, *, width=1280, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda line: line.type == "error" and faults.append(line.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("response", lambda response: response.status < 400 or faults.append(response.url))
        page.on(
            "request",
            lambda request: (
                urlsplit(request.url).hostname == "127.0.0.1"
                or request.url.startswith("data:")
                or faults.append(request.url)
            ),
        )
        page.goto(f"{address}/{name}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture(scope="module")
def inventory():
    return InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="")


def python_names():
    modules = {"cudf_arrow_bridge": cab} | {
        f"cudf_arrow_bridge.{name}": getattr(cab, name) for name in ("dask", "ipc", "polars", "ray")
    }
    for module_name, module in modules.items():
        for name in module.__all__:
            if name != "__version__" and f"{module_name}.{name}" not in modules:
                yield f"{module_name}.{name}"


def cpp_names():
    types = r"^(?:class|enum class|struct|using) (?:CUDF_ARROW_BRIDGE_EXPORT )?(\w+)\b(?!;)"
    functions = r"^(?:\[\[nodiscard\]\] )?CUDF_ARROW_BRIDGE_EXPORT [^;{()]*?(\w+)\("
    for header in sorted((ROOT / "csrc/include/cudf_arrow_bridge").glob("*.hpp")):
        if header.name != "arrow_abi.hpp":
            text = header.read_text()
            for pattern in (types, functions):
                yield from re.findall(pattern, text, re.MULTILINE)


def documented_names(inventory, domain):
    """Return the page of each documented name."""
    kinds = ("class", "enum", "function", "type")
    items = [inventory.data.get(f"{domain}:{kind}", {}) for kind in kinds]
    return {name: item.uri.partition("#")[0] for data in items for name, item in data.items()}


def test_reference_has_a_page_for_every_public_python_name(inventory):
    pages = documented_names(inventory, "py")
    for name in python_names():
        assert pages[name] == f"docs/api/python/{name}.html"


def test_reference_has_every_public_cpp_name(inventory):
    pages = documented_names(inventory, "cpp")
    documented = {name.rpartition("::")[2]: page for name, page in pages.items()}
    names = set(cpp_names())
    assert len(names) > 50
    assert names - documented.keys() == set()
    assert documented["device_array"] == "docs/api/cpp/device_array.html"


@pytest.mark.parametrize(("language", "names"), [("python", python_names), ("cpp", cpp_names)])
def test_overview_has_a_sentence_for_every_name(open_page, language, names):
    page = open_page(f"docs/api/{language}.html")
    rows = page.locator("table.autosummary tr").all()
    summaries = dict(row.locator("td").all_inner_texts() for row in rows)
    names = {name.removeprefix("cudf_arrow_bridge.").rpartition(".")[2] for name in names()}
    assert names - summaries.keys() == set()
    assert [name for name, text in summaries.items() if not re.match(r"\S.{7,}\.$", text)] == []


def test_class_leads_to_its_source(open_page):
    page = open_page("docs/api/python/cudf_arrow_bridge.DeviceArray.html")
    page.get_by_role("link", name="[source]").first.click()
    page.wait_for_url("**/_modules/cudf_arrow_bridge/arrow/device_array.html#**")
    expect(page.get_by_text("class DeviceArray(")).to_be_in_viewport()


def test_every_page_has_a_description():
    without = {"genindex.html", "py-modindex.html", "search.html"}
    for page in all_pages():
        if page not in without:
            text = (SITE / page).read_text()
            found = re.search(r'<meta name="description" content="([^"]{15,})"', text)
            assert found, page


def test_header_shows_the_logo(open_page):
    page = open_page("docs/index.html")
    logo = page.locator(".bd-header .logo__image:visible")
    assert logo.evaluate("image => image.naturalWidth") > 0


@pytest.mark.parametrize("page", PAGES)
def test_page_has_no_serious_accessibility_fault(open_page, page):
    # Without reduced motion, colors change slowly.
    opened = open_page(page, color_scheme="light", reduced_motion="reduce")
    opened.wait_for_load_state("networkidle")
    faults = serious_faults(opened)
    # The schemes differ only in their colors.
    opened.emulate_media(color_scheme="dark")
    expect(opened.locator("html")).to_have_attribute("data-theme", "dark")
    faults += serious_faults(opened, runOnly=["color-contrast"])
    assert faults == []


def serious_faults(page, **options):
    # Preloading requests style sheets at wrong addresses. Only violations take half of the time.
    options |= {"preload": False, "resultTypes": ["violations"]}
    return [
        (fault["id"], fault["nodes"][0]["html"])
        for fault in Axe().run(page, options=options).response["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("page", PAGES)
def test_page_fits_on_a_phone(open_page, page):
    opened = open_page(page, width=390, height=844, is_mobile=True, has_touch=True)
    if "?" in page:
        opened.wait_for_load_state("networkidle")  # each result loads its summary
    assert opened.locator("article, #search-results").count() == 1
    cut = opened.locator("article, #search-results, .prev-next-area a").evaluate_all(
        "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"
    )
    assert cut == []


def test_a_word_in_the_link_to_another_page_is_on_one_line_on_a_phone(open_page):
    page = open_page("docs/concepts.html", **VIEWS["phone"])
    lines = page.locator(".prev-next-title", has_text="Troubleshooting").evaluate(
        """title => {
            const range = document.createRange();
            range.selectNodeContents(title);
            return range.getClientRects().length;
        }"""
    )
    assert lines == 1


@pytest.mark.parametrize("width", [1440, 390])
def test_names_in_tables_are_on_one_line(open_page, address, width):
    written = [page for page in PAGES if "?" not in page]
    pages = [page for page in written if "<td" in (SITE / page).read_text()]
    opened = open_page("docs/index.html", width=width)
    broken = {}
    for page in pages:
        opened.goto(f"{address}/{page}")
        names = opened.locator("article :is(td, th) code .pre").evaluate_all(
            "names => names.filter(n => n.getClientRects().length > 1).map(n => n.textContent)"
        )
        if names:
            broken[page] = names
    assert len(pages) > 10
    assert broken == {}


def test_letters_of_the_module_index_are_legible_in_the_dark_theme(open_page):
    row = open_page("py-modindex.html", color_scheme="dark").locator("tr.cap").first
    colors = row.evaluate(
        "row => [getComputedStyle(row).color, getComputedStyle(row).backgroundColor]"
    )
    assert contrast(*map(channels, colors)) >= 4.5


def test_outputs_do_not_look_like_code(open_page):
    page = open_page("README.html", color_scheme="dark")
    code, output = (
        page.locator(f".highlight-{language} :is(.highlight, pre)").evaluate_all(
            "all => new Set(all.map(e => getComputedStyle(e).backgroundColor)).values().toArray()"
        )
        for language in ("python", "text")
    )
    assert code != output == ["rgba(0, 0, 0, 0)"]


@pytest.mark.parametrize("name", ["README", "docs/speed"])
def test_pictures_follow_the_theme_of_the_site(open_page, name):
    def picture(page):
        image = page.locator("article img").first
        assert image.evaluate("image => getComputedStyle(image).filter") == "none"
        return image.screenshot()

    light, dark = (open_page(f"{name}.html", color_scheme=scheme) for scheme in ("light", "dark"))
    assert picture(light) != picture(dark)
    light.evaluate("localStorage.setItem('theme', 'dark'), localStorage.setItem('mode', 'dark')")
    light.reload()
    assert picture(light) == picture(dark)


@pytest.mark.parametrize(
    "plot", sorted(ROOT.glob("benchmarks/results/*.svg")), ids=lambda p: p.stem
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_of_plots_has_the_contrast_of_text(browser, plot, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto(plot.as_uri())
    background, *texts = page.evaluate(
        """() => [
            getComputedStyle(document.documentElement).backgroundColor,
            ...[...document.querySelectorAll("text")].map(text => getComputedStyle(text).fill),
        ]"""
    )
    page.close()
    assert len(texts) > 20
    assert min(contrast(channels(text), channels(background)) for text in texts) >= 4.5


def test_generated_pages_fit_on_a_phone(open_page, address):
    pages = [page for page in all_pages() if page.startswith(tuple(GENERATED))]
    opened = open_page(pages[0], **VIEWS["phone"])
    too_wide = []
    for page in pages:
        opened.goto(f"{address}/{page}")
        if overflow(opened) > 0:
            too_wide.append(page)
    assert too_wide == []


def overflow(page):
    article = page.locator("article, #search-results").first
    return article.evaluate("element => element.scrollWidth - element.clientWidth")


def test_root_redirects_to_the_first_page(open_page):
    page = open_page("")
    page.wait_for_url("**/docs/index.html")


def test_search_finds_a_function(open_page):
    page = open_page("docs/index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("from_arrow_device")
    page.keyboard.press("Enter")
    link = page.locator("ul.search a", has_text="cudf_arrow_bridge.from_arrow_device").first
    link.click()
    expect(page.locator("[id='cudf_arrow_bridge.from_arrow_device']")).to_be_in_viewport()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("asyncio", "docs/async"),
        ("copy=False", "docs/performance"),
        ("cuda stream", "docs/ordering"),
        ("DeviceArray.report", "docs/api/python/cudf_arrow_bridge.DeviceArray"),
        ("embeddings", "docs/how-to/torch"),
        ("export", "docs/api/python"),
        ("install without GPU", "docs/versions"),
        ("memory leak", "docs/ownership"),
        ("open_file", "docs/api/python/cudf_arrow_bridge.ipc.open_file"),
        ("requested_schema", "docs/types"),
        ("stream=", "docs/ordering"),
        ("timezone", "docs/types"),
        ("to_pandas", "docs/api/python/cudf_arrow_bridge.DeviceArray"),
        ("zero-copy", "docs/types"),
    ],
)
def test_search_shows_the_page_among_the_first_three(open_page, query, expected):
    page = open_page(f"search.html?q={quote(query)}")
    expect(page.locator(".search-summary")).to_contain_text("Search finished")
    links = page.locator("ul.search a").all()[:3]
    pages = [link.get_attribute("href").partition(".html")[0] for link in links]
    assert expected in pages


def test_search_shows_the_changelog_last(open_page):
    page = open_page("search.html?q=asyncio")
    expect(page.locator(".search-summary")).to_contain_text("Search finished")
    last = page.locator("ul.search a").last
    expect(last).to_have_attribute("href", re.compile("^CHANGELOG.html"))


def test_switcher_leads_to_the_page_of_another_version(open_page, address, tmp_path_factory):
    versions = SITE / "versions"  # below the folder that the server serves
    publish = runpy.run_path(str(ROOT / "dev" / "publish_docs.py"))["publish"]
    built = tmp_path_factory.mktemp("built") / "site"
    shutil.copytree(SITE, built)
    try:
        for version in ("dev", "26.10.0"):
            publish(built, versions, version, f"{address}/versions")
        page = open_page("versions/dev/docs/streams.html")
        button = page.locator(".version-switcher__button:visible")
        expect(button).to_have_text("dev")
        button.click()
        entries = page.locator(".version-switcher__menu:visible a")
        expect(entries).to_have_text(["dev", "26.10.0 (stable)"])
        entries.nth(1).click()
        page.wait_for_url("**/versions/stable/docs/streams.html")
    finally:
        shutil.rmtree(versions, ignore_errors=True)


VIEWS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"width": 390, "height": 844, "is_mobile": True},
}


def take_screenshot(page, name):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@pytest.mark.parametrize("name", VIEWS)
def test_plots_of_the_speed_page_are_drawn(open_page, name):
    page = open_page("docs/speed.html", **VIEWS[name])
    images = page.locator("article img")
    assert images.count() == 4
    for image in images.all():
        # The smallest text has 12 px in the natural size.
        assert image.evaluate("image => image.width / image.naturalWidth") > 0.8
        assert len(image.get_attribute("alt") or "") > 30
    take_screenshot(page, f"speed-{name}")


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize(
    ("page", "count"),
    [
        ("README", 1), ("docs/async", 1), ("docs/ordering", 1), ("docs/ownership", 1),
        ("docs/tutorial", 2),
    ],
)  # fmt: skip
def test_pictures_are_legible(open_page, page, count, name):
    opened = open_page(f"{page}.html", **VIEWS[name])
    take_screenshot(opened, f"{Path(page).name.lower()}-{name}")
    images = opened.locator("article img")
    assert images.count() == count
    for image in images.all():
        size, width = image.evaluate("image => [image.naturalWidth, image.width]")
        assert width >= 0.7 * size  # the text has 14 to 16 px in the natural size
        assert len(image.get_attribute("alt") or "") > 30


@pytest.fixture
def open_picture(browser):
    """Open an SVG file of docs/_static."""
    pages = []

    def open_picture(name, **options):
        pages.append(browser.new_page(**options))
        pages[-1].goto((ROOT / "docs" / "_static" / f"{name}.svg").as_uri())
        return pages[-1]

    yield open_picture
    for page in pages:
        page.close()


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_of_pictures_fits_and_has_the_contrast_of_text(open_picture, name, scheme):
    """Axe does not compute the contrast of text in SVG. WCAG 2.2, criterion 1.4.3: at least 4.5."""
    page = open_picture(name, color_scheme=scheme)
    assert page.locator("title").first.text_content()
    texts = page.evaluate(
        """() => [...document.querySelectorAll("text:not(defs *)")].map(text => {
            const box = element => element.getBoundingClientRect();
            const {left, right, x, y, width, height} = box(text);
            const below = [...document.querySelectorAll("rect")].filter(rect =>
                rect.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING
                && box(rect).left <= x + width / 2 && x + width / 2 <= box(rect).right
                && box(rect).top <= y + height / 2 && y + height / 2 <= box(rect).bottom);
            const colors = below.map(rect => {
                const {fill, fillOpacity} = getComputedStyle(rect);
                return [fill, Number(fillOpacity)];
            });
            const fits = box(below.at(-1)).left < left && right < box(below.at(-1)).right;
            return [text.textContent, fits, getComputedStyle(text).fill, colors];
        })"""
    )
    # The picture of the array has its text in HTML; the next test checks it.
    assert texts or name == "tutorial-array"
    for content, fits, fill, colors in texts:
        assert fits, content
        ground = [255, 255, 255]
        for color, opacity in colors:
            if color != "none":
                mixed = zip(channels(color), ground, strict=True)
                ground = [opacity * c + (1 - opacity) * g for c, g in mixed]
        assert contrast(channels(fill), ground) >= 4.5, content


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_of_the_array_in_the_tutorial_has_the_contrast_of_text(open_picture, scheme):
    ground, *texts = open_picture("tutorial-array", color_scheme=scheme).evaluate(
        """() => [
            getComputedStyle(document.querySelector(".page")).fill,
            ...[...document.querySelectorAll("b, th, td")].map(e => getComputedStyle(e).color),
        ]"""
    )
    assert len(texts) > 20
    assert min(contrast(channels(text), channels(ground)) for text in texts) >= 4.5


@pytest.mark.parametrize("name", ["array", "diagram"])
def test_picture_of_the_tutorial_shows_all_of_its_content(open_picture, name):
    page = open_picture(f"tutorial-{name}")
    frame, content = page.locator("foreignObject").evaluate(
        """frame => [frame, frame.querySelector("table, svg")].map(element => {
            const {right, bottom} = element.getBoundingClientRect();
            return [right, bottom];
        })"""
    )
    assert content[0] <= frame[0]
    assert content[1] <= frame[1]


def test_bars_of_the_tutorial_have_the_width_of_their_column(open_picture):
    bars = open_picture("tutorial-array").get_by_role("img", name=re.compile("shared, .* copied"))
    assert bars.count() == 3
    for bar in bars.all():
        box = bar.bounding_box()
        assert box is not None
        parts = [part.bounding_box()["width"] for part in bar.locator("span").all()]
        assert box["width"] >= 80
        assert box["height"] >= 8
        assert sum(parts) == pytest.approx(box["width"], abs=1)


def channels(color):
    return [int(channel) for channel in re.findall(r"\d+", color)[:3]]


def contrast(*colors):
    dark, light = sorted(map(luminance, colors))
    return (light + 0.05) / (dark + 0.05)


def luminance(color):
    parts = [channel / 255 for channel in color]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
