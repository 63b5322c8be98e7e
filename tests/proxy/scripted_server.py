"""A server of a few lines, run by the tests in a process of its own: it does what a call's arguments say.

``echo``      answers with the arguments: ``result`` as the result, ``raw`` as the very line
``late``      answers after the next message
``ask``       asks the client for something, and answers with what it said
``die``       ends with a code
``flood``     sends many long notifications
Everything else that it gets it sends back in a notification.
"""

import json
import os
import signal
import sys


def send(message):
    line = message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    os.write(1, f"{line}\n".encode("utf-8", "surrogatepass"))


def called(id_, name, args):
    if name == "die":
        print("dying", file=sys.stderr, flush=True)
        os._exit(args["code"])
    if name == "flood":
        for number in range(args["times"]):
            send({"jsonrpc": "2.0", "method": "note", "params": {"n": number, "x": "x" * args["size"]}})
    if name == "ask":
        send({"jsonrpc": "2.0", "id": id_, "method": "sampling/createMessage", "params": {"of": 1.50}})
        answer = sys.stdin.readline()
        return send({"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": answer.strip()}]}})
    if "raw" in args:
        return send(args["raw"])
    send({"jsonrpc": "2.0", "id": id_, "result": args.get("result", {"content": []})})


def main():
    if "--deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    late = None
    tools = json.loads(os.environ.get("TOOLS", "[]"))
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            send({"jsonrpc": "2.0", "method": "unread", "params": {"line": line}})
            continue
        method = message.get("method") if isinstance(message, dict) else None
        if method == "initialize":
            server = {"name": "scripted", "version": "1"}
            begun = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
            send({"jsonrpc": "2.0", "id": message["id"], "result": begun})
        elif method == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        elif method == "notifications/initialized":
            pass
        elif method == "tools/list":
            send({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}})
        elif method == "tools/call":
            if message["params"]["name"] == "late":
                late = message
                continue
            called(message["id"], message["params"]["name"], message["params"].get("arguments", {}))
        else:
            send({"jsonrpc": "2.0", "method": "got", "params": {"message": message}})
        if late is not None:
            called(late["id"], "late", late["params"].get("arguments", {}))
            late = None
    if "--deaf" in sys.argv:
        while True:
            signal.pause()


main()
