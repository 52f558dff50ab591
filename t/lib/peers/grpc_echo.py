"""Both ends of gRPC, with bytes for messages.

    grpc_echo.py server ADDRESS
    grpc_echo.py client ADDRESS METHOD COUNT [MESSAGES]

The server echoes any method: a request of one message by one, a stream by the
number of its messages. It says "ready" when it listens, prints the name of each
method that is called and ends with its standard input. The client calls METHOD
COUNT times and prints how each call ended as a line of JSON; with MESSAGES each
call is a stream of so many.
"""

import json
import sys
from concurrent import futures

import grpc


class Echo(grpc.GenericRpcHandler):
    def service(self, details):
        print(details.method, flush=True)
        if details.method.endswith("/Upload"):
            return grpc.stream_unary_rpc_method_handler(
                lambda messages, _: b"%d" % sum(1 for _ in messages))
        return grpc.unary_unary_rpc_method_handler(lambda message, _: message)


def serve(address):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers((Echo(),))
    if not server.add_insecure_port(address):
        sys.exit(f"cannot listen on {address}")
    server.start()
    print("ready", flush=True)
    sys.stdin.read()
    server.stop(None)


def ask(address, method, count, messages=None):
    with grpc.insecure_channel(address) as channel:
        for _ in range(int(count)):
            try:
                if messages is None:
                    reply, call = channel.unary_unary(method).with_call(
                        b"hello", timeout=60, wait_for_ready=True)
                else:
                    stream = iter([b"x" * 1000] * int(messages))
                    reply, call = channel.stream_unary(method).with_call(
                        stream, timeout=60, wait_for_ready=True)
            except grpc.RpcError as error:
                reply, call = b"", error
            fields = list(call.initial_metadata() or [])
            fields += list(call.trailing_metadata() or [])
            print(json.dumps({"code": call.code().name,
                              "details": call.details(),
                              "reply": reply.decode(),
                              "metadata": dict(fields)}), flush=True)


if sys.argv[1] == "server":
    serve(sys.argv[2])
else:
    ask(*sys.argv[2:])
