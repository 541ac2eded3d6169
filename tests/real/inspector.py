"""The MCP Inspector's command line as a host: one run of it per question."""

import concurrent.futures
import json
import pathlib
import subprocess

MAIN = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def target(hub, over, home):
    """How the Inspector is pointed at the hub."""
    if over == "http":
        return [hub.endpoint["mcp_url"], "--transport", "http", "--header", f"Authorization: Bearer {hub.token()}"]
    entry = {"command": hub.binary, "args": ["stdio", "--host", "inspector"], "env": {"CALLGATE_HOME": str(hub.home)}}
    config = pathlib.Path(home) / "inspector.json"
    config.write_text(json.dumps({"mcpServers": {"hub": entry}}))
    return ["--config", str(config), "--server", "hub"]


def questions(cases):
    """What is asked: a name, the arguments, what must be in the answer."""
    words = lambda values: [f"{key}={value}" for key, value in values.items()]
    asks = [
        ("lists every tool", ["--method", "tools/list"], [case["tool"] for case in cases["calls"]]),
        ("lists resources", ["--method", "resources/list"], [cases["resources"][0]["uri"]]),
        ("lists templates", ["--method", "resources/templates/list"], [cases["template"]]),
        ("lists prompts", ["--method", "prompts/list"], [case["name"] for case in cases["prompts"]]),
    ]
    for case in cases["calls"]:
        if not case.get("error") and case["tool"] in ("everything__get-sum", "time__convert_time", "git__git_log"):
            args = ["--method", "tools/call", "--tool-name", case["tool"], "--tool-arg", *words(case["arguments"])]
            asks.append((f"calls {case['tool']}", args, [case["text"]]))
    resource, prompt = cases["resources"][0], cases["prompts"][1]
    asks.append((f"reads {resource['uri']}", ["--method", "resources/read", "--uri", resource["uri"]], [resource["text"]]))
    get = ["--method", "prompts/get", "--prompt-name", prompt["name"], "--prompt-args", *words(prompt["arguments"])]
    asks.append((f"gets the prompt {prompt['name']}", get, [prompt["text"]]))
    return asks


def run(hub, node, npm, cases, home, env):
    """All questions over both carriers; yields (verdict, name, why)."""
    env = dict(env, HOME=str(home), MCP_INSPECTOR_SECRET_STORE="memory")
    targets = {over: target(hub, over, home) for over in ("stdio", "http")}

    def ask(over, question):
        name, args, expected = question
        command = [node, f"{npm}/{MAIN}", "--cli", *targets[over], *args]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=90, stdin=subprocess.DEVNULL)
        missing = [text for text in expected if text not in done.stdout]
        failed = done.returncode != 0 or missing
        why = f"exit {done.returncode}, missing {missing}: {done.stderr[-300:]}" if failed else ""
        return ("failed" if failed else "ok", f"{over}: {name}", why)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(ask, over, question) for over in targets for question in questions(cases)]
        for one in asked:
            yield one.result()
