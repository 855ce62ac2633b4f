"""The HTML report in a real browser: nothing is refused or asked for, the keyboard gets everywhere, what is said to
screen readers is checked by axe. Skipped where there is no Chromium with its driver, no selenium (`pip install
'lanewise[browser]'`), and, for axe, no `node_modules/axe-core` (`npm install --no-save axe-core`)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from html_samples import advised

from lanewise.catalogue import catalogue
from lanewise.report.html import to_html

pytest.importorskip("selenium", reason="no selenium")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="no chromium with its driver")
AXE = Path(__file__).parents[2] / "node_modules/axe-core/axe.min.js"
OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(to_html(advised()))
    (folder / "zh.html").write_text(to_html(advised(), catalogue("zh")))
    options = ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for option in (*OPTIONS.split(), f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(DRIVER))
    driver.page = f"file://{folder / 'report.html'}"  # type: ignore[attr-defined]
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any) -> Any:
    browser.get("about:blank")
    browser.get(browser.page)
    return browser


def test_nothing_is_refused_and_nothing_but_the_file_is_asked_for(page: Any) -> None:
    assert page.get_log("browser") == []
    sent = [
        entry["message"] for entry in page.get_log("performance") if "Network.requestWillBeSent" in entry["message"]
    ]
    assert [message for message in sent if "http" in message.split('"url":"')[1][:5]] == []


def _press(page: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(page).send_keys(*keys).perform()


def test_the_keyboard_gets_to_the_report_and_sorts_its_table(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    _press(page, Keys.TAB)
    skip = page.switch_to.active_element
    assert skip.text == "Skip to the report"
    assert skip.location["y"] >= 0
    assert page.execute_script("return getComputedStyle(arguments[0]).outlineStyle", skip) == "solid"
    _press(page, Keys.ENTER)
    assert page.switch_to.active_element.get_attribute("id") == "report"

    head = "document.querySelectorAll('.sortable thead th')[3]"
    order = "return [...document.querySelectorAll('.sortable tbody tr')].map(row => row.cells[0].textContent)"
    assert page.execute_script(order) == ["1", "2", "3"]
    page.execute_script(f"{head}.querySelector('button').focus()")
    _press(page, Keys.ENTER)
    assert page.execute_script(order) == ["3", "2", "1"]  # by time
    assert page.execute_script(f"return {head}.getAttribute('aria-sort')") == "ascending"
    _press(page, Keys.SPACE)
    assert page.execute_script(order) == ["1", "2", "3"]


def test_a_link_opens_the_kernel_that_it_leads_to(page: Any) -> None:
    page.execute_script("document.querySelector('[data-close]').click()")
    assert page.execute_script("return document.querySelectorAll('details.kernel[open]').length") == 0
    page.execute_script("document.querySelector('a[href=\"#a1.1\"]').click()")
    page.execute_async_script("setTimeout(arguments[0], 50)")
    assert page.execute_script("return document.getElementById('k1').open")
    assert page.switch_to.active_element.get_attribute("id") == "a1.1"


def test_colours_follow_the_system_until_they_are_chosen(page: Any) -> None:
    def ground(scheme: str) -> str:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        value: str = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        return value

    light, dark = ground("light"), ground("dark")
    assert light != dark
    choose = "const s = document.getElementById('scheme'); s.value = '{}'; s.dispatchEvent(new Event('change'))"
    page.execute_script(choose.format("light"))
    assert ground("dark") == light
    page.execute_script(choose.format("light dark"))


def test_paper_shows_all_kernels(page: Any) -> None:
    page.execute_script("document.querySelector('[data-close]').click()")
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script("return document.querySelectorAll('details.kernel[open]').length") == 3
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert page.execute_script("return document.querySelectorAll('details.kernel[open]').length") == 0


def test_a_narrow_window_scrolls_tables_and_not_the_page(page: Any) -> None:
    narrow = {"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        assert page.execute_script("return document.documentElement.scrollWidth") <= 360
        page.get(page.page.replace("report.html", "zh.html"))
        assert page.execute_script("return document.documentElement.lang") == "zh"
        assert page.execute_script("return document.documentElement.scrollWidth") <= 360
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Any, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page.execute_script("for (const details of document.querySelectorAll('details')) details.open = true")
    page.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text()})
    found = page.execute_async_script("axe.run().then(arguments[0])")
    assert [(v["id"], [node["html"] for node in v["nodes"]]) for v in found["violations"]] == []
    assert len(found["passes"]) > 20
