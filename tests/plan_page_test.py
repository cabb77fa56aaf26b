"""The page of `dure plan --html` in a headless Chromium: it draws without a complaint, asks the
network for nothing, fits small screens, and can be read by keyboard. Needs a Chromium on the path,
which nothing else of the project does: without one these tests are skipped."""

import os
import shutil
import subprocess

import pytest

import chromium
from serving import BIN, ROOT

pytestmark = pytest.mark.skipif(
    chromium.path() is None,
    reason="no Chromium here (Debian: apt-get install chromium): the page was not looked at")

PLANS = {
    "fits": ["deepseek-v3", "--gpu", "h200", "--gpus", "16", "--gpus-per-node", "8",
             "--input", "2000", "--output", "500", "--concurrency", "256"],
    "does-not-fit": ["llama-3.1-405b", "--gpu", "h100", "--gpus", "8", "--weights", "bf16",
                     "--concurrency", "64"],
    "pools": ["kimi-k2", "--gpu", "gb200", "--gpus", "72", "--concurrency", "512",
              "--disaggregate"],
    "one-gpu": ["gpt-oss-120b", "--gpu", "h100", "--gpus", "1", "--concurrency", "32"],
    "one-token": ["qwen3-0.6b", "--gpu", "h100", "--gpus", "1", "--concurrency", "1",
                  "--input", "100", "--output", "1"],
    "misses": ["gpt-oss-120b", "--gpu", "h100", "--gpus", "2", "--concurrency", "64",
               "--tpot", "2ms", "--ttft", "1s"],
}
PICTURES = os.environ.get("DURE_PICTURES")  # a folder, to look at them


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    files = {}
    for name, plan in PLANS.items():
        files[name] = folder / f"{name}.html"
        done = subprocess.run([BIN / "dure", "plan", *plan, "--html", files[name]],
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode in (0, 1), done.stderr
    return files


@pytest.fixture(scope="module")
def browser():
    with chromium.Browser() as opened:
        yield opened


def assert_quiet(browser, file):
    assert browser.complaints() == []
    loaded = [url for url in browser.requests() if not url.startswith("data:")]
    assert loaded == [file.as_uri()]


def test_complaints_are_heard(browser, tmp_path):
    # That the checks below would see an error, a request, and a page that is too wide.
    file = tmp_path / "wrong.html"
    file.write_text("<div style='width:3000px'>x</div><img src='missing.png'>"
                    "<script>console.error('told'); nothing()</script>")
    browser.open(file.as_uri())
    assert len(browser.complaints()) >= 2
    assert any(url.endswith("missing.png") for url in browser.requests())
    assert browser.evaluate("document.documentElement.scrollWidth") > 1280


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_draws_quietly_and_fits_the_screen(browser, pages, name, width, scheme):
    browser.open(pages[name].as_uri(), width=width, scheme=scheme)
    assert_quiet(browser, pages[name])
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    headings = browser.evaluate("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert {"Memory of each rank", "Nodes and ranks", "Assumptions"} <= set(headings)
    # Nothing that came out of a missing number.
    text = browser.evaluate("document.body.innerText")
    for wrong in ("NaN", "undefined", "null", "Infinity", "[object"):
        assert wrong not in text
    if PICTURES:
        browser.picture(os.path.join(PICTURES, f"{name}-{width}-{scheme}.png"))


@pytest.mark.parametrize("name", PLANS)
def test_prints_on_paper(browser, pages, name):
    browser.open(pages[name].as_uri(), width=794, media="print", scheme="dark")
    assert_quiet(browser, pages[name])
    assert browser.evaluate("document.documentElement.scrollWidth") <= 794
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == \
        "rgb(255, 255, 255)"


def test_every_figure_is_a_table_too(browser, pages):
    browser.open(pages["fits"].as_uri())
    captions = browser.evaluate("[...document.querySelectorAll('caption')].map(c => c.textContent)")
    assert captions == ["Memory of each rank", "Time of a step",
                        "The line from fastest to cheapest"]
    assert browser.evaluate("document.querySelectorAll('details tbody tr').length") > 20
    # Drawings have words for who cannot see them.
    assert browser.evaluate("[...document.querySelectorAll('svg[role=img]')]"
                            ".every(bar => bar.getAttribute('aria-label').length > 20)")


def test_the_front_is_walked_by_keyboard(browser, pages):
    browser.open(pages["fits"].as_uri())
    focused = "document.activeElement.getAttribute('aria-label')"
    stops = 0
    while not browser.evaluate("document.activeElement.matches('.point')"):
        browser.press("Tab")
        stops += 1
        assert stops < 30  # those before are the scrolled table and the layouts to choose from
    first = browser.evaluate(focused)
    assert "requests in flight" in first or "request in flight" in first
    assert browser.evaluate("document.getElementById('tip').textContent").startswith(
        first.split(",")[0])
    browser.press("ArrowRight")
    second = browser.evaluate(focused)
    assert second != first
    assert browser.evaluate("document.querySelectorAll('.point[tabindex=\"0\"]').length") == 1
    browser.press("ArrowLeft")
    assert browser.evaluate(focused) == first


def test_another_layout_is_drawn_when_chosen(browser, pages):
    browser.open(pages["pools"].as_uri())
    before = browser.evaluate("document.querySelectorAll('.rank').length")
    assert before > 0
    chosen = browser.evaluate(
        "(() => { const of = [...document.querySelectorAll('.choices button')]"
        ".find(button => button.textContent.includes('→'));"
        " of.click(); return of.getAttribute('aria-pressed'); })()")
    assert chosen == "true"
    assert browser.evaluate("document.querySelectorAll('.gpus .prefill').length") > 0
    assert "prefill" in browser.evaluate(
        "document.querySelector('.cluster').getAttribute('aria-label')")
    if PICTURES:
        browser.picture(os.path.join(PICTURES, "pools-chosen.png"))


def test_a_name_is_never_markup(browser, tmp_path):
    folder = tmp_path / "<img src=x onerror=alert(1)><b>&amp;'\"{{script}}"
    folder.mkdir()
    shutil.copy(ROOT / "testdata/models/mixtral/config.json", folder)
    file = tmp_path / "plan.html"
    done = subprocess.run([BIN / "dure", "plan", folder, "--gpu", "h100", "--gpus", "1",
                           "--concurrency", "4", "--html", file],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    browser.open(file.as_uri())
    assert_quiet(browser, file)
    assert browser.evaluate("document.querySelector('h1').textContent") == f"{folder} on 1 × h100"
    assert browser.evaluate("document.title") == f"{folder} on 1 × h100"
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
