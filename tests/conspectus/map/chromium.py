"""A real Chromium without a window, steered through a pipe by the DevTools protocol: no driver, no port, no network."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.waiting import LIMIT

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_SWITCHES = (
    "--headless=new --no-sandbox --disable-gpu --remote-debugging-pipe --no-first-run --disable-extensions "
    "--disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage "
    "--hide-scrollbars --mute-audio --proxy-server=127.0.0.1:9 --lang=en"
).split()
_KEYS = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}


class Unanswered(AssertionError):
    """The browser could not do what a call asks."""


class Page:
    """A page that is open. Every message of its console and every request of it is kept."""

    def __init__(self, program: "subprocess.Popen[bytes]", write: int, read: int) -> None:
        self._program, self._write, self._read = program, write, read
        self._held = b""
        self._last = 0
        self._session: str | None = None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Return what a method of the protocol answers; the events that come before are taken note of."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            got = self._message(LIMIT)
            if got.get("id") == self._last:
                if "error" in got:
                    raise Unanswered(f"{method}: {got['error']}")
                return got["result"]
            self._note(got)

    def open(
        self,
        path: Path | str,
        width: int = 1200,
        height: int = 800,
        *,
        dark: bool = False,
        address: str = "",
        ready: str = "document.querySelector('#told h1') !== null",
    ) -> None:
        """Open a file or an address and wait until what it tells at first is there."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        motion = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.call("Emulation.setEmulatedMedia", features=[scheme, motion])
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=(path if isinstance(path, str) else path.absolute().as_uri()) + address)
        self.until(ready)

    def run(self, expression: str) -> Any:  # noqa: ANN401  (whatever the page says)
        """Return the value of an expression; a promise is waited for. AssertionError where it throws."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true; AssertionError where it does not become so."""
        ends = time.monotonic() + LIMIT
        while not self._is_true(expression):
            assert time.monotonic() < ends, f"never came true: {expression}; {self.errors}"
            time.sleep(0.02)

    def _is_true(self, expression: str) -> bool:
        """Return whether an expression is true now; False where it cannot be told."""
        try:
            return bool(self.run(expression))
        except (Unanswered, AssertionError):  # asked of the page before, or of an element that is being replaced
            return False

    def text(self, selector: str) -> str:
        """Return the text of an element as it is shown."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def settled(self) -> None:
        """Wait for two frames."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def click(self, x: float, y: float) -> None:
        """Click at a point of the page."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.settled()

    def click_on(self, selector: str) -> None:
        """Click in the middle of an element."""
        box = self.run(
            f"""(() => {{
                const element = document.querySelector({json.dumps(selector)});
                element.scrollIntoView({{block: "center"}});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        self.click(*box)

    def wheel(self, x: float, y: float, by: float) -> None:
        """Turn the wheel at a point; below zero is closer."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)
        self.settled()

    def key(self, name: str) -> None:
        """Press a key: a sign, or the name of one."""
        code = _KEYS.get(name)
        press = {"key": name, "windowsVirtualKeyCode": code} if code else {"key": name, "text": name}
        if name == "Enter":
            press["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **press)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, **({"windowsVirtualKeyCode": code} if code else {}))
        self.settled()

    def type(self, text: str) -> None:
        """Enter a text where the focus is."""
        self.call("Input.insertText", text=text)
        self.settled()

    def picture(self, to: Path) -> None:
        """Write what is seen as PNG or WebP, by the file's ending."""
        self.settled()
        form = to.suffix.removeprefix(".")
        to.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format=form)["data"]))

    def _message(self, seconds: float) -> dict[str, Any]:
        ends = time.monotonic() + seconds
        waiting = select.poll()  # select() takes no descriptor above 1023
        waiting.register(self._read, select.POLLIN)
        while b"\0" not in self._held:
            ready = waiting.poll(max(ends - time.monotonic(), 0) * 1000)
            assert ready, "the browser does not answer"
            got = os.read(self._read, 1 << 20)
            assert got, f"the browser ended: {self._program.poll()}"
            self._held += got
        message, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = told["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                self.errors.append(str([each.get("value") for each in told["args"]]))
            case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                self.errors.append(told["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(told["request"]["url"])


@contextmanager
def chromium() -> Iterator[Page]:
    """Give a page of a browser that ends with the block."""
    assert PROGRAM, "there is no Chromium"
    to_read, write = os.pipe()
    read, to_write = os.pipe()

    def as_three_and_four() -> None:
        # Where the browser looks for the pipe. Copied first: either could be the other's number.
        source, target = os.dup(to_read), os.dup(to_write)
        os.dup2(source, 3)
        os.dup2(target, 4)

    with tempfile.TemporaryDirectory(prefix="chromium.", ignore_cleanup_errors=True) as folder:
        program = subprocess.Popen(
            [PROGRAM, *_SWITCHES, f"--user-data-dir={folder}"],
            preexec_fn=as_three_and_four,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": folder},
        )
        os.close(to_read)
        os.close(to_write)
        try:
            page = Page(program, write, read)
            yield page
            page._session = None
            page.call("Browser.close")
        finally:
            try:
                program.wait(LIMIT / 4)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
            os.close(write)
            os.close(read)
