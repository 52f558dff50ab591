"""Both ends of WebSockets.

    websocket.py server ADDRESS
    websocket.py client URL COUNT MESSAGES FROM

The server echoes, says "ready" when it listens and ends with its standard
input. The client opens COUNT connections from the address FROM, one by one, and
keeps them; then it sends MESSAGES over each that is open. It prints a line of
JSON for each handshake and one for the messages that came back.
"""

import asyncio
import json
import sys

import websockets


async def echo(socket):
    async for message in socket:
        await socket.send(message)


async def serve(address):
    loop = asyncio.get_running_loop()
    host, port = address.split(":")
    async with websockets.serve(echo, host, int(port)):
        print("ready", flush=True)
        await loop.run_in_executor(None, sys.stdin.read)


async def handshake(url, address):
    try:
        socket = await websockets.connect(url, local_addr=(address, 0),
                                          open_timeout=60)
    except websockets.exceptions.InvalidHandshake as error:
        # how a refusal is told depends on the version
        response = getattr(error, "response", error)
        return None, {"status": response.status_code,
                      "retry": response.headers.get("Retry-After")}

    return socket, {"status": 101}


async def ask(url, count, messages, address):
    sockets = []
    for _ in range(int(count)):
        socket, result = await handshake(url, address)
        print(json.dumps(result), flush=True)
        if socket:
            sockets.append(socket)

    echoes = 0
    for i in range(int(messages)):
        for socket in sockets:
            await socket.send(f"message {i}")
        for socket in sockets:
            echoes += await socket.recv() == f"message {i}"
    print(json.dumps({"echoes": echoes}), flush=True)

    for socket in sockets:
        await socket.close()


if sys.argv[1] == "server":
    asyncio.run(serve(sys.argv[2]))
else:
    asyncio.run(ask(*sys.argv[2:]))
