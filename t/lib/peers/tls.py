"""A way to a Redis that counts who comes, when, and with which session.

server HOST:PORT CERT KEY PATH: TLS in front of the Redis at that socket.
Told what to do by lines, each of which is answered by one:

  cut      ends all connections
  close    ends all connections, and listens no longer
  open     listens again
  forget   forgets all sessions, as a server that was started anew
  stats    {"accepts": [seconds], "whole": handshakes, "resumed": handshakes}
           since the last time
"""

import json
import selectors
import socket
import ssl
import sys
import threading
import time


class Server:
    def __init__(self, address, cert, key, path):
        host, port = address.rsplit(":", 1)
        self.address = (host, int(port))
        self.files = (cert, key)
        self.path = path
        self.lock = threading.Lock()
        self.open = set()
        self.listener = None
        self.forget()
        self.clear()
        self.listen()

    def clear(self):
        self.accepts, self.whole, self.resumed = [], 0, 0

    def forget(self):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*self.files)

    def listen(self):
        self.listener = socket.create_server(self.address, backlog=512,
                                             reuse_port=False)
        threading.Thread(target=self.accept, args=(self.listener,),
                         daemon=True).start()

    def accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.accepts.append(time.monotonic())
            with self.lock:
                self.open.add(client)
            threading.Thread(target=self.serve, args=(client,),
                             daemon=True).start()

    def serve(self, client):
        redis = socket.socket(socket.AF_UNIX)
        try:
            plain = client.dup()
            plain.settimeout(20)
            tls = self.context.wrap_socket(plain, server_side=True)
            with self.lock:
                self.whole += not tls.session_reused
                self.resumed += tls.session_reused
            redis.connect(self.path)
            relay(tls, redis)
        except OSError:
            pass
        finally:
            end(client, redis)
            with self.lock:
                self.open.discard(client)

    def cut(self):
        with self.lock:
            for client in self.open:
                end(client)

    def obey(self, verb):
        if verb == "cut":
            self.cut()
        elif verb == "close":
            end(self.listener)
            self.cut()
        elif verb == "open":
            self.listen()
        elif verb == "forget":
            self.forget()
        elif verb == "stats":
            with self.lock:
                stats = {"accepts": self.accepts, "whole": self.whole,
                         "resumed": self.resumed}
                self.clear()
            return stats
        return {}


def relay(tls, redis):
    with selectors.DefaultSelector() as selector:
        selector.register(tls, selectors.EVENT_READ)
        selector.register(redis, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is redis:
                    text = redis.recv(65536)
                    tls.sendall(text)
                else:
                    text = tls.recv(65536)
                    while tls.pending():
                        text += tls.recv(65536)
                    redis.sendall(text)
                if not text:
                    return


def end(*sockets):
    for one in sockets:
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()


def main():
    server = Server(*sys.argv[2:])
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(server.obey(line.strip())), flush=True)


main()
