"""Adds the bearer token to every request on its way to the hub, since the suite can not. Changes nothing else: one
connection to the hub for each request, bytes as they come, and whoever leaves first ends both sides."""

import selectors
import socket
import threading

CHUNK = 65536


class Forwarder:
    """Listens on a loopback port of its own."""

    def __init__(self, hub_port, token):
        self.hub_port, self.token = hub_port, token
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def head(self, head):
        """The head as the hub must see it: its own port, the token, one request only."""
        lines = head.split(b"\r\n")
        kept = []
        for line in lines[1:]:
            name = line.split(b":", 1)[0].strip().lower()
            if name in (b"host", b"origin"):
                line = line.replace(b":%d" % self.port, b":%d" % self.hub_port)
            if name != b"connection":
                kept.append(line)
        kept += [b"Connection: close", b"Authorization: Bearer " + self.token.encode()]
        return b"\r\n".join([lines[0], *kept]) + b"\r\n\r\n"

    def serve(self, client):
        with client:
            received = b""
            while b"\r\n\r\n" not in received:
                chunk = client.recv(CHUNK)
                if not chunk:
                    return
                received += chunk
            head, rest = received.split(b"\r\n\r\n", 1)
            with socket.create_connection(("127.0.0.1", self.hub_port)) as hub:
                hub.sendall(self.head(head) + rest)
                self.pump(client, hub)

    def pump(self, client, hub):
        other = {client: hub, hub: client}
        with selectors.DefaultSelector() as ready:
            for side in other:
                ready.register(side, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    try:
                        chunk = key.fileobj.recv(CHUNK)
                        if not chunk:
                            return
                        other[key.fileobj].sendall(chunk)
                    except OSError:
                        return
