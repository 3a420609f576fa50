"""Which addresses a program names to the system: strace sees those of native code too."""

import re
import shutil
import subprocess
from ipaddress import ip_address
from pathlib import Path

_CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
_ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
_RESOLVER = re.compile(r'sun_path=@?"([^"]*(?:resolve|avahi)[^"]*)"')


def _why_not() -> str:
    if shutil.which("strace") is None:
        return "strace is not installed (apt install strace)"
    done = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    return f"strace cannot trace here: {done.stderr.strip()}" if done.returncode else ""


CANNOT_TRACE = _why_not()
"""Why no program can be traced on this machine; empty where it can."""


def tracer(trace: Path) -> list[str]:
    """Return what to put before the words of a command, which then writes a trace. Its process id stays its own."""
    if CANNOT_TRACE:
        return []
    return ["strace", "-D", "-f", "--seccomp-bpf", "-e", _CALLS, "-o", str(trace)]


def contacts(trace: Path) -> set[str]:
    """Return the addresses other than this machine's, and the resolvers, that a program named until now."""
    text, found = trace.read_text(), set()
    for port, host in _ADDRESS.findall(text):
        address = ip_address(host.removeprefix("::ffff:"))
        if port == "53" or not (address.is_loopback or address.is_unspecified):
            found.add(f"{host}:{port}")
    return found | set(_RESOLVER.findall(text))
