"""The real servers, and what every client must see through the hub. One table for all clients."""

import pathlib
import subprocess

HELD = "memory__create_entities"
PAGE = "<html><head><title>t</title></head><body><article><h1>A page</h1><p>Words on a page of this machine.</p></article></body></html>"


def prepare(home):
    """What the servers work on: a folder, a repository."""
    home = pathlib.Path(home)
    (home / "files").mkdir()
    (home / "files" / "note.txt").write_text("a note of this run\n")
    repo = home / "repo"
    git = ["git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run(["git", "init", "--quiet", repo], check=True)
    (repo / "a.txt").write_text("one\n")
    subprocess.run([*git, "add", "a.txt"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "the first change"], check=True)


def servers(home, npm, newer, older):
    """The `mcpServers` block: four from npm, one of them through npx, and four from PyPI, on two SDK generations."""
    home, package = pathlib.Path(home), f"{npm}/node_modules/@modelcontextprotocol"
    node = lambda name, *args: {"command": "node", "args": [f"{package}/server-{name}/dist/index.js", *args]}
    entries = {
        "everything": node("everything", "stdio"),
        "files": node("filesystem", str(home / "files")),
        "memory": {
            "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"],
            "cwd": str(npm), "env": {"MEMORY_FILE_PATH": str(home / "memory.jsonl")},
        },
        "thinking": node("sequential-thinking"),
        "time": {"command": f"{newer}/bin/mcp-server-time", "args": ["--local-timezone", "UTC"]},
        "git": {"command": f"{newer}/bin/mcp-server-git", "args": ["--repository", str(home / "repo")]},
        "fetch": {"command": f"{newer}/bin/mcp-server-fetch", "args": ["--allow-private-ips", "--ignore-robots-txt"]},
        "calculator": {"command": f"{older}/bin/mcp-server-calculator"},
    }
    # Eight interpreters at once on a busy machine.
    return {name: {**entry, "timeouts": {"startSeconds": 120}} for name, entry in entries.items()}


def expectations(home, page_url):
    """What each client asks and must hear."""
    home = pathlib.Path(home)
    call = lambda tool, arguments, text, **more: {"tool": tool, "arguments": arguments, "text": text, **more}
    thought = {"thought": "t", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    return {
        "least_tools": 50,
        "calls": [
            call("everything__echo", {"message": "ein Wort – 一言"}, "ein Wort – 一言"),
            call("everything__get-sum", {"a": 2, "b": 40}, "42"),
            call("everything__get-structured-content", {"location": "New York"}, "temperature", structured=True),
            call("files__read_text_file", {"path": str(home / "files" / "note.txt")}, "a note of this run", structured=True),
            call("memory__search_nodes", {"query": "nothing"}, "entities", structured=True),
            call("thinking__sequentialthinking", thought, "thoughtNumber", structured=True),
            call("time__convert_time", noon, "T21:00", structured=True),
            call("git__git_log", {"repo_path": str(home / "repo")}, "the first change"),
            call("fetch__fetch", {"url": page_url}, "Words on a page"),
            call("calculator__calculate", {"expression": "6*7"}, "42"),
            # A server's own failure passes as it is; an invented argument never reaches a server.
            call("files__read_text_file", {"path": "/etc/passwd"}, "denied", error=True),
            call("everything__get-sum", {"a": "two", "b": 40}, "invalid_arguments", error=True),
        ],
        "resources": [
            {"uri": "demo://resource/static/document/architecture.md", "text": "Architecture"},
            {"uri": "demo://resource/dynamic/text/7", "text": "7"},
            {"uri": "memory://knowledge-graph", "text": "entities"},
        ],
        "template": "demo://resource/dynamic/text/{resourceId}",
        "prompts": [
            {"name": "everything__simple-prompt", "arguments": {}, "text": "simple prompt"},
            {"name": "everything__args-prompt", "arguments": {"city": "Rome"}, "text": "Rome"},
        ],
        # What the policy of this run asks a person about.
        "held": {"tool": HELD, "entity": {"entityType": "thing", "observations": ["seen"]}, "reason": "not in this run"},
        "completion": {"prompt": "everything__completable-prompt", "argument": "department", "value": "E", "hears": "Engineering"},
        "progress": {"tool": "everything__trigger-long-running-operation", "arguments": {"duration": 1, "steps": 5}, "steps": 5},
    }
