"""A Chromium without a window, which a suite drives.

    browser.py server ADDRESS DIRECTORY

It says "ready" when the browser runs, and ends with its standard input. ADDRESS
is of no use to it. DIRECTORY becomes the profile of the browser. Each line of
its input is an order, a JSON array of a name and its arguments; each is answered
by a line of JSON, {"value": ...} or {"error": ...}.
"""

import base64
import json
import os
import sys

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

OPTIONS = """--headless=new --no-sandbox --disable-gpu --disable-background-networking
    --no-first-run --disable-component-update --disable-sync --disable-quic
    --disable-dev-shm-usage --disable-extensions --disable-default-apps
    --disable-features=Translate,OptimizationHints,MediaRouter --no-proxy-server
    --hide-scrollbars --window-size=1280,900""".split()

# A browser loads pages of its own; they are not those of the suite.
OWN = ("chrome:", "chrome-untrusted:", "devtools:", "data:")


def start(profile):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for option in OPTIONS + ["--user-data-dir=" + profile]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs",
                           {"browser": "ALL", "performance": "ALL"})

    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"),
                              options=options)
    driver.set_page_load_timeout(120)
    driver.set_script_timeout(60)
    return driver


class Browser:
    def __init__(self, profile):
        self.driver = start(profile)
        self.seen = []

    def open(self, url):
        self.driver.get(url)

    # The value of a function body. Its arguments are arguments[0] and so on.
    def script(self, body, *arguments):
        return self.driver.execute_script(body, *arguments)

    # Keys by their names, such as TAB, or text: to what has the focus.
    def keys(self, *keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(
                getattr(Keys, key, key))

    # A real click, at a place that nothing else covers.
    def click(self, body, *arguments):
        element = self.driver.execute_script(body, *arguments)
        if element is None:
            raise WebDriverException("there is nothing to click: " + body)
        self.driver.execute_script(
            "arguments[0].scrollIntoView({ block: 'center' })", element)
        element.click()

    # The window is put away, and taken out again.
    def leave(self):
        self.driver.minimize_window()

    def come_back(self):
        self.driver.set_window_rect(0, 0, 1280, 900)

    # The width and height of the page, in its own pixels, and how many pixels
    # of the screen each of them has.
    def size(self, width, height, scale=1):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": scale,
             "mobile": width < 600})

    # What the machine prefers: prefers-color-scheme dark, and the like.
    def prefer(self, name, value):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": name, "value": value}]})

    # What a screen reader gets: pairs of a role and a name.
    def tree(self):
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})
        return [(node["role"]["value"], node.get("name", {}).get("value", ""))
                for node in nodes["nodes"] if not node["ignored"]]

    def picture(self, path):
        data = self.driver.get_screenshot_as_base64()
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    # What the console has got since it was asked for last.
    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    # The requests since the last call, as {url, method, status}.
    def requests(self):
        found = {}
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            what = event["params"]
            if event["method"] == "Network.requestWillBeSent":
                request = what["request"]
                if not request["url"].startswith(OWN):
                    found[what["requestId"]] = {"url": request["url"],
                                                "method": request["method"]}
            elif event["method"] == "Network.responseReceived":
                if what["requestId"] in found:
                    found[what["requestId"]]["status"] = \
                        what["response"]["status"]
        return list(found.values())


def main():
    browser = Browser(os.path.abspath(sys.argv[3]))
    print("ready", flush=True)

    try:
        for line in sys.stdin:
            name, *arguments = json.loads(line)
            try:
                answer = {"value": getattr(browser, name)(*arguments)}
            except WebDriverException as error:
                answer = {"error": str(error.msg)}
            print(json.dumps(answer), flush=True)
    finally:
        browser.driver.quit()


if __name__ == "__main__":
    main()
