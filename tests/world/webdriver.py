"""A real Chromium behind its driver, spoken to in the W3C's WebDriver protocol with Python's standard library alone."""

import base64
import contextlib
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def missing():
    """What keeps a browser from being used here; None: nothing."""
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed (apt-get install chromium chromium-driver)"
    return None


class Browser:
    def __init__(self, port, width=1280, height=1600):
        self.base = f"http://127.0.0.1:{port}"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                            "--force-device-scale-factor=1", f"--window-size={width},{height}"]}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.session = "/session/" + answer["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as problem:
            raise AssertionError(problem.read().decode()[:2000]) from None

    def open(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    def script(self, text, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": text, "args": list(arguments)})

    def wait(self, what, text, seconds=300):
        """Until the script is true; `what` names it when it never is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := self.script("return " + text):
                return found
            time.sleep(0.2)
        raise AssertionError(f"{what}: not seen on the page:\n" + self.script("return document.body.innerText")[-2000:])

    def click(self, selector, text=None):
        """The first one that is shown and has the text."""
        clicked = self.script(
            "for (const node of document.querySelectorAll(arguments[0])) {"
            "  if (node.offsetParent === null || (arguments[1] && node.textContent.trim() !== arguments[1])) continue;"
            "  node.click(); return true; } return false;", selector, text)
        assert clicked, f"there is no {selector} '{text}'"

    def type(self, selector, text):
        self.script("const node = [...document.querySelectorAll(arguments[0])].find((n) => n.offsetParent !== null);"
                    "node.focus(); node.value = arguments[1]; node.dispatchEvent(new Event('input', {bubbles: true}));",
                    selector, text)

    def press(self, *keys):
        """Keys as a keyboard sends them, to whatever has the focus: "Tab", "Enter", "ArrowDown", or letters."""
        codes = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c", "ArrowRight": "\ue014", "ArrowDown": "\ue015"}
        actions = [{"type": kind, "value": codes.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def tab_to(self, what, text, most=80):
        """Presses Tab until the script is true of `node`, which has the focus; it must show that it has. Returns how often."""
        for count in range(1, most + 1):
            self.press("Tab")
            focused = self.script("const node = document.activeElement; if (!node || node === document.body) return null;"
                                  "const style = getComputedStyle(node);"
                                  "const seen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';"
                                  f"return {{found: Boolean({text}), seen, name: node.outerHTML.slice(0, 200)}};")
            if focused is None:
                continue
            assert focused["seen"], f"nobody sees that this has the focus: {focused['name']}"
            if focused["found"]:
                return count
        raise AssertionError(f"{what}: {most} times Tab does not lead there")

    def log(self, kind):
        return self.call("POST", self.session + "/se/log", {"type": kind})

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def problems(self):
        """What the console complains about."""
        return [line["message"] for line in self.log("browser") if line["level"] in ("SEVERE", "WARNING")]

    def hosts(self):
        """Whom the page has asked for anything."""
        asked = set()
        for line in self.log("performance"):
            message = json.loads(line["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = urllib.parse.urlsplit(message["params"]["request"]["url"])
                if url.scheme in ("http", "https", "ws", "wss"):
                    asked.add(url.netloc)
        return asked


@contextlib.contextmanager
def browser(width=1280, height=1600):
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    opened = None
    try:
        port = next(line.rsplit(" ", 1)[1].strip(". \n") for line in driver.stdout if "successfully" in line)
        opened = Browser(port, width, height)
        yield opened
    finally:
        if opened:
            opened.call("DELETE", opened.session)
        driver.terminate()
        driver.wait()
