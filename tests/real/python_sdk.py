"""The official Python SDK as a host. `check` goes through all cases; `hold` stays attached and calls when it is told to.

    python_sdk.py check|hold stdio|http auto|legacy CASES"""

import asyncio
import json
import os
import sys
import traceback

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PromptReference

MODE, CARRIER, ERA, CASES = sys.argv[1:5]
BINARY, URL, TOKEN = (os.environ[name] for name in ("CALLGATE", "CALLGATE_URL", "CALLGATE_TOKEN"))


def say(verdict, name, why=""):
    print(json.dumps({"verdict": verdict, "name": name, "why": why}), flush=True)


async def check(name, step):
    try:
        await step
        say("ok", name)
    except Exception as error:  # noqa: BLE001 - one failed check must not hide the others
        say("failed", name, "".join(traceback.format_exception_only(error)).strip()[:500])


def carrier(server=None):
    """What a client is given: a command to start, or a transport with the token."""
    if CARRIER == "stdio":
        view = ["--server", server] if server else []
        env = {"CALLGATE_HOME": os.environ["CALLGATE_HOME"]}
        return StdioServerParameters(command=BINARY, args=["stdio", "--host", "python", *view], env=env)
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
    return streamable_http_client(URL + (f"/s/{server}" if server else ""), http_client=http)


def texts(blocks):
    return " ".join(getattr(block, "text", "") for block in blocks)


async def listed(client, cases):
    names = [tool.name for tool in (await client.list_tools()).tools]
    assert len(names) == len(set(names)) >= cases["least_tools"], f"{len(names)} tools"
    missing = {case["tool"] for case in cases["calls"]} - set(names)
    assert not missing, f"not listed: {missing}"


async def called(client, case):
    result = await client.call_tool(case["tool"], case["arguments"])
    heard = texts(result.content)
    assert case["text"] in heard, heard[:300]
    assert bool(result.is_error) == case.get("error", False), heard[:300]
    assert not case.get("structured") or result.structured_content, "no structured content"


async def resources_listed(client, cases):
    uris = {str(it.uri) for it in (await client.list_resources()).resources}
    assert cases["resources"][0]["uri"] in uris, uris
    templates = {it.uri_template for it in (await client.list_resource_templates()).resource_templates}
    assert cases["template"] in templates, templates


async def read(client, case):
    contents = (await client.read_resource(case["uri"])).contents
    assert case["text"] in texts(contents), str(contents)[:300]


async def prompted(client, case):
    listed = {it.name for it in (await client.list_prompts()).prompts}
    assert case["name"] in listed, listed
    messages = (await client.get_prompt(case["name"], case["arguments"])).messages
    assert case["text"] in texts(message.content for message in messages), str(messages)[:300]


async def completed(client, case):
    reference = PromptReference(type="ref/prompt", name=case["prompt"])
    result = await client.complete(reference, {"name": case["argument"], "value": case["value"]})
    assert case["hears"] in result.completion.values, result


async def progressed(client, case):
    seen = []

    async def notice(progress, total, message):
        seen.append(progress)

    await client.call_tool(case["tool"], case["arguments"], progress_callback=notice)
    assert seen == sorted(seen) and len(seen) == case["steps"], seen


async def own_names(cases):
    async with Client(carrier("everything"), mode=ERA) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "echo" in names and not any("__" in name for name in names), names
        result = await client.call_tool("echo", {"message": "own name"})
        assert "own name" in texts(result.content), result


async def all_checks(cases):
    async with Client(carrier(), mode=ERA) as client:
        expected = {"auto": "2026-07-28", "legacy": "2025-11-25"}[ERA]
        assert client.protocol_version == expected, client.protocol_version
        await check("lists every tool once", listed(client, cases))
        for case in cases["calls"]:
            await check(f"calls {case['tool']}" + (", which fails" if case.get("error") else ""), called(client, case))
        await check("lists resources and templates", resources_listed(client, cases))
        for case in cases["resources"]:
            await check(f"reads {case['uri']}", read(client, case))
        for case in cases["prompts"]:
            await check(f"gets the prompt {case['name']}", prompted(client, case))
        await check("completes an argument", completed(client, cases["completion"]))
        await check("hears progress in order, all of it before the result", progressed(client, cases["progress"]))
    await check("sees one server under its own names", own_names(cases))


async def ten_calls(client, cases):
    """Ten at once: each answer belongs to its own question."""
    stamp = f"{os.getpid()}"

    async def echo(n):
        result = await client.call_tool("everything__echo", {"message": f"{stamp}-{n}"})
        assert texts(result.content) == f"Echo: {stamp}-{n}", result

    others = [case for case in cases["calls"] if not case.get("error") and case["tool"] != "everything__echo"][:5]
    await asyncio.gather(*(echo(n) for n in range(5)), *(called(client, case) for case in others))


async def hold(cases):
    async with Client(carrier(), mode=ERA) as client:
        await client.list_tools()
        say("attached", "")
        while (line := await asyncio.to_thread(sys.stdin.readline)).strip():
            if line.strip() == "go":
                await check("ten calls at once", ten_calls(client, cases))
            else:
                # Told to leave a call open: it will be lost, which must be said and not hang.
                call = client.call_tool("everything__trigger-long-running-operation", {"duration": 60, "steps": 2})
                task = asyncio.create_task(call)
                await client.call_tool("everything__echo", {"message": "sent after it"})
                say("open", "")
                try:
                    result = await asyncio.wait_for(task, 20)
                    say("ok" if result.is_error else "failed", "a call lost with its hub is told", str(result)[:300])
                except TimeoutError:
                    say("failed", "a call lost with its hub is told", "it hangs")
                except Exception as error:  # noqa: BLE001 - any error is an answer
                    say("ok", "a call lost with its hub is told", str(error))


async def main():
    cases = json.load(open(CASES))
    await (all_checks if MODE == "check" else hold)(cases)


asyncio.run(main())
