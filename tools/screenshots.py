"""Pictures of the dashboard of the demo, while clients ask it, and of the page
that slidewin-replay writes.

    screenshots.py PORT REDIS SECONDS REPLAY DIRECTORY

The clients come from addresses of the loopback, some more often than the limits
allow. After SECONDS the sparklines are full. For the last picture the Redis of
the demo, at the socket REDIS, is shut down. The program REPLAY reads a log that
is made up, always the same.
"""

import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../t/lib/peers"))
from browser import Browser

# Of a client: its last byte, what it asks for, and how often a second.
CLIENTS = [(11, "/login", 1.3), (12, "/login", .7), (13, "/login", .3),
           (14, "/login", .15), (21, "/search", 9), (22, "/search", 4),
           (23, "/search", 2), (24, "/search", 1.2), (25, "/search", .9),
           *((i, "/search", .6) for i in range(30, 50)),
           *((i, "/login", .05) for i in range(30, 40))]

SETTLED = "return document.getElementById('mode').textContent === 'live'"
IN_TROUBLE = """
    const found = document.getElementById('problems').textContent;
    return found.includes('not connected')
           && found.includes('counted on this machine alone')
"""


def client(port, byte, path, rate, ended):
    chance = random.Random(byte)
    while not ended.is_set():
        # waves, so that there is something to see
        wave = 1 + .6 * (int(time.time() / 9 + byte) % 3 - 1)
        ended.wait(chance.expovariate(rate * wave))
        try:
            with socket.create_connection(("127.0.0.1", port), 5,
                                          (f"127.0.0.{byte}", 0)) as sock:
                sock.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
                while sock.recv(65536):
                    pass
        except OSError:
            ended.wait(1)


def until(browser, body, *arguments):
    end = time.monotonic() + 60
    while not browser.script(body, *arguments):
        if time.monotonic() > end:
            sys.exit("the dashboard does not come to: " + body)
        time.sleep(.1)


def listens(port):
    # it may have to be built first
    end = time.monotonic() + 600
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(.2)
    sys.exit("the demo does not start")


def shut_down(redis):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(redis)
        sock.sendall(b"SHUTDOWN NOSAVE\r\n")
        answer = sock.recv(999)
        if answer:
            sys.exit(f"Redis does not shut down: {answer}")


# clients of a day, most with a request or two, few with many at once
def log(path):
    chance = random.Random(1)
    lines = []
    for number in range(3000):
        second = chance.randrange(86400)
        for _ in range(min(int(chance.paretovariate(1.3)), 60)):
            second += chance.randrange(4)
            lines.append((second, f"2001:db8:0:{number:x}::1"))
    with open(path, "w", encoding="ascii") as file:
        for second, address in sorted(lines):
            file.write(f"{address} - - [{17 + second // 86400}/Nov/2026:"
                       f"{second // 3600 % 24:02}:{second // 60 % 60:02}:"
                       f"{second % 60:02} +0000] \"GET / HTTP/1.1\" 200 1 "
                       "\"-\" \"-\"\n")


def take_replay(browser, replay, directory):
    with tempfile.TemporaryDirectory() as own:
        log(f"{own}/access.log")
        subprocess.run([replay, "--rate", "auto/10s", "--html",
                        f"{own}/report.html", f"{own}/access.log"], check=True,
                       stdout=subprocess.DEVNULL)
        browser.open(f"file://{own}/report.html")
        take(browser, directory, "replay.png", (1280, 486), "light", "limits")


# from the top, or from the element of an id on
def take(browser, directory, name, size, scheme, element=None):
    browser.size(*size)
    browser.prefer("prefers-color-scheme", scheme)
    browser.script("""
        const element = document.getElementById(arguments[0]);
        scrollTo(0, element ? element.offsetTop - 12 : 0);
    """, element)
    # a picture is of a page that has been laid out
    browser.driver.execute_async_script(
        "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    path = os.path.join(directory, name)
    browser.picture(path)
    print(f"{name}: {os.path.getsize(path) // 1024} KB")


def main():
    port, seconds = int(sys.argv[1]), float(sys.argv[3])
    redis, replay, directory = sys.argv[2], sys.argv[4], sys.argv[5]
    ended = threading.Event()

    listens(port)
    threads = [threading.Thread(target=client, args=(port, *one, ended))
               for one in CLIENTS]
    for thread in threads:
        thread.start()

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            browser.size(1280, 800)
            browser.open(f"http://127.0.0.1:{port}/slidewin/")
            until(browser, SETTLED)
            time.sleep(seconds)
            take(browser, directory, "dashboard-dark.png", (1280, 680), "dark")
            take(browser, directory, "dashboard-phone.png", (360, 740, 2),
                 "light")
            browser.size(1280, 900)
            browser.script("document.querySelector('.zone h3 button').click()")
            until(browser, "return document.querySelector('tbody button')")
            browser.script("document.querySelector('tbody button').click()")
            until(browser, "return document.querySelector('.answer dd')")
            take(browser, directory, "dashboard-light.png", (1280, 900),
                 "light")
            browser.script("document.querySelector('.zone h3 button').click()")
            shut_down(redis)
            until(browser, IN_TROUBLE)
            take(browser, directory, "dashboard-trouble.png", (1280, 680),
                 "light")
            take_replay(browser, replay, directory)
        finally:
            browser.driver.quit()
            ended.set()
            for thread in threads:
                thread.join()


main()
